"""Machine instructions that Python has no word for."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from propriety.engine.compiling import instead


@instead(lambda array, position: None)
@intrinsic
def prefetch(typingctx, array, position):
    """Load the line of the contiguous ``array[position]`` into the second cache; never faults.

    Rows of a tree node lie anywhere in memory, and the hardware cannot guess the next one. The first cache is
    left to what is being added up: loads that wait for memory would take its few places (measured: 1.0 → 0.65
    ns an update of a small node).
    """
    signature = types.void(array, types.uint64)

    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(function, [address, word(0), word(2), word(1)])
        return context.get_dummy_value()

    return signature, codegen


@instead(lambda word: (int(word) & -int(word)).bit_length() - 1)
@intrinsic
def trailing_zeros(typingctx, word):
    """Position of the lowest bit that is set in a word of 64 bits, which must not be 0."""
    signature = types.uint64(types.uint64)

    def codegen(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return signature, codegen


@instead(lambda number: np.float64(number).view(np.int64))
@intrinsic
def bits_of(typingctx, number):
    """The 64 bits of a number as an integer; Numba's own way, a view of the array, takes long to compile."""
    signature = types.int64(types.float64)

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return signature, codegen
