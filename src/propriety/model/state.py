"""What the estimators have in common in a file: parameters by value, classes, columns, the loss."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety import losses
from propriety.data.seen import RowSketch
from propriety.data.table import Schema
from propriety.losses import simplex
from propriety.model.adapt import Adaptation
from propriety.storage.checks import Arrays, ModelFileError, names, require, take
from propriety.storage.upgrade import upgraded
from propriety.storage.values import decode, encode

if TYPE_CHECKING:
    from propriety.model.base import ProperClassifier

__all__ = ["Arrays", "make", "read_loss", "read_schema", "read_shared", "shared_state"]
_MOST_THREADS = 1024


def make(cls: Any, given: Any, state: dict[str, Any]) -> Any:
    """An estimator with its parameters, not fitted; those that the file does not name have their defaults."""
    require(isinstance(given, dict), "it has no parameters")
    given = upgraded(cls.__name__, {name: decode(value) for name, value in given.items()}, state)
    unknown = sorted(set(given) - set(cls._get_param_names()))
    require(not unknown, f"{cls.__name__} has no parameter {', '.join(unknown)[:200]}")
    model = cls(**given)
    threads = getattr(model, "n_jobs", None)
    right = threads is None or (isinstance(threads, int) and 0 < abs(threads) <= _MOST_THREADS)
    require(right, "n_jobs is wrong")
    return model


def shared_state(model: Any) -> dict[str, Any]:
    """Classes and columns, and the loss that was fitted."""
    state = {
        "classes": encode(model.classes_, "classes_"),
        "n_features": int(model.n_features_in_),
        "feature_names": None,
        "columns": _schema_state(model._schema),
        "loss": encode(model.loss_, "the loss"),
    }
    if model._needs_offset:
        state["needs_offset"] = True
    if model._training_rows is not None:
        state["training_rows"] = model._training_rows.text
    if model._class_shares is not None:
        state["class_shares"] = model._class_shares.tolist()
    if model.adaptation_ is not None:
        state["adaptation"] = encode(asdict(model.adaptation_), "the adaptation")
    if hasattr(model, "feature_names_in_"):
        state["feature_names"] = [str(name) for name in model.feature_names_in_]
    return state


def read_shared(model: ProperClassifier, state: dict[str, Any]) -> None:
    """Set classes, columns and, where the file has it, the loss."""
    classes = decode(state.pop("classes", None))
    require(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= 2, "it has no classes")
    require(np.all(classes[1:] > classes[:-1]), "classes are not in order")
    d = take(state, "n_features", int)
    require(0 < d < 2**31, "it has no features")
    model.classes_ = classes
    feature_names = names(state.pop("feature_names", None), d, "feature_names")
    model.n_features_in_ = d
    if feature_names is not None:
        model.feature_names_in_ = np.array(feature_names, dtype=object)
    # Files of 0.1.0 hold no columns of linear models, no loss of trees, and the loss of rules elsewhere.
    columns = state.pop("columns", None)
    model._schema = Schema((None,) * d, feature_names) if columns is None else read_schema(columns, d)
    stated = model._schema.names
    require(stated is None or feature_names in (None, stated), "feature_names are not those of the columns")
    model._needs_offset = "needs_offset" in state and take(state, "needs_offset", bool)
    # Files of 0.1 and 0.2 know nothing of the training rows.
    model._training_rows = (
        read_sketch(take(state, "training_rows", str)) if "training_rows" in state else None
    )
    if "loss" in state:
        model.loss_ = read_loss(state.pop("loss"), len(classes))
    if "class_shares" in state:
        model._class_shares = np.array(_shares(state.pop("class_shares"), len(classes)))
    if "adaptation" in state:
        model.adaptation_ = read_adaptation(decode(state.pop("adaptation")), len(classes))


def _shares(given: Any, k: int) -> tuple[float, ...]:
    good = isinstance(given, list | tuple) and len(given) == k and all(isinstance(v, float) for v in given)
    require(good and all(0 < v <= 1 for v in given), "shares of the classes are none")
    return tuple(given)


def read_adaptation(given: Any, k: int) -> Adaptation:
    """What makes other probabilities of those of the fit."""
    names = [field.name for field in fields(Adaptation)]
    require(isinstance(given, dict) and sorted(given) == sorted(names), "it has no adaptation")
    shifts, shares, pairs = given["shifts"], given["shares"], given["intervals"]
    numbers = [given["slope"], *(shifts if isinstance(shifts, tuple) else ())]
    good = len(numbers) == k + 1 and all(isinstance(v, float) and abs(v) < 1e3 for v in numbers)
    require(good and given["slope"] > 0, "its adaptation is not finite")
    if shares is not None:
        _shares(shares, k)
    if pairs is not None:
        good = isinstance(pairs, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs)
        require(good and all(isinstance(v, float) for pair in pairs for v in pair), "intervals of shares")
    require(isinstance(given["p_value"], float | None) and isinstance(given["text"], str), "its adaptation")
    return Adaptation(**given)


def read_sketch(text: str) -> RowSketch:
    """What a file knows of the training rows."""
    try:
        return RowSketch.read(text)
    except ValueError:
        raise ModelFileError("the model in this file is not valid: hashes of rows are damaged") from None


def _schema_state(schema: Schema) -> dict[str, Any]:
    columns = [None if c is None else encode(list(c), "a category") for c in schema.categories]
    return {"names": None if schema.names is None else list(schema.names), "categories": columns}


def read_schema(state: Any, d: int) -> Schema:
    """The columns of a table with d of them."""
    require(isinstance(state, dict) and set(state) == {"names", "categories"}, "it has no columns")
    columns = state["categories"]
    require(isinstance(columns, list) and len(columns) == d, f"it has not {d} columns")
    categories = []
    for column in columns:
        require(column is None or isinstance(column, list), "categories are no list")
        values = None if column is None else tuple(decode(v) for v in column)
        plain = values is None or (all(map(_is_plain, values)) and len(set(values)) == len(values))
        require(plain, "categories are not plain values")
        categories.append(values)
    return Schema(tuple(categories), names(state["names"], d, "names of columns"))


def _is_plain(value: Any) -> bool:
    """Whether a category is text, a number, or a tuple of such."""
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return isinstance(value, str | bool | int | float)


def read_loss(given: object, n_classes: int) -> Any:
    """A composite or a loss for two classes, a loss on the simplex or a loss for more."""
    loss = decode(given)
    kind = losses.Composite if n_classes == 2 else simplex.SimplexLoss
    many = "two" if n_classes == 2 else n_classes
    require(isinstance(loss, kind | losses.Loss), f"it has no loss for {many} classes")
    if isinstance(loss, kind):
        p = loss.inverse(np.zeros(1) if n_classes == 2 else np.zeros((1, n_classes)))
        require(np.all((p >= 0) & (p <= 1)), "its loss has no probabilities")
    return loss
