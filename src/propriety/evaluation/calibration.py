"""Calibration: reliability with consistency bands, slopes, binned errors, distances from a known truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.optimize import minimize

from propriety.aliases import Label, RandomState
from propriety.evaluation import inputs
from propriety.evaluation.condensing import condensed, refuse_collections
from propriety.evaluation.decomposition import Recalibration, pool, recalibrate_rows
from propriety.evaluation.inputs import Array, Rows
from propriety.evaluation.scores import as_loss
from propriety.losses.point import check_probability
from propriety.losses.simplex import SimplexLoss
from propriety.losses.value import number
from propriety.weights import Z95, Estimate

if TYPE_CHECKING:
    from propriety.losses.registry import LossLike

_STEPS = 100  # of Newton's method at most
_LITTLE, _ROUNDING = 1e-18, 1e-12  # a mean loss that is not worth another step, and one that rounding may add
_SURE = 1e-12  # no probability is nearer to 0 where its logarithm is taken


@dataclass(frozen=True, eq=False)
class Reliability:
    """Recalibrated against stated probabilities, with bands of consistency; `reliability` makes it.

    Attributes
    ----------
    curve : Recalibration
        The isotonic reliability curve.
    at, low, high : arrays
        Where the recalibrated probability would lie at the stated probabilities `at`, with the given level
        at each, if the stated ones were right.
    level : float
    rows : Rows
        Labels, probabilities and weights.
    """

    curve: Recalibration
    at: Array
    low: Array
    high: Array
    level: float
    rows: Rows

    def __repr__(self) -> str:
        return f"Reliability(level={self.level:g}, outside={self.outside:.3g}, {self.curve!r})"

    @property
    def outside(self) -> float:
        """Share of the weight whose rate lies outside the band: about 1 − level if all is right."""
        rate = self.curve.rate
        low, high = np.interp(self.curve.p, self.at, self.low), np.interp(self.curve.p, self.at, self.high)
        beyond = (rate < low - 1e-12) | (rate > high + 1e-12)
        return float(np.sum(self.curve.weight * beyond) / self.curve.weight.sum())


def reliability(
    y: ArrayLike,
    p: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    level: float = 0.9,
    n_resamples: int = 500,
    random_state: RandomState = 0,
) -> Reliability:
    """The isotonic reliability curve and the band in which it would lie if the probabilities were right.

    The band is drawn from labels resampled by the stated probabilities, each sample recalibrated as the
    data are; it holds at each probability by itself. Rows may be in Dask collections; the curve is the same,
    and the band is drawn by other random numbers.

    >>> r = reliability([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.9])
    >>> r.curve.rate, bool((r.low <= r.high).all())
    (array([0. , 0.5, 0.5, 1. ]), True)
    """
    level = number("level", level, 0, 1)
    rows = inputs.read_counted(y, p, sample_weight, pos_label)
    curve = recalibrate_rows(rows)
    shown = np.arange(len(curve.p))
    if len(shown) > 500:
        shown = np.unique(np.linspace(0, len(shown) - 1, 500).astype(int))
    rng = np.random.default_rng(random_state)
    group = np.searchsorted(curve.p, rows.p)
    rates = np.empty((n_resamples, len(shown)))
    for r in range(n_resamples):
        positive = np.bincount(group, rows.weight * _drawn_share(rng, rows), minlength=len(curve.p))
        rates[r] = pool(positive / curve.weight, curve.weight)[shown]
    low, high = np.quantile(rates, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Reliability(curve, curve.p[shown], low, high, level, rows)


def _drawn_share(rng: np.random.Generator, rows: Rows) -> Array:
    """Of the rows that each entry stands for, the share that is of class 1 if probabilities are right."""
    if rows.times is None:
        return (rng.random(len(rows.p)) < rows.p).astype(np.float64)
    times = np.maximum(1, np.rint(rows.times)).astype(np.int64)
    return rng.binomial(times, rows.p) / times


def calibration_error(
    y: ArrayLike,
    p: ArrayLike,
    *,
    n_bins: int = 10,
    strategy: str = "uniform",
    norm: str = "l1",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Expected calibration error: mean distance of share of class 1 and mean probability over bins.

    Parameters
    ----------
    y : array of labels
    p : array of shape (n,) or (n, 2)
    n_bins : int
    strategy : "uniform" or "quantile"
        Bins of equal width or of equal weight.
    norm : "l1", "l2" or "max"
        Mean distance, root of the mean squared distance, or the largest.
    sample_weight : array of shape (n,), optional
    pos_label : label, optional

    Notes
    -----
    The answer depends on the bins, and is above 0 for a perfectly calibrated model of finite data; the
    miscalibration of `decomposition` needs no bins.

    Examples
    --------
    >>> calibration_error([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], n_bins=2)
    0.25
    """
    if norm not in ("l1", "l2", "max"):
        raise ValueError(f"norm must be 'l1', 'l2' or 'max', got {norm!r}")
    rows = inputs.read_counted(y, p, sample_weight, pos_label)
    bins = _bins(rows.p, rows.weight, n_bins, strategy)
    weight = np.bincount(bins, rows.weight)
    gap = np.bincount(bins, rows.weight * (rows.y - rows.p))[weight > 0]
    weight = weight[weight > 0]
    distance, share = np.abs(gap) / weight, weight / weight.sum()
    if norm == "max":
        return float(distance.max())
    return float(np.sum(share * distance)) if norm == "l1" else float(np.sqrt(np.sum(share * distance**2)))


