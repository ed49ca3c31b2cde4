"""Nodes for the kernels of a forest, and what they should find there: by NumPy, drawn as the kernels draw."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from propriety.forest.entropy import entropy_table
from propriety.forest.layout import COLUMN, LINE, RULES, SCRATCH
from propriety.model.measure import NodeLoss, measure_of

_WORD = 2**64 - 1
#: Gains are read from tables, and right to some millionths of the node's loss.
CLOSE = 1e-5


@cache
def _node_loss(n_classes):
    return NodeLoss(measure_of("Squared", None, n_classes), n_classes)


@cache
def _table(n_classes):
    return entropy_table(measure_of("Squared", None, n_classes), n_classes)


class Draws:
    """Random numbers of splitmix64, one after the other."""

    def __init__(self, state):
        self.state = state

    def below(self, n):
        self.state = x = (self.state + 0x9E3779B97F4A7C15) & _WORD
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _WORD
        return (((x ^ (x >> 31)) >> 32) * n) >> 32

    def columns(self, features, undrawn, batch):
        """Put some of the first features behind the others."""
        for last in range(undrawn - 1, undrawn - 1 - batch, -1):
            at = self.below(last + 1)
            features[at], features[last] = features[last], features[at]

    def cut(self, low, high, any_missing):
        """The last bin on the left and the side of missing values, or None; `high` is below `low` of none."""
        if high < low or (high == low and not any_missing):
            return None
        cut = low if high == low else low + self.below(high - low)
        side = -1 if not any_missing else 0 if high == low else self.below(2)
        return cut, side


@dataclass
class Node:
    """Rows of a node: bins, classes, and what they count, those of class 0 first."""

    codes: np.ndarray  # (n, d)
    labels: np.ndarray
    missing: np.ndarray  # (d,): bins of missing values
    counts: np.ndarray
    n_classes: int = 2
    least: int = 1

    def take(self, rows):
        return Node(
            self.codes[rows], self.labels[rows], self.missing, self.counts[rows], self.n_classes, self.least
        )

    @property
    def sums(self):
        return self.sums_of(np.ones(len(self.labels), dtype=bool))

    def sums_of(self, rows):
        return np.bincount(self.labels[rows], self.counts[rows], self.n_classes).astype(np.int64)

    def goes_left(self, feature, cut, side):
        codes = self.codes[:, feature].astype(int)
        return np.where(codes == self.missing[feature], side == 1, codes <= cut)

    def gain(self, left):
        """What a split gains in squared loss; less than nothing if it leaves too little on a side."""
        parts = np.array([self.sums, self.sums_of(left), self.sums_of(~left)], dtype=float)
        if min(parts[1:].sum(axis=1)) < self.least:
            return -np.inf
        before, *after = _node_loss(self.n_classes)(parts)
        return before - sum(after)

    @property
    def loss(self):
        return _node_loss(self.n_classes)(self.sums[None] + 0.0)[0]

    def range_of(self, feature):
        """The least and the largest bin of values, the latter −1 of none, and whether some are missing."""
        codes = self.codes[:, feature].astype(int)
        values = codes[codes != self.missing[feature]]
        return codes.min(), values.max(initial=-1), len(values) < len(codes)

    def best_random_cut(self, features, batch, draws):
        """The best of random cuts of drawn columns: gain, feature, cut, side; None if there is none."""
        best, undrawn, loss = (-self.loss, None), len(features), self.loss
        while undrawn > 0 and best[1] is None:
            batch = min(batch, undrawn)
            draws.columns(features, undrawn, batch)
            undrawn -= batch
            for f in features[undrawn : undrawn + batch][::-1]:
                cut = draws.cut(*self.range_of(f))
                gain = -np.inf if cut is None else self.gain(self.goes_left(f, *cut))
                if gain > best[0] + 1e-9 * loss:
                    best = gain, f, *cut
            batch = 1
        return None if best[1] is None else best

    # -- as kernels read it --------------------------------------------------------------------------

    @property
    def table(self):
        return _table(self.n_classes)

    @property
    def columns(self):
        columns = np.zeros(len(self.missing), dtype=COLUMN)
        columns["missing"] = self.missing
        return columns

    def lines(self, rows, n_lines):
        """Lines of so many rows, in blocks of columns, with the node's in the places `rows`."""
        n, d = self.codes.shape
        blocks = -(-d // LINE)
        lines = np.zeros(blocks * n_lines * LINE, dtype=np.uint8)
        wide = np.zeros((n, blocks * LINE), dtype=np.uint8)
        wide[:, :d] = self.codes
        lines.reshape(blocks, n_lines, LINE)[:, rows] = wide.reshape(n, blocks, LINE).transpose(1, 0, 2)
        return lines

    def bag(self, rows):
        """The words of the rows in these places."""
        words = np.asarray(rows, dtype=np.uint64) | (self.labels.astype(np.uint64) << np.uint64(32))
        return words | (self.counts.astype(np.uint64) << np.uint64(40))


def make_node(seed, n, d, n_classes=2, missing=False, most=1, least=1):
    """A node whose classes depend on two columns; the last one has one value.

    If some are missing, the one before it has none, and the one before that has one.
    """
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, rng.integers(2, 250, d), (n, d))
    score = codes[:, 0] / (1 + codes[:, 0].max()) + codes[:, d // 2] / (1 + codes[:, d // 2].max())
    labels = np.digitize(score + 0.3 * rng.normal(size=n), np.arange(1, n_classes) * 2 / n_classes)
    bins = codes.max(axis=0) + 1
    codes[:, d - 1] = 3
    if missing:
        codes = np.where(rng.random((n, d)) < 0.2 * (np.arange(d) % 3 != 0), bins, codes)
        codes[:, d - 2] = bins[d - 2] = 0  # no value at all
        codes[:, d - 3] = np.where(rng.random(n) < 0.5, bins[d - 3], 5)
    else:
        bins[:] = 250
    bins[d - 1] = max(bins[d - 1], 4)
    bins[d - 3] = max(bins[d - 3], 6)
    order = np.argsort(labels != 0, kind="stable")
    counts = rng.integers(1, most + 1, n)
    return Node(codes[order].astype(np.uint8), labels[order], bins, counts, n_classes, least)


def make_rules(node, batch, max_depth=100):
    """Rules of a tree."""
    rules = np.zeros(1, dtype=RULES)
    rules["n_classes"], rules["least"], rules["split_features"] = node.n_classes, node.least, batch
    rules["max_depth"] = max_depth
    return rules


def make_scratch(state=0):
    """Room for a search."""
    scratch = np.zeros(1, dtype=SCRATCH)
    scratch["state"] = state
    return scratch
