"""The estimators in pipelines that skl2onnx converts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from propriety.export.columns import read_matrix
from propriety.export.graph import Graph, Value
from propriety.model import catalogue

_LEAST_OPSET = 13
#: What users of skl2onnx may ask for of any classifier.
_OPTIONS = {"zipmap": [True, False, "columns"], "output_class_labels": [False, True], "nocl": [True, False]}


def register_skl2onnx() -> None:
    """Tell skl2onnx how the estimators are converted, so that pipelines with one of them are.

    skl2onnx looks for no plugins, so this is called once before ``skl2onnx.to_onnx``. A model alone needs
    none of it: ``model.to_onnx()``.

    >>> import propriety
    >>> propriety.register_skl2onnx()  # doctest: +SKIP
    """
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

    for row in catalogue.ESTIMATORS:
        update_registered_converter(
            row.type, row.name, calculate_linear_classifier_output_shapes, convert, options=_OPTIONS
        )


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Add a fitted model to the graph of a pipeline."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType

    model = operator.raw_operator
    export = model._export()
    if export.costs is None:
        raise ValueError(
            f"the costs of this {type(model).__name__} differ by row, so it has no label of its own, which "
            "skl2onnx needs; state one fp_cost and one fn_cost"
        )
    if container.target_opset_any_domain("") < _LEAST_OPSET:
        raise ValueError(f"propriety's models need opset {_LEAST_OPSET} at least; give target_opset=18")
    label, probabilities = operator.outputs
    if isinstance(label.type, Int64TensorType):
        export = replace(export, labels=export.labels.astype(np.int64))
    double = isinstance(probabilities.type, DoubleTensorType)
    # skl2onnx knows ai.onnx.ml up to 3, whose trees are single precision.
    graph = Graph(scope.get_unique_operator_name("propriety"), plain=True)
    given = Value(graph, operator.inputs[0].full_name).cast(np.float64)
    export.write(
        read_matrix(given, export.schema, np.float64),
        np.float64 if double else np.float32,
        (label.full_name, probabilities.full_name),
    )
    container.initializers.extend(graph.constants)
    container.nodes.extend(graph.nodes)
    container.node_domain_version_pair_sets.add(("", _LEAST_OPSET))
