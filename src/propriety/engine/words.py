"""Columns of at most 64 rows, and sets of these rows as words of 64 bits.

A column is 64 bytes, a bin for each row. Where lines are moved for every node below, a set of rows is taken
out of a set by one comparison of a whole column.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from propriety.engine.compiling import instead
from propriety.engine.lines import LINE

#: Bytes of a column.
ROWS = 64
#: Lines that are read at once: some behind the last one may be, whatever they hold.
TOGETHER = 16
_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_PART = ir.VectorType(_BYTE, TOGETHER)
_COLUMN, _BITS = ir.VectorType(_BYTE, ROWS), ir.VectorType(ir.IntType(1), ROWS)


def _data(context, builder, kind, array):
    return context.make_array(kind)(context, builder, array).data


def _transpose_instead(rows, start, columns, place):
    lines = rows[int(start) : int(start) + TOGETHER * LINE].reshape(-1, LINE)  # fewer at the end of the array
    for f in range(LINE):
        at = int(place) + f * ROWS
        columns[at : at + len(lines)] = lines[:, f]


@instead(_transpose_instead)
@intrinsic
def transpose_lines(typingctx, rows, start, columns, place):
    """Write 16 lines from ``rows[start]`` on as the bytes of 32 columns, from ``columns[place]`` on."""
    signature = types.void(rows, types.uint64, columns, types.uint64)

    def codegen(context, builder, signature, arguments):
        source = _data(context, builder, signature.args[0], arguments[0])
        target = _data(context, builder, signature.args[2], arguments[2])

        def part(array, position):
            return builder.bitcast(builder.gep(array, [position]), _PART.as_pointer())

        half = TOGETHER // 2
        both = [[k + side * half, TOGETHER + k + side * half] for side in (0, 1) for k in range(half)]
        places = [p for pair in both for p in pair]
        kind = ir.VectorType(ir.IntType(32), TOGETHER)
        low, high = ir.Constant(kind, places[:TOGETHER]), ir.Constant(kind, places[TOGETHER:])
        for first in range(0, LINE, TOGETHER):
            parts = [
                builder.load(part(source, builder.add(arguments[1], _WORD(LINE * i + first))), align=1)
                for i in range(TOGETHER)
            ]
            # Four times, cards of both halves of the pack are put alternately: then rows are columns.
            for _ in range(4):
                pairs = list(zip(parts[:half], parts[half:], strict=True))
                parts = [builder.shuffle_vector(a, b, order) for a, b in pairs for order in (low, high)]
            for f, column in enumerate(parts):
                at = builder.add(arguments[3], _WORD((first + f) * ROWS))
                builder.store(column, part(target, at), align=1)
        return context.get_dummy_value()

    return signature, codegen


def _members(columns, place, rows):
    """The bins of a set of rows."""
    return [int(columns[int(place) + i]) for i in range(ROWS) if int(rows) >> i & 1]


def _column(context, builder, signature, arguments):
    data = _data(context, builder, signature.args[0], arguments[0])
    address = builder.bitcast(builder.gep(data, [arguments[1]]), _COLUMN.as_pointer())
    return builder.load(address, align=1)


def _reduced(name, other):
    def codegen(context, builder, signature, arguments):
        column, rows = _column(context, builder, signature, arguments), builder.bitcast(arguments[2], _BITS)
        chosen = builder.select(rows, column, ir.Constant(_COLUMN, [other] * ROWS))
        kind = ir.FunctionType(_BYTE, [_COLUMN])
        reduce = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.{name}.v{ROWS}i8")
        return builder.zext(builder.call(reduce, [chosen]), _WORD)

    return codegen


@instead(lambda columns, place, rows: np.int64(min(_members(columns, place, rows), default=255)))
@intrinsic
def least_of(typingctx, columns, place, rows):
    """The least bin of a set of rows in the column from ``columns[place]`` on; 255 of none."""
    return types.int64(columns, types.uint64, types.uint64), _reduced("umin", 255)


@instead(lambda columns, place, rows: np.int64(max(_members(columns, place, rows), default=0)))
@intrinsic
def most_of(typingctx, columns, place, rows):
    """The largest bin of a set of rows in the column from ``columns[place]`` on; 0 of none."""
    return types.int64(columns, types.uint64, types.uint64), _reduced("umax", 0)


def _compared(relation):
    def codegen(context, builder, signature, arguments):
        byte = builder.trunc(arguments[2], _BYTE)
        alone = builder.insert_element(ir.Constant(_COLUMN, ir.Undefined), byte, ir.IntType(32)(0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), ROWS), [0] * ROWS)
        value = builder.shuffle_vector(alone, alone, everywhere)
        column = _column(context, builder, signature, arguments)
        return builder.bitcast(builder.icmp_unsigned(relation, column, value), _WORD)

    return codegen


def _rows_instead(holds):
    def rows(columns, place, value):
        bins = columns[int(place) : int(place) + ROWS]
        return np.uint64(sum(1 << i for i, code in enumerate(bins) if holds(int(code), int(value))))

    return rows


@instead(_rows_instead(int.__le__))
@intrinsic
def rows_up_to(typingctx, columns, place, value):
    """The rows whose bin in the column from ``columns[place]`` on is at most a value, from 0 to 255."""
    return types.uint64(columns, types.uint64, types.int64), _compared("<=")


@instead(_rows_instead(int.__eq__))
@intrinsic
def rows_at(typingctx, columns, place, value):
    """The rows whose bin in the column from ``columns[place]`` on is a value, from 0 to 255."""
    return types.uint64(columns, types.uint64, types.int64), _compared("==")


@instead(lambda word: np.int64(int(word).bit_count()))
@intrinsic
def size_of(typingctx, word):
    """How many bits of a word are set."""

    def codegen(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), codegen
