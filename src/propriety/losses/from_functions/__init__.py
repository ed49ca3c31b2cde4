"""A proper loss from the user's own functions.

- `probability`: functions of p, that is, its weight, variance, entropy or partial losses.
- `margin`: a function of the margin v.
- `link`: a link with a binding function, a link alone, or a density.
- `numeric`: what they share; `calculus`: derivatives and integrals of functions known only by calling them.
"""

from propriety.losses.from_functions.link import CanonicalFor, from_density, from_link_and_binding
from propriety.losses.from_functions.margin import from_margin_loss
from propriety.losses.from_functions.probability import (
    from_entropy,
    from_partial_losses,
    from_variance,
    from_weight,
)

__all__ = [
    "CanonicalFor",
    "from_density",
    "from_entropy",
    "from_link_and_binding",
    "from_margin_loss",
    "from_partial_losses",
    "from_variance",
    "from_weight",
]
