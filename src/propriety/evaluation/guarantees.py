"""What theory promises of a fitted booster, beside what was observed: weak learning and margins.

Both read the scores after every round, ``staged_decision_function``, as scikit-learn's boosters have it
too: round t adds α_t h_t with α_t the largest change of a score and |h_t| ≤ 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from sklearn.utils.validation import check_is_fitted

from propriety import losses
from propriety.aliases import MatrixLike
from propriety.evaluation.condensing import refuse_collections
from propriety.evaluation.inputs import Array
from propriety.evaluation.scores import class_index
from propriety.losses.bent_links import Interpolated, Recalibrated
from propriety.losses.value import number
from propriety.model.base import ProperClassifier

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from propriety.losses.registry import LossLike

_SCIKIT_LEARN = {"log_loss": "Log", "exponential": "Exponential"}
_LEAVES = 31  # the most that "auto" stands for


@dataclass(frozen=True, eq=False)
class WeakLearning:
    """Rounds made, and rounds that suffice if every weak learner has an edge; `weak_learning` makes it.

    Attributes
    ----------
    rounds : int
        Rounds that were made.
    bound : float
        Rounds that suffice to reach the least loss by [N8 Thm 2, N9 (43)], 4 m b a_m²/(a_φ a_Z² a_γ²); nan if
        the loss is no convex margin loss, infinite if an edge is 0 or φ″ is not bounded.
    edges : array of shape (rounds,)
        γ_t = |Σ w y* h|/Σ w of each round, in [0, 1] for |h| ≤ 1.
    exact : bool
        Whether every round took the step of zero edge that the theorem asks for. A learning rate takes
        smaller ones, and then the bound is no promise.
    """

    rounds: int
    bound: float
    edges: Array
    exact: bool

    def __str__(self) -> str:
        edges = (
            f"edges {self.edges[0]:.3g} (first) to {self.edges[-1]:.3g} (last)" if len(self.edges) else "none"
        )
        if np.isnan(self.bound):
            return f"{self.rounds} rounds, {edges}; no bound, because the loss is no convex margin loss"
        if np.isinf(self.bound):
            return f"{self.rounds} rounds, {edges}; no finite bound: an edge is 0, or phi'' is not bounded"
        caveat = "" if self.exact else ", for exact steps, which these are not"
        return f"{self.rounds} rounds, {edges}; {self.bound:.3g} rounds suffice by weak learning{caveat}"


def weak_learning(
    model: BaseEstimator,
    X: MatrixLike | None = None,
    y: ArrayLike | None = None,
    *,
    loss: LossLike | None = None,
) -> WeakLearning:
    """The weak learning bound of a fitted booster, and its edges. [N8 Thm 2, N9 Thm 2]

    Parameters
    ----------
    model : LinearClassifier(solver="uls"), or a booster with ``staged_decision_function``
    X, y : the training rows
        Not needed for LinearClassifier, which keeps its report.
    loss : composite, optional
        The loss that was boosted; by default the model's, before ``calibrate`` bent its link.

    Examples
    --------
    >>> import numpy as np
    >>> from propriety import LinearClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-1.0, 1.0], size=(100, 3))
    >>> y = X[:, 0] + X[:, 1] + rng.normal(size=100) > 0
    >>> result = weak_learning(LinearClassifier("Matsushita", solver="uls").fit(X, y))
    >>> result.rounds < result.bound, result.exact
    (True, True)
    """
    refuse_collections(X=X, y=y)
    check_is_fitted(model)
    report = getattr(model, "report_", None)
    if report is not None:
        known = np.array([r.edge for r in report.rounds])
        return WeakLearning(len(known), float(report.bound), known, True)
    composite = composite_of(model, loss)
    while loss is None and isinstance(composite.link, Interpolated | Recalibrated):  # bent after the rounds
        composite = losses.Composite(composite.loss, composite.link.base)
    if not composite.has_margin_form:
        composite.margin_loss(0.0)  # raises with the reason
    sign, staged = _staged(model, X, y)
    score, exact = np.zeros(len(sign)), True
    edges: list[float] = []
    totals: list[float] = []
    for new in staged:
        change = new - score
        w = np.asarray(composite.example_weight(sign * score))
        size = np.max(np.abs(change))
        total = float(np.abs(w).sum())
        edges.append(
            abs(float(np.sum(w * sign * change))) / (total * size) if size > 0 and total > 0 else 0.0
        )
        totals.append(total)
        after = np.asarray(composite.example_weight(sign * new))
        left = abs(float(np.sum(after * sign * change)))
        exact = exact and left <= 1e-6 * float(np.sum(after * np.abs(change)))
        score = new
    return WeakLearning(len(edges), _rounds(composite, len(sign), edges, totals), np.array(edges), exact)


def _rounds(composite: losses.Composite, m: int, edges: list[float], totals: list[float]) -> float:
    if not edges:
        return float("nan")
    # a_m² = max ‖m_t‖² ≤ m for |h| ≤ 1.
    return composite.rounds_by_weak_learning(m, m, min(totals), float(np.mean(edges)))


@dataclass(frozen=True)
class MarginBound:
    """An upper bound on the error of a fitted booster by its margins; `margin_bound` makes it.

    Attributes
    ----------
    error, test_error : float
        Observed share of wrong signs on the training rows, and on test rows if they were given.
    bound : float
        With probability 1 − δ the true error is below it, for every θ at once: share + (4/θ) R + √(log
        log₂(2/θ)/m) + √(log(2/δ)/2m), with R = √(2 log Π/m) and Π the number of ways in which a weak
        learner can label m rows (Koltchinskii & Panchenko 2002). Above 1 it says nothing.
    theta : float
        The normalized margin at which the bound is least.
    share : float
        Share of training rows with y* F/‖w‖₁ ≤ θ.
    paper : float
        share + √((d log²(m/d)/θ² + log(1/δ))/m) at the same θ: the form of [M §3.2, Theorem 1], which
        leaves its constant open; here it is 1, so it is a measure and not a bound.
    norm : float
        ‖w‖₁ = Σ_t α_t.
    strength : float
        ρ(0), the regularization strength of the loss.
    kappa : float
        ρ(0)/‖w‖₁, the generalization factor [M (18)]: the larger the better.
    smallest_margin : float
        min y* F/‖w‖₁, below 0 if a training row is wrong.
    vc_dimension : float
        Of the weak learners, or an upper bound.
    """

    error: float
    test_error: float | None
    bound: float
    theta: float
    share: float
    paper: float
    norm: float
    strength: float
    kappa: float
    smallest_margin: float
    vc_dimension: float

    def __str__(self) -> str:
        test = "" if self.test_error is None else f", on test rows {self.test_error:.3g}"
        worth = "" if self.bound < 1 else ", which says nothing"
        return (
            f"error {self.error:.3g} on training rows{test}; "
            f"margin bound {self.bound:.3g} at θ = {self.theta:.3g}{worth}; κ = {self.kappa:.3g}"
        )


def margin_bound(
    model: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    X_test: MatrixLike | None = None,
    y_test: ArrayLike | None = None,
    n_leaves: int | None = None,
    vc_dimension: float | None = None,
    delta: float = 0.05,
    loss: LossLike | None = None,
) -> MarginBound:
    """The margin bound of a fitted booster beside its errors, and its generalization factor. [M §3.2]

    Parameters
    ----------
    model : LinearClassifier, or a booster with ``staged_decision_function``
    X, y : the training rows
    X_test, y_test : optional
        Rows to observe the error on.
    n_leaves : int, optional
        Most leaves of a weak learner that is a tree; by default from ``max_leaf_nodes`` or ``max_depth``.
    vc_dimension : float, optional
        Of the weak learners, instead.
    delta : float
        The bound may fail with this probability.
    loss : composite, optional
        The loss that was boosted; by default the model's.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GradientBoostingClassifier(max_depth=1, n_estimators=50, random_state=0).fit(X, y)
    >>> result = margin_bound(model, X, y)
    >>> result.error < 0.05 < result.bound
    True
    """
    refuse_collections(X=X, y=y)
    check_is_fitted(model)
    delta = number("delta", delta, 0, 1)
    if hasattr(model, "coef_"):
        margins, norm, log_growth = _linear(model, X, y)
    else:
        sign, staged = _staged(model, X, y)
        score, norm = np.zeros(len(sign)), 0.0
        for new in staged:
            norm += float(np.max(np.abs(new - score)))
            score = new
        margins = sign * score / norm
        leaves = _leaves(model) if n_leaves is None and vc_dimension is None else (n_leaves or 2)
        log_growth = _tree_growth(leaves, np.shape(X)[1])
    m = len(margins)
    if vc_dimension is not None:
        d = number("vc_dimension", vc_dimension, 0, np.inf)
        growth = d * np.log(np.e * m / d) if m > d else m * np.log(2)
    else:
        d, growth = _vc_dimension(log_growth), log_growth(m)
    theta, share = _candidates(margins)
    term = 4 / theta * np.sqrt(2 * growth / m) + np.sqrt(np.log(np.log2(2 / theta)) / m)
    total = share + term + np.sqrt(np.log(2 / delta) / (2 * m))
    k = int(np.argmin(total))
    ratio = np.log(max(m / d, 1.0)) ** 2
    paper = share[k] + np.sqrt((d * ratio / theta[k] ** 2 + np.log(1 / delta)) / m)
    strength = float(composite_of(model, loss).regularization_strength(0.0))
    test_error = None
    if X_test is not None:
        sign = 2.0 * class_index(y_test, model.classes_) - 1  # type: ignore[arg-type]
        test_error = float(np.mean(sign * np.asarray(model.decision_function(X_test)) <= 0))
    return MarginBound(
        float(np.mean(margins <= 0)),
        test_error,
        float(total[k]),
        float(theta[k]),
        float(share[k]),
        float(paper),
        norm,
        strength,
        strength / norm,
        float(margins.min()),
        float(d),
    )


def composite_of(model: Any, loss: Any = None) -> losses.Composite:
    """The composite that a model was fitted with; scikit-learn's names for its losses are known."""
    if loss is not None:
        return losses.as_composite(loss)
    if isinstance(model, ProperClassifier):
        return losses.as_composite(model.loss_)
    name = getattr(model, "loss", None)
    if isinstance(name, str) and name in _SCIKIT_LEARN:
        return losses.as_composite(_SCIKIT_LEARN[name])
    raise TypeError(f"the loss of {type(model).__name__} is not known; give loss=")


