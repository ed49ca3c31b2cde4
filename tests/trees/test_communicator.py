"""Rows in several processes give the bits of rows in one; here a process is a thread."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from propriety.communicator import SINGLE
from propriety.data.table import Schema
from propriety.distributed.turns import take_turns
from propriety.trees import binning
from propriety.trees.binning import Binner
from propriety.trees.fixed_point import row_weights, weighted_sum
from propriety.trees.gradients import Quantizer
from propriety.weights import Weights

N = 900


def together(work, shares):
    """What each member's ``work(rows, communicator)`` returns, each with its share of the rows."""
    return take_turns([lambda member, rows=rows: work(rows, member) for rows in shares])


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture(params=["none", "whole", "zero and one", "relative"])
def weights(request, rng):
    given = {
        "none": None,
        "whole": rng.integers(0, 5, N),
        "zero and one": rng.integers(0, 2, N),
        "relative": rng.random(N),
    }
    return Weights.read(given[request.param], N)


def shares_of(rng, n_members):
    """Rows in a random order, spread unevenly."""
    cuts = np.sort(rng.integers(1, N, n_members - 1))
    return np.split(rng.permutation(N), cuts)


def table_of(rng):
    X = rng.normal(size=(N, 4))
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 2] = rng.integers(0, 60, N)
    X[:2, 2] = 0, 59
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


class Rows:
    """Some rows of a table."""

    def __init__(self, table, rows):
        self._table, self._rows = table, rows
        self.n_rows, self.n_features, self.arrays = len(rows), table.n_features, ()
        self.content_hashes = None

    def column(self, f, *, codes=False):
        return self._table.column(f, codes=codes)[self._rows]

    def parts(self, features, rows=None, *, codes=False):
        yield slice(0, self.n_rows), partial(self.column, codes=codes)


@pytest.mark.parametrize("n_members", [2, 3])
def test_sums_and_scales_do_not_depend_on_the_spread(rng, weights, n_members):
    g, h, out = rng.normal(size=N), rng.random(N), weights.array == 0
    g[out], h[out] = 0.0, 0.0

    def work(rows, communicator):
        part = row_weights(replace(weights.take(rows), communicator=communicator))
        signal = Quantizer(len(rows), part, communicator)(g[rows], h[rows], 1)
        return part.total, weighted_sum(g[rows], part, 1, communicator), signal

    total, expected, whole = work(np.arange(N), SINGLE)
    shares = shares_of(rng, n_members)
    for rows, (its_total, its_sum, signal) in zip(shares, together(work, shares), strict=True):
        assert (its_total, its_sum) == (total, expected)
        assert signal[2:] == whole[2:]
        if whole.packed.size:
            np.testing.assert_array_equal(signal.packed, whole.packed[rows])
        else:
            np.testing.assert_array_equal(signal.parts, whole.parts[rows])


@pytest.mark.parametrize("sample", [200, 100_000])
def test_bins_do_not_depend_on_the_spread(rng, weights, sample, monkeypatch):
    monkeypatch.setattr(binning, "SAMPLE", sample)
    schema, table = Schema.fit(table_of(rng), [2])
    target = (rng.random(N) < 0.4).astype(float)

    def work(rows, communicator):
        part = Rows(table, rows)
        own = replace(weights.take(rows), communicator=communicator)
        return Binner.fit(part, own, target[rows], schema.n_categories, 30, 1)

    whole = Binner.fit(table, weights, target, schema.n_categories, 30, 1)
    for binner in together(work, shares_of(rng, 3)):
        np.testing.assert_array_equal(binner.edges, whole.edges)
        np.testing.assert_array_equal(binner.category_bins[2], whole.category_bins[2])
