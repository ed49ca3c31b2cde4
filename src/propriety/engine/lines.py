"""Bins of 32 columns at a time, by vector instructions.

A line is 32 bytes, the bins of one row in as many columns. Columns beyond 32 begin another block of lines. A
row in a bag is one word: its number in the lower 32 bits, its class from bit 32 on, 0 or 1 here, and how
often it counts from bit 40 on. Where there is no bag, None, the rows are those at the places themselves. The
loops are written in the compiler's own language, because it does not see by itself that what is carried from
row to row may stay in two registers.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from propriety.engine.compiling import instead

LINE = 32
#: Where the five lines of `lanes` begin: least and largest bins, last bins on the left, and the sums there.
LEAST, MOST, CUT, LEFT, LEFT_ONES = (LINE * k for k in range(5))
#: Largest sum that fits into a lane.
MOST_IN_LANE = 255
_BYTE, _WORD, _LINE = ir.IntType(8), ir.IntType(64), ir.VectorType(ir.IntType(8), LINE)


class _Loop:
    """A loop over the rows of a node that carries two lines: rows, bag, lanes, first, start, stop."""

    def __init__(self, context, builder, signature, arguments):
        self.builder = builder
        self.rows, self.bag, self.lanes = (
            None if kind is types.none else context.make_array(kind)(context, builder, argument).data
            for kind, argument in zip(signature.args[:3], arguments[:3], strict=True)
        )
        self.first, self.start, self.stop = arguments[3:]

    def line_at(self, array, position):
        return self.builder.bitcast(self.builder.gep(array, [position]), _LINE.as_pointer())

    def read(self, lane):
        return self.builder.load(self.line_at(self.lanes, _WORD(lane)), align=1)

    def write(self, lane, line):
        self.builder.store(line, self.line_at(self.lanes, _WORD(lane)), align=1)

    def everywhere(self, byte):
        """The line that has one byte everywhere."""
        alone = self.builder.insert_element(ir.Constant(_LINE, ir.Undefined), byte, ir.IntType(32)(0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), LINE), [0] * LINE)
        return self.builder.shuffle_vector(alone, alone, places)

    def carry(self, initial, update):
        """Both lines after the last row; each row makes them update(line, entry, both). There is one."""
        builder, before = self.builder, self.builder.block
        body, after = builder.append_basic_block("rows"), builder.append_basic_block("after")
        builder.branch(body)
        builder.position_at_end(body)
        i, carried = builder.phi(_WORD), [builder.phi(_LINE) for _ in initial]
        entry = i if self.bag is None else builder.load(builder.gep(self.bag, [i]))
        row = builder.and_(entry, _WORD(2**32 - 1))
        at = builder.add(self.first, builder.mul(row, _WORD(LINE)))
        results = update(builder.load(self.line_at(self.rows, at), align=1), entry, carried)
        following = builder.add(i, _WORD(1))
        builder.cbranch(builder.icmp_unsigned("<", following, self.stop), body, after)
        i.add_incoming(self.start, before)
        i.add_incoming(following, body)
        for line, value, result in zip(carried, initial, results, strict=True):
            line.add_incoming(value, before)
            line.add_incoming(result, body)
        builder.position_at_end(after)
        return results

    def carry_any(self, initial, update):
        """As `carry`, of no row too."""
        builder, before = self.builder, self.builder.block
        with builder.if_then(builder.icmp_unsigned("<", self.start, self.stop)):
            results = self.carry(initial, update)
            inside = builder.block
        carried = [builder.phi(_LINE) for _ in initial]
        for line, value, result in zip(carried, initial, results, strict=True):
            line.add_incoming(value, before)
            line.add_incoming(result, inside)
        return carried


def _lines(rows, bag, first, start, stop):
    """The lines of a node's rows, and these rows' entries."""
    entries = np.arange(start, stop, dtype=np.uint64) if bag is None else bag[int(start) : int(stop)]
    places = int(first) + LINE * (entries & np.uint64(2**32 - 1)).astype(np.intp)
    return rows[places[:, None] + np.arange(LINE)], entries


def _range_instead(rows, bag, lanes, first, start, stop):
    lines, _ = _lines(rows, bag, first, start, stop)
    lanes[LEAST:MOST], lanes[MOST:CUT] = lines.min(axis=0), lines.max(axis=0)


@instead(_range_instead)
@intrinsic
def range_of_bins(typingctx, rows, bag, lanes, first, start, stop):
    """The least and the largest bin of each of 32 columns, over the rows bag[start:stop], at least one."""
    signature = types.void(rows, bag, lanes, types.uint64, types.uint64, types.uint64)

    def codegen(context, builder, signature, arguments):
        loop = _Loop(context, builder, signature, arguments)

        def update(line, entry, carried):
            least, most = carried
            return (
                builder.select(builder.icmp_unsigned("<", line, least), line, least),
                builder.select(builder.icmp_unsigned(">", line, most), line, most),
            )

        initial = ir.Constant(_LINE, [255] * LINE), ir.Constant(_LINE, [0] * LINE)
        for lane, line in zip((LEAST, MOST), loop.carry(initial, update), strict=True):
            loop.write(lane, line)
        return context.get_dummy_value()

    return signature, codegen


def _left_instead(rows, bag, lanes, first, start, stop):
    lines, entries = _lines(rows, bag, first, start, stop)
    amounts = (lines <= lanes[CUT:LEFT]) * (entries >> np.uint64(40)).astype(np.int64)[:, None]
    ones = (entries >> np.uint64(32)).astype(np.int64) & 1
    lanes[LEFT:LEFT_ONES] = amounts.sum(axis=0)
    lanes[LEFT_ONES:] = (amounts * ones[:, None]).sum(axis=0)


@instead(_left_instead)
@intrinsic
def sums_on_left(typingctx, rows, bag, lanes, first, start, stop):
    """How much lies on the left of 32 columns' cuts, in all and of class 1, over at least one row.

    What the rows count must not be more than 255 in all.
    """
    signature = types.void(rows, bag, lanes, types.uint64, types.uint64, types.uint64)

    def codegen(context, builder, signature, arguments):
        loop = _Loop(context, builder, signature, arguments)
        cuts = loop.read(CUT)

        def update(line, entry, carried):
            left = builder.sext(builder.icmp_unsigned("<=", line, cuts), _LINE)
            amount = builder.trunc(builder.lshr(entry, _WORD(40)), _BYTE)
            one = builder.trunc(builder.lshr(entry, _WORD(32)), ir.IntType(1))
            ones = builder.and_(amount, builder.sext(one, _BYTE))
            return tuple(
                builder.add(line, builder.and_(left, loop.everywhere(byte)))
                for line, byte in zip(carried, (amount, ones), strict=True)
            )

        nothing = ir.Constant(_LINE, [0] * LINE)
        for lane, line in zip((LEFT, LEFT_ONES), loop.carry((nothing, nothing), update), strict=True):
            loop.write(lane, line)
        return context.get_dummy_value()

    return signature, codegen


def _counts_instead(rows, bag, lanes, first, start, middle, stop):
    left = _lines(rows, bag, first, start, stop)[0] <= lanes[CUT:LEFT]
    lanes[LEFT:LEFT_ONES] = left.sum(axis=0)
    lanes[LEFT_ONES:] = left[int(middle) - int(start) :].sum(axis=0)


@instead(_counts_instead)
@intrinsic
def counts_on_left(typingctx, rows, bag, lanes, first, start, middle, stop):
    """`sums_on_left` of at most 255 rows that count once, those of class 1 from `middle` on, if any."""
    word = types.uint64
    signature = types.void(rows, bag, lanes, word, word, word, word)

    def codegen(context, builder, signature, arguments):
        loop = _Loop(context, builder, signature, (*arguments[:5], arguments[6]))
        cuts, nothing = loop.read(CUT), ir.Constant(_LINE, [0] * LINE)

        def update(line, entry, carried):
            return (builder.sub(carried[0], builder.sext(builder.icmp_unsigned("<=", line, cuts), _LINE)),)

        loop.stop = arguments[5]
        (zeros,) = loop.carry_any((nothing,), update)
        loop.start, loop.stop = arguments[5], arguments[6]
        (all_rows,) = loop.carry_any((zeros,), update)
        loop.write(LEFT, all_rows)
        loop.write(LEFT_ONES, builder.sub(all_rows, zeros))
        return context.get_dummy_value()

    return signature, codegen


def _copy_instead(source, start, target, place):
    target[int(place) : int(place) + LINE] = source[int(start) : int(start) + LINE]


@instead(_copy_instead)
@intrinsic
def copy_line(typingctx, source, start, target, place):
    """Copy the line that begins at ``source[start]`` to ``target[place]``."""
    signature = types.void(source, types.uint64, target, types.uint64)

    def codegen(context, builder, signature, arguments):
        ends = (
            builder.bitcast(
                builder.gep(context.make_array(kind)(context, builder, array).data, [position]),
                _LINE.as_pointer(),
            )
            for kind, array, position in zip(
                signature.args[::2], arguments[::2], arguments[1::2], strict=True
            )
        )
        read, write = ends
        builder.store(builder.load(read, align=1), write, align=1)
        return context.get_dummy_value()

    return signature, codegen
