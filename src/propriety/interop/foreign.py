"""The formulas of the losses on arrays of another library, and tables where a loss has no closed form.

`ForeignArray` answers NumPy's functions by those of its own library, so that the formulas of the losses run
on it as they stand: there is no second copy of any of them. Derivatives are those that the losses state, not
ones that the library would find by itself, which are nan where a formula chooses between two forms.

What needs numbers to be known while it runs, as the numerical inverse of a link does, or a special function
that the library lacks, runs on a table that is made of the same formulas, good to 1e-12 (1e-9 for second
derivatives): polynomials on panels of the score. Beyond its ends, where p is below 1e-17 or so, the loss goes
on as a straight line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import reduce
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike

from propriety.cached_properties import cached_property
from propriety.losses import Composite
from propriety.losses.fused import ScoreTable, tabulate
from propriety.losses.point import Foreign

VALUE, GRADIENT = 0, 1  # columns of a table


class ForeignArray(NDArrayOperatorsMixin, Foreign, ABC):
    """An array of another library. Subclasses say which of its functions does what NumPy's name says."""

    #: NumPy's or SciPy's names of functions, and what the library has for them.
    functions: ClassVar[dict[str, Callable[..., Any]]]

    @staticmethod
    @abstractmethod
    def constant(values: Any, like: Any) -> Any:
        """NumPy's numbers as an array of the library beside another."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array."""
        return tuple(self.array.shape)

    def copy(self) -> Any:
        """Itself: nothing here is written to."""
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__":
            return NotImplemented
        return self._run(ufunc.__name__, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.shape:
            return args[0].shape
        return self._run(func.__name__, args, kwargs)

    def _run(self, name: str, args: Any, kwargs: Any) -> Any:
        function = self.functions.get(name)
        if function is None:
            return NotImplemented
        answer = function(*map(_inside, args), **kwargs)
        if isinstance(answer, (tuple, list)):
            return tuple(map(type(self), answer))
        return type(self)(answer)


def within(largest: float, low: float, high: float) -> tuple[float, float]:
    """Bounds that a type whose largest number is given can hold."""
    return max(low, -float(largest)), min(high, float(largest))


def _inside(value: Any) -> Any:
    """What the library sees: its own array, or a plain number, so that its types are not widened."""
    if isinstance(value, ForeignArray):
        return value.array
    if isinstance(value, (list, tuple)):
        return [_inside(v) for v in value]
    return float(value) if isinstance(value, (np.floating, np.ndarray)) and np.ndim(value) == 0 else value


class ForeignLoss:
    """Value, gradient, second derivative and probability of a composite on arrays of another library.

    Parameters
    ----------
    loss : Composite
    kind : type
        The `ForeignArray` of the library.
    probe : function
        Runs a function of scores as the library would: it raises TypeError if the formulas cannot be run.
    """

    def __init__(
        self, loss: Composite, kind: type[ForeignArray], probe: Callable[[Callable[[Any], Any]], object]
    ) -> None:
        self.loss, self._kind = loss, kind
        loss._canonical_factor  # noqa: B018  decided on NumPy's arrays, once
        try:
            probe(lambda F: (self._formula(loss.value, F, F), self._formula(loss.hessian, F, F)))
            self.closed_form = True
        except TypeError:
            self.closed_form = False
            self._values  # noqa: B018  refused here, not in the middle of a training

    def _formula(self, method: Callable[..., Any], y: Any, F: Any) -> Any:
        return method(self._kind(y), self._kind(F)).array

    def value(self, y: Any, F: Any) -> Any:
        """ℓ(y, p(F))."""
        if self.closed_form:
            return self._formula(self.loss.value, y, F)
        at, beyond = self._place(self._values, F)
        y = self._kind(y)
        return (at.mixed(VALUE, y) + at.mixed(GRADIENT, y) * beyond).array

    def gradient(self, y: ArrayLike, F: Any) -> Any:
        """∂ℓ/∂F."""
        if self.closed_form:
            return self._formula(self.loss.gradient, y, F)
        return self._place(self._values, F)[0].mixed(GRADIENT, self._kind(y)).array

    def value_and_gradient(self, y: ArrayLike, F: Any) -> tuple[Any, Any]:
        """Both."""
        return self.value(y, F), self.gradient(y, F)

    def hessian(self, y: ArrayLike, F: Any) -> Any:
        """∂²ℓ/∂F²; of a table, the slope of its gradient."""
        if self.closed_form:
            return self._formula(self.loss.hessian, y, F)
        at, beyond = self._place(self._values, F)
        slope: Any = np.where(beyond == 0, at.mixed(GRADIENT, self._kind(y), slope=True), 0.0)
        return slope.array

    def inverse(self, F: Any) -> Any:
        """Probability of the score."""
        try:
            scores: Any = self._kind(F)
            return self.loss.inverse(scores).array
        except TypeError:
            return self._place(self._probabilities, F)[0].polynomial(0, 0).array

    @cached_property
    def _values(self) -> ScoreTable:
        return self._table(lambda y, F: (self.loss.value(y, F), self.loss.gradient(y, F)))

    @cached_property
    def _probabilities(self) -> ScoreTable:
        return self._table(lambda y, F: (self.loss.inverse(F), self.loss.link.curve(F).dp))

    def _table(self, formula: Callable[[Any, Any], tuple[Any, Any]]) -> ScoreTable:
        table = tabulate(self.loss, formula)
        if table is None:
            raise TypeError(
                f"{self.loss!r} has no formulas for these arrays, and no table fits it, as it has kinks; "
                "train a smooth loss"
            )
        return table

    def _place(self, table: ScoreTable, F: Any) -> tuple[_Place, Any]:
        """Where scores lie in the table, and how far beyond its ends."""
        F = self._kind(F)
        inside = np.clip(F, table.origin, table.origin + len(table.coefficients) / table.per_unit)
        place = (inside - table.origin) * table.per_unit
        panel = np.clip(np.floor(place), 0.0, len(table.coefficients) - 1.0)
        return _Place(self._kind, table, panel, place - panel - 0.5), F - inside


class _Place(NamedTuple):
    """Where scores lie in a table: their panels, and the distances from the panels' centres."""

    kind: type[ForeignArray]
    table: ScoreTable
    panel: Any
    z: Any

    def mixed(self, column: int, y: Any, *, slope: bool = False) -> Any:
        """A column at the scores, or its slope; a label between 0 and 1 mixes those of the two labels."""
        zero, one = (self.polynomial(label, column, slope=slope) for label in (0, 1))
        return (1 - y) * zero + y * one

    def polynomial(self, label: int, column: int, *, slope: bool = False) -> Any:
        """The polynomials of one label, or their slopes."""
        powers = self.table.coefficients[:, label, column]
        if slope:
            powers = powers[:, 1:] * np.arange(1, powers.shape[1]) * self.table.per_unit
        taken = (np.take(self.kind.constant(c, self.z), self.panel) for c in powers.T[::-1])
        return reduce(lambda total, c: total * self.z + c, taken)
