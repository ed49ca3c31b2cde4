"""Machine instructions that Python has no word for."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from propriety.engine.compiling import instead

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


AT_ONCE = 32  # features of a row whose cells are added to by one run of instructions, at most
_AHEAD = 16  # rows that are loaded before their turn


def _add_rows(rows, packed, index, start, stop, first, last, stride, cells):
    for row in index[int(start) : int(stop)]:
        for f in range(int(first), int(last)):
            cells[f * int(stride) + int(rows[row, f])] += packed[row]


def _loop_over_rows(module, stride):
    """A function of its own: row by row, a jump into a run of additions, one for each feature."""
    name, word = f"propriety.add_rows_at_once.{stride}", ir.IntType(64)
    byte, half, void = ir.IntType(8), ir.IntType(32), ir.VoidType()
    pointers = [byte.as_pointer(), word.as_pointer(), half.as_pointer(), word.as_pointer()]
    function = cgutils.get_or_insert_function(module, ir.FunctionType(void, [*pointers, *[word] * 4]), name)
    if function.blocks:
        return function
    function.linkage = "internal"
    function.attributes.add("noinline")  # among other code its numbers would not stay in registers
    bins, packed, index, cells, start, stop, width, count = function.args
    prefetch = cgutils.get_or_insert_function(
        module, ir.FunctionType(void, [byte.as_pointer(), half, half, half]), "llvm.prefetch.p0"
    )
    entry, loop, after, leave = (
        function.append_basic_block(label) for label in ("entry", "loop", "after", "leave")
    )
    builder = ir.IRBuilder(entry)
    last = builder.sub(stop, word(1))
    builder.cbranch(builder.icmp_unsigned("<", start, stop), loop, leave)

    # 1. Load what a later row needs into the first cache.
    builder.position_at_end(loop)
    i = builder.phi(word)
    later = builder.add(i, word(_AHEAD))
    later = builder.select(builder.icmp_unsigned("<", later, last), later, last)
    later = builder.zext(builder.load(builder.gep(index, [later])), word)
    begin = builder.gep(bins, [builder.mul(later, width)])
    value = builder.bitcast(builder.gep(packed, [later]), byte.as_pointer())
    for address in (begin, builder.gep(begin, [builder.sub(count, word(1))]), value):
        builder.call(prefetch, [address, half(0), half(3), half(1)])

    # 2. Add this row's value to its cells, from the last feature to the first.
    row = builder.zext(builder.load(builder.gep(index, [i])), word)
    value = builder.load(builder.gep(packed, [row]))
    begin = builder.gep(bins, [builder.mul(row, width)])
    blocks = [function.append_basic_block(f"feature{f}") for f in range(AT_ONCE)]
    jump = builder.switch(count, after)
    for f, block in enumerate(blocks):
        jump.add_case(word(f + 1), block)
        builder.position_at_end(block)
        place = builder.zext(builder.load(builder.gep(begin, [word(f)])), word)
        cell = builder.gep(cells, [builder.add(place, word(f * stride))])
        builder.store(builder.add(builder.load(cell), value), cell)
        builder.branch(blocks[f - 1] if f else after)

    builder.position_at_end(after)
    following = builder.add(i, word(1))
    i.add_incoming(start, entry)
    i.add_incoming(following, after)
    builder.cbranch(builder.icmp_unsigned("<", following, stop), loop, leave)
    builder.position_at_end(leave)
    builder.ret_void()
    return function


@instead(_add_rows)
@intrinsic
def add_rows_at_once(typingctx, rows, packed, index, start, stop, first, last, stride, cells):
    """cells[f · stride + bin] += packed value, for rows index[start:stop] and features first … last−1.

    These are 1 to ``AT_ONCE``, and the stride is a literal number. The additions of a row are one run of
    instructions, which is entered where its features begin: as a loop they take a fifth longer.
    """
    if not isinstance(stride, types.IntegerLiteral):
        return None
    number = types.uint64
    signature = types.void(rows, packed, index, number, number, number, number, stride, cells)

    def codegen(context, builder, signature, arguments):
        table, *arrays = (
            context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 2, 8)
        )
        start, stop, first, last = arguments[3:7]
        stride, width = signature.args[7].literal_value, builder.extract_value(table.shape, 1)
        values, index, cells = (array.data for array in arrays)
        cells = builder.gep(cells, [builder.mul(first, first.type(stride))])
        bins = builder.gep(table.data, [first])
        function = _loop_over_rows(builder.module, stride)
        builder.call(function, [bins, values, index, cells, start, stop, width, builder.sub(last, first)])
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
