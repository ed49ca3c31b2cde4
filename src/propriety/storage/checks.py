"""What every array of a model file must be before anything reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class ModelFileError(ValueError):
    """A file that is not a model file, or one that is damaged, altered or too new; the message says which."""


def require(holds: Any, problem: str) -> None:
    """Refuse the file unless `holds`."""
    if not holds:
        raise ModelFileError(f"the model in this file is not valid: {problem}")


class Arrays:
    """The arrays of a file, each taken once and checked; what nobody takes is refused in the end."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._arrays = dict(arrays)

    def take(
        self, name: str, dtype: str, shape: tuple[int | None, ...], *, finite: bool = False
    ) -> NDArray[Any]:
        """The array `name`, of exactly this type and shape (None: any length)."""
        require(name in self._arrays, f"the array {name!r} is missing")
        array = self._arrays.pop(name)
        require(
            array.dtype == np.dtype(dtype), f"{name} holds {array.dtype}, and must hold {np.dtype(dtype)}"
        )
        fits = array.ndim == len(shape) and all(
            want in (None, have) for want, have in zip(shape, array.shape, strict=True)
        )
        require(fits, f"{name} has the shape {array.shape}, and must have {shape}")
        if finite:
            require(np.all(np.isfinite(array)), f"{name} holds a number that is not finite")
        return array

    def under(self, name: str) -> Arrays:
        """Those of a part of the model, whose names begin with that of the part; they are taken out here."""
        start = f"{name}/"
        chosen = [key for key in self._arrays if key.startswith(start)]
        return Arrays({key.removeprefix(start): self._arrays.pop(key) for key in chosen})

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def end(self) -> None:
        """Nothing may be left."""
        require(not self._arrays, f"there are arrays of no use: {', '.join(sorted(self._arrays))[:80]}")


def take(fields: Any, name: str, kind: type | tuple[type, ...]) -> Any:
    """A field of a state, removed from it, of the given type; True and False are no numbers."""
    require(name in fields, f"{name!r} is missing")
    value = fields.pop(name)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    right = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
    require(right, f"{name} is {str(value)[:60]!r}")
    return value


def names(value: Any, count: int, what: str) -> tuple[str, ...] | None:
    """A list of as many names, or None."""
    if value is None:
        return None
    good = isinstance(value, list | tuple) and len(value) == count and all(isinstance(v, str) for v in value)
    require(good, f"{what} are not {count} names")
    require(len(set(value)) == count, f"{what} occur twice")
    return tuple(value)
