"""The container: safetensors with one document of JSON in its header, and a checksum over every byte.

The checksum is the SHA-256 of the whole file with the sixty-four digits of the checksum itself set to zero.
It finds accidents; it is no signature, so everything in a file is checked as if it were hostile.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.storage.atomic import atomically
from propriety.storage.checks import ModelFileError

#: Version of the format that is written. Files of a later one are refused.
FORMAT = 3
_KEY = "propriety"
_NO_SUM = "0" * 64
_LONGEST_HEADER = 100_000_000  # the limit of safetensors itself


def pack(document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The document and the arrays as the bytes of a file; the same content gives the same bytes."""
    from safetensors.numpy import save

    content = {"format": FORMAT, "sha256": _NO_SUM, **document}
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    data = save({k: np.ascontiguousarray(v) for k, v in arrays.items()}, metadata={_KEY: text})
    digest = hashlib.sha256(data).hexdigest().encode()
    start = data.index(_NO_SUM.encode())
    return data[:start] + digest + data[start + len(digest) :]


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write the bytes to a file, whole or not at all."""
    with atomically(path) as temporary:
        temporary.write_bytes(data)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The document and the arrays of the bytes of a file, or an error with the reason."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    header, document = _document(data)
    _check_format(document)
    _check_sum(data, header, document)
    try:
        # Checks that the arrays lie inside the file, one after the other, and are as long as their shapes.
        arrays = load(data)
    except (SafetensorError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise ModelFileError(f"the arrays of this model file cannot be read: {error}") from None
    return document, {name: array.copy() for name, array in arrays.items()}


def _document(data: bytes) -> tuple[int, dict[str, Any]]:
    """Where the header ends, and the document in it."""
    if len(data) < 8:
        raise ModelFileError(f"this is no model file: it has {len(data)} bytes")
    end = 8 + int.from_bytes(data[:8], "little")
    if end - 8 > _LONGEST_HEADER or not data[8:9] == b"{":
        raise ModelFileError("this is no model file: a safetensors header is missing")
    if end > len(data):
        raise ModelFileError(f"the file is truncated: its header needs {end} bytes, and it has {len(data)}")
    header = _parse(data[8:end], "the header")
    metadata = header.get("__metadata__")
    text = metadata.get(_KEY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFileError("this is a safetensors file, but it holds no propriety model")
    return end, _parse(text, "the description of the model")


def _parse(text: str | bytes, what: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the file is damaged: {what} is not readable ({error})") from None
    if not isinstance(parsed, dict):
        raise ModelFileError(f"the file is damaged: {what} is not an object")
    return parsed


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


def _check_format(document: dict[str, Any]) -> None:
    version = document.get("format")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"the file is damaged: its format is {version!r}")
    if version > FORMAT:
        by = document.get("written_by")
        by = f" by {by[:40]}" if isinstance(by, str) else ""
        raise ModelFileError(
            f"the file was written{by} in format {version}, and this version reads formats up to {FORMAT}: "
            "install a newer propriety"
        )


def _check_sum(data: bytes, header: int, document: dict[str, Any]) -> None:
    stated = document.get("sha256")
    if not isinstance(stated, str) or len(stated) != len(_NO_SUM) or not stated.isascii():
        raise ModelFileError("the file is damaged: it has no checksum")
    start = data.find(stated.encode(), 8, header)
    if start < 0:
        raise ModelFileError("the file is damaged: its checksum is written in an unusual way")
    digest = hashlib.sha256(data[:start])
    digest.update(_NO_SUM.encode())
    digest.update(memoryview(data)[start + len(_NO_SUM) :])
    if digest.hexdigest() != stated:
        raise ModelFileError(
            "the file is truncated or altered: its checksum does not match; get it again from where it was "
            "written"
        )
