"""How kernels are compiled.

``kernel`` is called from Python: cached on disk, GIL released. ``inner`` is called from kernels only, so it
needs no wrapper for Python and no cache of its own. Both divide as NumPy does, without a test for zero, so
that loops become vector instructions. Neither counts references: the caller holds every array while a kernel
runs, and the counting, atomic and at every slice and field, took more than half the time of a small node. So
they cannot make arrays; ``allocating`` can. ``small`` is ``inner`` that is always copied to where it is
called. ``shared`` is for plain functions of a few numbers, called from Python and from kernels alike.

Numba optimizes every function, turns it into machine code, and does both again for each function that calls
it. An ``inner`` function is a :class:`_Part`: what it calls is gathered, and the work done once, in the
kernel. With tuples that are handed over by address, the first fit compiles in about two thirds of the time.

With ``NUMBA_DISABLE_JIT=1`` kernels run as Python, by one thread: slowly, with every index tested. For that,
``records`` makes types whose fields are attributes in Python too, and ``instead`` stands in for what only the
compiler knows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.extending import register_jitable

from propriety.caching import CACHE

#: Whether kernels are compiled, and may be run by several threads.
COMPILED = not config.DISABLE_JIT
_numbers = itertools.count()


class _Part(JITCodeLibrary):
    """The code of a function that only kernels call: gathered, neither optimized nor made runnable."""

    def _optimize_final_module(self):
        """Leave it to the kernel."""

    def _finalize_final_module(self):
        self._finalized = True

    @property
    def codegen(self):
        """What Numba tells of the function's environment once it can run; this one cannot."""
        return self

    def set_env(self, name, environment):
        """Leave the environment: no kernel reads it, since none prints or raises."""


class _PartCompiler(Compiler):
    def __init__(self, typingctx, targetctx, library, *rest):
        part = _Part(targetctx.codegen(), f"part{next(_numbers)}") if library is None else library
        super().__init__(typingctx, targetctx, part, *rest)


_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_PART: dict[str, Any] = _OPTIONS | {"no_cpython_wrapper": True, "pipeline_class": _PartCompiler}
allocating = njit(nogil=True, cache=CACHE, error_model="numpy", no_cfunc_wrapper=True)
kernel = njit(cache=CACHE, **_OPTIONS)
inner = njit(**_PART)
small = njit(forceinline=True, **_PART)
shared = register_jitable


def records(fields: list[Any]) -> np.dtype[Any]:
    """The type of a record with these fields."""
    dtype = np.dtype(fields, align=True)
    return dtype if COMPILED else np.dtype((np.record, dtype))


def instead(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """What runs in place of an intrinsic when nothing is compiled."""
    return lambda intrinsic: intrinsic if COMPILED else function
