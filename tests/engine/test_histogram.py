"""Histograms against np.bincount."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from propriety.engine import histogram
from propriety.engine.fixed_point import BLOCK, row_weights
from propriety.engine.intrinsics import AT_ONCE, LANES
from propriety.engine.layout import BINS, CELLS, CURVATURES, GROUP, NODE, ROOM, TILE, WEIGHTS, Binned
from propriety.engine.quantize import Quantizer
from propriety.weights import Weights

D = 3


class Work(NamedTuple):
    """What counting needs of a workspace."""

    block: int
    block_cells: np.ndarray
    rooms: np.ndarray
    at_once: int


@njit
def _add_rows(binned, signal, index, nodes, first, work, sums):
    d = binned.n_bins.size
    for f in range(first, d):
        histogram.clear(binned, f, nodes[0], sums)
    histogram.add_rows(binned.rows, signal, index, 0, index.size, nodes[0], first, d, work, 1, sums)


@njit
def _subtract(binned, nodes, part, whole):
    for f in range(D):
        cells, n_bins = slice(f * CELLS, (f + 1) * CELLS), binned.n_bins[f]
        histogram.subtract(n_bins, nodes[0].packed != 0, nodes[1], nodes[2], part[cells], whole[cells])


@njit
def _count_together(binned, packed, index, features, cells, out):
    histogram.count_together(binned, packed, index, 0, index.size, features, features.size, cells)
    for k in range(out.shape[0]):
        out[k, 0], out[k, 1], out[k, 2] = histogram.apart(cells[k])


def table(n, d=D, seed=0):
    rng = np.random.default_rng(seed)
    n_bins = np.resize([255, 7, 1], d)
    rows = np.column_stack([rng.integers(0, b + 1, n) for b in n_bins]).astype(np.uint8)
    binned = Binned(
        rows,
        np.ascontiguousarray(rows.T),
        n_bins,
        np.zeros(d, dtype=np.uint8),
        np.zeros((d, 256)),
        np.ones(d),
    )
    return binned, rng.normal(size=n), rng.random(n), rng


def signal_of(g, h, w=None):
    return Quantizer(len(g), row_weights(Weights.read(w, len(g))))(g, h, 1)


def numbers(signal):
    """Gradient, curvature and weight of each row as whole numbers."""
    if signal.parts.size:
        return signal.parts.astype(np.int64)
    return np.column_stack([signal.packed >> 32, signal.packed & 0xFFFFFFFF, np.ones_like(signal.packed)])


def node_of(rows, signal, counted=True):
    node = np.zeros(1, dtype=NODE)
    node["packed"] = signal.packed.size > 0 and rows <= BLOCK
    node["counted"] = counted
    return node


def histogram_of(binned, signal, index, counted=True, first=0, block=BLOCK, at_once=LANES):
    cells = binned.n_bins.size * CELLS
    sums = np.full(cells, 99, dtype=np.int64)  # what another node has left
    node = node_of(len(index), signal, counted)
    work = Work(block, np.zeros((2, cells), dtype=np.int64), np.zeros(2, dtype=ROOM), at_once)
    _add_rows(binned, signal, index, node, first, work, sums)
    assert not work.block_cells.any()
    return sums, node


def parts_of(sums, node, n_bins, f):
    cells = sums[f * CELLS :]
    g, h, w = cells[: n_bins + 1], cells[CURVATURES:][: n_bins + 1], cells[WEIGHTS:][: n_bins + 1]
    return (g >> 32, g & 0xFFFFFFFF, w) if node["packed"][0] else (g, h, w)


def check(binned, signal, index, sums, node, counted=True, first=0):
    for f, n_bins in list(enumerate(binned.n_bins))[first:]:
        parts = parts_of(sums, node, n_bins, f)
        for k, x in enumerate(numbers(signal).T[: 3 if counted else 2]):
            expected = np.bincount(binned.rows[index, f], x[index].astype(float), minlength=n_bins + 1)
            np.testing.assert_array_equal(parts[k], expected)


@pytest.mark.parametrize(
    ("n", "kind", "counted"),
    [
        (900, "none", True),
        (5_000, "none", False),
        (3 * BLOCK + 5, "none", False),
        (5_000, "whole", True),
        (5_000, "relative", True),
    ],
)
def test_sums_are_those_of_bincount(n, kind, counted):
    binned, g, h, rng = table(n)
    signal = signal_of(g, h, {"none": None, "whole": rng.integers(1, 9, n), "relative": rng.random(n)}[kind])
    index = rng.permutation(n)[: n - 100].astype(np.uint32)
    sums, node = histogram_of(binned, signal, index, counted)
    check(binned, signal, index, sums, node, counted)


@pytest.mark.parametrize("d", [16, 23, 32, 150])
@pytest.mark.parametrize("rows", [TILE - 1, 3 * TILE + 5, BLOCK + 5])
@pytest.mark.parametrize("first", [0, 5])
@pytest.mark.parametrize("at_once", [LANES, AT_ONCE])
def test_so_are_those_of_many_columns(d, rows, first, at_once):
    binned, g, h, rng = table(rows + 100, d)
    signal = signal_of(g, h)
    index = np.sort(rng.permutation(rows + 100)[:rows]).astype(np.uint32)
    index[-1] = rows + 99  # the last row, beyond which there is nothing to read
    sums, node = histogram_of(binned, signal, index, counted=False, first=first, at_once=at_once)
    check(binned, signal, index, sums, node, counted=False, first=first)


def test_bins_that_are_small_are_summed_at_once():
    n = 2 * BLOCK
    binned, _, _, _ = table(n)
    binned.rows[:, :] = binned.columns.T[:] = (np.arange(n) % 2)[:, None]  # as many as fit in each bin
    assert histogram.largest_bin(binned, 2) == BLOCK
    signal = signal_of(np.where(np.arange(n) % 2, -1.0, 1.0), np.ones(n))  # the largest values there are
    index = np.arange(n, dtype=np.uint32)
    sums, node = histogram_of(binned, signal, index, counted=False, block=n)
    check(binned, signal, index, sums, node, counted=False)


@pytest.mark.parametrize("n", [900, BLOCK + 500, 3 * BLOCK])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_sibling_is_the_rest_whether_packed_or_not(n, share):
    binned, g, h, _ = table(n)
    signal = signal_of(g, h)
    index = np.arange(n, dtype=np.uint32)
    small, large = index[: int(share * n)], index[int(share * n) :]
    whole, node = histogram_of(binned, signal, index, counted=False)
    part, small_node = histogram_of(binned, signal, small, counted=False)
    large_node = node_of(len(large), signal, counted=False)
    _subtract(binned, np.concatenate([node, small_node, large_node]), part, whole)
    check(binned, signal, large, whole, large_node, counted=False)


def test_few_rows_are_counted_in_one_number():
    n = 511
    binned, _, _, rng = table(n)
    signal = signal_of(np.where(rng.random(n) < 0.5, -1.0, 1.0), np.ones(n))  # the largest values there are
    index = np.arange(n, dtype=np.uint32)
    features = np.array([0, 2], dtype=np.uint64)
    out = np.zeros((len(features) * BINS, 3), dtype=np.int64)
    _count_together(binned, signal.packed, index, features, np.zeros(GROUP * BINS, dtype=np.int64), out)
    for at, f in enumerate(features):
        for k, x in enumerate(numbers(signal).T):
            expected = np.bincount(binned.rows[:, f], x.astype(float), minlength=BINS)
            np.testing.assert_array_equal(out[at * BINS : (at + 1) * BINS, k], expected)
