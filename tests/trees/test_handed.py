"""Tuples that are handed over by their address."""

import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from propriety.trees.handed import by_address
from propriety.trees.jit import COMPILED, inner

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


@by_address
class Sample(NamedTuple):
    """Of the test."""

    values: np.ndarray
    table: np.ndarray
    scale: float


@inner
def _total(sample):
    total = 0.0
    for i in range(sample.values.size):
        total += sample.values[i] * sample.table[i, 1]
    return total


@njit
def counting(sample):
    rows = sample.values
    part = rows[1:].copy()
    return sample.scale * _total(sample) + part.sum() + sample.table[0, 1]


@njit(_nrt=False)
def plain(sample):
    return sample.scale * _total(sample)


def test_fields_are_those_of_the_tuple_and_no_reference_is_lost():
    values, table = np.arange(4.0), np.arange(8.0).reshape(4, 2)
    sample = Sample(values, table, 0.5)
    total = 0.5 * values @ table[:, 1]
    before = sys.getrefcount(values), sys.getrefcount(table)
    for _ in range(100):
        assert counting(sample) == total + 6.0 + 1.0
        assert plain(sample) == total
    assert (sys.getrefcount(values), sys.getrefcount(table)) == before


def test_other_types_of_the_fields_are_other_functions():
    ints = Sample(np.arange(4), np.ones((4, 2), dtype=np.float32), 2.0)
    assert plain(ints) == 12.0
