"""The best cut of a column, against trying all of them."""

from itertools import pairwise

import numpy as np
import pytest
from tests.forest.oracle import CLOSE, make_node

from propriety.engine.compiling import kernel
from propriety.engine.layout import BINS
from propriety.forest import cuts
from propriety.forest.entropy import FEW, node_loss
from propriety.forest.layout import LINE

#: Rows of a node whose losses are in a table, of one whose bins are a set of bits, and of a larger one.
SIZES = [30, 150, 250]


@kernel
def _pair(rows, first, bag, start, stop, weights, cells, n_cells, bins, lines, few, whole, least, sums):
    n_found = cuts.count(rows, first, bag, start, stop, weights, cells, np.uint64(2), n_cells, bins)
    loss = node_loss(lines, sums)
    return cuts.cut_pair(
        cells, bins, n_found, n_cells - 1, lines, few, whole, least, sums[0], sums[1], loss, -loss
    )


@kernel
def _many(rows, first, bag, start, stop, weights, cells, n_cells, bins, lines, least, sums, left, kept):
    K = np.uint64(sums.size)
    n_found = cuts.count(rows, first, bag, start, stop, weights, cells, K, n_cells, bins)
    loss = node_loss(lines, sums)
    found = cuts.cut_many(cells, bins, n_found, n_cells - 1, lines, least, sums, loss, -loss, left, kept)
    cuts.clear(cells, bins, n_found, K)
    return found


@kernel
def _count(rows, first, bag, start, stop, weights, cells, K, n_cells, bins):
    return cuts.count(rows, first, bag, start, stop, weights, cells, K, n_cells, bins)


@kernel
def _on_right(cut, missing, missing_left):
    return cuts.bins_on_right(cut, missing, missing_left)


@kernel
def _bin(rows, feature, n_rows, entry):
    return cuts.bin_of(rows, cuts.column_start(feature, n_rows), entry)


def prepared(seed, n, n_classes, missing, weighted):
    """A node, and what kernels are told of the column in the middle, which tells classes apart."""
    d, feature = 71, 35
    node = make_node(seed, n, d, n_classes, missing, most=1 if weighted else 3)
    rng, codes, absent = (
        np.random.default_rng(seed),
        node.codes[:, feature].astype(int),
        node.missing[feature],
    )
    spread = codes * 250 // codes.max()  # all over the range, some bins between them without rows
    node.codes[:, feature], node.missing[feature] = np.where(codes == absent, 252, spread), 252
    rows = rng.permutation(2 * n)[:n]
    lines, bag, weights = node.lines(rows, 2 * n), node.bag(rows), np.empty(0, dtype=np.int64)
    if weighted:
        weights = np.zeros(2 * n, dtype=np.int64)
        weights[rows] = node.counts = rng.integers(1, 1000, n)
    first = np.uint64(feature // LINE * 2 * n * LINE + feature % LINE)
    given = lines, first, np.concatenate([bag[:3], bag]), np.uint64(3), np.uint64(3 + n), weights
    return node, feature, given


def best_of_all(node, feature):
    """The largest gain, and every (cut, side) that has it: bins in the middle of those without rows."""
    codes, missing = node.codes[:, feature].astype(int), node.missing[feature]
    values = np.unique(codes[codes != missing])
    any_missing = bool(np.any(codes == missing))
    tried = [((a + b - 1) // 2, side) for a, b in pairwise(values) for side in (0, 1)]
    tried = tried if any_missing else [(cut, -1) for cut, side in tried if side == 0]
    tried += [(values[-1], 0)] * any_missing
    gains = np.array([node.gain(node.goes_left(feature, cut, side)) for cut, side in tried])
    return gains.max(), [t for t, g in zip(tried, gains, strict=True) if g > gains.max() - CLOSE * node.loss]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("least", [0, 0.45], ids=["any leaf", "large leaves"])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_best_cut_of_all(n_classes, n, least, missing, weighted):
    for seed in range(3):
        node, feature, given = prepared(seed, n, n_classes, missing, weighted)
        node.least = max(1, int(least * node.sums.sum()))
        n_cells, cells = int(node.missing[feature]) + 1, np.zeros(BINS * n_classes, dtype=np.int64)
        bins, sums, table = np.zeros(BINS, dtype=np.int64), node.sums, node.table
        if n_classes == 2:
            whole = not weighted and sums.sum() < FEW
            gain, cut, side, *left = _pair(
                *given, cells, n_cells, bins, table.lines, table.few, whole, node.least, sums
            )
        else:
            left, room = np.zeros(n_classes, dtype=np.int64), np.zeros((2, n_classes), dtype=np.int64)
            gain, cut, side = _many(*given, cells, n_cells, bins, table.lines, node.least, sums, room, left)
        best, where = best_of_all(node, feature)
        assert gain * table.unit == pytest.approx(best, abs=CLOSE * node.loss)
        assert (cut, side) in where
        np.testing.assert_array_equal(left, node.sums_of(node.goes_left(feature, cut, side)))
        assert not cells.any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_class_sums_of_bins(n, weighted):
    node, feature, given = prepared(1, n, 3, True, weighted)
    cells, bins = np.zeros((BINS, 3), dtype=np.int64), np.zeros(BINS, dtype=np.int64)
    n_found = _count(*given, cells.ravel(), np.uint64(3), int(node.missing[feature]) + 1, bins)
    expected = np.zeros_like(cells)
    np.add.at(expected, (node.codes[:, feature], node.labels), node.counts)
    np.testing.assert_array_equal(cells, expected)
    np.testing.assert_array_equal(bins[:n_found], np.unique(node.codes[:, feature]))


@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize(("cut", "missing"), [(0, 1), (4, 9), (8, 9), (254, 255)])
def test_bins_on_the_right(cut, missing, missing_left):
    first, many = _on_right(cut, missing, missing_left)
    for code in range(missing + 1):
        right = code > cut if code < missing else missing_left == 0
        assert ((code - first) % 2**64 < many) == right


def test_bins_are_found_in_their_block_of_columns():
    table = np.random.default_rng(0).integers(0, 256, (20, 3 * LINE)).astype(np.uint8)
    rows = np.ascontiguousarray(table.reshape(20, 3, LINE).transpose(1, 0, 2)).ravel()
    for row, feature in [(0, 0), (19, 31), (7, 32), (11, 77), (19, 95)]:
        assert _bin(rows, feature, 20, np.uint64(row | 1 << 32 | 5 << 40)) == table[row, feature]
