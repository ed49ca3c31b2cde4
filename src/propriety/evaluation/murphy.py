"""The Murphy diagram: cost-weighted loss at every threshold, exactly.

At the threshold c, a false alarm costs c and a miss 1 − c, and class 1 is decided iff p ≥ c. With A(c) the
share of rows that are missed positives and B(c) the share of false alarms, the mean cost-weighted loss is

    M(c) = (1 − c) A(c) + c B(c),

linear between consecutive values of p, so K distinct probabilities give K + 1 pieces and no grid is needed.
Every proper score is an area under it: mean loss = ∫ M(c) ω(c) dc. [B §6, §20]

The difference of two models on the same rows is a function of the same form, with shares that have a sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from propriety import losses
from propriety.aliases import Label, RandomState
from propriety.cached_properties import cached_property
from propriety.costs import ResolvedCosts
from propriety.evaluation import inputs
from propriety.evaluation.condensing import Counted, condensed
from propriety.evaluation.inputs import Array
from propriety.evaluation.scores import as_loss
from propriety.losses.point import check_probability, product
from propriety.losses.value import number


@dataclass(frozen=True, eq=False)
class MurphyCurve:
    """Mean cost-weighted loss of one model, or the difference of two, at every threshold.

    `murphy_curve` and `murphy_difference` make it. Rows are sampled, weights are given: standard errors do
    not change when all weights are doubled.

    Attributes
    ----------
    y, p, weight : arrays of shape (n,)
        The rows with a positive weight; of Dask collections the distinct ones, with the weight of all alike.
    other : array of shape (n,) or None
        Probabilities of the second model, if this is a difference.
    times : array of shape (n,) or None
        How many rows each entry stands for; None: one.
    knots : array of shape (K,)
        Distinct probabilities in increasing order.
    miss, alarm : arrays of shape (K + 1,)
        A and B for c in (knots[k−1], knots[k]]: M(c) = (1 − c) miss + c alarm.
    """

    y: Array
    p: Array
    weight: Array
    other: Array | None = None
    times: Array | None = None

    def __call__(self, c: ArrayLike) -> Any:
        """M(c)."""
        c = check_probability("c", c)
        value = self._value(c, self._piece(c))
        return float(value) if value.ndim == 0 else value

    def area(self, loss: Any, low: float = 0.0, high: float = 1.0) -> float:
        """∫ M(c) ω(c) dc over [low, high]: over [0, 1] the mean of that loss.

        `loss` may also be a function, the weight ω itself. What a loss charges even for being certain and
        right, as `losses.Mu` does, is no part of the area.

        >>> curve = murphy_curve([0, 1, 1], [0.2, 0.6, 0.9])
        >>> round(curve.area("Squared"), 12), round(curve.area(lambda c: 2 + 0 * c), 9)
        (0.07, 0.07)
        """
        low, high = number("low", low, 0, 1, "both"), number("high", high, 0, 1, "both")
        if low > high:
            raise ValueError(f"low must be at most high, got {low} and {high}")
        is_weight = callable(loss) and not isinstance(loss, losses.Loss | losses.Composite)
        loss = losses.from_weight(loss) if is_weight else as_loss(loss)
        edges = np.clip(np.concatenate([[0.0], self.knots, [1.0]]), low, high)
        one, zero = np.asarray(loss.loss(1.0, edges)), np.asarray(loss.loss(0.0, edges))
        with np.errstate(invalid="ignore"):
            # ∫(1 − c) ω = L₁(a) − L₁(b), ∫ c ω = L₀(b) − L₀(a) on the piece (a, b]; an empty one has no area.
            fall = np.where(edges[:-1] < edges[1:], one[:-1] - one[1:], 0.0)
            rise = np.where(edges[:-1] < edges[1:], zero[1:] - zero[:-1], 0.0)
        return float(np.sum(product(self.miss, fall) + product(self.alarm, rise)))

    def standard_error(self, c: ArrayLike) -> Any:
        """Standard error of M(c) over samples of rows."""
        c = check_probability("c", c)
        error = self._error(c, self._piece(c))
        return float(error) if error.ndim == 0 else error

    def band(
        self,
        c: ArrayLike,
        level: float = 0.95,
        *,
        simultaneous: bool = False,
        n_resamples: int = 1000,
        random_state: RandomState = 0,
    ) -> tuple[Array, Array]:
        """Lower and upper confidence limits of M at the thresholds c.

        Pointwise limits are normal ones. Simultaneous limits hold for all thresholds at once: the same
        standard errors times the level's quantile of the largest standardized deviation, found by giving the
        rows random normal multipliers `n_resamples` times.

        >>> curve = murphy_curve([0, 1, 1, 0], [0.2, 0.6, 0.9, 0.7])
        >>> low, high = curve.band([0.3, 0.5])
        >>> bool((low <= curve([0.3, 0.5])).all() and (curve([0.3, 0.5]) <= high).all())
        True
        """
        centre = np.asarray(self(c))
        factor = self.factor(
            level, simultaneous=simultaneous, n_resamples=n_resamples, random_state=random_state
        )
        error = factor * np.asarray(self.standard_error(c))
        low, high = centre - error, centre + error
        # One model's cost-weighted loss is never below 0 nor above the dearer of the two mistakes.
        if self.other is None:
            c = np.asarray(c, dtype=np.float64)
            low, high = np.maximum(low, 0.0), np.minimum(high, np.maximum(c, 1 - c))
        return low, high

    def factor(
        self,
        level: float = 0.95,
        *,
        simultaneous: bool = False,
        n_resamples: int = 1000,
        random_state: RandomState = 0,
    ) -> float:
        """Half the width of the band, in standard errors: the same at every threshold."""
        level = number("level", level, 0, 1)
        if simultaneous:
            return float(np.quantile(self.deviations(n_resamples, random_state), level))
        return float(stats.norm.ppf((1 + level) / 2))

    def deviations(
        self, n_resamples: int = 1000, random_state: RandomState = 0, low: float = 0.0, high: float = 1.0
    ) -> Array:
        """Largest |deviation|/standard error over [low, high] in samples of the multiplier bootstrap."""
        rng = np.random.default_rng(random_state)
        at = self._representative(low, high)
        error = np.asarray(self.standard_error(at))
        mean = np.asarray(self(at))
        usable = error > 1e-12 * max(float(error.max(initial=0.0)), 1e-300)
        if not usable.any():
            return np.zeros(n_resamples)
        at, error, mean = at[usable], error[usable], mean[usable]
        # A sum of weighted normals over the rows of one cell, that are decided alike at all of these
        # thresholds, is one normal.
        models = [self.p] if self.other is None else [self.p, self.other]
        shape = (2, *(len(at) + 1 for _ in models))
        reached = [np.searchsorted(at, q, side="right") for q in models]
        squares = np.bincount(np.ravel_multi_index((self.y.astype(int), *reached), shape), self._squares)
        cells = np.column_stack(np.unravel_index(np.flatnonzero(squares), shape))
        scale = np.sqrt(squares[squares > 0]) / self.weight.sum()
        out = np.empty(n_resamples)
        for r in range(n_resamples):
            w = scale * rng.standard_normal(len(scale))
            moved = _totals(w, cells, at) - mean * w.sum()
            out[r] = np.max(np.abs(moved) / error)
        return out

    @cached_property
    def knots(self) -> Array:
        """Distinct probabilities of one model or of both, in increasing order."""
        return np.unique(self.p if self.other is None else np.concatenate([self.p, self.other]))

    @cached_property
    def miss(self) -> Array:
        """A(c) on each piece: the weighted share of missed positives (of a difference, with a sign)."""
        return self._signed(self.weight * self.y, above=False) / self.weight.sum()

    @cached_property
    def alarm(self) -> Array:
        """B(c) on each piece: the weighted share of false alarms (of a difference, with a sign)."""
        return self._signed(self.weight * (1 - self.y), above=True) / self.weight.sum()

    @cached_property
    def _squares(self) -> Array:
        """Σ of the squared weights of the rows that each entry stands for."""
        return self.weight**2 if self.times is None else self.weight**2 / self.times

    @cached_property
    def _miss1(self) -> Array:
        return self._signed(self._squares * self.y, above=False)

    @cached_property
    def _alarm1(self) -> Array:
        return self._signed(self._squares * (1 - self.y), above=True)

    @cached_property
    def _miss2(self) -> Array:
        return self._either(self._squares * self.y, above=False)

    @cached_property
    def _alarm2(self) -> Array:
        return self._either(self._squares * (1 - self.y), above=True)

    def _signed(self, w: Array, *, above: bool) -> Array:
        """Σ w over rows with p < c (or p ≥ c) on each piece, less the same for the other model."""
        of_p = self._sum(self.p, w, above)
        return of_p if self.other is None else of_p - self._sum(self.other, w, above)

    def _either(self, w: Array, *, above: bool) -> Array:
        """Σ w over rows that one model gets wrong and the other does not."""
        if self.other is None:
            return self._sum(self.p, w, above)
        first, last = np.minimum(self.p, self.other), np.maximum(self.p, self.other)
        return np.abs(self._sum(first, w, above) - self._sum(last, w, above))

    def _sum(self, p: Array, w: Array, above: bool) -> Array:
        mass = np.bincount(np.searchsorted(self.knots, p), w, minlength=len(self.knots))
        if above:
            return np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0]])
        return np.concatenate([[0.0], np.cumsum(mass)])

    def _piece(self, c: Array) -> np.ndarray:
        return np.searchsorted(self.knots, c, side="left")

    def _value(self, c: Array, k: np.ndarray) -> Array:
        return (1 - c) * self.miss[k] + c * self.alarm[k]

    def _error(self, c: Array, k: np.ndarray) -> Array:
        n = len(self.y) if self.times is None else self.times.sum()
        mean = self._value(c, k)
        if n == 1:
            return np.full_like(mean, np.inf)
        squares = (1 - c) ** 2 * self._miss2[k] + c**2 * self._alarm2[k]
        cross = (1 - c) * self._miss1[k] + c * self._alarm1[k]
        spread = squares - 2 * mean * cross + mean**2 * np.sum(self._squares)
        return np.sqrt(np.maximum(spread, 0.0) * n / (n - 1)) / self.weight.sum()

    def corners(
        self, low: float = 0.0, high: float = 1.0, most: int | None = None
    ) -> tuple[Array, Array, Array]:
        """Thresholds, values and standard errors at both ends of every piece within [low, high].

        A piece begins just after a knot; its first corner is the limit from the right, so a threshold appears
        twice where the curve jumps. Drawn through its corners the curve is exact. Of a curve with more than
        `most` corners so many thresholds are returned, half of them evenly spaced and half where
        probabilities lie: there the values are exact, and straight lines stand for what is between.
        """
        edges = np.concatenate([[0.0], self.knots, [1.0]])
        k = np.flatnonzero((edges[1:] >= low) & (edges[:-1] < high) & (edges[:-1] < edges[1:]))
        if most is not None and 2 * len(k) > most:
            inside = np.clip(edges[k + 1], low, high)
            spread = inside[np.linspace(0, len(k) - 1, most // 2).astype(np.intp)]
            c = np.unique(np.concatenate([np.linspace(low, high, most - most // 2), spread]))
            return c, np.asarray(self(c)), np.asarray(self.standard_error(c))
        c = np.clip(np.column_stack([edges[k], edges[k + 1]]), low, high).ravel()
        k = np.repeat(k, 2)
        return c, self._value(c, k), self._error(c, k)

    def _representative(self, low: float, high: float, most: int = 400) -> Array:
        """At most `most` thresholds that stand for all pieces within [low, high]."""
        inside = self.knots[(self.knots > low) & (self.knots < high)]
        if len(inside) > most:
            inside = inside[np.linspace(0, len(inside) - 1, most).astype(int)]
        return np.unique(np.concatenate([[max(low, 1e-9)], inside, [min(high, 1 - 1e-9)]]))


def murphy_curve(
    y: ArrayLike,
    p: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    pos_label: Label | None = None,
    fp_cost: ArrayLike | None = None,
    fn_cost: ArrayLike | None = None,
) -> MurphyCurve:
    """The Murphy diagram of one model: mean cost-weighted loss at every threshold.

    With costs that differ by row, each row is weighted by what is at stake in it, fp_cost + fn_cost: the
    curve is then the mean over a unit of stake, not over a row, and a row of large stakes counts for more.

    Rows may be in Dask collections with the same partitions: distinct ones are counted where they are.

    Parameters
    ----------
    y : array of labels
    p : array of shape (n,) or (n, 2)
        Probabilities of class 1, or ``predict_proba``.
    sample_weight : array of shape (n,), optional
    pos_label : label, optional
        The label of class 1; by default 1, or the last of two labels in sorted order.
    fp_cost, fn_cost : float or array of shape (n,), optional
        Costs of each row, whose sum weighs it; numbers for all rows change nothing.

    Examples
    --------
    >>> curve = murphy_curve([0, 1, 1], [0.2, 0.6, 0.9])
    >>> curve(0.7), round(curve.area("Log"), 6)
    (0.1, 0.279777)
    >>> murphy_curve([0, 1, 1], [0.2, 0.6, 0.9], fp_cost=1, fn_cost=[1, 9, 1])(0.7).__round__(6)
    0.214286
    """
    given = condensed(y=y, p=p, sample_weight=sample_weight, fp_cost=fp_cost, fn_cost=fn_cost)
    rows = inputs.read(given["y"], given["p"], _staked(given), pos_label)
    return MurphyCurve(rows.y, rows.p, rows.weight, times=rows.times)


def murphy_difference(
    y: ArrayLike,
    p: ArrayLike,
    other: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    pos_label: Label | None = None,
    fp_cost: ArrayLike | None = None,
    fn_cost: ArrayLike | None = None,
) -> MurphyCurve:
    """Murphy curve of `p` less that of `other` on the same rows: below 0 where `p` is better.

    Its standard errors know that the rows are the same, so they are far smaller than those of two curves.
    Costs of rows weigh them as in `murphy_curve`.

    >>> d = murphy_difference([0, 1, 1], [0.2, 0.6, 0.9], [0.2, 0.4, 0.9])
    >>> round(d(0.5), 12), d(0.95)
    (-0.166666666667, 0.0)
    """
    given = condensed(y=y, p=p, other=other, sample_weight=sample_weight, fp_cost=fp_cost, fn_cost=fn_cost)
    weight = _staked(given)
    rows = inputs.read(given["y"], given["p"], weight, pos_label)
    second = inputs.read(given["y"], given["other"], weight, pos_label)
    return MurphyCurve(rows.y, rows.p, rows.weight, second.p, rows.times)


def _staked(given: dict[str, Any]) -> Any:
    """Weights times what is at stake in each row; as given, if no costs are."""
    fp_cost, fn_cost, weight = given["fp_cost"], given["fn_cost"], given["sample_weight"]
    if fp_cost is None and fn_cost is None:
        return weight
    costs = ResolvedCosts.of_mistakes(
        1.0 if fp_cost is None else fp_cost, 1.0 if fn_cost is None else fn_cost
    )
    n = len(np.asarray(given["y"]))
    costs.check_rows(n)
    if isinstance(weight, Counted):
        return Counted(weight.each * costs.stake, weight.times)
    return inputs.weights(weight, n) * costs.stake


def _totals(w: Array, cells: np.ndarray, at: Array) -> Array:
    """Σ w ℓ_c over cells at the thresholds `at`, less the same of the other model.

    A cell is a label and, for each model, the number of thresholds that its probability reaches.
    """
    value, y = np.zeros(len(at)), cells[:, 0]
    for place, sign in zip(cells[:, 1:].T, (1, -1), strict=False):
        # Reaching k thresholds is a miss from the next one on, an alarm up to the last of them.
        positive = np.bincount(place, w * y, minlength=len(at) + 1)
        negative = np.bincount(place, w * (1 - y), minlength=len(at) + 1)
        missed, alarmed = np.cumsum(positive)[:-1], negative.sum() - np.cumsum(negative)[:-1]
        value += sign * ((1 - at) * missed + at * alarmed)
    return value