def _staged(model: Any, X: Any, y: Any) -> tuple[Array, Any]:
    if not hasattr(model, "staged_decision_function"):
        raise TypeError(
            f"{type(model).__name__} has no staged_decision_function, so its rounds cannot be seen; "
            "use a booster"
        )
    if X is None or y is None:
        raise ValueError("give X and y, the rows the model was trained on")
    if len(model.classes_) != 2:
        raise ValueError(f"margins are for two classes, and the model has {len(model.classes_)}")
    sign = 2.0 * class_index(y, model.classes_) - 1
    return sign, (np.ravel(stage) for stage in model.staged_decision_function(X))


def _linear(model: Any, X: Any, y: Any) -> tuple[Array, float, Any]:
    """Columns scaled to [−1, 1] and a constant are the weak learners, with either sign."""
    if len(model.classes_) != 2:
        raise ValueError(f"margins are for two classes, and the model has {len(model.classes_)}")
    columns = np.asarray(X, dtype=np.float64)
    size = np.max(np.abs(columns), axis=0)
    norm = float(np.sum(np.abs(model.coef_[0]) * size) + abs(float(np.ravel(model.intercept_)[0])))
    sign = 2.0 * class_index(y, model.classes_) - 1
    many = 2 * (columns.shape[1] + 1)
    return sign * model.decision_function(X) / norm, norm, lambda m: min(np.log(many), m * np.log(2))


