"""Saving and loading: any model of the catalogue as one file, by its contract."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from propriety.data.costs import SHORT, TERMS, Costs, as_dict
from propriety.data.uncertain import is_uncertain, mean
from propriety.model import catalogue
from propriety.storage import container
from propriety.storage.checks import Arrays, ModelFileError, require
from propriety.storage.values import encode
from propriety.version import __version__

if TYPE_CHECKING:
    from propriety.model.base import ProperClassifier

Path = str | os.PathLike[str]


def save(model: Any, path: Path) -> None:
    """Write a fitted model to a model file, whole or not at all.

    A parameter or a loss that cannot be written by value is refused, with what to do instead. The bytes are
    read back, with every check of `load`, before the file takes its place: what cannot be loaded is not
    saved.

    >>> import tempfile, os
    >>> from propriety import LinearClassifier, load
    >>> model = LinearClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.propriety")
    >>> save(model, path)
    >>> load(path).predict([[0.0], [3.0]])
    array([0, 1])
    """
    data = to_bytes(model)
    try:
        from_bytes(data)
    except ModelFileError as error:
        raise ValueError(
            f"this {type(model).__name__} cannot be saved, because its file would be refused ({error}); fit "
            "it anew on data without such values, or keep it with pickle"
        ) from None
    container.write(path, data)


def load(path: Path) -> Any:
    """The model in a model file; nothing in the file is run.

    Raises
    ------
    ModelFileError
        If the file is no model file, truncated, altered, of a newer format, or holds anything that is not
        exactly what it must be. The message has the reason.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        return from_bytes(data)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def describe(path: Path) -> dict[str, Any]:
    """The header of a model file as a dictionary, checked by version and checksum: to look at, not to use."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return container.unpack(data)[0]
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def to_bytes(model: ProperClassifier) -> bytes:
    """The model as the bytes of its file; the same model gives the same bytes."""
    document, arrays = pack(model)
    return container.pack({"written_by": f"propriety {__version__}", **document}, arrays)


def from_bytes(data: bytes) -> Any:
    """The model of the bytes of a file."""
    document, stored = container.unpack(data)
    arrays = Arrays(stored)
    try:
        model = unpack(document, arrays)
        arrays.end()
    except ModelFileError:
        raise
    except Exception as error:
        # Whatever a hostile value sets off in a check, it is the file that is wrong.
        reason = f"{type(error).__name__}: {error}"[:300]
        raise ModelFileError(f"the model in this file is not valid ({reason})") from None
    return model


def pack(model: ProperClassifier) -> tuple[dict[str, Any], dict[str, Any]]:
    """The document of a fitted model, and its arrays."""
    row = _row_of(model)
    state, arrays = model.state()
    given = model.get_params(deep=False) if row in catalogue.ESTIMATORS else {}
    given |= {name: _savable(name, given[name]) for name in SHORT if name in given}
    if isinstance(given.get("costs"), Costs):
        costs = given["costs"]
        terms = {name: _savable(f"costs__{name}", getattr(costs, name)) for name in TERMS}
        given["costs"] = costs.replace(**terms)
    parameters = {name: encode(value, f"the parameter {name}") for name, value in given.items()}
    return {"estimator": row.name, "parameters": parameters, "state": state}, arrays


def _savable(name: str, term: Any) -> Any:
    """A term of the costs as a file can hold it; a distribution and a function are refused."""
    if is_uncertain(term) and not isinstance(term, tuple | list):
        raise ValueError(
            f"{name} is a distribution, which a model file does not hold. Decisions follow its mean: "
            f"model.set_params({name}={mean(name, term):.6g}) keeps them all; or keep the model with pickle"
        )
    if isinstance(term, str) or not callable(term):
        return as_dict(term)
    raise ValueError(
        f"{name} is a function of the rows, and a model file holds values, never code. Put what it returns "
        f"into a column of X and name that, {name}='column', or fit and predict with {name}=array; pickle "
        "keeps a function that is defined by name in a module that can be imported, and no lambda"
    )


def unpack(document: Any, arrays: Arrays) -> Any:
    """The model of a document; it takes its arrays out of those given."""
    require(isinstance(document, dict), "it has no model")
    name, state = document.get("estimator"), document.get("state")
    row = next((row for row in catalogue.SAVED if row.name == name), None)
    if row is None:
        known = ", ".join(row.name for row in catalogue.SAVED)
        raise ModelFileError(f"the file holds the model {str(name)[:60]!r}; this version knows {known}")
    require(isinstance(state, dict), "it has no state")
    model = row.type.from_state(document.get("parameters"), state, arrays)
    require(not state, f"there are values of no use: {', '.join(map(str, state))[:80]}")
    return model


def _row_of(model: Any) -> catalogue.Entry:
    for row in catalogue.SAVED:
        if type(model).__name__ == row.name and type(model) is row.type:
            return row
    known = ", ".join(row.name for row in catalogue.SAVED)
    inside = next((name for name in ("best_estimator_", "estimator_", "steps") if hasattr(model, name)), None)
    advice = {None: "keep it with pickle", "steps": "save its last step, or keep the whole with pickle"}
    raise TypeError(
        f"a model file cannot hold a {type(model).__name__}; it can hold {known}: "
        + advice.get(inside, f"save its {inside}")
    )
