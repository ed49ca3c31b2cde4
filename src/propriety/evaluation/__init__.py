"""Judging probabilities and decisions of any classifier: numbers; the pictures are in `propriety.plots`.

>>> from propriety import evaluation
>>> curve = evaluation.murphy_curve([0, 1, 1], [0.2, 0.6, 0.9])
>>> round(curve.area("Squared"), 12) == round(evaluation.mean_loss([0, 1, 1], [0.2, 0.6, 0.9], "Squared"), 12)
True
"""

from propriety.evaluation.decisions import (
    CostCurve,
    Threshold,
    best_threshold,
    cost_curve,
    cost_scorer,
    costs_of,
    decide,
    expected_cost,
    mean_cost,
    threshold,
)
from propriety.evaluation.murphy import MurphyCurve, murphy_curve, murphy_difference
from propriety.evaluation.scores import losses_of, mean_loss, scorer

__all__ = [
    "CostCurve",
    "MurphyCurve",
    "Threshold",
    "best_threshold",
    "cost_curve",
    "cost_scorer",
    "costs_of",
    "decide",
    "expected_cost",
    "losses_of",
    "mean_cost",
    "mean_loss",
    "murphy_curve",
    "murphy_difference",
    "scorer",
    "threshold",
]
