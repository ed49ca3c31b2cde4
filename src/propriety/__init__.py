"""propriety: classifiers for the mistakes that matter.

State what a false alarm and a miss cost, or any proper loss at all, and fit a model to exactly that.

>>> from propriety import losses
>>> losses.Tailored(cost=0.1, focus=20).weight(0.1) > losses.Tailored(cost=0.1, focus=20).weight(0.9)
True
"""

from propriety import losses
from propriety.losses import links

__version__ = "0.1.0"

__all__ = ["__version__", "links", "losses"]