def calibration_slope(
    y: ArrayLike,
    p: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> Estimate:
    """Slope b of the logistic recalibration a + b·log-odds: 1 is right, less says too much, more too little.

    With K > 2 classes it is the one slope of the log-probabilities, with an intercept for each class.
    The 95% interval is that of logistic regression, by Fisher's information; a row of weight k is k rows.

    Parameters
    ----------
    y : array of labels
    p : array of shape (n,), (n, 2) or (n, K)
        Probabilities of class 1, or of all classes in sorted order. Those nearer to 0 or 1 than 1e-12 count
        as that.
    sample_weight : array of shape (n,), optional
    labels : array of shape (K,), optional
        The classes of the columns in sorted order, if not all of them are in y; for more than two.
    pos_label : label, optional
        For two classes.

    Returns
    -------
    Estimate
        Of infinite value, of either sign, if a threshold tells two classes apart without a mistake. Of more
        than two classes without an interval.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1], [0.25, 0.25, 0.25, 0.25, 0.75, 0.75, 0.75, 0.75]
    >>> round(calibration_slope(y, p).value, 6)
    1.0
    >>> slope = calibration_slope(y * 20, ([0.1] * 4 + [0.9] * 4) * 20)  # too sure by half
    >>> round(slope.value, 6), slope.high < 1
    (0.5, True)
    """
    y, p, sample_weight = condensed(y=y, p=p, sample_weight=sample_weight).values()
    P = np.asarray(p, dtype=np.float64)
    if P.ndim == 2 and P.shape[1] > 2:
        P = check_probability("p", P)
        present, codes = np.unique(np.asarray(y), return_inverse=True)
        classes = present if labels is None else np.asarray(labels)
        if len(classes) != P.shape[1]:
            raise ValueError(
                f"p has {P.shape[1]} columns, and there are {len(classes)} classes; give labels, one a column"
            )
        if not np.isin(present, classes).all():
            raise ValueError(f"y holds labels that are not among labels={classes.tolist()}")
        codes = np.searchsorted(classes, present)[codes]
        inputs.same_length(y=codes, p=P)
        weight = inputs.weights(sample_weight, len(codes))
    else:
        return _logistic(inputs.read(y, p, sample_weight, pos_label))
    scores = np.ascontiguousarray(np.log(np.clip(P, _SURE, 1.0)).T)
    chosen, share = (codes, np.arange(len(codes))), weight / weight.sum()

    def evaluate(theta: Array) -> tuple[float, Array]:
        F = theta[0] * scores + np.append(0.0, theta[1:])[:, None]
        F -= F.max(axis=0)
        G = np.exp(F)
        total = G.sum(axis=0)
        G /= total
        G[chosen] -= 1.0
        G *= share
        slopes = np.append(np.vdot(G, scores), G.sum(axis=1)[1:])
        return float(share @ (np.log(total) - F[chosen])), slopes

    start = np.append(1.0, np.zeros(P.shape[1] - 1))
    options: Any = {"maxiter": 500, "ftol": 1e-15, "gtol": 1e-9}
    slope = float(minimize(evaluate, start, jac=True, method="L-BFGS-B", options=options).x[0])
    return Estimate(slope, float("nan"), float("nan"))


def _logistic(rows: Rows) -> Estimate:
    """The slope of the logistic regression on the log-odds of p, by Newton's method, with its interval."""
    negative, positive = rows.p[rows.y == 0], rows.p[rows.y == 1]
    if min(len(negative), len(positive)) == 0:
        raise ValueError("y has one class, so that its calibration has no slope")
    if negative.max() < positive.min() or positive.max() < negative.min():
        slope = float(np.copysign(np.inf, positive.min() - negative.max()))
        return Estimate(slope, min(slope, 0.0), max(slope, 0.0))
    q = np.clip(rows.p, _SURE, 1 - _SURE)
    x = np.log(q) - np.log1p(-q)
    share = rows.weight / rows.weight.sum()

    def loss(theta: Array) -> float:
        F = theta[0] + theta[1] * x
        return float(share @ (np.logaddexp(0.0, F) - rows.y * F))

    theta = np.array([0.0, 1.0])
    value = loss(theta)
    for _ in range(_STEPS):
        g = special.expit(theta[0] + theta[1] * x)
        h, away = share * g * (1 - g), share * (g - rows.y)
        information = np.array([[h.sum(), h @ x], [h @ x, h @ x**2]])
        downhill = np.array([away.sum(), away @ x])
        step = np.linalg.lstsq(information, downhill, rcond=None)[0]
        if downhill @ step <= _LITTLE:
            break
        while (reached := loss(theta - step)) > value + _ROUNDING:  # a whole step may be too long
            step /= 2
        theta, value = theta - step, reached
    # The slope's part of the inverse information: what x says beside the intercept.
    middle = h @ x / h.sum() if h.sum() > 0 else 0.0
    spread = float(rows.weight.sum() * (h @ (x - middle) ** 2))
    error = Z95 / np.sqrt(spread) if spread > 0 else float("inf")
    return Estimate(float(theta[1]), float(theta[1] - error), float(theta[1] + error))


def calibration_cross_entropy(
    y: ArrayLike,
    p: ArrayLike,
    *,
    eta: ArrayLike | str = "uniform",
    n_bins: int = 10,
    smoothing: float = 1.0,
    base: float = 2.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """−Σ_k P(η in bin k) log P(p in bin k): are stated probabilities spread as the true ones? [M §7.2]

    It is least, the entropy of the binned η, when both have the same histogram, and large for a model that
    says 0 or 1 where the truth lies between. As it stands it is the measure of the paper's Tables 3 to 5,
    whose least value is log₂ 10; its settings are inferred from the printed numbers.

    Parameters
    ----------
    y : array of labels
    p : array of shape (n,) or (n, 2)
        Stated probabilities of class 1.
    eta : array of shape (n,), "uniform" or "recalibrated", default="uniform"
        The true probabilities if they are known. "uniform" takes all bins as equally likely, as the tables
        do; "recalibrated" estimates the truth by recalibrating p.
    n_bins : int
        Bins of equal width on [0, 1].
    smoothing : float
        Rows added to each bin of p's histogram, so that an empty bin does not make it infinite.
    base : float
        Of the logarithm.
    sample_weight : array of shape (n,), optional
    pos_label : label, optional

    Examples
    --------
    >>> y, eta = [0, 0, 1, 1], [0.2, 0.4, 0.6, 0.8]
    >>> good = calibration_cross_entropy(y, eta, eta=eta, n_bins=5)
    >>> good < calibration_cross_entropy(y, [0.0, 0.0, 1.0, 1.0], eta=eta, n_bins=5)
    True
    >>> round(calibration_cross_entropy([0, 1] * 5, np.arange(0.05, 1, 0.1)), 4)  # every bin once
    3.3219
    """
    if not isinstance(eta, str):
        refuse_collections(eta=eta, y=y)
    smoothing = number("smoothing", smoothing, 0, np.inf, "left")
    base = number("base", base, 1, np.inf)
    rows = inputs.read_counted(y, p, sample_weight, pos_label)
    edges = _uniform_edges(n_bins)
    stated = _histogram(rows.p, rows.weight, edges)
    if isinstance(eta, str):
        if eta not in ("uniform", "recalibrated"):
            raise ValueError(f"eta must be probabilities, 'uniform' or 'recalibrated', got {eta!r}")
        uniform = np.full(n_bins, 1 / n_bins)
        estimated = eta == "recalibrated"
        true = _histogram(recalibrate_rows(rows)(rows.p), rows.weight, edges) if estimated else uniform
    else:
        known = inputs.probabilities(eta, "eta")
        inputs.same_length(eta=known, y=np.asarray(y))
        weight = inputs.weights(sample_weight, len(known))
        true = _histogram(known, weight, edges)
    n = rows.n
    stated = (stated * n + smoothing) / (n + smoothing * n_bins)
    return float(-np.sum(special.xlogy(true, stated)) / np.log(base))


def mean_regret(
    eta: ArrayLike, p: ArrayLike, loss: LossLike = "Squared()", *, sample_weight: ArrayLike | None = None
) -> float:
    """Mean of B(η | p), what p loses against a known truth η.

    >>> mean_regret([0.2, 0.5], [0.4, 0.5])
    0.02
    """
    eta, p = check_probability("eta", eta), inputs.probabilities(p)
    inputs.same_length(eta=eta, p=p)
    loss = as_loss(loss)
    loss = loss.binary.loss if isinstance(loss, SimplexLoss) else loss
    return inputs.mean(loss.regret(eta, p), inputs.weights(sample_weight, len(p)))


def mse_to_truth(eta: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean of (η − p)², for data whose true probabilities η are known. [M (54)]

    That is the mean regret of the squared loss.

    >>> mse_to_truth([0.25, 0.5], [0.75, 0.5])
    0.125
    """
    eta, p = check_probability("eta", eta), inputs.probabilities(p)
    inputs.same_length(eta=eta, p=p)
    return inputs.mean((eta - p) ** 2, inputs.weights(sample_weight, len(p)))


def _uniform_edges(n_bins: int) -> Array:
    if isinstance(n_bins, bool) or int(n_bins) != n_bins or n_bins < 1:
        raise ValueError(f"n_bins must be a positive whole number, got {n_bins!r}")
    return np.linspace(0, 1, int(n_bins) + 1)


def _bins(p: Array, weight: Array, n_bins: int, strategy: str) -> np.ndarray:
    """Bin of each probability: (edge, next edge], the first one closed."""
    edges = _uniform_edges(n_bins)
    if strategy == "quantile":
        order = np.argsort(p, kind="stable")
        reached = np.cumsum(weight[order])
        at = np.searchsorted(reached, edges[1:-1] * reached[-1] * (1 - 1e-12))
        inner = p[order][np.minimum(at, len(p) - 1)]
    elif strategy == "uniform":
        inner = edges[1:-1]
    else:
        raise ValueError(f"strategy must be 'uniform' or 'quantile', got {strategy!r}")
    return np.searchsorted(inner, p)


def _histogram(p: Array, weight: Array, edges: Array) -> Array:
    counts = np.bincount(np.searchsorted(edges[1:-1], p), weight, minlength=len(edges) - 1)
    return counts / counts.sum()
