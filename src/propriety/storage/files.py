"""Saving and loading: the document of a model file, and the one table of what can be in it."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from propriety.storage import container
from propriety.storage.checks import Arrays, require
from propriety.storage.container import ModelFileError
from propriety.storage.estimators import KINDS, Kind, make, parameters

Path = str | os.PathLike[str]


def save(model: Any, path: Path) -> None:
    """Write a fitted estimator to a model file, whole or not at all.

    A parameter or a loss that cannot be written by value is refused, with what to do instead.

    >>> import tempfile, os
    >>> from propriety import LinearClassifier, load
    >>> model = LinearClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.propriety")
    >>> save(model, path)
    >>> load(path).predict([[0.0], [3.0]])
    array([0, 1])
    """
    from propriety import __version__

    kind = _kind_of(model)
    check_is_fitted(model)
    state, arrays = kind.write(model)
    document = {
        "written_by": f"propriety {__version__}",
        "estimator": kind.name,
        "parameters": parameters(model),
        "state": state,
    }
    container.write(path, document, arrays)


def load(path: Path) -> Any:
    """The estimator in a model file; nothing in the file is run.

    Raises
    ------
    ModelFileError
        If the file is no model file, truncated, altered, of a newer format, or holds anything that is not
        exactly what it must be. The message has the reason.
    """
    document, arrays = container.read(path)
    try:
        return _load(document, Arrays(arrays))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None
    except Exception as error:
        # Whatever a hostile value sets off in a check, it is the file that is wrong.
        reason = f"{type(error).__name__}: {error}"[:300]
        raise ModelFileError(f"{os.fspath(path)}: the model in this file is not valid ({reason})") from None


def _load(document: dict[str, Any], arrays: Arrays) -> Any:
    name = document.get("estimator")
    kind = next((kind for kind in KINDS if kind.name == name), None)
    if kind is None:
        raise ModelFileError(
            f"the file holds the estimator {str(name)[:60]!r}; this version knows "
            + ", ".join(kind.name for kind in KINDS)
        )
    model = make(kind, document.get("parameters"))
    state = document.get("state")
    require(isinstance(state, dict), "it has no state")
    kind.read(model, state, arrays)
    require(not state, f"there are values of no use: {', '.join(map(str, state))[:80]}")
    arrays.end()
    return model


def describe(path: Path) -> dict[str, Any]:
    """The header of a model file as a dictionary, checked by version and checksum: to look at, not to use."""
    return container.read(path)[0]


def _kind_of(model: Any) -> Kind:
    for kind in KINDS:
        if type(model).__name__ == kind.name and type(model) is kind.type:
            return kind
    raise TypeError(
        f"a model file cannot hold a {type(model).__name__}; it can hold "
        f"{', '.join(kind.name for kind in KINDS)}. Of a pipeline, save its last step, or keep the whole with "
        "pickle"
    )
