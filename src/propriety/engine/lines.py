"""Bins of 32 columns at a time, by vector instructions.

A line is 32 bytes, the bins of one row in as many columns. Columns beyond 32 begin another block of lines. A
row in a bag is one word: its number in the lower 32 bits, its class from bit 32 on, 0 or 1 here, and how
often it counts from bit 40 on. The loops are written in the compiler's own language, because it does not see
by itself that what is carried from row to row may stay in two registers.
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
_PAIR = ir.VectorType(ir.IntType(8), 2 * LINE)


class _Loop:
    """A loop over the rows of a node that carries two lines: rows, bag, lanes, first, start, stop."""

    def __init__(self, context, builder, signature, arguments):
        self.builder = builder
        self.rows, self.bag, self.lanes = (
            context.make_array(kind)(context, builder, argument).data
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
        entry = builder.load(builder.gep(self.bag, [i]))
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
    entries = bag[int(start) : int(stop)]
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


# -- lines that lie side by side ----------------------------------------------------------------------


class _Run:
    """Loops over lines that follow each other, two at a time: rows, lanes, first."""

    def __init__(self, context, builder, signature, arguments):
        self.builder, self.first = builder, arguments[2]
        self.rows, self.lanes = (
            context.make_array(kind)(context, builder, argument).data
            for kind, argument in zip(signature.args[:2], arguments[:2], strict=True)
        )

    def lines_at(self, i, kind):
        """One line or two, from number i on."""
        at = self.builder.add(self.first, self.builder.mul(i, _WORD(LINE)))
        address = self.builder.bitcast(self.builder.gep(self.rows, [at]), kind.as_pointer())
        return self.builder.load(address, align=1)

    def part(self, pair, begin):
        """One of the two lines."""
        places = [begin + k for k in range(LINE)]
        return self.builder.shuffle_vector(
            pair, pair, ir.Constant(ir.VectorType(ir.IntType(32), LINE), places)
        )

    def write(self, place, line):
        address = self.builder.bitcast(self.builder.gep(self.lanes, [place]), _LINE.as_pointer())
        self.builder.store(line, address, align=1)

    def carry(self, initial, start, stop, update):
        """The results of update(two lines, carried) over the pairs of lines in start:stop."""
        builder, before = self.builder, self.builder.block
        head, body, after = (builder.append_basic_block(name) for name in ("pairs", "pair", "after"))
        builder.branch(head)
        builder.position_at_end(head)
        i, carried = builder.phi(_WORD), [builder.phi(_PAIR) for _ in initial]
        following = builder.add(i, _WORD(2))
        builder.cbranch(builder.icmp_unsigned("<=", following, stop), body, after)
        builder.position_at_end(body)
        results = update(self.lines_at(i, _PAIR), carried)
        builder.branch(head)
        i.add_incoming(start, before)
        i.add_incoming(following, body)
        for pair, value, result in zip(carried, initial, results, strict=True):
            pair.add_incoming(value, before)
            pair.add_incoming(result, body)
        builder.position_at_end(after)
        return carried


def _run(rows, first, start, stop):
    """Lines that follow each other."""
    return rows[int(first) :][LINE * int(start) : LINE * int(stop)].reshape(-1, LINE)


def _range_of_run_instead(rows, ranges, first, start, stop, place):
    run, place = _run(rows, first, start, stop), int(place)
    ranges[place : place + LINE], ranges[place + LINE : place + 2 * LINE] = run.min(axis=0), run.max(axis=0)


@instead(_range_of_run_instead)
@intrinsic
def range_of_run(typingctx, rows, ranges, first, start, stop, place):
    """The least bins of 32 columns over the lines start:stop, at least two, and then the largest ones.

    They are written to ``ranges[place:]``.
    """
    word = types.uint64
    signature = types.void(rows, ranges, word, word, word, word)

    def codegen(context, builder, signature, arguments):
        run, (start, stop, place) = _Run(context, builder, signature, arguments), arguments[3:]

        def smaller(a, b):
            return builder.select(builder.icmp_unsigned("<", a, b), a, b)

        def larger(a, b):
            return builder.select(builder.icmp_unsigned(">", a, b), a, b)

        def update(pair, carried):
            return smaller(pair, carried[0]), larger(pair, carried[1])

        # The last two may be met twice.
        last = run.lines_at(builder.sub(stop, _WORD(2)), _PAIR)
        least, most = run.carry((last, last), start, stop, update)
        run.write(place, smaller(run.part(least, 0), run.part(least, LINE)))
        run.write(builder.add(place, _WORD(LINE)), larger(run.part(most, 0), run.part(most, LINE)))
        return context.get_dummy_value()

    return signature, codegen


def _counts_of_run_instead(rows, lanes, first, start, middle, stop):
    left = _run(rows, first, start, stop) <= lanes[CUT:LEFT]
    lanes[LEFT:LEFT_ONES] = left.sum(axis=0)
    lanes[LEFT_ONES:] = left[int(middle) - int(start) :].sum(axis=0)


@instead(_counts_of_run_instead)
@intrinsic
def counts_of_run(typingctx, rows, lanes, first, start, middle, stop):
    """How many of 1 to 255 lines lie on the left of 32 columns' cuts, in all and from `middle` on."""
    word = types.uint64
    signature = types.void(rows, lanes, word, word, word, word)

    def codegen(context, builder, signature, arguments):
        run, (start, middle, stop) = _Run(context, builder, signature, arguments), arguments[3:]
        one_bit = ir.IntType(1)
        address = builder.bitcast(builder.gep(run.lanes, [_WORD(CUT)]), _LINE.as_pointer())
        cuts = builder.load(address, align=1)
        both_cuts = builder.shuffle_vector(
            cuts, cuts, ir.Constant(ir.VectorType(ir.IntType(32), 2 * LINE), [*range(LINE)] * 2)
        )

        def update(pair, carried):
            left = builder.icmp_unsigned("<=", pair, both_cuts)
            return (builder.sub(carried[0], builder.sext(left, _PAIR)),)

        def counted(begin, end):
            (pairs,) = run.carry((ir.Constant(_PAIR, [0] * 2 * LINE),), begin, end, update)
            odd = builder.and_(builder.sub(end, begin), _WORD(1))
            counts = builder.trunc(odd, one_bit)
            last = run.lines_at(builder.select(counts, builder.sub(end, _WORD(1)), start), _LINE)
            everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LINE), [0] * LINE)
            alone = ir.Constant(ir.VectorType(one_bit, LINE), ir.Undefined)
            alone = builder.insert_element(alone, counts, ir.IntType(32)(0))
            left = builder.icmp_unsigned("<=", last, cuts)
            left = builder.and_(left, builder.shuffle_vector(alone, alone, everywhere))
            in_pairs = builder.add(run.part(pairs, 0), run.part(pairs, LINE))
            return builder.sub(in_pairs, builder.sext(left, _LINE))

        zeros, ones = counted(start, middle), counted(middle, stop)
        run.write(_WORD(LEFT), builder.add(zeros, ones))
        run.write(_WORD(LEFT_ONES), ones)
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


