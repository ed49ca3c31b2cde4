"""The algorithms of the five papers, one name each: an estimator with its parameters set.

>>> from propriety import algorithms
>>> algorithms.names("TreeClassifier")
['udt', 'cascade_up', 'cascade_down']
>>> algorithms.make("real_adaboost", max_iter=30)
BoostingClassifier(...)

Any other parameter of the estimator goes with the name, and overrides the algorithm's own. They take the
paper's steps exactly: boosting starts at a score of 0, nothing is shrunk, and leaves may be as small as one
row; linear separators and rules have no constant feature; a tree's probabilities are its leaves' shares.
``BoostingClassifier(algorithm="real_adaboost")`` takes the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from propriety import losses
from propriety.model.catalogue import ESTIMATORS

__all__ = ["make", "names"]


@dataclass(frozen=True)
class PublishedAlgorithm:
    """A published algorithm.

    Attributes
    ----------
    name : str
    estimator : str
        The class that runs it.
    parameters : dict
        Those that make it this algorithm.
    place : str
        Where it is in the papers, as docstrings cite them.
    title : str
        What a round or a step does.
    """

    name: str
    estimator: str
    parameters: Mapping[str, Any]
    place: str
    title: str


_PLAIN_TREE = {
    "splits": "exact",
    "growth": "best",
    "max_leaf_nodes": None,
    "min_samples_leaf": 1,
    "smoothing": None,
}


def _boosting(name: str, place: str, title: str) -> PublishedAlgorithm:
    return PublishedAlgorithm(name, "BoostingClassifier", {"algorithm": name}, place, title)


def _linear(name: str, place: str, title: str, **parameters: Any) -> PublishedAlgorithm:
    return PublishedAlgorithm(name, "LinearClassifier", parameters, place, title)


def _updates(name: str, place: str, title: str, **parameters: Any) -> PublishedAlgorithm:
    return _linear(name, place, title, fit_intercept=False, **parameters)


def _rules(name: str, title: str, **parameters: Any) -> PublishedAlgorithm:
    own = {"fit_intercept": False, **parameters}
    return PublishedAlgorithm(
        name, "RuleClassifier", own, "[N8 §6]" if parameters else "[N8 §6], [N9 §5]", title
    )


def _tree(name: str, place: str, title: str, loss: losses.Loss) -> PublishedAlgorithm:
    return PublishedAlgorithm(name, "TreeClassifier", {"loss": loss, **_PLAIN_TREE}, place, title)


_ROWS = (
    # -- boosting
    _boosting(
        "discrete_adaboost",
        "[C §6]",
        "a classifier ±1, grown by Gini's index of the weighted labels, times ½ log((1 − ε)/ε)",
    ),
    _boosting(
        "real_adaboost",
        "[N8 §6]",
        "leaves of ½ log(W⁺/W⁻); one of a single class gets the score of 1 − 1/(2n + 2)",
    ),
    _boosting(
        "gentle_adaboost",
        "[B §10]",
        "leaves of the weighted mean label, a Newton step of the exponential loss",
    ),
    _boosting("logitboost", "[B §10]", "a regression tree of (y − p)/(p q) with weights p q"),
    _boosting(
        "boostlr",
        "[M Alg. 1]",
        "the histogram of largest Σ y*·w·g, g the weighted mean label of each bin; any margin loss",
    ),
    _boosting("boostlr_sign", "[M Alg. 1]", "the same with histograms of ±1"),
    _boosting(
        "uls",
        "[N8 Alg. 1], [N9 Fig. 4]",
        "a classifier ±1 times the coefficient of least loss; any convex margin loss",
    ),
    _boosting(
        "uls_corrective", "[N8 Alg. 1], [N9 Fig. 4]", "the same, and all coefficients again in every round"
    ),
    _boosting(
        "adaboost_mh",
        "[C §8]",
        "several classes, each against the rest: a classifier of one class times ½ log((Z + r)/(Z − r))",
    ),
    _boosting(
        "adaboost_m2",
        "[C §8]",
        "several classes, in pairs with the right one; the same step; p_l ∝ e^{2 f(x, l)}",
    ),
    _boosting(
        "multiclass_logistic",
        "[C §8]",
        "several classes by the logistic loss; the same step; probabilities by the softmax",
    ),
    # -- linear models
    _linear("irls", "[B §9]", "iteratively reweighted least squares with Fisher's weights", solver="fisher"),
    _linear("irls_newton", "[B §9]", "the same with Newton's weights", solver="newton"),
    _linear("tailored", "[B §12]", "a loss tailored to the costs, by Fisher scoring", loss="tailored"),
    _updates("uls_linear", "[N8 Alg. 1], [N9 Fig. 4]", "the column of largest edge", solver="uls"),
    _updates(
        "uls_linear_corrective",
        "[N8 Alg. 1], [N9 Fig. 4]",
        "the column of largest edge, and all so far again",
        solver="uls_corrective",
    ),
    _updates("parallel_update", "[C Fig. 1]", "all coefficients at once", solver="parallel"),
    _updates("sequential_update", "[C Fig. 2]", "the coefficient of largest edge", solver="sequential"),
    _updates("sequential_update_2", "[C §7]", "that of largest (√W⁺ − √W⁻)²", solver="sequential2"),
    _updates("confidence_update", "[C §6]", "a column together with its best step", solver="confidence"),
    _updates("dual_norm_update", "[C §7]", "between both by dual norms, solver=Norm(p)", solver="norm"),
    _updates("linear_program_update", "[C §7]", "steps scaled by a linear program", solver="lp"),
    _updates("generalized_iterative_scaling", "[C §9]", "for the log loss", solver="gis"),
    _updates("improved_iterative_scaling", "[C §9]", "for the log loss", solver="iis"),
    # -- rules
    _rules("uls_rules", "a monomial ±1 grown by the loss's entropy, times the coefficient of least loss"),
    _rules("uls_rules_f1", "in each round the loss of least errors, of the first bag", loss="bag", bag=1),
    _rules("uls_rules_f2", "the same, of the second bag", loss="bag", bag=2),
    _rules(
        "uls_rules_e1",
        "in each round the loss of largest edge, of the first bag",
        loss="bag",
        bag=1,
        choose="edge",
    ),
    _rules("uls_rules_e2", "the same, of the second bag", loss="bag", bag=2, choose="edge"),
    _rules("uls_rules_f_star", "one loss throughout, that of least errors: F*", loss="bag", choose="once"),
    # -- trees
    _tree(
        "udt",
        "[N9 Fig. 6]",
        "the leaf and the test that most lower Σ W·H(p), grown to the end unless max_leaf_nodes= says",
        losses.Log(),
    ),
    _tree("cascade_up", "[B §18]", "the same with H = q(1 − q¹⁶)", losses.CascadeUp(16)),
    _tree("cascade_down", "[B §18]", "the same with H = (1 − q)(1 − (1 − q)³¹)", losses.CascadeDown(31)),
)
#: All of them by name.
ALGORITHMS: Mapping[str, PublishedAlgorithm] = {row.name: row for row in _ROWS}


def names(estimator: str | None = None) -> list[str]:
    """Names of all algorithms, or of those that an estimator runs.

    >>> names("LinearClassifier")[:3]
    ['irls', 'irls_newton', 'tailored']
    """
    known = dict.fromkeys(row.estimator for row in _ROWS)
    if estimator is not None and estimator not in known:
        raise ValueError(f"estimator must be one of {', '.join(known)}, got {estimator!r}")
    return [row.name for row in _ROWS if estimator in (None, row.estimator)]


def make(name: str, **params: Any) -> Any:
    """The unfitted estimator of an algorithm; `params` are its other parameters.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from propriety import algorithms
    >>> X, y = make_classification(100, random_state=0)
    >>> algorithms.make("discrete_adaboost", max_iter=10).fit(X, y).score(X, y) > 0.8
    True
    >>> algorithms.make("uls_rules", loss="Matsushita()", n_rules=3).fit(X, y).n_iter_
    3
    """
    if name not in ALGORITHMS:
        raise ValueError(f"there is no algorithm {name!r}; there are {', '.join(ALGORITHMS)}")
    algorithm = ALGORITHMS[name]
    type_ = next(row.type for row in ESTIMATORS if row.name == algorithm.estimator)
    return type_(**algorithm.parameters).set_params(**params)
