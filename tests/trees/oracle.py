"""The grower in NumPy, one node at a time: by the formula of the loss, and drawing as the kernels draw."""

from dataclasses import dataclass, replace

import numpy as np

from propriety.model.measure import NodeLoss, measure_of
from propriety.trees.categories import real_share, whole_step
from propriety.trees.criteria import EQUAL

_WORD = 2**64 - 1


class Draws:
    """Random numbers of splitmix64, one after the other."""

    def __init__(self, state):
        self.state = state

    @staticmethod
    def scramble(x):
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _WORD
        return x ^ (x >> 31)

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) & _WORD
        return ((self.scramble(self.state) >> 32) * n) >> 32

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


@dataclass(frozen=True)
class Problem:
    """Rows as the grower sees them, and its settings."""

    codes: np.ndarray  # (n, d)
    missing: np.ndarray  # (d,): bins of missing values
    categorical: np.ndarray
    monotone: np.ndarray
    labels: np.ndarray
    weights: np.ndarray  # whole numbers
    n_classes: int = 2
    loss: str = "Log"
    criterion: str = "entropy"
    max_leaves: int = 0
    best_first: bool = True
    max_depth: int = 100
    min_weight: int = 1
    min_gain: float = 0.0
    random_cuts: bool = False
    split_features: int = 0
    seed: int = 0


@dataclass(eq=False)
class _Node:
    rows: np.ndarray
    depth: int
    number: int
    lower: float = 0.0
    upper: float = 1.0
    split: tuple | None = None  # rank, second, gain, feature, left rows
    children: tuple = ()

    def shape(self):
        """Nested tuples: features of splits, rows of leaves."""
        if self.children:
            return (self.split[3], *(child.shape() for child in self.children))
        return tuple(np.sort(self.rows).tolist())


