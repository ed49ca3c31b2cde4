"""Any model as a document and arrays, and back: the one table of what a file can hold."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from propriety.storage.boosting import BOOSTING
from propriety.storage.checks import Arrays, require
from propriety.storage.container import ModelFileError
from propriety.storage.estimators import Arrayed, Kind, parameters
from propriety.storage.linear import LINEAR
from propriety.storage.rules import RULES
from propriety.storage.table_models import table_kind
from propriety.storage.trees import TREE


def pack(model: Any) -> tuple[dict[str, Any], Arrayed]:
    """The document of a fitted model, and its arrays."""
    kind = _kind_of(model)
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    state, arrays = kind.write(model)
    return {"estimator": kind.name, "parameters": parameters(model), "state": state}, arrays


def unpack(document: Any, arrays: Arrays) -> Any:
    """The model of a document; it takes its arrays out of those given."""
    require(isinstance(document, dict), "it has no model")
    name, state = document.get("estimator"), document.get("state")
    kind = next((kind for kind in KINDS if kind.name == name), None)
    if kind is None:
        known = ", ".join(kind.name for kind in KINDS)
        raise ModelFileError(f"the file holds the model {str(name)[:60]!r}; this version knows {known}")
    require(isinstance(state, dict), "it has no state")
    model = kind.read(kind.type, document.get("parameters"), state, arrays)
    require(not state, f"there are values of no use: {', '.join(map(str, state))[:80]}")
    return model


def _kind_of(model: Any) -> Kind:
    for kind in KINDS:
        if type(model).__name__ == kind.name and type(model) is kind.type:
            return kind
    known = ", ".join(kind.name for kind in KINDS)
    inside = next((name for name in ("best_estimator_", "estimator_", "steps") if hasattr(model, name)), None)
    advice = {None: "keep it with pickle", "steps": "save its last step, or keep the whole with pickle"}
    raise TypeError(
        f"a model file cannot hold a {type(model).__name__}; it can hold {known}: "
        + advice.get(inside, f"save its {inside}")
    )


KINDS: tuple[Kind, ...] = (BOOSTING, LINEAR, TREE, RULES, table_kind(pack, unpack))
