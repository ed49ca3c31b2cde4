"""Kernels mean what their Python means, and compiling them leaves nothing changed."""

import gc

import numpy as np
import pytest

from propriety.trees.jit import COMPILED, allocating, inner, kernel

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


def _mixed(a, b, none):
    if none is None:
        return a + b, a / b, a // b, min(a, b), a < b
    return none[a], a - b


def _sum_mixed(a, b, values):
    total = 0.0
    for i in range(values.size):
        total += _inner_mixed(a, b, None)[1] * values[i]
    return total


_inner_mixed = inner(_mixed)


@pytest.mark.parametrize("b", [3, 3.5, np.uint8(3), True])
def test_operations_on_numbers_keep_their_types(b):
    values = np.arange(4.0)
    compiled = kernel(_sum_mixed)(7, b, values)
    assert compiled == pytest.approx(7 / b * values.sum(), rel=1e-15)


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_as_before(collecting):
    before = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        kernel(lambda x: x + 1)(2)
        assert gc.isenabled() is collecting
        with pytest.raises(Exception, match="Unknown attribute"):
            kernel(lambda x: x.nothing)(2.0)
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if before else gc.disable)()


def _items(table, row, wide, f):
    last = table[-1, row]
    wide[0, 1] = last + 0.5
    wide[f, -1] += 2
    return last, table[np.uint64(0), -row], wide[0, 1], wide[1, 2]


@pytest.mark.parametrize("make", [kernel, allocating])
@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_items_of_arrays(make, order):
    table = np.arange(12).reshape(3, 4)
    table = {"C": table, "F": np.asfortranarray(table), "strided": np.arange(48).reshape(3, 16)[:, ::4]}[
        order
    ]
    expected, wide = np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)
    assert make(_items)(table, 1, wide, np.uint8(1)) == _items(table, 1, expected, 1)
    np.testing.assert_array_equal(wide, expected)


def _loops(start, stop, step):
    total, turns = 0, 0
    for i in range(stop):
        for j in range(start, i):
            total += i * j
        for j in range(stop, i, -step):
            total -= j
        turns += 1
    for _ in range(3, start):
        turns += 100
    return total, turns


@pytest.mark.parametrize("make", [kernel, allocating])
@pytest.mark.parametrize(("start", "stop", "step"), [(0, 7, 1), (2, 9, 3), (5, 3, 2), (-2, 4, 1), (0, -3, 1)])
def test_loops_over_ranges(make, start, stop, step):
    assert make(_loops)(start, stop, step) == _loops(start, stop, step)


def _smallest(a, b, c):
    return min(a, b, c), max(a, b, c), max(c, 2), min(a, b)


@pytest.mark.parametrize("make", [kernel, allocating])
@pytest.mark.parametrize(
    ("a", "b", "c"),
    [(1, 2, 3), (1.5, 2, np.uint8(3)), (np.nan, 1.0, 2.0), (1.0, np.nan, 2.0), (0.0, -0.0, 1.0)],
)
def test_extremes_of_numbers(make, a, b, c):
    np.testing.assert_array_equal(make(_smallest)(a, b, c), _smallest(a, b, c))
    assert np.signbit(make(_smallest)(a, b, c)[3]) == np.signbit(_smallest(a, b, c)[3])
