"""Where compiled kernels are kept on disk, if they can be.

In a folder below the one that ``NUMBA_CACHE_DIR`` names, beside the package, or in the user's folder for
caches. An installation in a container often has none of these that can be written; then it is a folder of the
user's own in the temporary one, or else kernels are compiled anew by every process. Decided once, for all.

Numba notices a change in the file of a kernel, and none in those of the functions that it calls. So the
folder is named by a hash of all sources that are compiled (:data:`SOURCES`), the versions and the processor.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from propriety import numba_import  # noqa: F401  before the others

# isort: split
import llvmlite
import numba
import numpy as np
from llvmlite import binding as llvm
from numba import config
from numba.core import event
from numba.misc.appdirs import AppDirs

from propriety.compilation import guarded, making

_PACKAGE = Path(__file__).parent
#: What is compiled, and what decides how: files of the package, and folders with all that is in them.
SOURCES = (
    "caching.py",
    "trees",
    "distributed/shared_memory.py",
    "boosting/histograms.py",
    "boosting/leaves.py",
    *(f"forest/{name}.py" for name in ("growing", "joining", "sample", "trees", "votes")),
    "linear/kernels.py",
    "losses/kernels.py",
    "rules/kernels.py",
    "tree/smoothing.py",
)
#: Options of Numba by which it compiles otherwise.
_OPTIONS = ("BOUNDSCHECK", "OPT", "CPU_NAME", "CPU_FEATURES", "ENABLE_AVX", "LOOP_VECTORIZE", "SLP_VECTORIZE")
_OLD = 30 * 86400.0  # seconds after which a folder that nobody has used is deleted


def _files(package: Path) -> Iterator[Path]:
    for name in SOURCES:
        path = package / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path] * path.exists()


def fingerprint(package: Path) -> str:
    """A hash of all that compiled kernels depend on."""
    options = [str(getattr(config, name, None)) for name in _OPTIONS]
    features = llvm.get_host_cpu_features().flatten()
    versions = [sys.version, numba.__version__, llvmlite.__version__, np.__version__]
    said = blake2b("\n".join([*versions, llvm.get_host_cpu_name(), features, *options]).encode())
    for path in _files(package):
        said.update(path.relative_to(package).as_posix().encode())
        said.update(blake2b(path.read_bytes()).digest())
    return said.hexdigest()[:16]


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


def _places() -> Iterator[Path | None]:
    """Folders to try, the preferred one first."""
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
    yield _PACKAGE / "__pycache__"
    with suppress(OSError, RuntimeError):  # there is no home
        yield Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)
    with suppress(FileNotFoundError):  # there is no temporary folder either
        yield own_folder(tempfile.gettempdir())


def _decide() -> Path | None:
    """The folder of our kernels; None if there can be none."""
    if config.DISABLE_JIT:
        return None
    try:
        name = f"propriety-{fingerprint(_PACKAGE)}"
    except OSError:  # the package is not a folder
        return None
    for place in filter(None, _places()):
        folder = place / name
        try:
            new = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        with suppress(OSError):
            os.utime(folder)
        if new:
            _forget_old(place)
        return folder
    return None


def _forget_old(place: Path) -> None:
    """Delete what earlier versions have kept, if nobody has used it for long."""
    for other in place.glob("propriety-" + "[0-9a-f]" * 16):
        with suppress(OSError):
            if time.time() - other.stat().st_mtime > _OLD:
                shutil.rmtree(other, ignore_errors=True)


#: Where kernels are kept, and whether they are.
FOLDER = _decide()
CACHE = FOLDER is not None


class _Forgiving:
    """Numba's cache of a function, in which a file that cannot be read is one that is not there."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *arguments: Any) -> Any:
        """What was kept, if anything."""
        try:
            return self._cache.load_overload(*arguments)
        except Exception:  # a file that was cut off may be anything
            with suppress(Exception):
                self._cache.flush()  # or what is compiled now could not be kept beside it
            return None

    def save_overload(self, *arguments: Any) -> None:
        """Keep it, if that can be done: a full disk is no reason not to fit."""
        with suppress(OSError):
            self._cache.save_overload(*arguments)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As `numba.njit`, for functions that are kept on disk."""

    def decorate(function: Callable[..., Any]) -> Any:
        if FOLDER is None:
            return guarded(numba.njit(**options)(function))
        with making:  # the kernels of other packages stay where they are
            theirs, config.CACHE_DIR = config.CACHE_DIR, str(FOLDER)
            try:
                compiled: Any = numba.njit(cache=True, **options)(function)
            finally:
                config.CACHE_DIR = theirs
        compiled._cache = _Forgiving(compiled._cache)
        return guarded(compiled)

    return decorate


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
