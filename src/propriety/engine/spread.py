"""Growing a tree over rows that are spread over processes, bit for bit the tree of one process.

Every process holds some of the rows, splits and counts those, and the sums of all are the same everywhere; so
every process finds the same splits. A *trip* is one such sum. To make few of them, the best few of the known
nodes are split in one trip, the others *ahead* of their turn; the order that one process would have taken is
replayed afterwards, and what it does not reach is dropped.

What decides is a function of the sums over all rows and of their number, never of where they are: the
children of a node of rows that count once are weighed when they have been made, and a split that leaves too
few rows on a side is looked for once more, with rows counted per bin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.collective import Collective
from propriety.engine.compiling import kernel
from propriety.engine.drawing import allow
from propriety.engine.fixed_point import BLOCK
from propriety.engine.grower import Grower, make_children, may_split, move, new_root, partition
from propriety.engine.histogram import LOW, add_rows, add_weights, clear, subtract
from propriety.engine.layout import CELLS, CURVATURES, WEIGHTS, Binned, Rules, Signal
from propriety.engine.splitting import COUNTED_ROWS, best_split

_ROWS = 65_536  # of a block of a partition
_I = np.int64
Ints = NDArray[np.int64]


# --- kernels --------------------------------------------------------------------------------------


@kernel
def _begin(signal, work, n_rows, all_rows, every):
    """Make the root."""
    if every:
        for i in range(n_rows):
            work.rows[i] = i
    new_root(signal, work, n_rows, all_rows)


@kernel
def _partition_block(binned, work, node_id, n_blocks, k):
    partition(binned, work, node_id, n_blocks, k, _I(k % work.rooms.size))


@kernel
def _move_block(work, node_id, middle, n_blocks, k):
    move(work, work.nodes[node_id], middle, n_blocks, k)


@kernel
def _children(signal, rules, work, node_id, n_left, all_left):
    """Make the children of a node; their histograms are of the kind that their parent's was."""
    make_children(signal, rules, work, node_id, n_left, all_left)
    node = work.nodes[node_id]
    for child in (node.left, node.right):
        work.nodes[child].packed = node.packed
        work.nodes[child].counted = signal.packed.size == 0 or (node.counted and node.packed)


@kernel
def _count(binned, signal, work, start, stop, like, first, last, worker, sums):
    """Sums of some rows of this process for some features, in the form of the histogram of node ``like``."""
    node = work.nodes[like]
    for f in range(first, last):
        clear(binned, f, node, sums)
    add_rows(binned, signal, work.rows, start, stop, node, first, last, work, worker, sums)


@kernel
def _count_weights(binned, work, node_id, sums):
    """Numbers of rows per bin of this process."""
    node = work.nodes[node_id]
    add_weights(binned.rows, work.rows, node.start, node.stop, _I(0), _I(binned.n_bins.size), sums)


@kernel
def _rest(binned, work, node_id, counted_id, part, whole):
    """Turn the histogram of a node into that of the child that was not counted."""
    node = work.nodes[node_id]
    counted, sibling = work.nodes[counted_id], work.nodes[node.left + node.right - counted_id]
    for f in range(binned.n_bins.size):
        subtract(binned, f, node.packed != 0, counted, sibling, part, whole)


@kernel
def _pack(cells, curvatures, histogram):
    """Put gradient and curvature into one number."""
    for i in range(cells.size):
        histogram[cells[i]] = (histogram[cells[i]] << 32) + histogram[curvatures[i]]


@kernel
def _search(binned, signal, rules, work, node_id, histogram):
    """Find the best split of a node, if it may have one."""
    node, allowed = work.nodes[node_id], work.allowed[0]
    if may_split(node, rules):
        allow(rules, work.path_groups[node_id], node.key, work.numbers[0], allowed)
        room, bins_left = work.rooms[0], work.sets[node_id]
        d = _I(binned.n_bins.size)
        best_split(histogram, allowed, binned, signal, rules, room, node, bins_left, _I(0), d)


