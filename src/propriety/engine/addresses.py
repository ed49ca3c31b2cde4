"""Kernels that other kernels call by their address, so that each is compiled by itself.

What a kernel calls is compiled into it, and first Numba and then LLVM work through the whole. Of two kernels,
LLVM can work on one while Numba reads the other (:mod:`~propriety.engine.aside`). An address is an array of
one record whose field is named after the kernel and the types that it was compiled for: who calls it with
others does not compile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numpy.typing import NDArray

from propriety.engine.compiling import COMPILED, instead

Address = NDArray[np.void]
_known: dict[Any, Address] = {}  # by kernel and what the types of its arguments depend on


def _name(kernel: Any, kinds: Iterable[types.Type]) -> str:
    return f"{kernel.__name__}_{blake2b(repr(tuple(kinds)).encode(), digest_size=8).hexdigest()}"


def unknown_address(kernel: Any, *values: Any) -> Address:
    """The address of a kernel for values of these types, to be known when it is compiled."""
    return np.zeros(1, dtype=[(_name(kernel, map(typeof, values) if COMPILED else ()), np.uint64)])


def address_of(kernel: Any, *values: Any) -> Address:
    """Where a kernel lies, compiled for values of these types."""
    kind = kernel, _outline(values)
    if kind not in _known:
        address = unknown_address(kernel, *values)
        if COMPILED:
            kinds = tuple(map(typeof, values))
            kernel.compile(kinds)
            made = kernel.overloads[kinds]
            address[0] = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
        _known[kind] = address
    return _known[kind]


def _outline(value: Any) -> Any:
    """What Numba's type of a value depends on; the type itself takes up to a millisecond to find."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
    if isinstance(value, np.void):
        return value.dtype
    return (type(value), *map(_outline, value)) if isinstance(value, tuple) else type(value)


def caller(kernel: Any) -> Callable[..., None]:
    """What calls a kernel that returns nothing, from others: by its address, with a tuple of arguments."""

    @instead(lambda address, arguments: kernel(*arguments))
    @intrinsic
    def call(typing, address, arguments):
        if _name(kernel, arguments) not in address.dtype.fields:
            raise TypingError(f"{kernel.__name__} was not compiled for {tuple(arguments)} at this address")

        def write(context, builder, signature, given):
            convention, kinds = context.call_conv, tuple(arguments)
            function = convention.get_function_type(types.none, kinds).as_pointer()
            data = context.make_array(address)(context, builder, given[0]).data
            place = builder.load(builder.bitcast(data, ir.IntType(64).as_pointer()))
            values = cgutils.unpack_tuple(builder, given[1])
            callee = builder.inttoptr(place, function)
            status, _ = convention.call_function(builder, callee, types.none, kinds, values)
            with builder.if_then(
                status.is_error, likely=False
            ):  # an index out of bounds, where that is tested
                convention.return_status_propagate(builder, status)
            return context.get_dummy_value()

        return types.none(address, arguments), write

    return call
