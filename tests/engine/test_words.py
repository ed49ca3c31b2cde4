"""Columns of 64 rows and sets of rows, against the same by NumPy."""

import numpy as np
import pytest

from propriety.engine import words
from propriety.engine.compiling import kernel
from propriety.engine.lines import LINE


@kernel
def _transpose(rows, start, columns, place):
    words.transpose_lines(rows, start, columns, place)


@kernel
def _read(columns, place, rows, value, found):
    found[0] = words.least_of(columns, place, rows)
    found[1] = words.most_of(columns, place, rows)
    found[2] = words.size_of(rows)
    return words.rows_up_to(columns, place, value), words.rows_at(columns, place, value)


def test_lines_become_columns():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 256, (40, LINE)).astype(np.uint8)
    columns = np.zeros((LINE + 1, words.ROWS), dtype=np.uint8)
    plain, expected = columns.copy(), columns.copy()
    expected[1:, 7 : 7 + words.TOGETHER] = rows[5 : 5 + words.TOGETHER].T
    where = np.uint64(5 * LINE), np.uint64(words.ROWS + 7)
    _transpose(rows.ravel(), where[0], columns.ravel(), where[1])
    words._transpose_instead(rows.ravel(), where[0], plain.ravel(), where[1])
    np.testing.assert_array_equal(columns, expected)
    np.testing.assert_array_equal(plain, expected)


@pytest.mark.parametrize("members", [[0], [63], [0, 63], [3, 17, 31, 32, 40], list(range(64))])
def test_sets_of_rows(members):
    rng = np.random.default_rng(len(members))
    columns = rng.integers(0, 12, 3 * words.ROWS).astype(np.uint8) * 20
    place, value, bits = np.uint64(words.ROWS + 5), 100, np.arange(64)
    rows = np.uint64(sum(1 << i for i in members))
    column, found = columns[int(place) :][: words.ROWS], np.zeros(3, dtype=np.int64)
    up_to, at = _read(columns, place, rows, value, found)
    own = column[members]
    np.testing.assert_array_equal(found, [own.min(), own.max(), len(members)])
    np.testing.assert_array_equal((int(up_to) >> bits.astype(object)) & 1, column <= value)
    np.testing.assert_array_equal((int(at) >> bits.astype(object)) & 1, column == value)
    assert words._members(columns, place, rows) == own.tolist()
    assert words._rows_instead(int.__le__)(columns, place, value) == up_to
    assert words._rows_instead(int.__eq__)(columns, place, value) == at
