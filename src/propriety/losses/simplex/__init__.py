"""Proper losses for several classes.

A label is a class index 0 … K−1 or a distribution over the classes, a score is a vector of K numbers. With
two classes each loss is a binary one in the difference of the scores, F = F₁ − F₀.

>>> from propriety.losses import simplex
>>> simplex.Log().inverse([[0.0, 0.0, 0.0]])
array([[0.33333333, 0.33333333, 0.33333333]])
"""

from propriety.losses import families, registry
from propriety.losses.base import Loss
from propriety.losses.composite import Composite
from propriety.losses.simplex.base import MarginForm, SimplexLoss, examples, names, register
from propriety.losses.simplex.one_vs_rest import MH, OneVsRest
from propriety.losses.simplex.pairwise import PairwiseExponential
from propriety.losses.simplex.recalibrated import Recalibrated
from propriety.losses.simplex.softmax import Brier, Log, Power

__all__ = [
    "MH",
    "Brier",
    "Log",
    "MarginForm",
    "OneVsRest",
    "PairwiseExponential",
    "Power",
    "Recalibrated",
    "SimplexLoss",
    "examples",
    "names",
    "of",
    "register",
]


def of(loss: Loss | Composite | SimplexLoss | str) -> SimplexLoss:
    """The form of a binary loss for several classes.

    Log, squared and density power losses have their own on the simplex; every other loss, and every
    composite with a link of its own, is taken one class against the rest.

    >>> of("Squared"), of("Beta(6, 14)")
    (simplex.Brier(), simplex.OneVsRest(Beta(6, 14)))
    """
    if isinstance(loss, str):
        loss = registry.parse(loss)
    if isinstance(loss, SimplexLoss):
        return loss
    match loss:
        case families.Log():
            return Log()
        case families.Squared():
            return Brier()
        case families.DensityPower(gamma=gamma):
            return Power(gamma)
    return OneVsRest(loss)