# --- the tree -------------------------------------------------------------------------------------


class _Cut(NamedTuple):
    """A node whose rows have been parted in this process, and what was counted of it."""

    node: int
    n_left: int
    left_is_counted: bool
    part: Ints | None  # the counted child's histogram


class SpreadGrower(Grower):
    """Grows trees over a table whose rows are spread over processes.

    Parameters
    ----------
    binned : Binned
        The rows of this process.
    max_leaves, n_groups, n_jobs : as those of `Grower`
    collective : Collective
    drawn : bool
        Whether each tree grows over other rows; else their number is asked for once.
    """

    def __init__(
        self,
        binned: Binned,
        max_leaves: int,
        n_groups: int,
        n_jobs: int,
        collective: Collective,
        drawn: bool = True,
    ) -> None:
        # Splits ahead of their turn may be dropped, so that there is room for as many more.
        super().__init__(binned, 2 * max_leaves + 2, n_groups, n_jobs, few_rows=True)
        self._collective, self._n_jobs = collective, n_jobs
        bins = [CELLS * f + np.arange(n + 1) for f, n in enumerate(binned.n_bins)]
        self._cells = np.concatenate(bins)
        self._drawn, self._all_rows = drawn, -1
        self._free: list[Ints] = []
        self._histograms: dict[int, Ints] = {}

    def grow(self, signal: Signal, rules: Rules, rows: NDArray[np.uint32] | None = None) -> NDArray[np.void]:
        """Grow one tree over these ``rows`` of this process, and those of the others.

        Returns its nodes; the rows of this process in a leaf are ``work.rows[node.start:node.stop]``.
        """
        work = self.work
        n_rows = len(work.rows) if rows is None else len(rows)
        if rows is not None:
            work.rows[:n_rows] = rows
        self._signal, self._rules = signal, rules
        self._free += self._histograms.values()
        self._histograms = {}
        self._plant(n_rows, rows is None)
        return _replayed(self)

    # --- growing ---

    def _plant(self, n_rows: int, every: bool) -> None:
        """Count the root and find its split."""
        work, signal = self.work, self._signal
        if self._drawn or self._all_rows < 0:
            self._all_rows = int(self._collective.sum(np.array([n_rows]))[0])
        _begin(signal, work, n_rows, self._all_rows, every)
        root, histogram = work.nodes[0], self._new_histogram()
        self._count_rows(0, n_rows, 0, histogram)
        self._write(0, histogram, self._collective.sum(self._read(0, histogram)))
        first = histogram[: self.binned.n_bins[0] + 1]
        curvature = histogram[CURVATURES : CURVATURES + len(first)]
        root["gradient"] = (first >> 32).sum() if root["packed"] else first.sum()
        root["curvature"] = (first & LOW).sum() if root["packed"] else curvature.sum()
        if not signal.packed.size:
            root["weight"] = histogram[WEIGHTS : WEIGHTS + len(first)].sum()
        self._histograms[0] = histogram
        self._search(0)

    def split(self, ids: list[int], *, last: bool) -> None:
        """Split nodes whose best splits are known, and find those of their children, in one trip.

        After the ``last`` splits of a tree nobody asks for those of the children. A node whose split leaves
        too few rows on a side stays a leaf, and has another split, or none, instead.
        """
        cuts = [self._cut(node, last) for node in ids]
        parts = [np.array([cut.n_left for cut in cuts])]
        parts += [self._read(cut.node, cut.part) for cut in cuts if cut.part is not None]
        totals = self._collective.sum(np.concatenate(parts))
        all_left, rest = totals[: len(cuts)], totals[len(cuts) :]
        fresh, poor = [], []
        for cut, n_left in zip(cuts, all_left.tolist(), strict=True):
            total = None
            if cut.part is not None:
                size = len(self._cells) * self._kinds(cut.node)
                total, rest = rest[:size], rest[size:]
            if self._too_few(cut.node, n_left):
                poor.append(cut.node)
                if cut.part is not None:
                    self._free.append(cut.part)
            else:
                fresh += self._finish(cut, n_left, total)
        self._weigh([node for node in fresh if self._lacks_weights(node)] + poor)
        for node in fresh + poor:
            self._search(node)

    def _cut(self, node_id: int, last: bool) -> _Cut:
        """Part the rows of this process, and count those that go to the child with fewer rows."""
        work, node = self.work, self.work.nodes[node_id]
        start, stop = int(node["start"]), int(node["stop"])
        n_blocks = max(1, min(-(-(stop - start) // _ROWS), len(work.lefts)))
        self._run(lambda k: _partition_block(self.binned, work, node_id, n_blocks, k), n_blocks)
        n_left = int(work.lefts[:n_blocks].sum())
        self._run(lambda k: _move_block(work, node_id, start + n_left, n_blocks, k), n_blocks)
        # Which child has fewer rows is known where they were counted; else the curvature tells it, mostly.
        by = "weight" if node["counted"] else "curvature"
        left_is_counted = bool(2 * node[f"left_{by}"] <= node[by])
        if last:
            return _Cut(node_id, n_left, left_is_counted, None)
        part = self._new_histogram()
        middle = start + n_left
        first, end = (start, middle) if left_is_counted else (middle, stop)
        self._count_rows(first, end, node_id, part)
        return _Cut(node_id, n_left, left_is_counted, part)

    def _finish(self, cut: _Cut, all_left: int, total: Ints | None) -> list[int]:
        """Make the children of a node, with their histograms; returns those to be searched."""
        work = self.work
        _children(self._signal, self._rules, work, cut.node, cut.n_left, all_left)
        left, right = int(work.nodes[cut.node]["left"]), int(work.nodes[cut.node]["right"])
        if total is None or cut.part is None:
            return []
        counted, sibling = (left, right) if cut.left_is_counted else (right, left)
        self._write(cut.node, cut.part, total)
        whole = self._histograms.pop(cut.node)
        _rest(self.binned, work, cut.node, counted, cut.part, whole)
        self._histograms[counted], self._histograms[sibling] = cut.part, whole
        for child in (left, right):
            node = work.nodes[child]
            if self._signal.packed.size and not node["packed"] and node["weight"] <= BLOCK:
                _pack(self._cells, self._cells + CURVATURES, self._histograms[child])
                node["packed"] = 1
        return [left, right]

    def _too_few(self, node_id: int, all_left: int) -> bool:
        node = self.work.nodes[node_id]
        return not node["counted"] and min(all_left, node["weight"] - all_left) < self._rules.min_weight

    def _lacks_weights(self, node_id: int) -> bool:
        """Whether splits by categories need the numbers of rows that its histogram has not."""
        node = self.work.nodes[node_id]
        few = node["weight"] <= COUNTED_ROWS and not node["counted"]
        return bool(few and self.binned.categorical.any())

    def _weigh(self, ids: list[int]) -> None:
        """Count the rows per bin of some nodes, in one trip."""
        if not ids:
            return
        parts = []
        for node in ids:
            _count_weights(self.binned, self.work, node, self._histograms[node])
            parts.append(self._histograms[node][self._cells + WEIGHTS])
        totals = self._collective.sum(np.concatenate(parts)).reshape(len(ids), -1)
        for node, total in zip(ids, totals, strict=True):
            self._histograms[node][self._cells + WEIGHTS] = total
            self.work.nodes[node]["counted"] = 1

    def _search(self, node_id: int) -> None:
        _search(self.binned, self._signal, self._rules, self.work, node_id, self._histograms[node_id])

    # --- histograms ---

    def _new_histogram(self) -> Ints:
        return self._free.pop() if self._free else np.zeros(len(self.binned.n_bins) * CELLS, dtype=np.int64)

    def _count_rows(self, start: int, stop: int, like: int, histogram: Ints) -> None:
        d = len(self.binned.n_bins)
        width = d if (stop - start) * d < _ROWS else -(-d // self.n_workers)

        def count(first: int, last: int) -> None:
            worker = first // width  # each has a room of its own
            _count(self.binned, self._signal, self.work, start, stop, like, first, last, worker, histogram)

        parallel.for_blocks(count, d, n_jobs=self._n_jobs, block=width)

    def _run(self, task: object, n: int) -> None:
        parallel.for_blocks(lambda k, _: task(k), n, n_jobs=self._n_jobs, block=1)  # type: ignore[operator]

    def _kinds(self, like: int) -> int:
        """How many numbers a bin has in a histogram of the form of this node's."""
        node = self.work.nodes[like]
        return 1 + (not node["packed"]) + self._with_weights(like)

    def _with_weights(self, like: int) -> bool:
        node = self.work.nodes[like]
        return bool(not self._signal.packed.size or (node["counted"] and node["packed"]))

    def _read(self, like: int, histogram: Ints) -> Ints:
        """What of a histogram is to be summed."""
        return np.concatenate([histogram[places] for places in self._places(like)])

    def _write(self, like: int, histogram: Ints, total: Ints) -> None:
        places = self._places(like)
        for where, values in zip(places, np.split(total, len(places)), strict=True):
            histogram[where] = values

    def _places(self, like: int) -> list[Ints]:
        places = [self._cells]
        if not self.work.nodes[like]["packed"]:
            places.append(self._cells + CURVATURES)
        if self._with_weights(like):
            places.append(self._cells + WEIGHTS)
        return places

    @property
    def ahead(self) -> int:
        """How many nodes are split in one trip."""
        return self._collective.ahead

    @property
    def max_leaves(self) -> int:
        """Of the tree that is growing."""
        return int(self._rules.max_leaves)


def _replayed(grower: SpreadGrower) -> NDArray[np.void]:
    """Take the splits in the order of one process, have made what is missing, and number nodes by it."""
    work = grower.work
    order = [0]  # the nodes of the tree as the grower knows them, in the order of one process
    leaves: dict[int, int] = {0: 0}  # the leaves so far, and their places in that order
    while len(leaves) < grower.max_leaves:
        chosen = max(leaves, key=lambda i: (work.nodes[i]["gain"], -leaves[i]))
        if work.nodes[chosen]["gain"] <= 0.0:
            break
        if work.nodes[chosen]["left"] < 0:
            _expand(grower, chosen, leaves)
            continue
        del leaves[chosen]
        for child in (int(work.nodes[chosen]["left"]), int(work.nodes[chosen]["right"])):
            leaves[child] = len(order)
            order.append(child)
    place = {node: i for i, node in enumerate(order)}
    nodes = work.nodes[order].copy()
    for node, old in zip(nodes, order, strict=True):
        inner = old not in leaves
        node["left"], node["right"] = (
            (place[int(node["left"])], place[int(node["right"])]) if inner else (-1, -1)
        )
        node["parent"] = place.get(int(node["parent"]), -1)
    work.sets[: len(order)] = work.sets[order]
    return nodes


def _expand(grower: SpreadGrower, chosen: int, leaves: dict[int, int]) -> None:
    """Have the chosen node split and, in the same trip, those that may come next."""
    work, left = grower.work, grower.max_leaves - len(leaves)
    used = int(work.counts[0])
    known = [i for i in range(used) if work.nodes[i]["left"] < 0 and work.nodes[i]["gain"] > 0.0]
    known.sort(key=lambda i: (i != chosen, -float(work.nodes[i]["gain"]), i))
    # Those that are dropped must leave room for those that the tree may still need.
    spare = (len(work.nodes) - used) // 2 - (left - 1)
    grower.split(known[: max(1, min(grower.ahead, left, spare))], last=left == 1)
