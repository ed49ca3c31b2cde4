"""Numba's compiler, made shorter for kernels.

Numba optimizes every function, turns it into machine code, and does both again for each function that calls
it. A function that only kernels call is a :class:`Part`: the code of all parts is gathered, and the work done
once, in the kernel. Most of the rest is Numba's own Python. Steps that find nothing to do are left out, so is
all that is about references and debuggers, and the instructions for numbers, arrays of them and loops are
written without a search through all that Numba can do.

These are insides of Numba: :mod:`~propriety.trees.jit` leaves versions alone that were not tried.
"""

from __future__ import annotations

import operator
from typing import Any, ClassVar

from numba import types
from numba.core import cgutils, ir, typing
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.ir_utils import build_definitions, get_definition, guard
from numba.core.lowering import Lower
from numba.core.ssa import reconstruct_ssa
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import NativeLowering, PreLowerStripPhis
from numba.core.untyped_passes import IRProcessing, ReconstructSSA
from numba.cpython.builtins import do_minmax
from numba.np.arrayobj import fix_integer_index, load_item, store_item

#: Steps of Numba's compiler for what kernels do not have: closures, ``with``, functions that Numba inlines by
#: itself, loops over tuples of several types, expressions of whole arrays, errors raised with values. The one
#: that makes the code legal marks where each variable ends, for references to be given back.
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
        "IRLegalization",
        "DumpParforDiagnostics",
    }
)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Processing(IRProcessing):
    """The code in Numba's normal form, without the lives of its variables: so are the next two."""

    def run_pass(self, state):
        state.func_ir.blocks = canonicalize_cfg(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _SingleAssignment(ReconstructSSA):
    def run_pass(self, state):
        state.func_ir = reconstruct_ssa(state.func_ir)
        self._patch_locals(state)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _NoPhis(PreLowerStripPhis):
    def run_pass(self, state):
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        state.func_ir.blocks = canonicalize_cfg(state.func_ir.blocks)
        return True


_OF_LOOPS = frozenset({"getiter", "iternext", "pair_first", "pair_second"})
_WITH_STEP = 3  # numbers of a range


def _chooses(kind, args):
    """Whether a function is the ``min`` or ``max`` of numbers, which Numba compiles for each kind of them."""
    ours = isinstance(kind, types.Function) and kind.typing_key in (min, max) and len(args) > 1
    return ours and all(isinstance(one, (types.Integer, types.Float)) for one in args)


class _Lower(Lower):
    """Numba's writer of instructions, quicker with numbers and without notes for debuggers."""

    def lower_block(self, block):
        """Write a block, without a note of what is being written for the case that it fails."""
        self.pre_block(block)
        for statement in block.body:
            self.loc = statement.loc
            self.lower_inst(statement)
        self.post_block(block)

    def alloca_lltype(self, name, lltype, datamodel=None):
        """Room for a variable; its size, which debuggers are told, takes long to find."""
        return cgutils.alloca_once(self.builder, lltype, name=name, zfill=False)

    def lower_expr(self, resty, expr):
        """What an expression is; the steps of a loop over a range in fewer instructions than Numba's."""
        kind = self.typeof(expr.value.name) if expr.op in _OF_LOOPS else None
        if isinstance(kind, types.RangeType) and self._counts_up(expr.value, resty):
            return self._begin_range(resty, self.loadvar(expr.value.name))
        if isinstance(kind, types.RangeIteratorType):
            return self._next_of_range(resty, self.loadvar(expr.value.name))
        if isinstance(kind, types.Pair) and isinstance(kind.first_type, types.Number):
            place = 0 if expr.op == "pair_first" else 1
            return self.builder.extract_value(self.loadvar(expr.value.name), place)
        return super().lower_expr(resty, expr)

    def _counts_up(self, variable, resty):
        """Whether a range is made here, of one or two numbers."""
        made = guard(get_definition, self.func_ir, variable)
        call = isinstance(made, ir.Expr) and made.op == "call" and not made.kws and not made.vararg
        return call and len(made.args) < _WITH_STEP and self.typeof(variable.name).dtype == resty.yield_type

    def _begin_range(self, resty, value):
        """Where the loop is, and how many turns are left."""
        builder = self.builder
        start, stop = (builder.extract_value(value, k) for k in (0, 1))
        size, zero = builder.sub(stop, start), start.type(0)
        size = builder.select(builder.icmp_signed(">", size, zero), size, zero)
        at, left = (cgutils.alloca_once(builder, start.type) for _ in range(2))
        builder.store(start, at)
        builder.store(size, left)
        return self._record(resty, (at, stop, start.type(1), left))

    def _next_of_range(self, resty, value):
        builder = self.builder
        at, step, left = (builder.extract_value(value, k) for k in (0, 2, 3))
        number, size = builder.load(at), builder.load(left)
        builder.store(builder.add(number, step), at)
        builder.store(builder.sub(size, size.type(1), flags=["nsw"]), left)
        return self._record(resty, (number, builder.icmp_signed(">", size, size.type(0))))

    def _record(self, kind, values):
        record = self.context.get_constant_undef(kind)
        for k, value in enumerate(values):
            record = self.builder.insert_value(record, value, k)
        return record

    def lower_binop(self, resty, expr, op):
        """An operation on two numbers; Numba would look for others that take a constant, as ``x ** 2`` is."""
        signature = self.fndesc.calltypes[expr]
        numbers = all(isinstance(kind, (types.Number, types.Boolean)) for kind in signature.args)
        if not numbers or op is operator.pow:
            return super().lower_binop(resty, expr, op)
        given = [
            self._cast_variable(*pair) for pair in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        ]
        kind = self.context.typing_context.resolve_value_type(op)
        signature = _Typing(self.context.typing_context, self.flags).resolve_function_type(
            kind, signature.args, {}
        )
        result = self.context.get_function(kind, signature)(self.builder, given)
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def _lower_call_normal(self, fnty, expr, signature):
        if not _chooses(fnty, signature.args):
            return super()._lower_call_normal(fnty, expr, signature)
        given = self.fold_call_args(fnty, signature, expr.args, expr.vararg, expr.kws)
        order = operator.lt if fnty.typing_key is min else operator.gt
        return do_minmax(self.context, self.builder, signature.args, given, order)

    def lower_getitem(self, resty, expr, value, index, signature):
        """One number of an array, without what Numba writes for all that it can index."""
        place = self._place(value, index, signature)
        if place is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        number = load_item(self.context, self.builder, signature.args[0], place)
        return self.context.cast(self.builder, number, signature.return_type, resty)

    def lower_setitem(self, target_var, index_var, value_var, signature):
        """The same for a number that is stored."""
        place = self._place(target_var, index_var, signature)
        if place is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        kind = signature.args[0]
        store_item(self.context, self.builder, kind, self._cast_variable(value_var, kind.dtype), place)
        return None

    def _cast_variable(self, variable, kind):
        value = self.loadvar(variable.name)
        return self.context.cast(self.builder, value, self.typeof(variable.name), kind)

    def _place(self, array, index, signature):
        """The address of the one number of an array that is asked for; None: something else is, or a test."""
        kind, asked = signature.args[:2]
        several = isinstance(asked, types.BaseTuple)
        each = tuple(asked) if several else (asked,)
        whole = isinstance(kind, types.Array) and all(isinstance(one, types.Integer) for one in each)
        if not whole or len(each) != kind.ndim or self.context.enable_boundscheck:
            return None
        value, indices = self.loadvar(array.name), self._cast_variable(index, asked)
        builder, members, places = self.builder, self.context.data_model_manager[kind], []
        field = {name: members.get_field_position(name) for name in ("data", "shape", "strides")}
        shape = [builder.extract_value(value, [field["shape"], axis]) for axis in range(kind.ndim)]
        strides = [builder.extract_value(value, [field["strides"], axis]) for axis in range(kind.ndim)]
        for axis, one in enumerate(each):
            at = builder.extract_value(indices, axis) if several else indices
            places.append(fix_integer_index(self.context, builder, one, at, shape[axis]))
        data = builder.extract_value(value, field["data"])
        return cgutils.get_item_pointer2(self.context, builder, data, shape, strides, kind.layout, places)


class _PlainLower(_Lower):
    """The same for functions without references to count."""

    def storevar(self, value, name, argidx=None):
        """Store a variable; what it held before had no references."""
        if name in self._singly_assigned_vars and not self._disable_sroa_like_opt:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    lowering_class = _Lower


@register_pass(mutates_CFG=True, analysis_only=False)
class _PlainLowering(NativeLowering):
    lowering_class = _PlainLower


#: Steps that do less than Numba's.
_SHORTER: dict[str, type] = {"NativeLowering": _Lowering}
_SHORTER_WITHOUT_REFERENCES: dict[str, type] = {
    "IRProcessing": _Processing,
    "ReconstructSSA": _SingleAssignment,
    "PreLowerStripPhis": _NoPhis,
    "NativeLowering": _PlainLowering,
}


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
            numbers = [types.unliteral(one) for one in args]
            if _chooses(kind, numbers):
                self._known[key] = typing.signature(self._whole.unify_types(*numbers), *numbers)
            else:
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


class ShortCompiler(Compiler):
    """Numba's compiler, quicker to find what operations mean, and without garbage collected meanwhile."""

    unused: ClassVar[frozenset[str]] = frozenset()  # steps that are left out
    shorter: ClassVar[dict[str, type]] = _SHORTER  # steps that others stand in for
    code: ClassVar[type[JITCodeLibrary]] = _Whole

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, names):
        flags = _Flags(flags)
        super().__init__(typingctx, targetctx, library, args, return_type, flags, names)
        self.state.typingctx = _Typing(typingctx, flags)

    def define_pipelines(self):
        """The steps, in Numba's order."""
        (whole,) = super().define_pipelines()
        short = _Steps(whole.pipeline_name)
        for step, description in whole.passes:
            if step.__name__ not in self.unused:
                short.passes.append((self.shorter.get(step.__name__, step), description))
        short.finalize()
        return [short]

    def _compile_core(self):
        if self.state.library is None:
            self.state.library = self.code(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            self.state.library.enable_object_caching()
        return super()._compile_core()


class KernelCompiler(ShortCompiler):
    """The same for kernels without references."""

    unused = _UNUSED
    shorter = _SHORTER_WITHOUT_REFERENCES
    code = _WholeKernel


class PartCompiler(KernelCompiler):
    """The same for functions that only kernels call."""

    code = _Part
