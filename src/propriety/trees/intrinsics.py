"""Machine instructions that Python has no word for."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from propriety.trees.jit import instead

LANES = 16  # bytes of a vector that every processor has


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


def _copy_bytes(source, position, target, place):
    target[int(place) : int(place) + LANES] = source.reshape(-1)[int(position) : int(position) + LANES]


@instead(_copy_bytes)
@intrinsic
def copy_lanes(typingctx, source, position, target, place):
    """Copy ``LANES`` bytes of a contiguous array to another, by two instructions."""
    signature = types.void(source, types.uint64, target, types.uint64)

    def codegen(context, builder, signature, arguments):
        lanes, addresses = ir.VectorType(ir.IntType(8), LANES).as_pointer(), []
        for k in (0, 2):
            data = context.make_array(signature.args[k])(context, builder, arguments[k]).data
            addresses.append(builder.bitcast(builder.gep(data, [arguments[k + 1]]), lanes))
        builder.store(builder.load(addresses[0], align=1), addresses[1], align=1)
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


@instead(lambda array, start: sum(1 << k for k in range(64) if array[int(start) + k]))
@intrinsic
def occupied(typingctx, array, start):
    """Which of the 64 numbers of the contiguous ``array`` from ``start`` on are not 0, as bits of a word."""
    signature = types.uint64(array, types.uint64)

    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        together = ir.VectorType(ir.IntType(64), 64)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), together.as_pointer())
        numbers = builder.load(address, align=8)
        return builder.bitcast(builder.icmp_unsigned("!=", numbers, together(None)), ir.IntType(64))

    return signature, codegen


@instead(lambda number: np.float64(number).view(np.int64))
@intrinsic
def bits_of(typingctx, number):
    """The 64 bits of a number as an integer; Numba's own way, a view of the array, takes long to compile."""
    signature = types.int64(types.float64)

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return signature, codegen


@instead(lambda bits: np.int64(bits).view(np.float64))
@intrinsic
def number_of(typingctx, bits):
    """The number that has these 64 bits."""
    signature = types.float64(types.int64)

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return signature, codegen
