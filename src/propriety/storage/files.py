"""Saving and loading."""

from __future__ import annotations

import os
from typing import Any

from propriety.storage import container
from propriety.storage.checks import Arrays
from propriety.storage.container import ModelFileError
from propriety.storage.models import pack, unpack

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

    document, arrays = pack(model)
    container.write(path, {"written_by": f"propriety {__version__}", **document}, arrays)


def load(path: Path) -> Any:
    """The estimator in a model file; nothing in the file is run.

    Raises
    ------
    ModelFileError
        If the file is no model file, truncated, altered, of a newer format, or holds anything that is not
        exactly what it must be. The message has the reason.
    """
    document, found = container.read(path)
    arrays = Arrays(found)
    try:
        model = unpack(document, arrays)
        arrays.end()
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None
    except Exception as error:
        # Whatever a hostile value sets off in a check, it is the file that is wrong.
        reason = f"{type(error).__name__}: {error}"[:300]
        raise ModelFileError(f"{os.fspath(path)}: the model in this file is not valid ({reason})") from None
    return model


def describe(path: Path) -> dict[str, Any]:
    """The header of a model file as a dictionary, checked by version and checksum: to look at, not to use."""
    return container.read(path)[0]