def _leaves(model: Any) -> int:
    leaves, depth = getattr(model, "max_leaf_nodes", None), getattr(model, "max_depth", None)
    leaves = _LEAVES if isinstance(leaves, str) else leaves
    most = [n for n in (leaves, 2**depth if depth is not None else None) if n is not None]
    if not most:
        raise ValueError(f"{type(model).__name__} does not say how large its trees may be; give n_leaves")
    return int(min(most))


def _tree_growth(leaves: int, features: int) -> Any:
    """Logarithm of the number of labellings of m rows by trees with so many leaves and one feature a split.

    At most Catalan(L − 1) ≤ 4^(L−1) shapes, m·features splits at each of L − 1 nodes, and two labels a leaf.
    """

    def log_growth(m: float) -> float:
        log_many = (leaves - 1) * (np.log(4) + np.log(m * features)) + leaves * np.log(2)
        return float(min(log_many, m * np.log(2)))

    return log_growth


def _vc_dimension(log_growth: Any) -> float:
    """The largest m that the count of labellings does not forbid to shatter."""

    def gap(m: float) -> float:
        return log_growth(m) - m * np.log(2) * (1 - 1e-9)

    high = 2.0
    while gap(high) > 0:
        high *= 2
    return float(brentq(gap, 1e-3, high)) if gap(1e-3) > 0 else 1.0


def _candidates(margins: Array) -> tuple[Array, Array]:
    """Values of θ in (0, 1] at which the bound can be least, and the share of margins up to each.

    Between margins the share stands still and the rest of the bound falls, so θ just below a margin is best.
    """
    ordered = np.sort(margins)
    theta = np.unique(np.concatenate([ordered[ordered > 0], [1.0]]))
    theta = np.minimum(theta, 1.0)
    below = np.searchsorted(ordered, theta * (1 - 1e-12), side="right")
    return theta * (1 - 1e-12), below / len(ordered)
