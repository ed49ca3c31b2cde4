"""What the estimators have in common in a file: parameters by value, classes, columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from propriety import losses
from propriety.frames import Schema
from propriety.losses import simplex
from propriety.storage.checks import Arrays, names, require, take
from propriety.storage.values import decode, encode

Arrayed = dict[str, Any]
_MOST_THREADS = 1024


@dataclass(frozen=True)
class Kind:
    """How one kind of model is written and read.

    ``write`` gives the state as JSON and the arrays; ``read`` makes the model from its class, parameters,
    state and arrays, taking out of the last two everything that it uses.
    """

    module: str
    name: str
    write: Callable[[Any], tuple[dict[str, Any], Arrayed]]
    read: Callable[[Any, Any, dict[str, Any], Arrays], Any]

    @property
    def type(self) -> Any:
        """The class."""
        return getattr(import_module(self.module), self.name)


def parameters(model: Any) -> dict[str, Any]:
    """The constructor's parameters by value; a model that is no estimator has none."""
    if not hasattr(model, "get_params"):
        return {}
    return {
        name: encode(value, f"the parameter {name}") for name, value in model.get_params(deep=False).items()
    }


def estimator_kind(
    module: str,
    name: str,
    write: Callable[[Any], tuple[dict[str, Any], Arrayed]],
    fill: Callable[[Any, dict[str, Any], Arrays], None],
) -> Kind:
    """The kind of an estimator; `fill` gives one that has its parameters what it has learned."""

    def read(cls: Any, given: Any, state: dict[str, Any], arrays: Arrays) -> Any:
        model = make(cls, given)
        fill(model, state, arrays)
        return model

    return Kind(module, name, write, read)


def make(cls: Any, given: Any) -> Any:
    """An estimator with its parameters, not fitted."""
    require(isinstance(given, dict), "it has no parameters")
    known = set(cls._get_param_names())
    require(set(given) == known, f"{cls.__name__} has other parameters than {', '.join(sorted(given))[:200]}")
    model = cls(**{name: decode(value) for name, value in given.items()})
    threads = getattr(model, "n_jobs", None)
    require(
        threads is None or (isinstance(threads, int) and 0 < abs(threads) <= _MOST_THREADS), "n_jobs is wrong"
    )
    return model


# --- what estimators share ----------------------------------------------------------------------------


def shared_state(model: Any) -> dict[str, Any]:
    """Classes and columns."""
    state = {
        "classes": encode(model.classes_, "classes_"),
        "n_features": int(model.n_features_in_),
        "feature_names": None,
    }
    if hasattr(model, "feature_names_in_"):
        state["feature_names"] = [str(name) for name in model.feature_names_in_]
    return state


def read_shared(model: Any, state: dict[str, Any]) -> tuple[int, int]:
    """Set classes and columns; returns the numbers of classes and of features."""
    classes = decode(state.pop("classes", None))
    require(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= 2, "it has no classes")
    require(np.all(classes[1:] > classes[:-1]), "classes are not in order")
    d = take(state, "n_features", int)
    require(0 < d < 2**31, "it has no features")
    model.classes_, model.n_features_in_ = classes, d
    known = names(state.pop("feature_names", None), d, "feature_names")
    if known is not None:
        model.feature_names_in_ = np.array(known, dtype=object)
    return len(classes), d


def schema_state(schema: Schema) -> dict[str, Any]:
    """Names and categories of the columns."""
    columns = [None if c is None else encode(list(c), "a category") for c in schema.categories]
    return {"names": None if schema.names is None else list(schema.names), "categories": columns}


def read_schema(state: Any, d: int) -> Schema:
    """The columns of a table with d of them."""
    require(isinstance(state, dict) and set(state) == {"names", "categories"}, "it has no columns")
    columns = state["categories"]
    require(isinstance(columns, list) and len(columns) == d, f"it has not {d} columns")
    found = []
    for column in columns:
        require(column is None or isinstance(column, list), "categories are no list")
        values = None if column is None else tuple(decode(v) for v in column)
        plain = values is None or all(isinstance(v, str | bool | int | float) for v in values)
        require(
            plain and (values is None or len(set(values)) == len(values)), "categories are not plain values"
        )
        found.append(values)
    return Schema(tuple(found), names(state["names"], d, "names of columns"))


def read_loss(given: Any, n_classes: int) -> Any:
    """A composite for two classes, a loss on the simplex for more."""
    loss = decode(given)
    kind = losses.Composite if n_classes == 2 else simplex.SimplexLoss
    many = "two" if n_classes == 2 else n_classes
    require(isinstance(loss, kind), f"it has no loss for {many} classes")
    return loss
