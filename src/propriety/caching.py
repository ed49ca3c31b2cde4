"""Whether compiled kernels can be kept on disk, and where.

Numba keeps them in ``NUMBA_CACHE_DIR``, beside the package, or in the user's home. An installation in a
container often has none of these that can be written; then they are kept in a folder of the user's own in the
temporary one, or else compiled anew by every process. Decided once, here, for every kernel of the library.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core import event


def _nothing() -> None:
    """A function for Numba to look for a place for."""


def _has_place() -> bool:
    """Whether Numba finds a folder that it can write to."""
    try:
        njit(cache=True)(_nothing)
    except (RuntimeError, OSError):  # Numba's "no locator available"
        return False
    return True


def own_folder(parent: str | os.PathLike[str]) -> Path | None:
    """A folder in `parent` that nobody else can write to; None if there can be none.

    What lies in it is run, so one that another user has made, or could change, is not used.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(parent) / f"propriety-kernels-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        made = folder.lstat()
    except OSError:
        return None
    private = not hasattr(os, "getuid") or (made.st_uid == user and not made.st_mode & 0o077)
    return folder if stat.S_ISDIR(made.st_mode) and private else None


def _decide() -> bool:
    if _has_place():
        return True
    try:
        folder = own_folder(tempfile.gettempdir())
    except FileNotFoundError:  # there is no temporary folder either
        return False
    if folder is None:
        return False
    config.CACHE_DIR = str(folder)
    return _has_place()


#: Whether kernels are kept on disk: what ``cache=`` of Numba is given everywhere.
CACHE = _decide()


class _Progress(event.Listener):
    """Tells, once and on a terminal only, what the time is spent on when kernels are compiled for long."""

    _LONG = 2.0  # seconds

    def __init__(self) -> None:
        self._spent, self._began, self._depth, self._told = 0.0, 0.0, 0, False

    def on_start(self, event: Any) -> None:
        """Another function is compiled, perhaps in the middle of the one that calls it."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1
        self._tell(event)

    def on_end(self, event: Any) -> None:
        """It is compiled."""
        self._depth -= 1
        if self._depth == 0:
            self._spent += time.perf_counter() - self._began

    def _tell(self, event: Any) -> None:
        long = self._spent + time.perf_counter() - self._began > self._LONG
        ours = event.data["dispatcher"].py_func.__module__.startswith("propriety.")
        if long and ours and not self._told and sys.stderr is not None and sys.stderr.isatty():
            self._told = True
            again = "once on this machine" if CACHE else "in every process, since nothing can be kept"
            print(f"propriety: compiling, {again}; 'propriety warm' does it beforehand", file=sys.stderr)


event.register("numba:compile", _Progress())
