"""The parameters of TreeClassifier and its training data, checked."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from propriety.data.table import Schema

Floats = NDArray[np.float64]
_AUTO_LEAF, _AUTO_SHARE = 20.0, 3.0
#: Total weight, in rows, up to which splits are exact by default.
_EXACT = 20_000
_LARGEST = 2.0**52


def number(name: str, value: Any, low: float, high: float = math.inf, *, whole: bool = False) -> Any:
    """`value`, if it is a number in the range; else an error that says what it must be."""
    kind = numbers.Integral if whole else numbers.Real
    fits = isinstance(value, kind) and not isinstance(value, bool) and low <= value <= high
    if not fits or not math.isfinite(value):
        what = "a whole number" if whole else "a number"
        bounds = f"at least {low:g}" + (f" and at most {high:g}" if high < math.inf else "")
        raise ValueError(f"{name} must be {what} {bounds}, got {value!r}")
    return int(value) if whole else float(value)


def choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """`value`, if it is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}")
    return value


def labels_and_weights(owner: str, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Floats | None]:
    """Classes of positive weight, the index of each row's, and the weights as numbers of rows.

    Whole weights are copies, others are taken relative to their mean. Rows of weight 0 may hold other labels;
    they take no part.
    """
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    check_consistent_length(X, labels)
    check_classification_targets(labels)
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
        if not np.any(weight > 0):
            raise ValueError("sample_weight is zero everywhere: at least one row must have a positive weight")
        if not np.all(weight == np.rint(weight)):
            weight = weight / np.mean(weight[weight > 0])
    classes = np.unique(labels if weight is None else labels[weight > 0])
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least two classes with positive weight, got 1 class: {classes.tolist()}"
        )
    if len(classes) > 256:
        raise ValueError(f"y holds {len(classes)} classes; a tree takes at most 256")
    if len(classes) == 2:
        return classes, (labels == classes[1]).astype(np.uint8), weight
    at = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return classes, np.where(classes[at] == labels, at, 0).astype(np.uint8), weight


def in_units(weight: Floats) -> tuple[Floats, float]:
    """Weights as whole numbers of a unit, so that no sum of them depends on its order; and the unit.

    >>> whole, unit = in_units(np.array([0.1, 0.3]))
    >>> bool(np.all(whole == np.rint(whole))), round(float(whole[1] * unit), 12)
    (True, 0.3)
    """
    total = float(weight.sum())
    if total <= _LARGEST and np.all(weight == np.rint(weight)):
        return weight, 1.0
    unit = 2.0 ** math.ceil(math.log2(total / _LARGEST))
    return np.maximum(np.rint(weight / unit), 1.0), unit


def is_exact(splits: Any, total: float) -> bool:
    """Whether to sort values rather than to bin them."""
    splits = choice("splits", splits, ("auto", "exact", "histogram"))
    return splits == "exact" or (splits == "auto" and total <= _EXACT)


def least_weight(min_samples_leaf: Any, total: float) -> float:
    """Least weight of a leaf."""
    if isinstance(min_samples_leaf, str) and min_samples_leaf == "auto":
        return min(_AUTO_LEAF, total / _AUTO_SHARE)
    return number("min_samples_leaf", min_samples_leaf, 0)


def smoothing_of(smoothing: Any) -> Any:
    """A number of rows, or "laplace"; None is 0."""
    if smoothing is None or (isinstance(smoothing, str) and smoothing == "laplace"):
        return 0.0 if smoothing is None else smoothing
    if isinstance(smoothing, str):
        raise ValueError(f"smoothing must be 'laplace', None or a number of rows, got {smoothing!r}")
    return number("smoothing", smoothing, 0)


def monotone_signs(cst: Any, schema: Schema, n_classes: int) -> NDArray[np.int64]:
    """Signs per column, from a list or from a dict from column to sign."""
    d = len(schema.categories)
    signs = np.zeros(d, dtype=np.int64)
    if cst is None:
        return signs
    if isinstance(cst, Mapping):
        given = dict.fromkeys(range(d), 0) | {schema.position(column): sign for column, sign in cst.items()}
        cst = list(given.values())
    if len(cst) != d:
        raise ValueError(f"monotonic_cst has shape ({len(cst)},) but the input data X has {d} features.")
    for f, sign in enumerate(cst):
        if sign not in (-1, 0, 1):
            raise ValueError(f"monotonic_cst must hold -1, 0 or 1, got {sign!r}")
        if sign and schema.categories[f] is not None:
            raise ValueError(f"monotonic_cst: column {f} is categorical, so it cannot be monotone")
        signs[f] = sign
    if n_classes > 2 and np.any(signs):
        raise ValueError(f"monotonic_cst is for two classes, got {n_classes} classes")
    return signs
