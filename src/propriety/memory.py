"""Where arrays with a number for each row are kept: in memory or, for rows beyond it, in maps of files.

A fit over rows in parts is a thread for each part (`propriety.distributed`). A thread that has a `Maps` gets
its large arrays from files, and gives their pages back when its turn is over; any other thread gets plain
memory.
The files have no name, so that nothing is left of them, however the process ends.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import re
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_OFTEN = 0.2  # seconds between two requests to trim
_LARGE = 1 << 16  # bytes from which an array is worth a file
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_here = threading.local()
_limit: int | None = None  # of this process, set by those who run it


def allocate(file: int, size: int) -> None:
    """Give a new file its size; where that can be, a full disk is an error now, not a crash later."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file, 0, size)
            return
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):  # a file system that cannot
                raise
    os.ftruncate(file, size)


class Maps:
    """Arrays in unnamed files of the folder for temporary files."""

    def __init__(self) -> None:
        self._trimmed = 0.0
        self._maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()  # a map goes with the last array on it

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """A new array in a file."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        with tempfile.TemporaryFile(prefix="propriety") as file:
            allocate(file.fileno(), size)
            pages = mmap.mmap(file.fileno(), size)
        self._maps.add(pages)
        return np.frombuffer(pages, dtype=dtype).reshape(shape)

    def rest(self) -> None:
        """Give the pages back; what they hold stays in the files."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for pages in list(self._maps):
                pages.madvise(mmap.MADV_DONTNEED)
        if time.monotonic() - self._trimmed > _OFTEN:
            trim()
            self._trimmed = time.monotonic()


@cache
def _c_library() -> Any:
    return ctypes.CDLL(None) if sys.platform == "linux" else None


def trim() -> None:
    """Give back to the system what the allocators of C, for each thread some, and of Arrow keep."""
    if hasattr(_c_library(), "malloc_trim"):
        _c_library().malloc_trim(0)
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()


@contextmanager
def within(maps: Maps) -> Iterator[None]:
    """Keep the large arrays of this thread in maps."""
    _here.maps = maps
    try:
        yield
    finally:
        _here.maps = None


def rest() -> None:
    """Give the pages of this thread's maps back, if it has any."""
    maps = getattr(_here, "maps", None)
    if maps is not None:
        maps.rest()


def empty(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """As ``np.empty``, for an array with entries for each row.

    >>> empty(3).shape, empty((2, 3), np.uint8).dtype
    ((3,), dtype('uint8'))
    """
    shape = (shape,) if isinstance(shape, int) else shape
    maps, size = getattr(_here, "maps", None), int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.empty(shape, dtype) if maps is None or size < _LARGE else maps.empty(shape, dtype)


def kept(array: NDArray[Any]) -> NDArray[Any]:
    """The array, which is to stay: as it is or, in a thread that has maps, a copy in one of them.

    >>> kept(np.arange(3))
    array([0, 1, 2])
    """
    if getattr(_here, "maps", None) is None or array.nbytes < _LARGE or array.dtype.hasobject:
        return array
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def in_bytes(memory: Any, name: str = "memory") -> int:
    """A number of bytes: a whole number, or a text such as "8GB".

    >>> in_bytes("2GB"), in_bytes("1.5 MiB"), in_bytes(1000)
    (2147483648, 1572864, 1000)
    """
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([kmgt]?)i?b?\s*", memory.lower())
        if found:
            memory = int(float(found[1]) * 2 ** _UNITS[found[2]])
    if isinstance(memory, bool) or not isinstance(memory, int | np.integer) or memory <= 0:
        raise ValueError(f'{name} must be a number of bytes, or text such as "8GB", got {memory!r}')
    return int(memory)


def in_words(n_bytes: float) -> str:
    """A number of bytes for people.

    >>> in_words(2.5 * 2**30), in_words(300e6), in_words(12)
    ('2.5 GB', '286 MB', '1 MB')
    """
    return f"{n_bytes / 2**30:.1f} GB" if n_bytes >= 2**30 else f"{max(1.0, n_bytes / 2**20):.0f} MB"


def hold_to(limit: int | None) -> None:
    """Hold this process to so many bytes in all, as those who run it do; None: no limit but the system's."""
    global _limit  # noqa: PLW0603
    _limit = limit


def is_held() -> bool:
    """Whether this process has a limit of its own."""
    return _limit is not None


def available() -> int:
    """Bytes that this process can take: what the system says is free, or less if it is held to less."""
    room = []
    with suppress(AttributeError, OSError, ValueError):  # half of all, where nothing better is known
        room = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2]
    with suppress(OSError, KeyError, ValueError):
        stated = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        room = [int(stated["MemAvailable"].split()[0]) * 1024]
    group = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):  # there may be no such limit
        room.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    if _limit is not None:
        room.append(_limit - resident())
    return max(0, min(room, default=4 << 30))


def resident() -> int:
    """Bytes of memory that this process takes now; 0 if the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
