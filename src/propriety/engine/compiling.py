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
Most of the rest is Numba's own Python: :class:`_Compiler` makes that shorter by a third.

With ``NUMBA_DISABLE_JIT=1`` kernels run as Python, by one thread: slowly, with every index tested. For that,
``records`` makes types whose fields are attributes in Python too, and ``instead`` stands in for what only the
compiler knows.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numba import config, njit, types, version_info
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import PassManager
from numba.extending import register_jitable

from propriety.caching import CACHE

#: Whether kernels are compiled, and may be run by several threads.
COMPILED = not config.DISABLE_JIT
#: Whether this is a Numba whose insides are known. Others compile in their own way, which takes longer.
FAMILIAR = (0, 60) <= version_info[:2] <= (0, 68)
_numbers = itertools.count()


#: Steps of Numba's compiler for what kernels do not have: closures, ``with``, functions that Numba inlines by
#: itself, loops over tuples of several types, expressions of whole arrays, errors raised with values.
_UNUSED = frozenset(
    {
        "WithLifting",
        "InlineClosureLikes",
        "RewriteSemanticConstants",
        "RewriteDynamicRaises",
        "MakeFunctionToJitFunction",
        "InlineInlinables",
        "FindLiterallyCalls",
        "LiteralUnroll",
        "LiteralPropagationSubPipelinePass",
        "NopythonRewrites",
    }
)


class _Flags(Flags):
    """Options of a function in the form in which Numba looks up what operations mean, by every option.

    That form is one object for all functions whose operations mean the same, with its hash at hand.
    """

    __slots__ = ("_hash",)
    _known: ClassVar[dict[Flags, Flags]] = {}

    def __hash__(self):
        if not hasattr(self, "_hash"):
            self._hash = super().__hash__()
        return self._hash

    def __eq__(self, other):
        return self is other or super().__eq__(other)

    def copy(self):
        """The options that matter to what is called: not how this function itself is called."""
        options = _Flags(self)
        options.forceinline, options.no_cpython_wrapper, options.no_cfunc_wrapper = False, True, True
        return self._known.setdefault(options, options)


class _Typing:
    """Numba's types of operations, which remembers those of operations on numbers.

    Numba looks through some thirty meanings of ``+`` at each that it meets, lists and sets of every kind too.
    """

    _known: ClassVar[dict[Any, Any]] = {}

    def __init__(self, whole):
        self._whole = whole

    def __getattr__(self, name):
        return getattr(self._whole, name)

    def resolve_function_type(self, func, args, kws):
        """The signature of an operation for arguments of these types."""
        resolve = self._whole.resolve_function_type
        numbers = not kws and all(isinstance(kind, (types.Number, types.Boolean)) for kind in args)
        if not (numbers and isinstance(func, types.Function)):
            return resolve(func, args, kws)
        # ``func`` is another object once more meanings are registered for the function.
        key = func, tuple(args)
        if key not in self._known:
            self._known[key] = resolve(func, args, kws)
        return self._known[key]


class _Compiler(Compiler):
    """Numba's compiler, quicker to find what operations mean, and without garbage collected meanwhile."""

    unused: ClassVar[frozenset[str]] = frozenset()  # steps that are left out

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, names):
        super().__init__(typingctx, targetctx, library, args, return_type, _Flags(flags), names)
        self.state.typingctx = _Typing(typingctx)

    def define_pipelines(self):
        """The steps, in Numba's order."""
        (whole,) = super().define_pipelines()
        short = PassManager(whole.pipeline_name)
        short.passes.extend(step for step in whole.passes if step[0].__name__ not in self.unused)
        short.finalize()
        return [short]

    def _compile_core(self):
        # One thread compiles at a time, under Numba's lock. What it makes is many small objects that live on.
        collecting = gc.isenabled()
        gc.disable()
        try:
            return super()._compile_core()
        finally:
            if collecting:
                gc.enable()


class _KernelCompiler(_Compiler):
    unused = _UNUSED


class _Part(JITCodeLibrary):
    """The code of a function that only kernels call: gathered, neither optimized nor made runnable."""

    def _optimize_functions(self, ll_module):
        """Leave it to the kernel."""
        ll_module.data_layout = self._codegen._data_layout

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


class _PartCompiler(_KernelCompiler):
    def __init__(self, typingctx, targetctx, library, *rest):
        part = _Part(targetctx.codegen(), f"part{next(_numbers)}") if library is None else library
        super().__init__(typingctx, targetctx, part, *rest)


_ALLOCATING: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_KERNEL: dict[str, Any] = _ALLOCATING | {"_nrt": False}
_PART: dict[str, Any] = _KERNEL | {"no_cpython_wrapper": True}
if FAMILIAR:
    _ALLOCATING["pipeline_class"] = _Compiler
    _KERNEL["pipeline_class"] = _KernelCompiler
    _PART["pipeline_class"] = _PartCompiler
allocating = njit(cache=CACHE, **_ALLOCATING)
kernel = njit(cache=CACHE, **_KERNEL)
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
