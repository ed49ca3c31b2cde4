"""How kernels are compiled.

``kernel`` is called from Python: cached on disk, GIL released. ``inner`` is called from kernels only, so it
needs no wrapper for Python and no cache of its own; that halves the time of the first compilation. Both
divide as NumPy does, without a test for zero, so that loops become vector instructions.
"""

from __future__ import annotations

from numba import njit

kernel = njit(nogil=True, cache=True, error_model="numpy")
inner = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
