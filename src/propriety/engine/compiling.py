"""How kernels are compiled.

``kernel`` is called from Python: cached on disk, GIL released. ``inner`` is called from kernels only, so it
needs no wrapper for Python and no cache of its own. Both divide as NumPy does, without a test for zero, so
that loops become vector instructions. Neither counts references: the caller holds every array while a kernel
runs, and the counting, atomic and at every slice and field, took more than half the time of a small node. So
they cannot make arrays; ``allocating`` can. ``small`` is ``inner`` that is always copied to where it is
called. ``shared`` is for plain functions of a few numbers, called from Python and from kernels alike.

Numba optimizes every function, turns it into machine code, and does both again for each function that calls
it. An ``inner`` function is a :class:`_Part`: the code of all parts is gathered, and the work done once, in
the kernel. With tuples that are handed over by address, the first fit compiles in about half of the time.
Most of the rest is Numba's own Python: :class:`_Compiler` makes that shorter by a third.

With ``NUMBA_DISABLE_JIT=1`` kernels run as Python, by one thread: slowly, with every index tested. For that,
``records`` makes types whose fields are attributes in Python too, and ``instead`` stands in for what only the
compiler knows.
"""

from __future__ import annotations

import gc
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
        "InlineOverloads",
        "NoPythonSupportedFeatureValidation",
        "DumpParforDiagnostics",
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
    """Numba's types of operations, which remembers those that it was asked for.

    Numba looks through some thirty meanings of ``+`` at each that it meets, lists and sets of every kind too.
    """

    _known: ClassVar[dict[Any, Any]] = {}

    def __init__(self, whole, flags):
        self._whole, self._flags = whole, flags.copy()

    def __getattr__(self, name):
        return getattr(self._whole, name)

    def resolve_function_type(self, func, args, kws):
        """The signature of an operation for arguments of these types."""
        resolve = self._whole.resolve_function_type
        # The type of a function is another object once more meanings are registered for it.
        kind = func if isinstance(func, types.Type) else self._whole._lookup_global(func)
        if kws or not isinstance(kind, (types.Function, types.NumberClass)):
            return resolve(func, args, kws)
        key = kind, tuple(args), self._flags
        if key not in self._known:
            self._known[key] = resolve(func, args, kws)
        return self._known[key]


class _Steps(PassManager):
    """Steps of the compiler, without a record of each: its name, options, types and time."""

    def _runPass(self, index, pss, internal_state):
        pss.analysis = self._analysis
        for run in (pss.run_initialization, pss.run_pass, pss.run_finalizer):
            run(internal_state)


class _Whole(JITCodeLibrary):
    """Code that runs, with that of all parts that it calls, and of those that they call, each once."""

    def finalize(self):
        """Optimize the whole and make it runnable."""
        self._linking_libraries = _link_parts(self._final_module, self._linking_libraries)
        super().finalize()


class _WholeKernel(_Whole):
    """Code without references to count, so without the steps before those that take them out."""

    def _optimize_functions(self, ll_module):
        """Leave it to when all parts are there."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)


class _Part(JITCodeLibrary):
    """The code of a function that only kernels call: gathered, neither optimized nor made runnable."""

    def _optimize_functions(self, ll_module):
        """Leave it to the kernel."""
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self):
        """Leave it to the kernel, of which there may be several."""
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.linkage = "linkonce_odr"
        self._finalized = True

    def _get_module_for_linking(self):
        """All that it is and calls, for a function that is not compiled here."""
        if self._shared_module is None:
            self._shared_module = self._final_module.clone()
            for library in _link_parts(self._shared_module, self._linking_libraries):
                self._shared_module.link_in(library._get_module_for_linking(), preserve=True)
        return self._shared_module

    @property
    def codegen(self):
        """What Numba tells of the function's environment once it can run; this one cannot."""
        return self

    def set_env(self, name, environment):
        """Leave the environment: no kernel reads it, since none prints or raises."""


def _link_parts(module, libraries):
    """Link into a module all parts among the libraries and those that they call; returns the others."""
    found, waiting = {}, list(reversed(libraries))
    while waiting:
        library = waiting.pop()
        if library not in found:
            found[library] = None
            if isinstance(library, _Part):
                module.link_in(library._final_module, preserve=True)
                waiting.extend(library._linking_libraries)
    return [library for library in found if not isinstance(library, _Part)]


class _Compiler(Compiler):
    """Numba's compiler, quicker to find what operations mean, and without garbage collected meanwhile."""

    unused: ClassVar[frozenset[str]] = frozenset()  # steps that are left out
    code: ClassVar[type[JITCodeLibrary]] = _Whole

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, names):
        flags = _Flags(flags)
        super().__init__(typingctx, targetctx, library, args, return_type, flags, names)
        self.state.typingctx = _Typing(typingctx, flags)

    def define_pipelines(self):
        """The steps, in Numba's order."""
        (whole,) = super().define_pipelines()
        short = _Steps(whole.pipeline_name)
        short.passes.extend(step for step in whole.passes if step[0].__name__ not in self.unused)
        short.finalize()
        return [short]

    def _compile_core(self):
        if self.state.library is None:
            self.state.library = self.code(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            self.state.library.enable_object_caching()
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
    code = _WholeKernel


class _PartCompiler(_KernelCompiler):
    code = _Part


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
