"""The algebra of proper losses: one small object carries a loss with all of its faces.

>>> from propriety import losses
>>> loss = losses.Beta(6, 14)
>>> losses.parse("Beta(6, 14)") == loss
True
>>> 2 * losses.Log() + losses.Tailored(cost=0.1, focus=20)
2 * Log() + Tailored(0.1, 20)
"""

from propriety.losses import links, simplex
from propriety.losses.algebra import Mixture
from propriety.losses.algebra import Tilted as Tilted
from propriety.losses.base import Loss
from propriety.losses.base import SmoothLoss as SmoothLoss
from propriety.losses.composite import Composite
from propriety.losses.families import (
    Arcsine,
    Beta,
    Boosting,
    CascadeDown,
    CascadeUp,
    CostWeighted,
    DensityPower,
    Exponential,
    HandVinciotti,
    Log,
    Misclassification,
    Savage,
    Spherical,
    Squared,
    Tailored,
)
from propriety.losses.from_functions import (
    CanonicalFor as CanonicalFor,
)
from propriety.losses.from_functions import (
    from_density,
    from_entropy,
    from_link_and_binding,
    from_margin_loss,
    from_partial_losses,
    from_variance,
    from_weight,
)
from propriety.losses.permissible import LogCosh, Matsushita, Mu, Power
from propriety.losses.registry import as_composite as as_composite
from propriety.losses.registry import as_link as as_link
from propriety.losses.registry import as_loss as as_loss
from propriety.losses.registry import examples as examples
from propriety.losses.registry import names, parse, register
from propriety.losses.tunable import AlphaTunable, GBoost, GGauss, GLaplace, GLog

__all__ = [
    "AlphaTunable",
    "Arcsine",
    "Beta",
    "Boosting",
    "CascadeDown",
    "CascadeUp",
    "Composite",
    "CostWeighted",
    "DensityPower",
    "Exponential",
    "GBoost",
    "GGauss",
    "GLaplace",
    "GLog",
    "HandVinciotti",
    "Log",
    "LogCosh",
    "Loss",
    "Matsushita",
    "Misclassification",
    "Mixture",
    "Mu",
    "Power",
    "Savage",
    "Spherical",
    "Squared",
    "Tailored",
    "from_density",
    "from_entropy",
    "from_link_and_binding",
    "from_margin_loss",
    "from_partial_losses",
    "from_variance",
    "from_weight",
    "links",
    "names",
    "parse",
    "register",
    "simplex",
]
