"""How kernels are compiled.

``kernel`` is called from Python: cached on disk, GIL released. ``inner`` is called from kernels only, so it
needs no wrapper for Python and no cache of its own. Both divide as NumPy does, without a test for zero, so
that loops become vector instructions. Neither counts references: the caller holds every array while a kernel
runs, and the counting, atomic and at every slice and field, took more than half the time of a small node. So
they cannot make arrays; ``allocating`` can. ``small`` is ``inner`` that is always copied to where it is
called. ``shared`` is for plain functions of a few numbers, called from Python
and from kernels alike.

Numba's own way of compiling takes more than twice as long as :mod:`~propriety.trees.shortened`, whose
functions hand each other tuples by address (:mod:`~propriety.trees.handed`).

With ``NUMBA_DISABLE_JIT=1`` kernels run as Python, by one thread: slowly, with every index tested. For that,
``records`` makes types whose fields are attributes in Python too, and ``instead`` stands in for what only the
compiler knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, version_info
from numba import njit as njit_here
from numba.core.codegen import CPUCodegen
from numba.extending import register_jitable

from propriety.caching import njit

#: Whether kernels are compiled, and may be run by several threads.
COMPILED = not config.DISABLE_JIT
#: Whether this is a Numba whose insides are known. Others compile in their own way, which takes longer; so do
#: those before LLVM's new pass managers.
FAMILIAR = (0, 60) <= version_info[:2] <= (0, 68) and hasattr(CPUCodegen, "_pass_builder")

_ALLOCATING: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_KERNEL: dict[str, Any] = _ALLOCATING | {"_nrt": False}
_PART: dict[str, Any] = _KERNEL | {"no_cpython_wrapper": True}
if FAMILIAR:
    from propriety.trees.shortened import KernelCompiler, PartCompiler, ShortCompiler

    _ALLOCATING["pipeline_class"] = ShortCompiler
    _KERNEL["pipeline_class"] = KernelCompiler
    _PART["pipeline_class"] = PartCompiler
allocating = njit(**_ALLOCATING)
kernel = njit(**_KERNEL)
inner = njit_here(**_PART)
small = njit_here(forceinline=True, **_PART)
shared = register_jitable(**_PART)


def records(fields: list[Any]) -> np.dtype[Any]:
    """The type of a record with these fields."""
    dtype = np.dtype(fields, align=True)
    return dtype if COMPILED else np.dtype((np.record, dtype))


def instead(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """What runs in place of an intrinsic when nothing is compiled."""
    return lambda intrinsic: intrinsic if COMPILED else function
