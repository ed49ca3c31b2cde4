"""Proper losses for several classes.

A label is a class index 0 … K−1 or a distribution over the classes, a score is a vector of K numbers. With
two classes each loss is a binary one in the difference of the scores, F = F₁ − F₀.

>>> from propriety.losses import simplex
>>> simplex.Log().inverse([[0.0, 0.0, 0.0]])
array([[0.33333333, 0.33333333, 0.33333333]])
"""

from functools import lru_cache

import numpy as np

from propriety.losses import families, registry
from propriety.losses.base import Loss, SmoothLoss
from propriety.losses.composite import Composite
from propriety.losses.links import Logit
from propriety.losses.point import at_log_odds
from propriety.losses.simplex.base import MarginForm, SimplexLoss, examples, names, register
from propriety.losses.simplex.cumulative import Cumulative, OrderedLoss, RankedProbability
from propriety.losses.simplex.one_vs_rest import MH, OneVsRest
from propriety.losses.simplex.pairwise import PairwiseExponential
from propriety.losses.simplex.recalibrated import Recalibrated
from propriety.losses.simplex.softmax import Brier, Log, Power

__all__ = [
    "MH",
    "Brier",
    "Cumulative",
    "Log",
    "MarginForm",
    "OneVsRest",
    "OrderedLoss",
    "PairwiseExponential",
    "Power",
    "RankedProbability",
    "Recalibrated",
    "SimplexLoss",
    "examples",
    "names",
    "of",
    "register",
]

#: Where weights are compared, and how far their logarithms may differ: losses may be sums of quadratures.
_LOG_ODDS, _EQUAL = np.linspace(-10.0, 10.0, 21), 1e-6


def of(loss: Loss | Composite | SimplexLoss | str) -> SimplexLoss:
    """The form of a binary loss for several classes.

    Log, squared and density power losses have their own on the simplex, and so have their multiples and what
    equals the log or the squared loss under another name. Every other loss, and every composite with a link
    that is neither the loss's own nor the logit, is taken one class against the rest.

    >>> of("Squared"), of("Beta(6, 14)"), of("3 * Log()"), of("Beta(0, 0)")
    (simplex.Brier(), simplex.OneVsRest(Beta(6, 14)), simplex.Log(3), simplex.Log())
    """
    if isinstance(loss, str):
        loss = registry.parse(loss)
    if isinstance(loss, SimplexLoss):
        return loss
    if not isinstance(loss, Composite):
        return _whole(loss) or OneVsRest(loss)
    own = loss.link in (Logit(), loss.loss.default_link)
    return (_whole(loss.loss) if own else None) or OneVsRest(loss)


@lru_cache(maxsize=256)
def _whole(loss: Loss) -> SimplexLoss | None:
    """The form on the simplex of a loss with its own link, or None."""
    if not isinstance(loss, SmoothLoss):
        return None
    match loss._terms:
        case ((scale, families.Log()),):
            return Log(scale)
        case ((scale, families.Squared()),):
            return Brier(scale)
        case ((scale, families.DensityPower(gamma=gamma)),):
            return Power(gamma, scale)
    return _recognized(loss)


def _recognized(loss: SmoothLoss) -> SimplexLoss | None:
    """The log or the squared loss, times a constant, if the weight of the loss is theirs."""
    x = at_log_odds(_LOG_ODDS)
    with np.errstate(all="ignore"):
        own = loss._log_relative(x)
        for family, form in ((families.Log(), Log), (families.Squared(), Brier)):
            ratios = own - family._log_relative(x)
            scale = float(np.exp(ratios[len(ratios) // 2]))
            if 0 < scale < np.inf and np.all(np.abs(ratios - np.log(scale)) < _EQUAL):
                return form(round(scale) if abs(scale - round(scale)) < _EQUAL and scale > 0.5 else scale)
    return None
