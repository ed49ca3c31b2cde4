"""How kernels are compiled.

``kernel`` is called from Python: cached on disk, GIL released. ``inner`` is called from kernels only, so it
needs no wrapper for Python and no cache of its own; that halves the time of the first compilation. Both
divide as NumPy does, without a test for zero, so that loops become vector instructions. Neither counts
references: the caller holds every array while a kernel runs, and the counting, atomic and at every slice and
field, took more than half the time of a small node. So they cannot make arrays; ``allocating`` can.
The compiler works through everything that a function calls once more for every level of calls above it.
``once`` is for a function that is called from one place only: it is put there before compilation, which
spares a level, but slows the compiler down itself if there are many in a row. ``small`` is ``inner`` that is
always copied to where it is called: a call hands over seven numbers for every array. ``shared`` is for
plain functions of a few numbers, called from Python and from kernels alike.

With ``NUMBA_DISABLE_JIT=1`` kernels run as Python, by one thread: slowly, with every index tested. For that,
``records`` makes types whose fields are attributes in Python too, and ``instead`` stands in for what only the
compiler knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, njit
from numba.extending import register_jitable

from propriety.caching import CACHE

#: Whether kernels are compiled, and may be run by several threads.
COMPILED = not config.DISABLE_JIT

allocating = njit(nogil=True, cache=CACHE, error_model="numpy")
kernel = njit(nogil=True, cache=CACHE, error_model="numpy", _nrt=False)
inner = njit(nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
small = njit(
    nogil=True,
    error_model="numpy",
    _nrt=False,
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
    forceinline=True,
)
once = njit(nogil=True, error_model="numpy", _nrt=False, inline="always")
shared = register_jitable


def records(fields: list[Any]) -> np.dtype[Any]:
    """The type of a record with these fields."""
    dtype = np.dtype(fields, align=True)
    return dtype if COMPILED else np.dtype((np.record, dtype))


def instead(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """What runs in place of an intrinsic when nothing is compiled."""
    return lambda intrinsic: intrinsic if COMPILED else function
