"""Parameters of estimators, checked: each error names the parameter, what it must be and what it was."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from propriety.aliases import RandomState
from propriety.data.table import Schema
from propriety.errors import ArgumentError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

_AUTO_LEAF, _AUTO_SHARE = 20.0, 3.0
_SEEDS = 2**31 - 1


def number(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    whole: bool = False,
    above: bool = False,
) -> Any:
    """`value`, if it is a finite number from `low` (or `above` it) to `high`.

    >>> number("max_iter", 5, 1, whole=True)
    5
    """
    is_number = isinstance(value, numbers.Integral if whole else numbers.Real)
    fits = is_number and not isinstance(value, bool) and low <= value <= high
    if not fits or value == math.inf or (above and value == low):
        what = "a whole number" if whole else "a number"
        bounds = f"{'above' if above else 'at least'} {low:g}"
        bounds += f" and at most {high:g}" if high < math.inf else ""
        raise ArgumentError(name, f"must be {what} {bounds}, got {value!r}")
    return int(value) if whole else float(value)


def choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """`value`, if it is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise ArgumentError(name, f"must be one of {list(allowed)}, got {value!r}")
    return value


def seed_of(random_state: RandomState) -> int:
    """The seed of what a fit draws; None is 0, so that two fits of the same data give the same model.

    Draws belong to what the rows hold, so that another order of the rows does not change them either.

    >>> seed_of(None) == seed_of(0), seed_of(1) == seed_of(0)
    (True, False)
    """
    return int(check_random_state(0 if random_state is None else random_state).randint(_SEEDS))


class Parameters:
    """The parameters of one estimator, each read by its name."""

    def __init__(self, estimator: BaseEstimator) -> None:
        self._estimator = estimator

    def number(self, name: str, low: float, high: float = math.inf, **kind: bool) -> Any:
        """A number in the range."""
        return number(name, getattr(self._estimator, name), low, high, **kind)

    def number_or_none(self, name: str, low: float, high: float = math.inf, **kind: bool) -> Any:
        """A number in the range, or None."""
        return None if getattr(self._estimator, name) is None else self.number(name, low, high, **kind)

    def number_or_auto(self, name: str, auto: float, low: float, high: float = math.inf, **kind: bool) -> Any:
        """A number in the range, or what "auto" stands for."""
        value = getattr(self._estimator, name)
        return auto if isinstance(value, str) and value == "auto" else self.number(name, low, high, **kind)

    def choice(self, name: str, allowed: Sequence[str]) -> str:
        """One of the allowed words."""
        return choice(name, getattr(self._estimator, name), allowed)

    def flag(self, name: str) -> bool:
        """True or False."""
        value = getattr(self._estimator, name)
        if not isinstance(value, bool | np.bool_):
            raise ArgumentError(name, f"must be True or False, got {value!r}")
        return bool(value)

    def least_weight(self, name: str, total: float) -> float:
        """Least weight of a leaf; "auto" is 20 rows, or a third of the total weight if that is less."""
        value = getattr(self._estimator, name)
        if isinstance(value, str) and value == "auto":
            return min(_AUTO_LEAF, total / _AUTO_SHARE)
        return float(self.number(name, 0))


def monotone_signs(cst: Any, schema: Schema) -> NDArray[np.int8]:
    """A sign for each column, from a list of them or a dict from column to sign.

    >>> monotone_signs({"b": -1}, Schema((None, None), ("a", "b")))
    array([ 0, -1], dtype=int8)
    """
    d = len(schema.categories)
    signs = np.zeros(d, dtype=np.int8)
    if cst is None:
        return signs
    if isinstance(cst, Mapping):
        for column, sign in cst.items():
            signs[schema.position(column)] = _sign(sign)
    else:
        given = list(cst)
        if len(given) != d:
            raise ValueError(
                f"monotonic_cst has shape ({len(given)},) but the input data X has {d} features."
            )
        signs[:] = [_sign(sign) for sign in given]
    for f in np.flatnonzero(signs):
        if schema.categories[f] is not None:
            raise ValueError(
                f"monotonic_cst: column {f} is categorical, and a category can be neither more nor less"
            )
    return signs


def _sign(sign: Any) -> int:
    if sign not in (-1, 0, 1):
        raise ValueError(f"monotonic_cst must hold -1, 0 or 1, got {sign!r}")
    return int(sign)
