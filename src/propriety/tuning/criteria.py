"""What a search is judged by: the cost of decisions, costs within a range, or another proper score.

Each is the mean of a value per row, so that losses can be compared row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicHermiteSpline

from propriety import losses
from propriety.costs import ResolvedCosts
from propriety.evaluation.scores import as_loss, losses_of
from propriety.losses.base import Loss
from propriety.losses.point import Array, Point
from propriety.losses.special import gauss_legendre
from propriety.losses.value import number, show
from propriety.weights import Weights

Floats = NDArray[np.float64]
_PANELS = 1024
#: Probabilities are kept this far from 0 and 1 when they are judged, so that no row decides alone.
CLIP = float(np.finfo(np.float64).eps)


@final
@dataclass(frozen=True, repr=False)
class CostSpread(Loss):
    """ℓ = ∫ ℓ_c dD(c): the mean of the cost-weighted losses over a distribution D of the threshold c.

    ℓ(0, p) = ∫_0^p c dD(c) and ℓ(1, p) = ∫_p^1 (1 − c) dD(c); `distribution` is one of SciPy's, frozen.

    >>> from scipy import stats
    >>> spread = CostSpread(stats.uniform(0.2, 0.2))
    >>> [round(float(spread.loss(1, p)), 12) for p in (0.1, 0.3, 0.5)]
    [0.7, 0.325, 0.0]
    """

    distribution: Any

    def __post_init__(self) -> None:
        # G(u) = ∫_0^u c(v) dv with c the quantile function, panel by panel; its slope is c itself.
        edges = np.linspace(0, 1, _PANELS + 1)
        nodes, weights = gauss_legendre(4)
        inside = edges[:-1, None] + np.asarray(nodes) / _PANELS
        panels = self.distribution.ppf(inside) @ np.asarray(weights) / _PANELS
        total = np.concatenate([[0.0], np.cumsum(panels)])
        spline = CubicHermiteSpline(edges, total, np.clip(self.distribution.ppf(edges), 0, 1))
        object.__setattr__(self, "_below", spline)

    def _partial0(self, x: Point) -> Array:
        return np.asarray(self._below(self.distribution.cdf(x.p)))  # type: ignore[attr-defined]

    def _partial1(self, x: Point) -> Array:
        beyond = self.distribution.sf(x.p)
        above = self._below(1.0) - self._partial0(x)  # type: ignore[attr-defined]
        return np.asarray(np.maximum(beyond - above, 0.0))

    def __repr__(self) -> str:
        return f"CostSpread({show_distribution(self.distribution)})"


@dataclass(frozen=True)
class Criterion:
    """A value per row, smaller is better.

    Attributes
    ----------
    loss : the loss whose value it is
    costs : those whose decisions are judged, instead of a loss; None if there are none
    cost : the threshold that the costs imply, at which tailored losses are aimed
    scale : rows to which numbers refer when they are told to people
    unit : what a number is, in words
    decided : how the log loss is used when this is what counts, to be added to its name
    """

    loss: Any
    costs: ResolvedCosts | None
    cost: float
    scale: float
    unit: str
    decided: str

    def values(self, y: NDArray[np.intp], P: Floats) -> Floats:
        """The value of each row with class index ``y`` and probabilities ``P`` of the classes."""
        costs = self.costs
        return losses_of(y, P, self.loss, clip=CLIP) if costs is None else costs.of_rows(y, costs.decide(P))

    def of(self, rows: ArrayLike) -> Criterion:
        """The same for some of the rows, whose costs may be their own."""
        return self if self.costs is None else replace(self, costs=self.costs.take(rows))

    def mean(self, y: NDArray[np.intp], P: Floats, sample_weight: ArrayLike | None = None) -> float:
        """The weighted mean over rows."""
        return float(Weights.read(sample_weight, len(y)).mean(self.values(y, P)))


def read(criterion: Any, costs: ResolvedCosts, weight: Floats | None = None) -> Criterion:
    """The criterion that the parameters of a search denote.

    >>> criterion = read("cost", ResolvedCosts.of_mistakes(1, 9))
    >>> criterion.values(np.array([0, 1]), np.array([[0.8, 0.2], [0.95, 0.05]]))
    array([1., 9.])
    """
    # Costs of rows have no threshold in common; tailored losses aim at that of their mean.
    cost = float(costs.mean(weight).boundary) if costs.n_classes == 2 else 0.5
    if isinstance(criterion, str) and criterion == "cost":
        unit, decided = _words(costs, cost)
        unit = f"cost of 1,000 decisions ({unit})"
        return Criterion(losses.CostWeighted(cost), costs, cost, 1000.0, unit, f", decided {decided}")
    distribution = _distribution(criterion)
    if distribution is not None:
        unit = f"cost of 1,000 decisions, mean over c ~ {show_distribution(distribution)}"
        mean = float(distribution.mean())
        return Criterion(CostSpread(distribution), None, mean, 1000.0, unit, ", decided at each cost")
    loss = _loss(criterion.loss if _recommended(criterion) else criterion)
    return Criterion(loss, None, cost, 1.0, f"mean {loss!r}", "")


def _words(costs: ResolvedCosts, cost: float) -> tuple[str, str]:
    """What decisions cost, and how they are made."""
    if costs.by_row:
        return "each row at its own costs", "by each row's own costs"
    if costs.plain:
        return "each mistake 1", "for the most probable class"
    if not costs.by_side:
        return "by the cost matrix", "by the cost matrix"
    return f"false alarm {costs.fp_cost:g}, miss {costs.fn_cost:g}", f"at {cost:.3g}"


def _recommended(criterion: Any) -> bool:
    from propriety.tuning.recommendation import Recommendation

    return isinstance(criterion, Recommendation)


def _loss(criterion: Any) -> Any:
    try:
        return as_loss(criterion)
    except TypeError as error:
        raise TypeError(
            "criterion must be 'cost', a range (low, high) or a SciPy distribution of the threshold "
            f"c = fp_cost/(fp_cost + fn_cost), or a proper loss or its name; got {criterion!r}"
        ) from error


def _distribution(criterion: Any) -> Any:
    """A frozen distribution of c; None if the criterion is no range of costs."""
    from scipy import stats

    if isinstance(criterion, tuple | list):
        if len(criterion) != 2:
            raise ValueError(f"a range of costs is a pair (low, high), got {criterion!r}")
        low = number("the lower end of criterion", criterion[0], 0, 1, closed="both")
        high = number("the upper end of criterion", criterion[1], 0, 1, closed="both")
        if low >= high:
            raise ValueError(
                f"criterion=({show(low)}, {show(high)}) is no range: give (low, high), low < high"
            )
        return stats.uniform(low, high - low)
    if not (hasattr(criterion, "ppf") and hasattr(criterion, "support")):
        return None
    low, high = criterion.support()
    if low < 0 or high > 1:
        raise ValueError(
            f"criterion must be a distribution of c = fp_cost/(fp_cost + fn_cost), within [0, 1]; "
            f"{show_distribution(criterion)} is one on [{low:g}, {high:g}]"
        )
    return criterion


def show_distribution(distribution: Any) -> str:
    """A frozen distribution as the call that makes it: beta(2, 18)."""
    name: Callable[..., Any] | str = getattr(getattr(distribution, "dist", None), "name", "distribution")
    args = [show(float(a)) for a in getattr(distribution, "args", ())]
    kwds = [f"{key}={show(value)}" for key, value in getattr(distribution, "kwds", {}).items()]
    return f"{name}({', '.join(args + kwds)})"
