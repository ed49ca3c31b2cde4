"""The format of the model file: safe and versioned; nothing in it is ever run. It knows no model.

A file is a safetensors container: arrays, and a header of JSON with everything else by value. Reading checks
the container, the version, the checksum, and then every value and every array against what it must be.
`propriety.model.files` writes and reads models by it.
"""

from __future__ import annotations

from propriety.storage.checks import ModelFileError
from propriety.storage.container import FORMAT

__all__ = ["FORMAT", "ModelFileError"]
