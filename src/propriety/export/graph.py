"""A graph of ONNX operators, written as arithmetic.

>>> graph = Graph()  # doctest: +SKIP
>>> x = graph.input("x", np.float64, 1)  # doctest: +SKIP
>>> 1 / (1 + graph.apply("Exp", -x))  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

#: The oldest versions of the operators that are used; TreeEnsemble in double precision is new in 5.
OPSET, ML_OPSET = 18, 5
ML = "ai.onnx.ml"


def onnx_package() -> Any:
    """The package ``onnx``, or an error that says how to get it."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise ImportError(
            'to_onnx needs the package onnx, at least 1.16: pip install "propriety[onnx]"'
        ) from None
    return onnx


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of the graph, by its name; arithmetic with it adds operators."""

    graph: Graph
    name: str
    #: An array to the left of an operator leaves the arithmetic to this class.
    __array_ufunc__ = None

    def __add__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Add", self, other)

    def __radd__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Add", other, self)

    def __sub__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Sub", self, other)

    def __rsub__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Sub", other, self)

    def __mul__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Mul", self, other)

    def __rmul__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Mul", other, self)

    def __truediv__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Div", self, other)

    def __rtruediv__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Div", other, self)

    def __neg__(self) -> Value:
        return self.graph.apply("Neg", self)

    def __ge__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("GreaterOrEqual", self, other)

    def __gt__(self, other: Value | ArrayLike) -> Value:
        return self.graph.apply("Greater", self, other)

    def exp(self) -> Value:
        """The exponential function."""
        return self.graph.apply("Exp", self)

    def log(self) -> Value:
        """The logarithm."""
        return self.graph.apply("Log", self)

    def abs(self) -> Value:
        """The size."""
        return self.graph.apply("Abs", self)

    def clip(self, low: float, high: float) -> Value:
        """The nearest number from low to high."""
        return self.graph.apply("Min", self.graph.apply("Max", self, low), high)

    def where(self, yes: Value | ArrayLike, no: Value | ArrayLike) -> Value:
        """`yes` where this truth value holds, else `no`."""
        return self.graph.apply("Where", self, yes, no)

    def cast(self, dtype: DTypeLike) -> Value:
        """The same as another type."""
        onnx = onnx_package()
        return self.graph.apply("Cast", self, to=onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def columns(self, which: Sequence[int] | np.ndarray) -> Value:
        """Some of the columns."""
        return self.graph.apply("Gather", self, np.asarray(which, dtype=np.int64), axis=1)

    def sum_of_columns(self) -> Value:
        """The sum of each row, of shape (n, 1)."""
        return self.graph.apply("ReduceSum", self, np.array([1], dtype=np.int64), keepdims=1)

    def rows_of(self, table: np.ndarray) -> Value:
        """Rows of a table, by these numbers."""
        return self.graph.apply("Gather", table, self, axis=0)


@dataclass(eq=False)
class Graph:
    """Nodes, constants and inputs; names begin with the prefix, so that graphs can be joined.

    ``plain`` asks for operators of the main domain alone, which every runtime has.
    """

    prefix: str = "propriety"
    plain: bool = False
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)

    def _name(self, kind: str) -> str:
        return f"{self.prefix}/{kind}_{len(self.nodes) + len(self.constants)}"

    def constant(self, value: Any) -> Value:
        """A number or an array that is part of the model; numbers are doubles."""
        array = np.asarray(value)
        if array.dtype.kind == "U":
            array = array.astype(object)
        name = self._name("constant")
        self.constants.append(onnx_package().numpy_helper.from_array(array, name))
        return Value(self, name)

    def input(self, name: str, dtype: DTypeLike, width: int) -> Value:
        """An input of shape (n, width)."""
        helper = onnx_package().helper
        text = np.dtype(dtype).kind in "UO"
        kind = onnx_package().TensorProto.STRING if text else helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, kind, [None, width]))
        return Value(self, name)

    def apply(
        self, operator: str, *values: Any, domain: str = "", name: str = "", **attributes: Any
    ) -> Value:
        """The result of an operator; what is no value of the graph becomes a constant."""
        given = [v if isinstance(v, Value) else self.constant(_as_double(v)) for v in values]
        result = Value(self, name or self._name(operator))
        self.nodes.append(
            onnx_package().helper.make_node(
                operator, [v.name for v in given], [result.name], domain=domain, **attributes
            )
        )
        return result

    def join(self, parts: Sequence[Value]) -> Value:
        """Columns side by side."""
        return parts[0] if len(parts) == 1 else self.apply("Concat", *parts, axis=1)


def _as_double(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) else np.asarray(value, dtype=np.float64)
