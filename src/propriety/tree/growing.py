"""Growing: split the leaf that gains most, or leaf after leaf, until nothing more is allowed."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import memory, parallel
from propriety.engine.layout import SET_WORDS
from propriety.engine.predictor import TREE_NODE
from propriety.model.measure import NodeLoss
from propriety.tree.cells import KeptCells, NewNode, count_slots
from propriety.tree.choosing import EQUAL, choose
from propriety.tree.columns import Prepared
from propriety.tree.nodes import Tree
from propriety.tree.pruning import collapse_prices
from propriety.tree.search import (
    CATEGORICAL,
    SORTED,
    Nodes,
    Sample,
    Scratch,
    mark_bins,
    mark_order,
    partition,
    scratch,
    search,
)
from propriety.tree.settings import TreeSettings

Floats = NDArray[np.float64]
_AWAKE = 30_000  # values to look at from which a second thread pays
_CUTS = 4096  # room for cuts at first
_AHEAD = 2  # times the leaves asked for: that many there may be, to be split ahead of their turn
_ROW = 0xFFFFFFFF


class BestCut(NamedTuple):
    """The best cut of a node."""

    gain: float
    drop: float  # by how much the loss falls, of which the gain of a set of categories is a part
    second: float  # gain in squared loss
    feature: int
    cut: int
    how: int
    left: Floats  # class sums
    losses: tuple[float, float]  # of both sides


class _Leaf(NamedTuple):
    """A node that may be split."""

    start: int
    stop: int
    depth: int
    lower: float
    upper: float


class Made(NamedTuple):
    """A split that was made."""

    gap: tuple[float, float]
    missing_left: bool
    missing_seen: bool
    left_bins: NDArray[np.bool_] | None


def grow_tree(prepared: Prepared, sample: Sample, settings: TreeSettings, n_classes: int) -> Tree:
    """Grow a tree on all rows of `sample`, whose `rows` and `prepared.columns.order` it rearranges."""
    return Growth(prepared, sample, settings, n_classes).grow()


class Growth:
    """A tree that is growing over the rows of this process."""

    #: Whether class sums of bins are kept, where no column is sorted.
    keeps_cells = True

    def __init__(self, prepared: Prepared, sample: Sample, settings: TreeSettings, n_classes: int) -> None:
        self.prepared, self.sample, self.settings = prepared, sample, settings
        self.loss_of = NodeLoss(settings.measure, n_classes)
        self.columns, self.n_classes, self.unit = prepared.columns, n_classes, sample.unit
        self.least = float(settings.min_weight / sample.unit)
        self.n, self.d = len(sample.rows), len(self.columns.kinds)
        self.leaves: list[_Leaf] = []
        self.sums: list[Floats] = []
        self.losses: list[float] = []
        self.splits: list[BestCut | None] = []
        self.made: dict[int, Made] = {}
        self.side = memory.kept(np.zeros(self.n, dtype=np.uint8))
        self.ranges = _ranges(self.d, min(settings.n_jobs, self.d))
        self.sorted_ranges = _ranges(len(self.columns.order), len(self.ranges))
        self.any_sorted = len(self.columns.order) > 0
        self.kept = KeptCells(self.columns, n_classes)
        self.rooms = [scratch(self.n, n_classes, _CUTS, self.any_sorted) for _ in self.ranges]
        spare = len(self.ranges) if self.any_sorted else 1
        self.spare = [memory.empty(self.n, np.int64) for _ in range(spare)]

    def grow(self) -> Tree:
        """Split until nothing more is allowed."""
        labels, weights = self.sample.labels, self.sample.weights
        root = np.bincount(labels, None if len(weights) == 0 else weights, self.n_classes).astype(float)
        root = self._total(root)
        self.root_loss = float(self.loss_of(root[None, :])[0])
        self._add([None], [_Leaf(0, self.n, 0, 0.0, 1.0)], [root], [self.root_loss])
        if self.settings.max_leaves is None:
            self._all()
        else:
            self._one_by_one(self.settings.max_leaves)
        return self._finish()

    def _total(self, sums: Floats) -> Floats:
        """Sums over all rows, of those over the rows of this process: here all there are."""
        return sums

    # -- the order of splits -------------------------------------------------------------------------

    def _all(self) -> None:
        """Split whatever can be split, level by level."""
        first = 0
        while first < len(self.leaves):
            level = [i for i in range(first, len(self.leaves)) if self.splits[i] is not None]
            first = len(self.leaves)
            if level:
                self._split(level)

    def _one_by_one(self, max_leaves: int) -> None:
        """Split the leaf of largest gain, or the leftmost one, until there are `max_leaves`.

        Where there cannot be many more leaves, all are split first, since to look at the leaves of a level
        together takes fewer calls; then they are taken in their turn.
        """
        ahead = self.sums[0].sum() <= _AHEAD * max_leaves * self.least
        if ahead:
            self._all()
        first_child = {node: 2 * k + 1 for k, node in enumerate(self.made)}
        heap: list[tuple] = []
        taken: list[int] = []
        known = [0]  # the node in `leaves` of each one taken

        def push(node: int, place: tuple[int, ...]) -> None:
            split = self.splits[known[node]]
            if split is not None:
                key = (-split.gain, -split.second) if self.settings.best_first else place
                heapq.heappush(heap, (key, node, place))

        push(0, ())
        while heap and len(taken) + 1 < max_leaves:
            _, node, place = heapq.heappop(heap)
            taken.append(node)
            child = first_child[known[node]] if ahead else len(self.leaves)
            if not ahead:
                self._split([node], search=len(taken) + 1 < max_leaves)
            known += [child, child + 1]
            push(len(known) - 2, (*place, 0))
            push(len(known) - 1, (*place, 1))
        if ahead:
            self.made = {node: self.made[known[node]] for node in taken}
            self.leaves, self.sums = [self.leaves[i] for i in known], [self.sums[i] for i in known]
            self.losses, self.splits = [self.losses[i] for i in known], [self.splits[i] for i in known]

    def _split(self, nodes: list[int], search: bool = True) -> None:
        """Split nodes by the best cuts found for them, and look for those of their children."""
        for node in nodes:
            self._mark(node)
        where = np.array([self.leaves[i][:2] for i in nodes])
        starts, stops = where[:, 0].copy(), where[:, 1].copy()
        rows, middles = self.sample.rows[None, :], np.empty(len(nodes), dtype=np.int64)
        partition(rows, 0, 1, starts, stops, self.side, self.spare[0], middles)
        if self.any_sorted:
            self._run(
                [
                    partial(partition, self.columns.order, s, e, starts, stops, self.side, room, middles)
                    for (s, e), room in zip(self.sorted_ranges, self.spare, strict=True)
                ],
                stops - starts,
            )
        children: list[_Leaf] = []
        sums: list[Floats] = []
        losses: list[float] = []
        for node, middle in zip(nodes, middles.tolist(), strict=True):
            pair, pair_sums = self._children(node, middle)
            children += pair
            sums += pair_sums
            losses += self._cut(node).losses
        self._add(nodes, children, sums, losses, search)

    # -- looking for splits --------------------------------------------------------------------------

    def _add(
        self,
        parents: Sequence[int | None],
        leaves: list[_Leaf],
        sums: list[Floats],
        losses: list[float],
        search: bool = True,
    ) -> None:
        """Add the children of nodes, and look for their splits."""
        first = len(self.leaves)
        self.losses += losses
        self.leaves += leaves
        self.sums += sums
        self.splits += [None] * len(leaves)
        able = [first + i for i in range(len(leaves)) if search and self._may_split(first + i)]
        if self.keeps_cells and not self.any_sorted:
            self._plan_cells(parents, first, set(able))
        if able:
            self._search(able)
        self.kept.forget([node for node in range(first, len(self.leaves)) if self.splits[node] is None])

    def _plan_cells(self, parents: Sequence[int | None], first: int, able: set[int]) -> None:
        """Say where the class sums of the newest nodes, the children of `parents`, come from."""
        new = [
            NewNode(first + i, leaf.start, leaf.stop, first + i in able)
            for i, leaf in enumerate(self.leaves[first:])
        ]
        each = len(new) // len(parents)
        for k, parent in enumerate(parents):
            self.kept.plan(parent, new[each * k : each * (k + 1)])

    def _cut(self, node: int) -> BestCut:
        """The split of a node that has one."""
        split = self.splits[node]
        assert split is not None
        return split

    def _may_split(self, node: int) -> bool:
        leaf, sums = self.leaves[node], self.sums[node]
        deep = self.settings.max_depth is not None and leaf.depth >= self.settings.max_depth
        each = sums.tolist()
        return not deep and len(each) - each.count(0.0) > 1 and math.fsum(each) >= 2 * self.least

    def _search(self, able: list[int]) -> None:
        leaves = [self.leaves[i] for i in able]
        nodes = Nodes(
            np.array([leaf.start for leaf in leaves]),
            np.array([leaf.stop for leaf in leaves]),
            np.array([self.sums[i] for i in able]),
            np.array([leaf.lower for leaf in leaves]),
            np.array([leaf.upper for leaf in leaves]),
            self.kept.slots(able),
        )
        candidates: dict[int, tuple[NDArray[np.int64], Floats, Floats]] = {}
        find = self._finder(able, nodes)

        def look(task: int) -> None:
            first, last = self.ranges[task]
            count = find(first, last, self.rooms[task])
            if count > len(self.rooms[task].found):
                self.rooms[task] = scratch(self.n, self.n_classes, 2 * count, self.any_sorted)
                find(first, last, self.rooms[task])
            room: Scratch = self.rooms[task]
            candidates[task] = room.found[:count], room.found_sums[:count], room.found_worth[:count]

        self._run([partial(look, task) for task in range(len(self.ranges))], nodes.stops - nodes.starts)
        found = [candidates[task] for task in range(len(self.ranges))]
        cuts, left, worth = found[0]
        if len(found) > 1:
            cuts, left, worth = (np.concatenate(parts) for parts in zip(*found, strict=True))
        if len(cuts):
            self._choose(able, nodes.sums, cuts, left, worth)

    def _finder(self, able: list[int], nodes: Nodes) -> Callable[[int, int, Scratch], int]:
        """What writes the cuts of some features to a scratch, and returns their number."""
        counts, kept, counted = self.kept.counts(), self.kept, set()

        def find(first: int, last: int, room: Scratch) -> int:
            if len(counts) and first not in counted:
                count_slots(self.columns, self.sample, counts, first, last, kept.places, kept.array)
                counted.add(first)
            columns, sample = self.columns, self.sample
            return search(columns, sample, nodes, first, last, self.least, room, kept.places, kept.array)

        return find

    def _choose(
        self, able: list[int], sums: Floats, cuts: NDArray[np.int64], left: Floats, worth: Floats
    ) -> None:
        """Keep the best cut of each node."""
        m, n = len(cuts), len(able)
        sides = np.concatenate([left, sums[cuts[:, 0]] - left])
        after, ends = self.loss_of(sides), self._ends(sums, sides)
        losses = [self.losses[i] for i in able]
        judged = (np.array(losses), after) if ends is None else ends
        gains, seconds, best = np.empty(m), np.empty(m), np.empty(n, dtype=np.int64)
        choose(cuts, left, worth, sums, *judged, gains, seconds, np.empty((2, n)), best)
        least = self.settings.min_gain * (self.root_loss if ends is None else 1.0)
        for node, before, at in zip(able, losses, best.tolist(), strict=True):
            if at < 0:
                continue
            gain = gains.item(at)
            value = gain if gain > EQUAL * before + 1e-300 else 0.0
            if value >= least:
                _, feature, cut, how = cuts[at].tolist()
                pair = after.item(at), after.item(m + at)
                fall = before - pair[0] - pair[1] if value > 0.0 else 0.0
                self.splits[node] = BestCut(
                    value, fall, seconds.item(at), feature, cut, how, left[at].copy(), pair
                )

    def _ends(self, sums: Floats, sides: Floats) -> tuple[Floats, Floats] | None:
        """What nodes and sides of cuts lose where one end of the probabilities chooses splits; else None.

        The gain of a cut is by how much the larger share of class 1 of its sides exceeds that of the node, or
        the smaller one falls below it. [B §18] That is quasiconvex in the class sums of a side: as for an
        entropy, the best cut is a vertex of their hull.
        """
        if self.settings.criterion == "entropy":
            return None
        k = 1 if self.settings.criterion == "highest" else 0
        rest = 1 - sides[:, k] / sides.sum(axis=1)
        least = np.minimum(*np.split(rest, 2))
        return 1 - sums[:, k] / sums.sum(axis=1), np.concatenate([least, np.zeros_like(least)])

    def _run(self, tasks: Sequence[Callable[[], object]], rows: NDArray[np.int64]) -> None:
        """Run the tasks on all threads, if there are rows enough to pay for waking them."""
        if len(tasks) == 1:
            tasks[0]()
        else:
            parallel.run(tasks, len(self.ranges) if int(rows.sum()) * self.d >= _AWAKE else 1)

    # -- making a split ------------------------------------------------------------------------------

    def _mark(self, node: int) -> None:
        """Set the sides of the node's rows, and note what a new row needs to find its side."""
        leaf, split = self.leaves[node], self._cut(node)
        feature = split.feature
        kind, place = self.columns.kinds[feature], self.columns.places[feature]
        x = self.prepared.values(feature)
        heavier_left = 2 * sum(split.left.tolist()) >= sum(self.sums[node].tolist())
        missing_left, chosen = bool(split.how), None
        low: Any = np.nan
        high: Any = np.nan
        if kind == SORTED:
            last, beyond, n_missing = mark_order(
                self.columns.order[place], leaf.start, leaf.stop, split.cut, missing_left, self.side
            )
            seen, low, high = n_missing > 0, x[last], x[beyond] if beyond >= 0 else np.nan
        elif kind == CATEGORICAL:
            rows = self.sample.rows[leaf.start : leaf.stop] & _ROW
            codes, n_bins = self.columns.codes[place, rows], self.columns.n_bins[feature]
            seen, counts = bool(np.any(codes == n_bins)), np.zeros((256, self.n_classes))
            weights = self.sample.weights
            np.add.at(counts, (codes, self.sample.labels[rows]), weights[rows] if len(weights) else 1.0)
            chosen = self._left_bins(counts, split, heavier_left)
            self.side[rows], missing_left = chosen[codes], bool(chosen[n_bins])
        else:
            n_low, n_high, n_missing = mark_bins(
                self.sample.rows, leaf.start, leaf.stop, self.columns.codes[place], split.cut,
                self.columns.n_bins[feature], missing_left, self.side, self.spare[0],
            )  # fmt: skip
            seen, beside = n_missing > 0, self.spare[0]
            low = x[beside[:n_low]].max()
            high = x[beside[len(beside) - n_high :]].min() if n_high else np.nan
        missing_left = missing_left if seen else heavier_left
        self.made[node] = Made((float(low), float(high)), missing_left, seen, chosen)

    def _left_bins(self, counts: Floats, split: BestCut, heavier_left: bool) -> NDArray[np.bool_]:
        """Which bins go left: the first `cut` in the order of class shares; unseen ones go where most go.

        `counts` are the class sums of the bins in the node.
        """
        total = counts.sum(axis=1)
        seen = np.flatnonzero(total)
        by = 1 if self.n_classes == 2 else split.how
        order = seen[np.argsort(counts[seen, by] / total[seen], kind="stable")]
        chosen = np.full(256, heavier_left)
        chosen[order[: split.cut]] = True
        chosen[order[split.cut :]] = False
        return chosen

    def _children(self, node: int, middle: int) -> tuple[list[_Leaf], list[Floats]]:
        """The two parts of a node, the second with the rows from `middle` on."""
        leaf, split = self.leaves[node], self._cut(node)
        lower, upper = [leaf.lower, leaf.lower], [leaf.upper, leaf.upper]
        sums = [split.left, self.sums[node] - split.left]
        sign = self.columns.monotone[split.feature]
        if sign:
            between = float(np.mean([s[1] / s.sum() for s in sums]))
            upper[0 if sign > 0 else 1] = between
            lower[1 if sign > 0 else 0] = between
        return [
            _Leaf(leaf.start, middle, leaf.depth + 1, lower[0], upper[0]),
            _Leaf(middle, leaf.stop, leaf.depth + 1, lower[1], upper[1]),
        ], sums

    def _finish(self) -> Tree:
        m = len(self.leaves)
        nodes = np.zeros(m, dtype=TREE_NODE)
        sums = np.array(self.sums) * self.unit
        nodes["feature"], nodes["left"], nodes["set"] = -1, -1, -1
        nodes["weight"] = sums.sum(axis=1)
        nodes["depth"] = [leaf.depth for leaf in self.leaves]
        gap, missing_seen = np.full((m, 2), np.nan), np.zeros(m, dtype=bool)
        sets: list[NDArray[np.uint32]] = []
        if self.made:
            split = list(self.made)  # in the order in which their children were added
            cuts, made = [self._cut(node) for node in split], list(self.made.values())
            gaps = np.array([each.gap for each in made]) + 0.0  # of −0.0 and 0.0 either may have been met
            numbers = [-1] * len(split)
            for k, each in enumerate(made):
                if each.left_bins is not None:
                    numbers[k] = len(sets)
                    bits = each.left_bins[: 32 * SET_WORDS].reshape(SET_WORDS, 32).astype(np.uint32)
                    sets.append((bits << np.arange(32, dtype=np.uint32)).sum(axis=1, dtype=np.uint32))
            middles = [_middle(*pair) for pair in gaps.tolist()]
            gap[split], missing_seen[split] = gaps, [each.missing_seen for each in made]
            nodes["missing_left"][split] = [each.missing_left for each in made]
            nodes["feature"][split], nodes["left"][split] = [c.feature for c in cuts], range(1, m, 2)
            nodes["gain"][split], nodes["set"][split] = [c.drop * self.unit for c in cuts], numbers
            nodes["threshold"][split] = [t if s < 0 else 0.0 for t, s in zip(middles, numbers, strict=True)]
        losses, left = np.array(self.losses) * self.unit, nodes["left"]
        return Tree(
            nodes,
            np.array(sets, dtype=np.uint32).reshape(-1, SET_WORDS),
            sums,
            gap,
            missing_seen,
            losses,
            collapse_prices(left, losses),
        )


def _ranges(total: int, parts: int) -> list[tuple[int, int]]:
    """Numbers from 0 on in as many parts of about equal size."""
    edges = [total * k // parts for k in range(parts + 1)]
    return list(pairwise(edges))


def _middle(low: float, high: float) -> float:
    """A threshold t with low ≤ t < high, half way if that is possible; no `high`: every value goes left."""
    if math.isnan(high):
        return math.inf
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low
