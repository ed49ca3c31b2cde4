"""Probabilities of a fitted model for rows of another population: known shares of the classes, or new rows.

Where only the shares of the classes differ, and not what rows of a class look like, p′_k ∝ p_k π′_k/π_k for a
model of any link [Saerens, Latinne and Decaestecker, Neural Computation 2002]. Labels of new rows allow for
more: p′_k ∝ p_k^slope · exp(shift_k), Platt's scaling for two classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from propriety import parallel
from propriety.aliases import Shares
from propriety.data.costs import stated_costs
from propriety.data.namespaces import as_numpy
from propriety.data.training import encode_known
from propriety.losses.value import number
from propriety.solve import damped_newton
from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.model.base import ProperClassifier

Floats = NDArray[np.float64]
_LEVEL = 0.95
_LEAST = 1e-300  # probability, so that its logarithm is finite
_FAR = 40.0  # log-odds beyond which a share is 0 or 1
#: Standard deviations of the priors that are compared, of a difference of shifts and of the slope.
_SHIFTS, _SLOPES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0), (0.0, 0.25, 0.5, 1.0)
_LOWEST = 0.1  # slope: the order of the probabilities must stay
_BINS, _A_BIN = 10, 20  # of the test: at most so many bins of a class, of so many rows at least


@dataclass(frozen=True)
class Adaptation:
    """What makes the probabilities of a fit those of another population: p′_k ∝ p_k^slope · exp(shift_k).

    Attributes
    ----------
    slope : float
    shifts : tuple of float
        One for each class.
    shares : tuple of float, or None
        Shares of the classes in the population that the new probabilities are for; None if not known.
    intervals : tuple of pairs, or None
        95% confidence intervals of these shares, where they were estimated from rows without labels.
    p_value : float or None
        Of the test that nothing but the shares differs, where it was made.
    text : str
        The same in words.
    """

    slope: float
    shifts: tuple[float, ...]
    shares: tuple[float, ...] | None
    intervals: tuple[tuple[float, float], ...] | None = None
    p_value: float | None = None
    text: str = ""

    def __call__(self, P: Floats) -> Floats:
        """The new probabilities of rows."""
        powers = P if self.slope == 1 else P**self.slope
        bent = powers * self.factors
        return np.asarray(bent / bent.sum(axis=1, keepdims=True))

    @property
    def factors(self) -> Floats:
        """Of the classes: exp(shift), 1 for the largest."""
        return np.exp(np.array(self.shifts) - max(self.shifts))

    def after(self, earlier: Adaptation | None) -> Adaptation:
        """This one, of probabilities that another one has made."""
        if earlier is None:
            return self
        shifts = self.slope * np.array(earlier.shifts) + np.array(self.shifts)
        text = f"{earlier.text}; then {self.text}"
        return replace(self, slope=self.slope * earlier.slope, shifts=tuple(shifts.tolist()), text=text)

    def in_words(self, names: Sequence[Any]) -> str:
        """The same of classes that have these names."""
        slope = "" if self.slope == 1 else f"slope of the log-odds {self.slope:.3g}"
        shares = "" if self.shares is None else f"shares of the classes {_share_texts(self, names)}"
        return "; ".join(filter(None, (shares, slope)))

    def __str__(self) -> str:
        return self.text


def adapted(
    model: ProperClassifier,
    X: Any,
    y: Any,
    prevalence: Any,
    reference: Any,
    sample_weight: Any,
    names: Sequence[Any],
) -> Any:
    """As `ProperClassifier.adapt` has it; texts call the classes by `names`."""
    if (prevalence is None) == (X is None):
        raise ValueError("give either prevalence=, or new rows: adapt(X) or adapt(X, y)")
    earlier = model.adaptation_
    old = model._class_shares if earlier is None else earlier.shares
    if old is None and y is None:
        raise ValueError(
            "the shares of the classes in training are not known of a model from a file of 0.1 or 0.2; "
            "adapt(X, y) needs none, or fit it anew"
        )
    if X is None:
        positive = stated_costs(model).positive_of(model.classes_)
        found = of_shares(np.asarray(old), read_shares(prevalence, model.classes_, positive))
        text = f"shares of the classes {_share_texts(found, names)}"
    elif model._needs_offset:
        raise ValueError("the model was fitted with an offset: give prevalence=, the rows have no offset")
    else:
        P = as_numpy(model.predict_proba(X))
        weights = Weights.read(as_numpy(sample_weight), len(P))
        if y is None:
            refer = None if reference is None else as_numpy(model.predict_proba(reference))
            found = of_rows(P, weights, np.asarray(old), refer)
            text = f"shares of the classes {_share_texts(found, names)}, "
            text += f"estimated from {len(P):,} rows without labels"
            if found.p_value is not None:
                text += f"; p = {found.p_value:.2g} that nothing else differs"
        else:
            found = of_labels(P, encode_known(y, model.classes_, len(P)), weights)
            text = f"recalibrated by {len(P):,} labelled rows: slope {found.slope:.3g}, "
            text += f"shares of the classes {_share_texts(found, names)}"
    result = copy(model)
    result.adaptation_ = replace(found, text=text).after(earlier)
    return result


def _share_texts(found: Adaptation, names: Sequence[Any]) -> str:
    assert found.shares is not None
    ends = [""] * len(names)
    if found.intervals is not None:
        ends = [f" ({low:.2%} to {high:.2%})" for low, high in found.intervals]
    each = zip(found.shares, names, ends, strict=True)
    return ", ".join(f"{100 * share:.3g}% of {name}{end}" for share, name, end in each)


def read_shares(prevalence: Shares, classes: NDArray[Any], positive: int) -> Floats:
    """Shares of the classes: of the positive one of two, by label, or in the order of the classes.

    >>> read_shares(0.1, np.array(["bad", "good"]), 0), read_shares({"b": 3, "a": 1}, np.array(["a", "b"]), 1)
    (array([0.1, 0.9]), array([0.25, 0.75]))
    """
    labels = classes.tolist()
    if isinstance(prevalence, Mapping):
        if set(prevalence) != set(labels):
            raise ValueError(f"prevalence must have a share for each of {labels}, got {list(prevalence)}")
        prevalence = [prevalence[label] for label in labels]
    elif np.ndim(prevalence) == 0:
        if len(labels) > 2:
            raise ValueError(
                f"prevalence must have a share for each of {labels}: a dictionary by label, or an array in "
                "this order"
            )
        share = number("prevalence", prevalence, 0, 1)
        return np.array([1 - share, share]) if positive else np.array([share, 1 - share])
    shares = np.asarray(prevalence, dtype=np.float64)
    if shares.shape != (len(labels),) or not np.all(np.isfinite(shares) & (shares > 0)):
        raise ValueError(f"prevalence must be {len(labels)} positive shares, one for each of {labels}")
    return np.asarray(shares / shares.sum())


def of_shares(old: Floats, new: Floats) -> Adaptation:
    """The adaptation to known shares of the classes."""
    return Adaptation(1.0, tuple(np.log(new / old).tolist()), tuple(new.tolist()))


# --- rows without labels --------------------------------------------------------------------------


def of_rows(P: Floats, weights: Weights, old: Floats, reference: Floats | None) -> Adaptation:
    """The adaptation to the shares of greatest likelihood, with intervals by the likelihood ratio.

    `reference` are probabilities of rows of the old population which the model was not fitted to; with
    them it is tested whether shares alone explain how the new ones are distributed.
    """
    with parallel.one_blas_thread():
        new, intervals = _likeliest(P / old, old, weights)
    adapted = of_shares(old, np.maximum(new, _LEAST))
    p_value = None if reference is None else _only_shares(P / old, reference / old, weights, new)
    return replace(adapted, intervals=intervals, p_value=p_value)


def _likeliest(
    ratios: Floats, old: Floats, weights: Weights
) -> tuple[Floats, tuple[tuple[float, float], ...]]:
    """The shares of greatest likelihood Σ log Σ_k π′_k ratio_k, and their intervals."""
    k = len(old)
    each, n = weights.array / weights.total, weights.total / weights.overdispersion

    def best(fixed: int | None, share: float = 0.0) -> tuple[float, Floats]:
        """The largest mean log-likelihood and where it is, with the share of a class fixed or of none."""
        free = np.array([c for c in range(k) if c != fixed])

        def shares_of(a: Floats) -> Floats:
            shares = np.full(k, share)
            shares[free] = special.softmax(a) * (1.0 if fixed is None else 1 - share)
            return shares

        def loss(a: Floats) -> tuple[float, Floats]:
            shares = shares_of(a)
            mixed = np.maximum(ratios @ shares, _LEAST)
            slope = shares[free] * ((each / mixed) @ ratios[:, free])
            whole = slope.sum() / max(shares[free].sum(), _LEAST)
            return -float(each @ np.log(mixed)), -(slope - whole * shares[free])

        start = np.log(old[free] / old[free].sum())
        if len(free) == 1:
            return -loss(start)[0], shares_of(start)
        bounds: Any = [(-_FAR, _FAR)] * len(free)
        settings: Any = {"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-10}
        found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=settings)
        return -float(found.fun), shares_of(found.x)

    most, new = best(None)
    allowed = stats.chi2.ppf(_LEVEL, 1) / (2 * n)

    def below(t: float, c: int) -> float:
        return most - best(c, float(special.expit(t)))[0] - allowed

    def end(c: int, side: float) -> float:
        at = float(np.clip(special.logit(new[c]), -_FAR, _FAR))
        if side * at >= _FAR - 1 or below(side * _FAR, c) <= 0:
            return 0.0 if side < 0 else 1.0
        return float(special.expit(optimize.brentq(below, at, side * _FAR, args=(c,), xtol=1e-4)))

    return new, tuple((end(c, -1.0), end(c, 1.0)) for c in range(k))


def _only_shares(new: Floats, old: Floats, weights: Weights, shares: Floats) -> float:
    """The p-value of "nothing but the shares differs": Wald's test of the bins that probabilities are in.

    `new` and `old` are probabilities over old shares. If nothing else differs, old rows weighted by their
    likelihood ratio Σ π′_k p_k/π_k have the bins of the new ones. That the shares are estimated counts.
    """
    k, n, m = new.shape[1], len(new), len(old)
    n_bins = int(np.clip(min(n, m) // _A_BIN, 2, _BINS))
    pooled = np.concatenate([new, old])
    cells = []
    for c in range(1 if k == 2 else 0, k):
        inner = np.unique(np.quantile(pooled[:, c], np.arange(1, n_bins) / n_bins))
        cells.append(np.eye(len(inner) + 1)[np.searchsorted(inner, pooled[:, c], side="right")])
    H = np.hstack(cells)
    each = weights.array / weights.total
    mixed = np.maximum(new @ shares, _LEAST)
    scores = (new[:, :-1] - new[:, -1:]) / mixed[:, None]
    information = np.linalg.pinv((each[:, None] * scores).T @ scores)
    ratio = old @ shares
    slopes = H[n:].T @ (old[:, :-1] - old[:, -1:]) / m
    of_new, of_old = H[:n] - scores @ information @ slopes.T, H[n:] * ratio[:, None]
    away = each @ H[:n] - of_old.mean(axis=0)
    centred = (of_new - each @ of_new) * each[:, None]
    spread = centred.T @ centred + np.cov(of_old.T) / m
    values, vectors = np.linalg.eigh(spread)
    kept = values > 1e-8 * values.max()
    return float(stats.chi2.sf(np.sum((vectors[:, kept].T @ away) ** 2 / values[kept]), kept.sum()))


# --- rows with labels -----------------------------------------------------------------------------


def of_labels(P: Floats, codes: NDArray[np.intp], weights: Weights) -> Adaptation:
    """The slope and shifts that labels of new rows speak for; none where they speak for leaving all as it is.

    Both have normal priors about no change. Their widths are averaged over by the evidence for each, by
    Laplace's approximation; that nothing changes is as likely beforehand as all others together.
    """
    logs = np.log(np.maximum(P, _LEAST))
    widths = [(shift, slope) for slope in _SLOPES for shift in _SHIFTS]
    fits = [_posterior(logs, codes, weights, *pair) for pair in widths]
    evidence = np.array([fit[0] for fit in fits])
    evidence[widths.index((0.0, 0.0))] += np.log(len(fits) - 1)
    share = special.softmax(evidence)
    slope = float(share @ np.array([fit[1] for fit in fits]))
    shifts = share @ np.array([fit[2] for fit in fits])
    found = Adaptation(slope, tuple(shifts.tolist()), None)
    shares = weights.array @ found(P) / weights.total
    return replace(found, shares=tuple(shares.tolist()))


def _posterior(
    logs: Floats, codes: NDArray[np.intp], weights: Weights, shift_sd: float, slope_sd: float
) -> tuple[float, float, Floats]:
    """The log evidence, the slope and the shifts of greatest posterior density, by Newton's steps."""
    k, w = logs.shape[1], weights.array / weights.overdispersion
    Y = np.eye(k)[codes]
    # A difference of two shifts has the stated width. Parameters without width stay as they are.
    widths = np.array([slope_sd, *[shift_sd / np.sqrt(2)] * k])
    free = np.flatnonzero(widths > 0)
    unchanged = np.array([1.0, *[0.0] * k])
    precision = np.divide(1.0, widths**2, out=np.zeros(k + 1), where=widths > 0)

    def value(theta: Floats) -> float:
        log_p = special.log_softmax(theta[0] * logs + theta[1:], axis=1)
        away = theta - unchanged
        return float(-w @ np.sum(Y * log_p, axis=1) + 0.5 * precision @ away**2)

    def derivatives(theta: Floats) -> tuple[Floats, Floats]:
        Q = special.softmax(theta[0] * logs + theta[1:], axis=1)
        weighted, off = Q * w[:, None], (Q - Y) * w[:, None]
        means = np.sum(Q * logs, axis=1)
        gradient = np.array([np.sum(off * logs), *off.sum(axis=0)]) + precision * (theta - unchanged)
        H = np.empty((k + 1, k + 1))
        H[0, 0] = np.sum(weighted * (logs - means[:, None]) ** 2)
        H[0, 1:] = H[1:, 0] = np.sum(weighted * (logs - means[:, None]), axis=0)
        H[1:, 1:] = np.diag(weighted.sum(axis=0)) - weighted.T @ Q
        return gradient[free], (H + np.diag(precision))[np.ix_(free, free)]

    if not len(free):
        return -value(unchanged), 1.0, unchanged[1:]

    def step_of(theta: Floats) -> Floats:
        gradient, H = derivatives(theta)
        step = np.zeros(k + 1)
        step[free] = np.linalg.solve(H, gradient)
        return step

    lowest = np.array([_LOWEST, *np.full(k, -np.inf)])
    theta, now = damped_newton(unchanged, value, step_of, within=partial(np.maximum, lowest), steps=50)
    curvature = np.linalg.slogdet(derivatives(theta)[1] / precision[free])[1]
    return -now - 0.5 * float(curvature), float(theta[0]), theta[1:]
