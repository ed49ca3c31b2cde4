"""Judging probabilities and decisions of any classifier: numbers; the pictures are in `propriety.plots`.

>>> from propriety import evaluation
>>> curve = evaluation.murphy_curve([0, 1, 1], [0.2, 0.6, 0.9])
>>> round(curve.area("Squared"), 12) == round(evaluation.mean_loss([0, 1, 1], [0.2, 0.6, 0.9], "Squared"), 12)
True
"""

from propriety.evaluation.budgets import budget_curve
from propriety.evaluation.calibration import (
    calibration_error,
    calibration_slope,
    reliability,
)
from propriety.evaluation.comparison import compare
from propriety.evaluation.decisions import (
    cost_scorer,
    expected_cost,
    mean_cost,
)
from propriety.evaluation.decomposition import decomposition, recalibrate
from propriety.evaluation.flips import nearest_flip
from propriety.evaluation.importance import importance
from propriety.evaluation.murphy import murphy_curve, murphy_difference
from propriety.evaluation.ranking import ranking_curve
from propriety.evaluation.savings import cost_summary
from propriety.evaluation.scores import mean_loss, scorer
from propriety.evaluation.sensitivity import cost_sensitivity
from propriety.evaluation.subgroups import subgroups
from propriety.evaluation.thresholds import (
    best_threshold,
    decision_curve,
)

__all__ = [
    "best_threshold",
    "budget_curve",
    "calibration_error",
    "calibration_slope",
    "compare",
    "cost_scorer",
    "cost_sensitivity",
    "cost_summary",
    "decision_curve",
    "decomposition",
    "expected_cost",
    "importance",
    "mean_cost",
    "mean_loss",
    "murphy_curve",
    "murphy_difference",
    "nearest_flip",
    "ranking_curve",
    "recalibrate",
    "reliability",
    "scorer",
    "subgroups",
]
