"""Bounds, guarantees, margins, traces, bias and variance: the measures of the papers' theory."""

from propriety.evaluation.bias_variance import bias_variance, decompose_fits
from propriety.evaluation.bounds import cost_bound, excess_cost_bound
from propriety.evaluation.guarantees import margin_bound, weak_learning
from propriety.evaluation.margin_curves import margin_distribution, normalized_margins
from propriety.evaluation.traces import qq_trace

__all__ = [
    "bias_variance",
    "cost_bound",
    "decompose_fits",
    "excess_cost_bound",
    "margin_bound",
    "margin_distribution",
    "normalized_margins",
    "qq_trace",
    "weak_learning",
]
