"""A fitted model as an ONNX model: inputs, scores, probabilities and the decision."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from propriety.costs import ResolvedCosts
from propriety.data.numbers import Numbers
from propriety.data.table import Schema
from propriety.export import links
from propriety.export.columns import Columns, read_columns
from propriety.export.formula import (
    Bent,
    Formula,
    Kernel,
    Linear,
    Linked,
    Ordered,
    Softmax,
    Stack,
    Trees,
    Votes,
)
from propriety.export.graph import ML, ML_OPSET, OPSET, Graph, Value, onnx_package
from propriety.export.trees import write_trees
from propriety.storage.atomic import atomically
from propriety.version import __version__

LABEL, PROBABILITIES = "label", "probabilities"
DTYPES = {"float64": np.float64, "float32": np.float32}
_IR = 10  # of the file; read by onnxruntime 1.18 and later


@dataclass(frozen=True, eq=False)
class Export:
    """What is written: a formula, the columns it reads, and the decision.

    Attributes
    ----------
    formula : Formula
    schema : Schema
    labels : ndarray
        What may be decided: the classes and, if the costs allow it, to abstain.
    costs : ResolvedCosts or None
        None if they differ by row: then the model has probabilities, and no decision.
    facts : dict
        What the file says of the model: text by name.
    numbers : Numbers or None
        Made of the columns before the formula reads them.
    """

    formula: Formula
    schema: Schema
    labels: NDArray[Any]
    costs: ResolvedCosts | None
    facts: dict[str, str] = field(default_factory=dict)
    numbers: Numbers | None = None

    def write(self, columns: Columns, dtype: DTypeLike, names: tuple[str, ...]) -> None:
        """Add the operators, from the columns to outputs of these names, probabilities last."""
        graph = columns.graph
        P = write_probabilities(*_read(columns, self.formula, self.numbers))
        if self.costs is not None:
            graph.apply(
                "Gather", _as_output(self.labels), write_decision(graph, self.costs, P), name=names[0]
            )
        if dtype == np.float64:
            graph.apply("Identity", P, name=names[-1])
        else:
            graph.apply("Cast", P, to=onnx_package().TensorProto.FLOAT, name=names[-1])

    def model(self, dtype: str = "float64", by_column: bool = False) -> Any:
        """The ONNX model."""
        if dtype not in DTYPES:
            raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}")
        onnx, number = onnx_package(), DTYPES[dtype]
        graph = Graph()
        names = (PROBABILITIES,) if self.costs is None else (LABEL, PROBABILITIES)
        self.write(read_columns(graph, self.schema, number, by_column), number, names)
        helper = onnx.helper
        tensor = helper.make_tensor_value_info
        kind = helper.np_dtype_to_tensor_dtype
        outputs = [tensor(PROBABILITIES, kind(np.dtype(number)), [None, self.n_classes])]
        if self.costs is not None:
            labels = _as_output(self.labels)
            text = labels.dtype == object
            outputs.insert(0, tensor(LABEL, onnx.TensorProto.STRING if text else kind(labels.dtype), [None]))
        model = helper.make_model(
            helper.make_graph(graph.nodes, "propriety", graph.inputs, outputs, graph.constants),
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)],
            ir_version=_IR,
            producer_name="propriety",
            producer_version=__version__,
        )
        helper.set_model_props(model, {**self.facts, "error of links": f"{self.error:.1e}"})
        onnx.checker.check_model(model)
        return model

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.labels) - (self.costs is not None and self.costs.abstains)

    @property
    def error(self) -> float:
        """The largest error of a probability that the table of a link makes; 0 where there is none."""
        used = self.formula.readout
        return 2 * max(map(links.error_of, used.links)) if isinstance(used, Linked | Ordered) else 0.0


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write an ONNX model to a file, whole or not at all."""
    with atomically(path) as temporary:
        temporary.write_bytes(model.SerializeToString())