class Oracle:
    """Grows the tree of a problem."""

    def __init__(self, problem):
        self.p = problem
        self.loss_of = NodeLoss(measure_of(problem.loss, None, problem.n_classes), problem.n_classes)
        self.draws = Draws(Draws.scramble(problem.seed))
        self.features = list(range(problem.codes.shape[1]))

    def sums(self, rows):
        return np.bincount(self.p.labels[rows], self.p.weights[rows], self.p.n_classes)

    def loss(self, rows):
        return float(self.loss_of(self.sums(rows)[None])[0])

    def grow(self):
        p, root = self.p, _Node(np.arange(len(self.p.labels)), 0, 0)
        self.root_loss, self.total = self.loss(root.rows), self.sums(root.rows).sum()
        if p.criterion != "entropy":
            self.root_loss = 1.0
        waiting, n_nodes = [root] if self.may_split(root) else [], 1
        unsearched = waiting[:]
        while waiting and not (p.max_leaves and n_nodes // 2 + 1 == p.max_leaves):
            if not p.best_first:
                unsearched = waiting[-1:]
            for node in unsearched:
                node.split = self.find(node)
            waiting = [node for node in waiting if node not in unsearched or node.split is not None]
            if p.best_first and waiting:
                waiting.sort(key=lambda node: (*node.split[:2], -node.number))
            if not waiting or waiting[-1].split is None:
                unsearched = []
                continue
            node = waiting.pop()
            self.divide(node, n_nodes)
            n_nodes += 2
            unsearched = [child for child in node.children[::-1] if self.may_split(child)]
            waiting += unsearched
        return root

    def may_split(self, node):
        sums = self.sums(node.rows)
        return (
            np.count_nonzero(sums) > 1
            and node.depth < self.p.max_depth
            and sums.sum() >= 2 * self.p.min_weight
        )

    def divide(self, node, number):
        feature, left = node.split[3:]
        p, q = ((s := self.sums(rows))[1] / s.sum() for rows in (node.rows[left], node.rows[~left]))
        sign, middle = self.p.monotone[feature], (p + q) / 2
        made = []
        for k, rows in enumerate((node.rows[left], node.rows[~left])):
            child = _Node(rows, node.depth + 1, number + k, node.lower, node.upper)
            if sign:
                child = replace(child, **{"upper" if (sign > 0) == (k == 0) else "lower": middle})
            made.append(child)
        node.children = tuple(made)

    def find(self, node):
        """The best split of a node, compared to others as the grower compares nodes; None if it has none."""
        best, p = None, self.p
        for batch in self.batches():
            for feature in batch:
                for left, part in self.candidates(node.rows, feature):
                    judged = self.judge(node, feature, left, part)
                    if judged is not None and (best is None or judged[:2] > best[:2]):
                        best = judged
            if best is not None:
                break
        if best is None or max(best[2], 0.0) < p.min_gain * self.root_loss:
            return None
        rank = np.rint(max(best[2], 0.0) / (EQUAL * max(self.root_loss, 1e-290)))
        return (rank, np.rint(best[1] * self.sums(node.rows).sum() / self.total), *best[2:])

    def batches(self):
        """Columns to look at, and then one after the other until one can be split."""
        if self.p.split_features == 0:
            yield self.features
            return
        undrawn, batch = len(self.features), self.p.split_features
        while undrawn > 0:
            batch = min(batch, undrawn)
            self.draws.columns(self.features, undrawn, batch)
            undrawn -= batch
            yield self.features[undrawn : undrawn + batch][::-1]
            batch = 1

    def candidates(self, rows, feature):
        """Which rows go left, and the part of the gain that counts, in the order of the grower."""
        codes, missing = self.p.codes[rows, feature], self.p.missing[feature]
        absent, values = codes == missing, np.unique(codes[codes != missing])
        if self.p.categorical[feature]:
            yield from self.sets(rows, codes)
        elif self.p.random_cuts:
            low, high = (values[0], values[-1]) if len(values) else (missing, -1)
            drawn = self.draws.cut(int(low), int(high), bool(absent.any()))
            if drawn is not None:
                yield np.where(absent, drawn[1] == 1, codes <= drawn[0]), 1.0
        else:
            for last in values[:-1]:
                for with_missing in (False, True)[: 1 + bool(absent.any())]:
                    yield np.where(absent, with_missing, codes <= last), 1.0
            if absent.any() and len(values):
                yield ~absent, 1.0

    def sets(self, rows, codes):
        seen, place = np.unique(codes, return_inverse=True)
        counts = np.zeros((len(seen), self.p.n_classes))
        np.add.at(counts, (place, self.p.labels[rows]), self.p.weights[rows])
        if len(seen) < 2:
            return
        if self.p.random_cuts:
            order = list(range(len(seen)))
            for i in range(len(order) - 1, 0, -1):
                j = self.draws.below(i + 1)
                order[i], order[j] = order[j], order[i]
            yield np.isin(place, order[: 1 + self.draws.below(len(seen) - 1)]), 1.0
            return
        weight, total = counts.sum(axis=1), counts.sum(axis=0)
        expected = weight[:, None] * total / total.sum()
        spread = np.sum((counts - expected)[expected > 0] ** 2 / expected[expected > 0])
        freedom = (np.minimum(1.0, weight).sum() - 2) * (np.count_nonzero(total) - 1)
        part = whole_step(real_share(spread, freedom, 1.0))
        if part > 0:
            for k in (1,) if self.p.n_classes == 2 else range(self.p.n_classes):
                order = np.argsort(counts[:, k] / weight, kind="stable")
                for size in range(1, len(seen)):
                    yield np.isin(place, order[:size]), part

    def judge(self, node, feature, left, part):
        sums, inside = self.sums(node.rows), self.sums(node.rows[left])
        outside, loss = sums - inside, self.loss(node.rows)
        if min(inside.sum(), outside.sum()) < self.p.min_weight:
            return None
        p, q = inside / inside.sum(), outside / outside.sum()
        sign = 0 if self.p.categorical[feature] else self.p.monotone[feature]
        bounded = min(p[1], q[1]) < node.lower or max(p[1], q[1]) > node.upper
        if self.p.n_classes == 2 and (sign * (q[1] - p[1]) < 0 or bounded):
            return None
        gain = part * (loss - (self.loss(node.rows[left]) + self.loss(node.rows[~left])))
        if self.p.criterion != "entropy":
            k = 1 if self.p.criterion == "highest" else 0
            share = sums[k] / sums.sum()
            gain, loss = part * (max(p[k], q[k]) - share), 1 - share
        total = sums.sum()
        second = inside.sum() * outside.sum() / total * np.sum((p - q) ** 2) / (EQUAL * total)
        steps = np.rint(gain / (EQUAL * max(loss, 1e-290)))
        return steps, np.rint(np.rint(second) * part), gain, feature, left