def _part_instead(rows, start, count, column, near, left, right, right_from, right_bins):
    for i in range(int(count)):
        line = rows[int(start) + LINE * i : int(start) + LINE * (i + 1)]
        goes_right = 0 <= int(rows[int(column) + LINE * i]) - int(right_from) < int(right_bins)
        place = int(right if goes_right else left)
        near[place : place + LINE] = line
        left, right = left + LINE * (not goes_right), right + LINE * goes_right


@instead(_part_instead)
@intrinsic
def part_lines(typingctx, rows, start, count, column, near, left, right, right_from, right_bins):
    """Copy some lines, at least one, from ``rows[start]`` on to ``near``, to `left` and so on or to `right`.

    A line goes right if the bin of its row, in the column of the first row's bin ``rows[column]``, is among
    the `right_bins` that follow `right_from`. Pointers are all that the loop keeps, so that nothing of what
    the compiler has put around it is in its way.
    """
    word = types.uint64
    signature = types.void(rows, word, word, word, near, word, word, word, word)

    def codegen(context, builder, signature, arguments):
        source, target = (
            context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 4)
        )
        _, start, count, column, _, left, right, right_from, right_bins = arguments
        first = builder.gep(source, [start])
        ends = first, builder.gep(target, [left]), builder.gep(target, [right])
        stop = builder.gep(first, [builder.mul(count, _WORD(LINE))])
        apart, before = builder.sub(column, start), builder.block
        body, after = builder.append_basic_block("lines"), builder.append_basic_block("after")
        builder.branch(body)
        builder.position_at_end(body)
        at, to_left, to_right = pointers = [builder.phi(end.type) for end in ends]
        code = builder.zext(builder.load(builder.gep(at, [apart])), _WORD)
        goes_right = builder.icmp_unsigned("<", builder.sub(code, right_from), right_bins)
        place = builder.select(goes_right, to_right, to_left)
        line = builder.load(builder.bitcast(at, _LINE.as_pointer()), align=1)
        builder.store(line, builder.bitcast(place, _LINE.as_pointer()), align=1)
        by = builder.mul(builder.zext(goes_right, _WORD), _WORD(LINE))
        steps = _WORD(LINE), builder.sub(_WORD(LINE), by), by
        following = [builder.gep(pointer, [step]) for pointer, step in zip(pointers, steps, strict=True)]
        builder.cbranch(builder.icmp_unsigned("!=", following[0], stop), body, after)
        for pointer, end, result in zip(pointers, ends, following, strict=True):
            pointer.add_incoming(end, before)
            pointer.add_incoming(result, body)
        builder.position_at_end(after)
        return context.get_dummy_value()

    return signature, codegen
