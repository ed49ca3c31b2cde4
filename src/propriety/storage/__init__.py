"""The format of the model file: safe and versioned; nothing in it is ever run. It knows no model.

A file is a safetensors container: arrays, and a header of JSON with everything else by value. Reading checks
the container, the version, the checksum, and then every value and every array against what it must be.
`propriety.model.files` writes and reads models by it.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from propriety.storage.checks import ModelFileError
from propriety.storage.container import FORMAT

__all__ = ["FORMAT", "ModelFileError"]


def __getattr__(name: str) -> Any:
    if name not in ("save", "load", "describe"):
        raise AttributeError(f"module 'propriety.storage' has no attribute {name!r}")
    warnings.warn(
        f"propriety.storage.{name} is propriety.model.files.{name} now; the old name will go in the next "
        "release",
        FutureWarning,
        stacklevel=2,
    )
    return getattr(import_module("propriety.model.files"), name)