def _as_output(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as ONNX can hold them: whole numbers, floats and truth values as they are, else text."""
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64)
    if labels.dtype.kind in "fb":
        return labels.astype(np.float64) if labels.dtype.kind == "f" else labels
    return np.array([str(label) for label in labels.tolist()], dtype=object)


# --- scores ---------------------------------------------------------------------------------------


def write_probabilities(columns: Columns, formula: Formula) -> Value:
    """Probabilities of the classes, of shape (n, K)."""
    graph, scores = columns.graph, write_scores(columns, formula.scores)
    P = _read_out(graph, formula.readout, scores)
    if formula.factors is not None:
        P = P if formula.power == 1 else graph.apply("Pow", P, np.array(formula.power))
        P = P * formula.factors[None, :]
        P = P / P.sum_of_columns()
    return P


def write_scores(columns: Columns, scores: Linear | Kernel | Trees | Stack) -> Value:
    """Scores, of shape (n, S)."""
    if isinstance(scores, Trees):
        return write_trees(columns, scores)
    graph = columns.graph
    if isinstance(scores, Kernel):
        return _write_kernel(columns, scores)
    if isinstance(scores, Linear):
        product = graph.apply("MatMul", columns.matrix, np.ascontiguousarray(scores.coef.T))
        return product + scores.intercept[None, :]
    total: Any = None
    for (formula, numbers), weight in zip(scores.members, scores.weights, strict=True):
        P = write_probabilities(*_read(columns, formula, numbers))
        P = P.clip(scores.least, 1.0 - scores.least)
        part = _on_scale(graph, scores, P) * float(weight)
        total = part if total is None else total + part
    return total + scores.intercept[None, :]


def _write_kernel(columns: Columns, kernel: Kernel) -> Value:
    """Two products of matrices with an exponential between: ‖z − l‖² is linear in z² and z."""
    graph, points = columns.graph, kernel.points.T
    scales = np.array([[term.scale for term in kernel.numbers.terms] or [1.0]])
    z = (columns.as_numbers(kernel.numbers).matrix / scales).clip(-kernel.limit, kernel.limit)
    to = np.concatenate([np.full_like(points, kernel.rate), -2.0 * kernel.rate * points])
    distance = graph.apply("MatMul", graph.join([z * z, z]), to) + kernel.rate * (points**2).sum(axis=0)[None]
    values = (-distance.clip(0.0, np.inf)).exp()
    product = graph.apply("MatMul", values, np.ascontiguousarray(kernel.coef.T))
    return product + kernel.intercept[None, :]


def _read(columns: Columns, formula: Formula, numbers: Numbers | None) -> tuple[Columns, Formula]:
    """The columns that a formula reads, and the formula with the scales of numbers in its coefficients.

    Runtimes join a product of matrices with a product with one number, and keep that in single precision.
    """
    if numbers is None:
        return columns, formula
    if not isinstance(formula.scores, Linear):
        raise TypeError("numbers are made of the columns of linear models alone")
    scales = np.array([term.scale for term in numbers.terms] or [1.0])
    scores = replace(formula.scores, coef=formula.scores.coef / scales)
    return columns.as_numbers(numbers), replace(formula, scores=scores)


def _on_scale(graph: Graph, stack: Stack, P: Value) -> Value:
    """A member's probabilities as scores."""
    scale = stack.scale
    if isinstance(scale, Softmax):
        logs = (P / P.sum_of_columns()).log()
        return (logs - logs.sum_of_columns() / float(len(stack.intercept))) / scale.rate
    if len(scale.links) == 1:
        return links.write_link(graph, scale.links[0], P.columns([1]), stack.least)
    P = P / P.sum_of_columns()
    return graph.join(
        [links.write_link(graph, link, P.columns([k]), stack.least) for k, link in enumerate(scale.links)]
    )


def _read_out(graph: Graph, readout: Linked | Ordered | Softmax | Bent | Votes, scores: Value) -> Value:
    if isinstance(readout, Votes):
        votes = readout.sign[None, :] * scores + readout.base[None, :] + readout.smoothing[None, :]
        return votes / readout.total
    if isinstance(readout, Bent):
        logs = graph.apply("LogSoftmax", scores, axis=1)
        return graph.apply("Softmax", logs * np.array(readout.slopes) + np.array(readout.shifts), axis=1)
    if isinstance(readout, Softmax):
        return graph.apply("Softmax", scores if readout.rate == 1 else scores * readout.rate, axis=1)
    if isinstance(readout, Ordered):
        first = scores.columns([0])
        above = [
            links.write_inverse(graph, link, scores.columns([k]) - first)
            for k, link in enumerate(readout.links, 1)
        ]
        above = list(accumulate(above, lambda lower, higher: graph.apply("Min", lower, higher)))
        return graph.join([1 - above[0], *(a - b for a, b in pairwise(above)), above[-1]])
    if len(readout.links) == 1:
        p = links.write_inverse(graph, readout.links[0], scores)
        return graph.join([1 - p, p])
    each = [links.write_inverse(graph, link, scores.columns([k])) for k, link in enumerate(readout.links)]
    P = graph.join(each)
    total = P.sum_of_columns()
    return (total > 0.0).where(P / total, 1.0 / len(each))


# --- the decision ---------------------------------------------------------------------------------


def write_decision(graph: Graph, costs: ResolvedCosts, P: Value) -> Value:
    """The place of the decision among the labels, of shape (n,), as `ResolvedCosts.decide` has it."""
    if costs.n_classes == 2 and not costs.abstains:
        place = graph.constant(np.array(costs.positive)), graph.constant(np.array(1 - costs.positive))
        decided = (P.columns([costs.positive]) >= float(costs.threshold)).where(*place)
        return graph.apply("Reshape", decided, np.array([-1], dtype=np.int64))
    if costs.plain:
        return graph.apply("ArgMax", P, axis=1, keepdims=0)
    expected = graph.apply("MatMul", P, np.asarray(costs.matrix))
    return graph.apply("ArgMin", expected, axis=1, keepdims=0, select_last_index=1)
