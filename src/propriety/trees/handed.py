"""Tuples of arrays that compiled functions hand to each other by their address.

Numba hands a tuple over as the numbers in it, seven or nine for every array. The four tuples of the tree
grower are 230 numbers, and most of what the compiler read were those, at every call and every entry. Of a
class with ``by_address`` it hands over one pointer. Nothing writes to a tuple, so what is read from it is
marked as never changing, and stays in registers through a loop as before.
"""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import NativeValue, lower_getattr_generic, models, register_model, typeof_impl, unbox

from propriety.cached_properties import cached_property
from propriety.trees.jit import COMPILED


class Handed(types.NamedTuple):
    """A named tuple that is handed over by its address."""

    @property
    def tuple(self):
        """The tuple itself."""
        return types.NamedTuple(self.types, self.instance_class)

    @cached_property
    def mangling_args(self):
        """What it adds to the name of a function: one with all fields is read thousands of letters long."""
        return f"{self.instance_class.__name__}_{blake2b(self.name.encode(), digest_size=8).hexdigest()}", ()


@register_model(Handed)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, manager.lookup(kind.tuple).get_value_type().as_pointer())

    def inner_models(self):
        """Those of the fields, whose references are counted, where they are."""
        return [self._dmm.lookup(kind) for kind in self._fe_type.types]

    def traverse(self, builder):
        """The fields, and how to read each."""
        return [(kind, partial(_read_field, builder, i)) for i, kind in enumerate(self._fe_type.types)]


@unbox(Handed)
def _unbox(kind, thing, c):
    whole = c.unbox(kind.tuple, thing)
    place = cgutils.alloca_once_value(c.builder, whole.value)
    # An empty instruction that the compiler cannot see through: it would take what is read below, and never
    # changes, for what was there before the tuple was written.
    same = ir.FunctionType(place.type, [place.type])
    address = c.builder.asm(same, "", "=r,0,~{memory}", [place], side_effect=True)
    return NativeValue(address, is_error=whole.is_error, cleanup=whole.cleanup)


def _read(builder, address):
    """What lies at an address, number by number, each marked as never changing."""
    kind = address.type.pointee
    if not isinstance(kind, (ir.LiteralStructType, ir.ArrayType)):
        number = builder.load(address)
        number.set_metadata("invariant.load", builder.module.add_metadata([]))
        return number
    value = ir.Constant(kind, ir.Undefined)
    for i in range(len(kind)):
        value = builder.insert_value(value, _read(builder, cgutils.gep_inbounds(builder, address, 0, i)), i)
    return value


def _read_field(builder, index, address):
    return _read(builder, cgutils.gep_inbounds(builder, address, 0, index))


@lower_getattr_generic(Handed)
def _field(context, builder, kind, address, name):
    index = kind.fields.index(name)
    value = _read_field(builder, index, address)
    # A caller that counts references gives back the one that it gets here, so it must be given one.
    return impl_ret_borrowed(context, builder, kind.types[index], value)


def by_address(kind: type[Any]) -> type[Any]:
    """Let compiled functions hand over tuples of this class by their address."""
    if COMPILED:

        @typeof_impl.register(kind)
        def _(value, context):
            return Handed([typeof_impl(field, context) for field in value], kind)

    return kind
