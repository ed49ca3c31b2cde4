"""What a model file keeps of each estimator: its parameters by value, and what it has learned."""

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


# --- boosting -----------------------------------------------------------------------------------------


def _write_boosting(model: Any) -> tuple[dict[str, Any], Arrayed]:
    from propriety.boosting.objective import BinaryObjective
    from propriety.storage.forests import binner_arrays, forest_arrays

    objective = model._objective
    loss = objective.composite if isinstance(objective, BinaryObjective) else objective.loss
    state = {
        **shared_state(model),
        "columns": schema_state(model._schema),
        "loss": encode(loss, "the loss"),
        "seed": int(model._seed),
    }
    arrays = {
        **forest_arrays(model._forest),
        **binner_arrays(model._binner),
        "start": model._start_score,
        "train_score": model.train_score_,
        "validation_score": model.validation_score_,
    }
    if model._class_factors is not None:
        arrays["class_factors"] = model._class_factors
    return state, arrays


def _read_boosting(model: Any, state: dict[str, Any], arrays: Arrays) -> None:
    from propriety.boosting.objective import BinaryObjective, SimplexObjective
    from propriety.storage.forests import read_binner, read_forest

    k, d = read_shared(model, state)
    loss = decode(state.pop("loss", None))
    if k == 2:
        require(isinstance(loss, losses.Composite), "it has no loss for two classes")
        model._objective = BinaryObjective(loss, np.empty(0))
    else:
        require(isinstance(loss, simplex.SimplexLoss), f"it has no loss for {k} classes")
        model._objective = SimplexObjective(loss, np.empty(0, dtype=np.intp), k)
    n_scores = model._objective.n_scores
    model._schema = read_schema(state.pop("columns", None), d)
    model._binner = read_binner(arrays, model._schema.n_categories)
    categorical = [c is not None for c in model._schema.categories]
    model._forest = read_forest(arrays, n_scores, categorical)
    model.n_iter_ = (len(model._forest.roots) - 1) // n_scores
    model._start_score = arrays.take("start", "f8", (n_scores,), finite=True)
    model.train_score_ = arrays.take("train_score", "f8", (None,))
    model.validation_score_ = arrays.take("validation_score", "f8", (None,))
    model._class_factors = None
    if "class_factors" in arrays:
        factors = arrays.take("class_factors", "f8", (k,), finite=True)
        require(np.all(factors > 0), "a class has no weight")
        model._class_factors = factors
    seed = take(state, "seed", int)
    require(0 <= seed < 2**32, "its seed is out of range")
    model._seed = seed


# --- linear models ------------------------------------------------------------------------------------


def _write_linear(model: Any) -> tuple[dict[str, Any], Arrayed]:
    state = {
        **shared_state(model),
        "loss": encode(model.loss_, "the loss"),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "separated": model._separated,
    }
    return state, {"coef": model.coef_, "intercept": model.intercept_, "trace": model.trace_}


def _read_linear(model: Any, state: dict[str, Any], arrays: Arrays) -> None:
    k, d = read_shared(model, state)
    n_scores = 1 if k == 2 else k
    model.loss_ = decode(state.pop("loss", None))
    kind = losses.Composite if k == 2 else simplex.SimplexLoss
    require(isinstance(model.loss_, kind), f"it has no loss for {k} classes")
    model.coef_ = arrays.take("coef", "f8", (n_scores, d), finite=True)
    model.intercept_ = arrays.take("intercept", "f8", (n_scores,), finite=True)
    model.trace_ = arrays.take("trace", "f8", (None,))
    model.n_iter_, model.converged_ = take(state, "n_iter", int), take(state, "converged", bool)
    model._separated = take(state, "separated", (str, type(None)))
    model.report_ = None


KINDS = (
    estimator_kind("propriety.boosting", "BoostingClassifier", _write_boosting, _read_boosting),
    estimator_kind("propriety.linear", "LinearClassifier", _write_linear, _read_linear),
)
