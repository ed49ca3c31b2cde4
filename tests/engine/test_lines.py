"""Bins of 32 columns at a time, against the same by NumPy."""

import numpy as np
import pytest

from propriety.engine import lines
from propriety.engine.compiling import kernel

N = 50


@kernel
def _range(rows, bag, lanes, first, start, stop):
    lines.range_of_bins(rows, bag, lanes, first, start, stop)


@kernel
def _left(rows, bag, lanes, first, start, stop):
    lines.sums_on_left(rows, bag, lanes, first, start, stop)


@kernel
def _counts(rows, bag, lanes, first, start, middle, stop):
    lines.counts_on_left(rows, bag, lanes, first, start, middle, stop)


@kernel
def _copy(source, start, target, place):
    lines.copy_line(source, start, target, place)


@kernel
def _range_of_run(rows, ranges, first, start, stop, place):
    lines.range_of_run(rows, ranges, first, start, stop, place)


@kernel
def _counts_of_run(rows, lanes, first, start, middle, stop):
    lines.counts_of_run(rows, lanes, first, start, middle, stop)


@kernel
def _part(rows, start, count, column, near, left, right, right_from, right_bins):
    lines.part_lines(rows, start, count, column, near, left, right, right_from, right_bins)


@pytest.fixture
def case():
    """Two blocks of lines, and a bag of rows of both classes that count once to four times."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 256, (2, N, lines.LINE)).astype(np.uint8)
    row, label, count = rng.integers(0, N, 40), rng.integers(0, 2, 40), rng.integers(1, 5, 40)
    bag = (row | (label << 32) | (count << 40)).astype(np.uint64)
    return table, row, label, count, bag


@pytest.mark.parametrize("block", [0, 1])
@pytest.mark.parametrize(("start", "stop"), [(0, 40), (7, 8), (3, 29)])
def test_ranges_and_sums(case, block, start, stop):
    table, row, label, count, bag = case
    chosen, label, count = table[block, row[start:stop]], label[start:stop], count[start:stop]
    cuts = np.random.default_rng(1).integers(0, 256, lines.LINE).astype(np.uint8)
    lanes = np.zeros(5 * lines.LINE, dtype=np.uint8)
    lanes[lines.CUT : lines.LEFT] = cuts
    where = np.uint64(block * N * lines.LINE), np.uint64(start), np.uint64(stop)
    _range(table.ravel(), bag, lanes, *where)
    _left(table.ravel(), bag, lanes, *where)
    amounts = (chosen <= cuts) * count[:, None]
    assert count.sum() <= lines.MOST_IN_LANE
    expected = [chosen.min(axis=0), chosen.max(axis=0), cuts, amounts.sum(axis=0), label @ amounts]
    np.testing.assert_array_equal(lanes.reshape(5, -1), expected)


def test_without_a_compiler_they_are_the_same(case):
    table, *_, bag = case
    compiled = np.random.default_rng(2).integers(0, 256, 5 * lines.LINE).astype(np.uint8)
    plain, where = compiled.copy(), (np.uint64(0), np.uint64(2), np.uint64(31))
    _range(table.ravel(), bag, compiled, *where)
    _left(table.ravel(), bag, compiled, *where)
    lines._range_instead(table.ravel(), bag, plain, *where)
    lines._left_instead(table.ravel(), bag, plain, *where)
    np.testing.assert_array_equal(compiled, plain)


@pytest.mark.parametrize("block", [0, 1])
@pytest.mark.parametrize("middle", [2, 19, 31])
def test_counts_of_two_runs(case, block, middle):
    table, row, *_, bag = case
    lanes = np.random.default_rng(3).integers(0, 256, 5 * lines.LINE).astype(np.uint8)
    cuts, plain = lanes[lines.CUT : lines.LEFT], lanes.copy()
    where = [np.uint64(x) for x in (block * N * lines.LINE, 2, middle, 31)]
    _counts(table.ravel(), bag, lanes, *where)
    lines._counts_instead(table.ravel(), bag, plain, *where)
    left = table[block, row[2:31]] <= cuts
    np.testing.assert_array_equal(
        lanes[lines.LEFT :].reshape(2, -1), [left.sum(axis=0), left[middle - 2 :].sum(axis=0)]
    )
    np.testing.assert_array_equal(lanes, plain)


def test_a_line_is_copied_and_nothing_else(case):
    source = case[0].ravel()
    target, plain = np.zeros(200, dtype=np.uint8), np.zeros(200, dtype=np.uint8)
    _copy(source, np.uint64(77), target, np.uint64(50))
    lines._copy_instead(source, np.uint64(77), plain, np.uint64(50))
    np.testing.assert_array_equal(target[50:82], source[77:109])
    assert not target[:50].any()
    assert not target[82:].any()
    np.testing.assert_array_equal(target, plain)


@pytest.mark.parametrize("block", [0, 1])
@pytest.mark.parametrize(("start", "stop"), [(0, 50), (7, 9), (3, 30), (0, 2)])
def test_ranges_of_runs(case, block, start, stop):
    table = case[0]
    ranges = np.random.default_rng(3).integers(0, 256, 5 * lines.LINE).astype(np.uint8)
    expected, plain = ranges.copy(), ranges.copy()
    run = table[block, start:stop]
    expected[lines.LINE : 3 * lines.LINE] = np.concatenate([run.min(axis=0), run.max(axis=0)])
    where = [np.uint64(x) for x in (block * N * lines.LINE, start, stop, lines.LINE)]
    _range_of_run(table.ravel(), ranges, *where)
    lines._range_of_run_instead(table.ravel(), plain, *where)
    np.testing.assert_array_equal(ranges, expected)
    np.testing.assert_array_equal(plain, expected)


@pytest.mark.parametrize("block", [0, 1])
@pytest.mark.parametrize(
    ("start", "middle", "stop"), [(2, 19, 31), (2, 2, 31), (0, 50, 50), (4, 5, 6), (8, 8, 9)]
)
def test_counts_of_runs(case, block, start, middle, stop):
    table = case[0]
    lanes = np.random.default_rng(3).integers(0, 256, 5 * lines.LINE).astype(np.uint8)
    cuts, plain = lanes[lines.CUT : lines.LEFT], lanes.copy()
    where = [np.uint64(x) for x in (block * N * lines.LINE, start, middle, stop)]
    _counts_of_run(table.ravel(), lanes, *where)
    lines._counts_of_run_instead(table.ravel(), plain, *where)
    left = table[block, start:stop] <= cuts
    np.testing.assert_array_equal(
        lanes[lines.LEFT :].reshape(2, -1), [left.sum(axis=0), left[middle - start :].sum(axis=0)]
    )
    np.testing.assert_array_equal(lanes, plain)


@pytest.mark.parametrize(("right_from", "right_bins"), [(100, 2**32), (100, 90), (0, 2**32), (255, 0)])
def test_lines_are_parted_in_their_order(case, right_from, right_bins):
    """By a column of the other block; from 90 bins on, missing values go left again."""
    table, start, count, column = case[0], 5, 37, 11
    near = np.zeros((2, 40, lines.LINE), dtype=np.uint8)
    plain, expected = near.copy(), near.copy()
    codes = table[1, start : start + count, column].astype(int)
    right = (codes >= right_from) & (codes < right_from + right_bins)
    chosen = table[0, start : start + count]
    expected[0, : np.sum(~right)], expected[1, 3 : 3 + np.sum(right)] = chosen[~right], chosen[right]
    at = N * lines.LINE + start * lines.LINE + column
    given = [np.uint64(x) for x in (start * lines.LINE, count, at)]
    places = [np.uint64(x) for x in (0, 43 * lines.LINE, right_from, right_bins)]
    _part(table.ravel(), *given, near.ravel(), *places)
    lines._part_instead(table.ravel(), *given, plain.ravel(), *places)
    np.testing.assert_array_equal(near, expected)
    np.testing.assert_array_equal(plain, expected)
