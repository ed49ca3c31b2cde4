"""Tables of losses kept on disk between processes, by what the loss is.

A table of a family takes a tenth of a second, one of a loss made of a user's function takes seconds, since
its link is inverted numerically. The name under which a table is kept is a digest of everything that it
depends on: parameters by their values, functions by their compiled source, with the values of the names that
they use. What cannot be told so, such as a function with state, is not kept. A file holds numbers only, and
is compared with the formulas at a sample of scores before it is used.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any
from zipfile import BadZipFile

import numpy as np

from propriety.losses.value import Value
from propriety.version import __version__

_LARGEST = 8_000_000  # bytes of a table that is kept
_MOST = 64  # tables that are kept
#: Where tables are kept; the first that can be written to.
_FOLDERS = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")


class _Untold(Exception):
    """A value whose digest would not tell when it changes."""


def digest(value: Any) -> str | None:
    """The same text for values that compute the same; None if that cannot be told.

    >>> digest(lambda p: p**2) == digest(lambda p: p**2), digest(lambda p: p**2) == digest(lambda p: p**3)
    (True, False)
    """
    try:
        parts = [f"{__version__} {np.__version__} {sys.version_info[:2]}", *_told(value, ())]
    except _Untold:
        return None
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]


def has_function(value: Any) -> bool:
    """Whether a function is among the parameters of a value, or of those that it is made of."""
    if isinstance(value, Value):
        return any(has_function(getattr(value, field.name)) for field in dataclasses.fields(value))  # type: ignore[arg-type]
    return any(map(has_function, value)) if isinstance(value, tuple) else callable(value)


def _told(value: Any, above: tuple[Any, ...]) -> Iterator[str]:  # noqa: C901
    """Texts that together say what a value is; `above` are the functions that it was met in."""
    match value:
        case FunctionType():
            if value not in above:  # a function that calls itself is told once
                yield from _function(value, (*above, value))
        case None | bool() | int() | float() | complex() | str() | bytes():
            yield f"{type(value).__name__} {value!r}"
        case np.ndarray() | np.generic() if not value.dtype.hasobject:
            yield f"array {value.dtype} {value.shape} {value.tobytes().hex()}"
        case tuple() | list():
            yield f"{type(value).__name__} {len(value)}"
            for item in value:
                yield from _told(item, above)
        case CodeType():
            yield f"code {value.co_code.hex()} {value.co_names} {value.co_varnames} {value.co_freevars}"
            yield from _told(value.co_consts, above)
        case ModuleType():
            yield f"module {value.__name__} {getattr(value, '__version__', '')}"
        case BuiltinFunctionType() | np.ufunc():
            yield f"builtin {getattr(value, '__module__', '')} {value.__name__}"
        case _ if dataclasses.is_dataclass(value):  # a loss, a link, or a function made of another
            yield f"{type(value).__module__} {type(value).__name__}"
            for field in dataclasses.fields(value):
                yield from _told(getattr(value, field.name), above)
        case _:
            raise _Untold


def _function(function: FunctionType, above: tuple[Any, ...]) -> Iterator[str]:
    yield from _told(function.__code__, above)
    yield from _told(function.__defaults__, above)
    for cell in function.__closure__ or ():
        yield from _told(cell.cell_contents, above)
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield name
            yield from _told(function.__globals__[name], above)


def _names(code: CodeType) -> Iterator[str]:
    """Global names and attributes that the code uses, in the functions inside it too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def folder() -> Path | None:
    """Where tables are kept; None if nothing can be written.

    ``NUMBA_CACHE_DIR`` if it is set, the user's folder for caches, or one of the user's own among the
    temporary files.
    """
    from propriety.caching import own_folder

    places = [Path(os.environ[name]) for name in _FOLDERS if os.environ.get(name)]
    with suppress(RuntimeError):  # there is no home
        places.append(Path.home() / ".cache")
    for place in places:
        try:
            (place / "propriety-tables").mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place / "propriety-tables", os.W_OK):
            return place / "propriety-tables"
    try:
        return own_folder(tempfile.gettempdir())
    except FileNotFoundError:
        return None


def kept(
    key: tuple[Any, ...], make: Callable[[], tuple[Any, ...] | None], fits: Callable[[Any], bool]
) -> Any:
    """The arrays that `make` makes, from disk if they were kept there and still fit.

    Parameters
    ----------
    key : tuple
        What the arrays depend on.
    make : function
        Makes a tuple of arrays and numbers, or None, which is not kept.
    fits : function
        Whether a tuple that was read is right, as far as a glance can tell.
    """
    name = digest(key)
    place = folder() if name is not None else None
    if place is None:
        return make()
    path = place / f"{name}.npz"
    arrays = _read(path)
    if arrays is not None and fits(arrays):
        return arrays
    made = make()
    if made is not None and sum(np.asarray(part).nbytes for part in made) <= _LARGEST:
        _write(path, made)
    return made


def _read(path: Path) -> tuple[Any, ...] | None:
    try:
        with np.load(BytesIO(path.read_bytes()), allow_pickle=False) as file:
            return tuple(file[f"arr_{i}"] for i in range(len(file.files)))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def _write(path: Path, arrays: tuple[Any, ...]) -> None:
    """Write whole or not at all, and forget the tables that were made longest ago."""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
            np.savez(file, *arrays)
        os.replace(file.name, path)
        old = sorted(path.parent.glob("*.npz"), key=lambda p: p.stat().st_mtime)[:-_MOST]
        for table in old:
            table.unlink(missing_ok=True)
    except OSError:
        pass  # a full disk is no reason not to fit
