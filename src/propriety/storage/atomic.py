"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it takes its place when the block ends without an error.

    A link stays, and the file that it leads to is written; a file that was there keeps its permissions. A
    device and whatever else is no plain file is refused.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomically(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> [p.name for p in folder.iterdir()]
    ['a.txt']
    """
    target = _target(Path(path))
    # The ending is kept, so that a writer which goes by it does the same.
    temporary = target.with_name(f".{secrets.token_hex(6)}.{target.name}")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _target(path: Path) -> Path:
    """The plain file, or the place for one, that the path leads to."""
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "not a plain file, which alone can be written", str(path))
    return target
