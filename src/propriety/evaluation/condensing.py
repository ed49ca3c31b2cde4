"""Rows in Dask collections: counted where they are, so that what is different about them can be judged here.

Judgements here are functions of how many rows have the same label, the same probability and the same weight.
A partition is condensed to its distinct rows with their numbers, tables of distinct rows are merged, pair by
pair, on the workers, and the last one comes here. Nothing is lost by it.

Probabilities may all be different. Beyond `MOST` distinct rows they are rounded, to 16 binary digits of
min(p, 1 − p), a relative error of 1e-5, and weights of rows that then agree are made equal, with the same sum
and the same sum of squares; a warning says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.data.lazy import is_dask, partitions

Array = NDArray[np.float64]
#: Distinct rows that a table may have before its probabilities are rounded.
MOST = 10_000_000
_DIGITS = 16  # binary ones, of a probability that is rounded
_TOGETHER = 4  # tables that are merged at once
_LABELS = ("y", "decision")
_ROUNDED = ("p", "other")
_WEIGHT = "sample_weight"


class Counted(NamedTuple):
    """Weights of distinct rows: ``times`` rows of the weight ``each``."""

    each: Array
    times: Array

    @property
    def total(self) -> Array:
        """Weight of all rows of a kind."""
        return self.each * self.times


class _Table(NamedTuple):
    """Distinct rows that have the same labels."""

    numbers: Array  # (m, ·)
    times: Array  # (m,): how many rows each stands for


_Tables = dict[tuple[Hashable, ...], _Table]


class _Part(NamedTuple):
    """What is known of some partitions."""

    widths: dict[str, int]  # columns of each argument that is no label; 0 where there are no rows
    tables: _Tables
    rounded: bool = False


def refuse_collections(**arguments: Any) -> None:
    """Refuse Dask collections by name, where all rows are needed here.

    >>> refuse_collections(y=[0, 1])
    """
    for name, value in arguments.items():
        if is_dask(value):
            raise TypeError(
                f"{name} is a Dask {type(value).__name__}, and this needs all rows here: give "
                f"{name}.compute(); murphy_curve, murphy_difference, mean_loss, mean_cost, cost_summary, "
                "savings, reliability, recalibrate, decomposition and the measures of calibration take "
                "collections as they are"
            )


def condensed(**arguments: Any) -> dict[str, Any]:
    """The arguments themselves or, of Dask collections, arrays of distinct rows, with `Counted` weights.

    Arguments are those that may be given by row: labels (``y``, ``decision``), probabilities, weights and
    costs; numbers for all rows stay as they are.

    >>> condensed(y=[0, 1], sample_weight=None)
    {'y': [0, 1], 'sample_weight': None}
    """
    if not any(is_dask(value) for value in arguments.values()):
        return arguments
    import dask

    by_row = {name: value for name, value in arguments.items() if is_dask(value)}
    for name, value in arguments.items():
        if name not in by_row and np.ndim(value) and name != "cost_matrix":
            raise TypeError(
                f"{name} is a {type(value).__name__}, and {next(iter(by_row))} a Dask collection: give it as "
                "a Dask Series or Array with the same partitions"
            )
    columns = {name: partitions(value) for name, value in by_row.items()}
    sizes = {name: len(parts) for name, parts in columns.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"what is given by row must have the same partitions, and has {sizes}")
    labels = [name for name in columns if name in _LABELS]
    numbers = [name for name in columns if name not in _LABELS]
    condense = dask.delayed(_condense, pure=False)
    tables = [
        condense(labels, numbers, *parts)
        for parts in zip(*(columns[name] for name in [*labels, *numbers]), strict=True)
    ]
    (whole,) = dask.compute(_merge_all(tables, dask.delayed(_merged, pure=False)))
    return arguments | _as_arrays(labels, whole)


def _merge_all(tables: list[Any], merge: Callable[..., Any]) -> Any:
    """A tree of merges."""
    while len(tables) > 1:
        tables = [merge(*tables[k : k + _TOGETHER]) for k in range(0, len(tables), _TOGETHER)]
    return tables[0]


def _condense(labels: list[str], numbers: list[str], *columns: Any) -> _Part:
    """The distinct rows of a partition, by their labels."""
    given = {
        name: np.asarray(c) if name in labels else np.asarray(c, dtype=np.float64)
        for name, c in zip([*labels, *numbers], columns, strict=True)
    }
    lengths = {name: len(column) for name, column in given.items()}
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ValueError(f"partitions must have one entry for each row: in one of them {text}")
    for name in labels:
        if given[name].ndim != 1:
            raise ValueError(f"{name} must be one label for each row, got shape {given[name].shape}")
    n = next(iter(lengths.values()))
    if not n:
        return _Part(dict.fromkeys(numbers, 0), {})
    parts = [given[name].reshape(n, -1) for name in numbers]
    values = np.concatenate([*parts, np.empty((n, 0))], axis=1)
    codes = np.zeros(n, dtype=np.intp)
    keys: list[tuple[Hashable, ...]] = [()]
    for name in labels:
        present, own = np.unique(given[name], return_inverse=True)
        codes = codes * len(present) + own.ravel()
        keys = [(*key, label) for key in keys for label in present.tolist()]
    tables = {}
    for code in np.unique(codes).tolist():
        own = values[codes == code]
        tables[keys[code]] = _distinct(own, np.ones(len(own)))
    widths = {name: part.shape[1] for name, part in zip(numbers, parts, strict=True)}
    return _rounded_if_many(_Part(widths, tables))


def _merged(*several: _Part) -> _Part:
    """What is known of all partitions of several parts."""
    widths = next((part.widths for part in several if part.tables), several[0].widths)
    tables: _Tables = {}
    for key in dict.fromkeys(key for part in several for key in part.tables):
        own = [part.tables[key] for part in several if key in part.tables]
        numbers, times = (np.concatenate(pieces) for pieces in zip(*own, strict=True))
        tables[key] = _distinct(numbers, times)
    return _rounded_if_many(_Part(widths, tables, any(part.rounded for part in several)))


def _distinct(numbers: Array, times: Array) -> _Table:
    """Rows that agree as one."""
    if not numbers.shape[1]:
        return _Table(numbers[:1], np.array([times.sum()]))
    order = np.lexsort(numbers.T)
    numbers, times = numbers[order], times[order]
    first = np.flatnonzero(np.append(True, np.any(numbers[1:] != numbers[:-1], axis=1)))
    return _Table(numbers[first], np.add.reduceat(times, first))


def _rounded_if_many(part: _Part) -> _Part:
    """The same, with rounded probabilities if there are too many rows."""
    widths, tables, _ = part
    if sum(len(table.times) for table in tables.values()) <= MOST:
        return part
    if set(widths) - {*_ROUNDED, _WEIGHT}:
        raise ValueError(
            f"there are more than {MOST:,} rows with different costs, which cannot be told in brief; judge a "
            "sample of the rows, such as frame.sample(frac=0.01)"
        )
    return _Part(widths, {key: _rounded(table, widths) for key, table in tables.items()}, rounded=True)


def _rounded(table: _Table, widths: dict[str, int]) -> _Table:
    ends = np.cumsum(list(widths.values()))
    of = {name: slice(end - widths[name], end) for name, end in zip(widths, ends, strict=True)}
    numbers = table.numbers.copy()
    for name in set(widths) & set(_ROUNDED):
        numbers[:, of[name]] = round_probabilities(numbers[:, of[name]])
    if _WEIGHT not in widths:
        return _distinct(numbers, table.times)
    weight = numbers[:, of[_WEIGHT]][:, 0].copy()
    numbers[:, of[_WEIGHT]] = 0.0
    order = np.lexsort(numbers.T)
    numbers, weight, times = numbers[order], weight[order], table.times[order]
    first = np.flatnonzero(np.append(True, np.any(numbers[1:] != numbers[:-1], axis=1)))
    total, squares = np.add.reduceat(weight * times, first), np.add.reduceat(weight**2 * times, first)
    numbers = numbers[first]
    # Rows of one weight, with the sum and the sum of squares of those that they stand for.
    numbers[:, of[_WEIGHT]] = np.divide(squares, total, out=np.zeros_like(total), where=total > 0)[:, None]
    every = np.add.reduceat(times, first)
    return _Table(numbers, np.divide(total**2, squares, out=every, where=squares > 0))


def round_probabilities(p: Array) -> Array:
    """Probabilities to 16 binary digits of min(p, 1 − p); what is no probability stays.

    >>> round_probabilities(np.array([0.0, 0.1, 0.9, 1.0])).round(6).tolist()
    [0.0, 0.1, 0.9, 1.0]
    """
    small = np.minimum(p, 1.0 - p)
    digits, exponent = np.frexp(small)
    small = np.ldexp(np.rint(np.ldexp(digits, _DIGITS)), exponent - _DIGITS)
    return np.where((p >= 0) & (p <= 1), np.where(p <= 0.5, small, 1.0 - small), p)


def _as_arrays(labels: Sequence[str], whole: _Part) -> dict[str, Any]:
    """One array of each argument, and the weights with the numbers of rows."""
    widths, tables, rounded = whole
    if not tables:
        raise ValueError("there are no rows in any of the partitions")
    if rounded:
        warnings.warn(
            f"there are more than {MOST:,} different rows: their probabilities are rounded to {_DIGITS} "
            "binary digits",
            UserWarning,
            stacklevel=4,
        )
    keys = sorted(tables, key=str)
    sizes = [len(tables[key].times) for key in keys]
    arrays: dict[str, Any] = {}
    for place, name in enumerate(labels):
        each = [key[place] for key in keys]
        kind = object if len({type(label) for label in each}) > 1 else None
        arrays[name] = np.repeat(np.array(each, dtype=kind), sizes)
    values, at = np.concatenate([tables[key].numbers for key in keys]), 0
    for name, width in widths.items():
        arrays[name], at = values[:, at] if width == 1 else values[:, at : at + width], at + width
    times = np.concatenate([tables[key].times for key in keys])
    arrays[_WEIGHT] = Counted(arrays.get(_WEIGHT, np.ones(len(times))), times)
    return arrays


def as_copies(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same with a weight for each entry: that of its rows, a row of weight k being k rows.

    Weights that are not whole numbers are not copies; then each row is an entry of its own.
    """
    counted = arguments.get(_WEIGHT)
    if not isinstance(counted, Counted):
        return arguments
    if np.all(counted.each == np.rint(counted.each)):
        return arguments | {_WEIGHT: counted.total}
    times = np.rint(counted.times).astype(np.intp)
    expanded = {
        name: np.repeat(value, times, axis=0) if np.ndim(value) and name != "cost_matrix" else value
        for name, value in arguments.items()
        if name != _WEIGHT
    }
    return expanded | {_WEIGHT: np.repeat(counted.each, times)}
