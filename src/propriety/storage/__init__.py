"""The model file: one safe, versioned format for every estimator; nothing in it is ever run.

A file is a safetensors container: arrays, and a header of JSON with everything else by value. Reading checks
the container, the version, the checksum, and then every value and every array against what it must be.
"""

from propriety.storage.container import FORMAT, ModelFileError
from propriety.storage.files import describe, load, save

__all__ = ["FORMAT", "ModelFileError", "describe", "load", "save"]
