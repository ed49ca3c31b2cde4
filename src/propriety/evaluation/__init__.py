"""Judging probabilities and decisions of any classifier: numbers; the pictures are in `propriety.plots`.

>>> from propriety import evaluation
>>> curve = evaluation.murphy_curve([0, 1, 1], [0.2, 0.6, 0.9])
>>> round(curve.area("Squared"), 12) == round(evaluation.mean_loss([0, 1, 1], [0.2, 0.6, 0.9], "Squared"), 12)
True
"""

from propriety.evaluation.bias_variance import bias_variance, decompose_fits
from propriety.evaluation.bounds import cost_bound, excess_cost_bound
from propriety.evaluation.budgets import budget_curve
from propriety.evaluation.calibration import (
    calibration_cross_entropy,
    calibration_error,
    calibration_slope,
    calibration_slope_estimate,
    mean_regret,
    mse_to_truth,
    reliability,
)
from propriety.evaluation.comparison import compare, holm
from propriety.evaluation.decisions import (
    cost_scorer,
    costs_of,
    decide,
    expected_cost,
    mean_cost,
    threshold,
)
from propriety.evaluation.decomposition import decomposition, recalibrate
from propriety.evaluation.dominance import dominance
from propriety.evaluation.flips import nearest_flip
from propriety.evaluation.guarantees import margin_bound, weak_learning
from propriety.evaluation.importance import importance
from propriety.evaluation.margin_curves import margin_distribution, normalized_margins
from propriety.evaluation.murphy import murphy_curve, murphy_difference
from propriety.evaluation.ranking import ranking_curve
from propriety.evaluation.savings import cost_summary, savings
from propriety.evaluation.scores import losses_of, mean_loss, scorer
from propriety.evaluation.sensitivity import cost_sensitivity
from propriety.evaluation.subgroups import subgroups
from propriety.evaluation.thresholds import (
    best_threshold,
    cost_curve,
    decision_curve,
)
from propriety.evaluation.traces import qq_trace

__all__ = [
    "best_threshold",
    "bias_variance",
    "budget_curve",
    "calibration_cross_entropy",
    "calibration_error",
    "calibration_slope",
    "calibration_slope_estimate",
    "compare",
    "cost_bound",
    "cost_curve",
    "cost_scorer",
    "cost_sensitivity",
    "cost_summary",
    "costs_of",
    "decide",
    "decision_curve",
    "decompose_fits",
    "decomposition",
    "dominance",
    "excess_cost_bound",
    "expected_cost",
    "holm",
    "importance",
    "losses_of",
    "margin_bound",
    "margin_distribution",
    "mean_cost",
    "mean_loss",
    "mean_regret",
    "mse_to_truth",
    "murphy_curve",
    "murphy_difference",
    "nearest_flip",
    "normalized_margins",
    "qq_trace",
    "ranking_curve",
    "recalibrate",
    "reliability",
    "savings",
    "scorer",
    "subgroups",
    "threshold",
    "weak_learning",
]
