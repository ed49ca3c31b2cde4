"""What may mislead, worst first: no better than no model, too few rows to tell, miscalibrated, drifting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from propriety import evaluation, parallel
from propriety.evaluation.judging import CLIP, Judgement
from propriety.evaluation.scores import losses_of
from propriety.study.numbers import between, number, percent
from propriety.weights import Weights

Floats = NDArray[np.float64]
_FEW = 50  # rows of a class below which it is rare
_MISTAKES = 10  # below which an interval is rough
_SURE = 1e-3  # chance of a false warning, over all columns
_OFF = 0.15  # of a slope, or of the share on the whole, that is worth a warning
_NAMED = 5  # columns named in a warning
_SAMPLE = 100_000  # rows that are looked at for drifting columns
_LARGE = 0.15  # largest difference of shares that is worth a warning


def no_better(simple: Judgement) -> list[str]:
    """Warn of a model that is dearer than one decision for everyone, or cannot be told from it."""
    saved = simple.dearer
    if saved is None or saved.low > 0:
        return []
    interval = f"95% CI {between(saved)}"
    if saved.high < 0:
        return [
            f"the model is worse than none: it costs {number(-saved.value)} more per 1,000 cases than "
            f"{simple.name} (saving {number(saved.value)}, {interval})"
        ]
    return [
        f"the model is not significantly better than {simple.name}: the saving is {number(saved.value)} per "
        f"1,000 cases, {interval}"
    ]


def worse_than_base_rate(y: Floats, p: Floats, weights: Weights, groups: Any = None) -> list[str]:
    """Warn of probabilities that are worse than the base rate for everyone, by the log loss.

    >>> worse_than_base_rate(np.repeat([0.0, 1.0], 50), np.repeat([0.9, 0.1], 50), Weights(100))
    ['its probabilities are worse than the base rate of 50.0% for everyone: log loss 2.3 against 0.693']
    """
    rate = weights.mean(y)
    if not 0 < rate < 1:
        return []
    stated = losses_of(y, p, "Log", clip=CLIP, pos_label=1)
    constant = losses_of(y, np.full(len(y), rate), "Log", pos_label=1)
    if not weights.estimate(stated - constant, groups=groups).low > 0:
        return []
    means = f"log loss {number(weights.mean(stated))} against {number(weights.mean(constant))}"
    return [f"its probabilities are worse than the base rate of {percent(rate)} for everyone: {means}"]


def miscalibrated(y: Floats, p: Floats, weights: Weights) -> list[str]:
    """Warn of overconfident or underconfident probabilities, or too high or too low ones on average."""
    rate, stated = weights.mean(y), weights.mean(p)
    if not 0 < rate < 1:
        return []
    warnings = []
    slope = evaluation.calibration_slope(y, p, sample_weight=weights.values, pos_label=1)
    if np.isfinite(slope.value) and not slope.low <= 1 <= slope.high and abs(slope.value - 1) > _OFF:
        says = (
            "overconfident: too close to 0 and 1"
            if slope.value < 1
            else "underconfident: not close enough to 0 and 1"
        )
        warnings.append(
            f"its probabilities are {says} (calibration slope {slope.value:.2f}, 95% CI "
            f"{slope.low:.2f} to {slope.high:.2f}; 1 is ideal)"
        )
    gap = weights.estimate(p - y)
    if gap.sure and abs(gap.value) > _OFF * rate:
        warnings.append(
            f"its probabilities are too {'high' if gap.value > 0 else 'low'} on average: {percent(stated)} "
            f"predicted, {percent(rate)} observed"
        )
    return warnings


def rare_classes(y: Floats, labels: tuple[str, ...]) -> list[str]:
    """Warn of a class with few rows among those that judge.

    >>> rare_classes(np.array([1.0] * 60 + [0.0] * 3), ("no", "yes"))
    ["only 3 of the 63 test rows are 'no': estimates for this class are imprecise"]
    """
    counts = [int(np.sum(y == k)) for k in range(len(labels))]
    return [
        f"only {count} of the {len(y):,} test rows are {label!r}: estimates for this class are imprecise"
        for count, label in zip(counts, labels, strict=True)
        if count < _FEW
    ]


def few_mistakes(y: Floats, decided: Any) -> list[str]:
    """Warn of intervals that rest on a handful of mistakes, or of cases without a decision."""
    mistakes = int(np.sum(decided != y))
    if mistakes >= _MISTAKES:
        return []
    made = {0: "no mistakes", 1: "only one mistake"}.get(mistakes, f"only {mistakes} mistakes")
    return [f"{made} on {len(y):,} rows: the confidence interval of the cost is approximate"]


def parts_differ(parts: Any, costs_of_rows: Floats, weights: Weights) -> list[str]:
    """Warn of judging parts whose mean costs differ by more than chance."""
    groups = [np.flatnonzero((parts == part) & (weights.array > 0)) for part in np.unique(parts)]
    groups = [rows for rows in groups if len(rows)]
    errors = np.array([weights.take(rows).standard_error(costs_of_rows[rows]) for rows in groups])
    if len(groups) < 2 or np.any(errors == 0) or np.any(np.isinf(errors)):
        return []
    means = np.array([weights.take(rows).mean(costs_of_rows[rows]) for rows in groups])
    middle = np.sum(means / errors**2) / np.sum(1 / errors**2)
    chance = stats.chi2.sf(np.sum(((means - middle) / errors) ** 2), len(groups) - 1)
    if chance >= _SURE:
        return []
    return [
        f"the cost per 1,000 cases differs significantly between the {len(groups)} test parts: "
        f"{1000 * means.min():,.0f} to {1000 * means.max():,.0f}"
    ]


def share_drifts(y: Floats, order: Any, positive: str, time: str = "") -> list[str]:
    """Warn if the share of the positive class differs between the first and the second half of the rows.

    If `time` says what they are in order of, whether they were judged by it is told elsewhere.
    """
    early, late = _halves(y[np.argsort(order, kind="stable")])
    if min(len(early), len(late)) < 2 or early.mean() == late.mean():
        return []
    _, chance, _, _ = stats.chi2_contingency(
        [[h.sum(), len(h) - h.sum()] for h in (early, late)], correction=False
    )
    if chance >= _SURE:
        return []
    shares = early.mean(), late.mean()
    if time:
        return [
            f"the share of {positive!r} drifts: {shares[0]:.1%} in the earlier half of the test rows by "
            f"{time!r}, {shares[1]:.1%} in the later half"
        ]
    return [
        f"the share of {positive!r} is {shares[0]:.1%} in the first half of the table and {shares[1]:.1%} "
        "in the second; if the rows are in order of time, random splits are too optimistic: split by time"
    ]


def in_order(order: Any) -> NDArray[np.intp]:
    """The rows in their order; of many rows some, evenly spaced, which tell as well whether columns drift.

    >>> in_order([3, 1, 2])
    array([1, 2, 0])
    """
    places = np.argsort(order, kind="stable")
    if len(places) <= _SAMPLE:
        return places
    return places[np.linspace(0, len(places) - 1, _SAMPLE).astype(np.intp)]


def columns_drift(features: dict[str, Any], order: Any) -> list[str]:
    """Warn, in one sentence, of columns whose values differ much between the halves of the table.

    Of more than 100,000 rows so many are looked at, evenly spaced.

    >>> columns_drift({"up": np.arange(100.0), "flat": np.tile([1.0, 2.0], 50)}, np.arange(100))
    ['one column drifts between the first and the second half of the table: up (by up to 100% of the rows)']
    """
    place = in_order(order)
    found = parallel.in_order(
        lambda values: _difference(*_halves(np.asarray(values)[place])), features.values(), None
    )
    drifting = {
        name: size
        for name, (size, chance) in zip(features, found, strict=True)
        if size >= _LARGE and chance < _SURE / len(features)
    }
    if not drifting:
        return []
    ranked = sorted(drifting, key=lambda name: -drifting[name])
    names = ", ".join(ranked[:_NAMED]) + (", …" if len(ranked) > _NAMED else "")
    many = "one column drifts" if len(ranked) == 1 else f"{len(ranked)} columns drift"
    return [
        f"{many} between the first and the second half of the table: {names} (by up to "
        f"{drifting[ranked[0]]:.0%} of the rows)"
    ]


def _halves(values: Any) -> tuple[Any, Any]:
    middle = len(values) // 2
    return values[:middle], values[middle:]


def _difference(early: Any, late: Any) -> tuple[float, float]:
    """Largest difference of shares between two samples, and the chance of as much if they are alike."""
    if min(len(early), len(late)) < 20:
        return 0.0, 1.0
    if early.dtype.kind == "f":
        # Missing values are a value of their own, below all others.
        low, high = (np.where(np.isnan(h), -np.inf, h) for h in (early, late))
        result = stats.ks_2samp(low, high, method="asymp")
        return float(result.statistic), float(result.pvalue)
    names, codes = np.unique(np.concatenate([early, late]).astype(str), return_inverse=True)
    counts = np.stack([np.bincount(c, minlength=len(names)) for c in _parts(codes, len(early))])
    size = 0.5 * np.abs(counts[0] / len(early) - counts[1] / len(late)).sum()
    if len(names) == 1:
        return 0.0, 1.0
    _, chance, _, _ = stats.chi2_contingency(counts)
    return float(size), float(chance)


def _parts(codes: Any, first: int) -> tuple[Any, Any]:
    return codes[:first], codes[first:]
