"""The gradient grower in NumPy, one node at a time, on the same whole numbers."""

from dataclasses import dataclass, field

import numpy as np

from propriety.trees.categories import real_share

_WORD = 2**64 - 1
_COUNTED_ROWS = 4096


def scramble(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _WORD
    return x ^ (x >> 31)


@dataclass(eq=False)
class Node:
    rows: np.ndarray
    depth: int = 0
    key: int = 0
    lower: float = -np.inf
    upper: float = np.inf
    few: bool = False
    features: frozenset = frozenset()  # of the splits above
    split: tuple | None = None  # score beyond the node's own, feature, left rows
    children: tuple = field(default_factory=tuple)

    def shape(self):
        """Nested tuples: features of splits, rows of leaves."""
        if self.children:
            return (self.split[1], *(child.shape() for child in self.children))
        return tuple(np.sort(self.rows).tolist())


class Oracle:
    """Grows a tree from bins, quantized gradients and `SplitParameters`."""

    def __init__(self, binned, gradients, parameters):
        self.b, self.p, self.q = binned, parameters, gradients
        if gradients.packed.size:
            ones = np.ones(len(gradients.packed), dtype=np.int64)
            self.sums = np.column_stack([gradients.packed >> 32, gradients.packed & 0xFFFFFFFF, ones])
        else:
            self.sums = gradients.parts.astype(np.int64)
        self.units = np.array([gradients.gradient_unit, gradients.curvature_unit])

    def total(self, rows):
        return self.sums[rows].sum(axis=0)

    def grow(self, rows):
        root = Node(rows)
        root.few = self.weight(rows) <= _COUNTED_ROWS
        leaves = [root]
        self.find(root)
        while len(leaves) < self.p.max_leaves:
            best = max(leaves, key=lambda node: -1.0 if node.split is None else node.split[0])
            if best.split is None:
                break
            leaves.remove(best)
            leaves += self.divide(best)
        return root

    def weight(self, rows):
        return self.total(rows)[2] * self.q.weight_unit

    def value(self, G, H, node):
        return min(max(-G / (H + self.p.l2) if H + self.p.l2 > 0 else 0.0, node.lower), node.upper)

    def saving(self, G, H, node):
        v = self.value(G, H, node)
        return -v * (2 * G + (H + self.p.l2) * v)

    def divide(self, node):
        _, feature, left = node.split
        key = scramble(node.key + 1 & _WORD)
        few = self.weight(node.rows) <= _COUNTED_ROWS
        a, b = (
            Node(rows, node.depth + 1, k, node.lower, node.upper, few, node.features | {feature})
            for rows, k in ((node.rows[left], key), (node.rows[~left], ~key & _WORD))
        )
        sign = self.p.monotone[feature]
        if sign:
            middle = sum(self.value(*(self.total(c.rows)[:2] * self.units), node) for c in (a, b)) / 2
            if sign > 0:
                a.upper = b.lower = middle
            else:
                a.lower = b.upper = middle
        node.children = (a, b)
        for child in node.children:
            self.find(child)
        return [a, b]

    def allowed(self, node):
        p = self.p
        groups = [set(np.flatnonzero(group)) for group in p.groups]
        joint = (
            set().union(*(g for g in groups if node.features <= g)) if groups else set(range(len(p.features)))
        )
        usable = [f for f in range(len(p.features)) if p.features[f] and f in joint]
        if len(usable) <= p.split_features:
            return usable
        base = scramble(int(p.seed) + node.key & _WORD)
        return sorted(sorted(usable, key=lambda f: scramble(base + f & _WORD))[: p.split_features])

    def find(self, node):
        """Write down the best split of a node."""
        p, total = self.p, self.total(node.rows)
        if node.depth >= p.max_depth or total[2] < 2 * p.min_weight:
            return
        own = self.saving(*(total[:2] * self.units), node)
        best = (max(own, 0.0) + 2 * p.min_gain) * (1 + 1e-12)
        for f in self.allowed(node):
            for left, share in self.candidates(node, f, total):
                score = own + share * (self.score(node, f, left, total) - own)
                if score > best:
                    best, node.split = score, (0.5 * (score - own), f, left)

    def score(self, node, f, left, total):
        p, inside = self.p, self.total(node.rows[left])
        outside = total - inside
        sides = [part[:2] * self.units for part in (inside, outside)]
        enough = min(inside[1], outside[1]) > 0 and min(sides[0][1], sides[1][1]) >= p.min_curvature
        if not enough or min(inside[2], outside[2]) < p.min_weight:
            return -np.inf
        sign = 0 if self.b.categorical[f] else p.monotone[f]
        if sign * (self.value(*sides[1], node) - self.value(*sides[0], node)) < 0:
            return -np.inf
        return self.saving(*sides[0], node) + self.saving(*sides[1], node)

    def candidates(self, node, f, total):
        """Which rows go left, and the share of the gain that counts, in the order of the grower."""
        codes, missing = self.b.columns[f][node.rows].astype(int), self.b.n_bins[f]
        if self.b.categorical[f]:
            yield from self.sets(node, f, codes, total)
            return
        for with_missing in (False, True)[: 1 + bool((codes == missing).any())]:
            cuts = [np.where(codes == missing, with_missing, codes <= b) for b in range(missing)]
            if not self.p.random_cuts:
                yield from ((left, 1.0) for left in cuts)
                continue
            mass = np.array([self.total(node.rows[left])[1] for left in cuts])
            kept = [
                b for b in range(missing) if 0 < mass[b] < total[1] and (b == 0 or mass[b] != mass[b - 1])
            ]
            if kept:
                base = scramble(int(self.p.seed) + node.key & _WORD)
                yield cuts[kept[scramble((~base & _WORD) + f & _WORD) % len(kept)]], 1.0

    def sets(self, node, f, codes, total):
        seen = np.unique(codes)
        sums = np.array([self.total(node.rows[codes == b]) for b in seen])
        held = (sums[:, 0] != 0) | (sums[:, 1] != 0)
        seen, sums = seen[held], sums[held]
        real = sums[:, :2] * self.units
        order = np.argsort(real[:, 0] / (real[:, 1] + self.p.set_smoothing), kind="stable")
        G, H = total[:2] * self.units
        spread = sum(g * g / h for g, h in real[order] if h > 0) - G * G / H
        counts = self.b.levels[f][seen]
        if node.few:
            counts = np.minimum(counts, sums[:, 2] * self.q.weight_unit)
        noise = self.b.noise[f] if node.depth == 0 else 1.0
        share = real_share(spread, counts.sum() - 2.0, noise * self.q.dispersion)
        lefts = [np.isin(codes, seen[order[:size]]) for size in range(1, len(seen))] if share > 0 else []
        if self.p.random_cuts and lefts:
            base = scramble(int(self.p.seed) + node.key & _WORD)
            lefts = [lefts[scramble((~base & _WORD) + f & _WORD) % len(lefts)]]
        yield from ((left, share) for left in lefts)
