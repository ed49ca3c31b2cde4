"""The best split of a histogram against all splits there are."""

from itertools import combinations

import numpy as np
import pytest
from numba import njit

from propriety.engine import splitting
from propriety.engine.categories import real_share, spread
from propriety.engine.layout import (
    BINS,
    CELLS,
    CURVATURES,
    NODE,
    ROOM,
    SET_WORDS,
    WEIGHTS,
    Binned,
    Rules,
    Signal,
)

N_BINS = np.array([9, 6, 3])
D = len(N_BINS)
UNIT = 1e-3


@njit
def _best_split(histogram, allowed, binned, signal, rules, rooms, nodes, sets):
    splitting.best_split(histogram, allowed, binned, signal, rules, rooms[0], nodes[0], sets[0], 0, D)


@njit
def _best_split_of_rows(allowed, binned, signal, rules, index, rooms, nodes, sets, family, whole):
    """The split of a node, and its sibling's histogram; the family are its parent and its sibling."""
    room, node, bins_left, parent, sibling = rooms[0], nodes[0], sets[0], family[0], family[1]
    splitting.best_split_of_rows(
        allowed, binned, signal, rules, index, room, node, bins_left, 0, D, parent, sibling, whole
    )


def rules_of(**changes):
    fields = {
        "max_leaves": 2,
        "max_depth": 9,
        "min_weight": 1,
        "min_curvature": 0.0,
        "min_gain": 0.0,
        "l2": 0.0,
        "set_smoothing": 0.0,
        "monotone": np.zeros(D, dtype=np.int8),
        "any_monotone": False,
        "groups": np.zeros((0, D), dtype=np.uint8),
        "features": np.ones(D, dtype=np.uint8),
        "split_features": D,
        "random_cuts": False,
        "seed": np.uint64(0),
        "drift": np.zeros(D),
    }
    return Rules(**(fields | changes))


def random_sums(rng, missing=True):
    """Whole sums per feature and bin that have the same total for each feature."""
    rows = np.column_stack([rng.integers(0, b + 1 if missing else b, 60) for b in N_BINS])
    g, h = rng.integers(-900, 900, 60), rng.integers(1, 400, 60)
    sums = np.zeros((D, 3, N_BINS.max() + 1), dtype=np.int64)
    for f in range(D):
        for k, x in enumerate((g, h, np.ones(60))):
            sums[f, k] = np.bincount(rows[:, f], x.astype(float), minlength=N_BINS.max() + 1)
    return sums


def split_of(
    sums,
    rules,
    categorical=False,
    lower=-np.inf,
    upper=np.inf,
    dispersion=0.0,
    levels=1.0,
    noise=1.0,
    depth=0,
):
    histogram = np.zeros(D * CELLS, dtype=np.int64)
    for f in range(D):
        for k, offset in enumerate((0, CURVATURES, WEIGHTS)):
            histogram[f * CELLS + offset :][: sums.shape[2]] = sums[f, k]
    node, room = np.zeros(1, dtype=NODE), np.zeros(1, dtype=ROOM)
    node["gradient"], node["curvature"], node["weight"] = sums[0].sum(axis=1)
    node["counted"], node["lower"], node["upper"] = 1, lower, upper
    node["depth"] = depth
    none = np.zeros((0, 1), dtype=np.uint8)
    binned = Binned(
        none,
        none,
        N_BINS,
        np.full(D, categorical, dtype=np.uint8),
        np.full((D, BINS), float(levels)),
        np.full(D, noise),
    )
    signal = Signal(
        np.zeros(0, dtype=np.int64), np.zeros((0, 3), dtype=np.int32), UNIT, UNIT, 1.0, dispersion
    )
    sets = np.zeros((1, SET_WORDS), dtype=np.uint32)
    _best_split(histogram, rules.features, binned, signal, rules, room, node, sets)
    return node[0], sets[0]


def saving(g, h, l2, lower=-np.inf, upper=np.inf):
    v = np.clip(-g / (h + l2), lower, upper)
    return -v * (2 * g + (h + l2) * v), v


def gain_of(left, whole, rules, sign=0, lower=-np.inf, upper=np.inf):
    """Half of what two leaves save beyond one; −1 where the rules forbid them."""
    right = whole - left
    if min(left[1], right[1]) <= 0 or min(left[2], right[2]) < rules.min_weight:
        return -1.0
    if min(left[1], right[1]) * UNIT < rules.min_curvature:
        return -1.0
    (a, v), (b, u) = (saving(x[0] * UNIT, x[1] * UNIT, rules.l2, lower, upper) for x in (left, right))
    if sign * (u - v) < 0:
        return -1.0
    return 0.5 * (a + b - saving(whole[0] * UNIT, whole[1] * UNIT, rules.l2, lower, upper)[0])


def best_of_all(sums, rules, **bounds):
    best = 0.0
    for f, n_bins in enumerate(N_BINS):
        whole, missing = sums[f].sum(axis=1), sums[f, :, n_bins]
        for cut in range(n_bins):
            left = sums[f, :, : cut + 1].sum(axis=1)
            for side in (left, left + missing):
                best = max(best, gain_of(side, whole, rules, rules.monotone[f], **bounds))
    return best


@pytest.mark.parametrize(
    ("changes", "bounds"),
    [
        ({}, {}),
        ({"l2": 3.0}, {}),
        ({"min_weight": 20}, {}),
        ({"min_curvature": 4.0}, {}),
        ({"monotone": np.array([1, -1, 1], dtype=np.int8), "any_monotone": True}, {}),
        (
            {"monotone": np.array([1, -1, 0], dtype=np.int8), "any_monotone": True},
            {"lower": -0.2, "upper": 0.3},
        ),
    ],
)
def test_numeric_splits(changes, bounds):
    for seed in range(30):
        sums, rules = random_sums(np.random.default_rng(seed)), rules_of(**changes)
        node, _ = split_of(sums, rules, **bounds)
        expected = best_of_all(sums, rules, **bounds)
        assert max(node["gain"], 0.0) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        if node["gain"] > 0:
            f = node["feature"]
            left = sums[f, :, : node["bin"] + 1].sum(axis=1)
            left = left + (sums[f, :, N_BINS[f]] if node["missing_left"] and node["bin"] < N_BINS[f] else 0)
            assert [node["left_gradient"], node["left_curvature"], node["left_weight"]] == left.tolist()


def test_a_set_of_categories_is_the_best_of_all_sets():
    for seed in range(10):
        sums, rules = random_sums(np.random.default_rng(seed)), rules_of()
        node, words = split_of(sums, rules, categorical=True)
        best = 0.0
        for f, n_bins in enumerate(N_BINS):
            for size in range(1, n_bins + 1):
                for members in combinations(range(n_bins + 1), size):
                    left = sums[f][:, list(members)].sum(axis=1)
                    best = max(best, gain_of(left, sums[f].sum(axis=1), rules))
        assert node["gain"] == pytest.approx(best, rel=1e-9)
        members = [b for b in range(N_BINS[node["feature"]] + 1) if words[b >> 5] >> (b & 31) & 1]
        left = sums[node["feature"]][:, members].sum(axis=1)
        assert gain_of(left, sums[0].sum(axis=1), rules) == pytest.approx(best, rel=1e-9)


def sides(node, words):
    """Whether each bin of the split's feature goes left, missing values last."""
    return np.array([bool(words[b >> 5] >> (b & 31) & 1) for b in range(N_BINS[node["feature"]] + 1)])


@pytest.mark.parametrize(
    ("dispersion", "levels", "noise", "depth"), [(0.2, 1, 1, 0), (0.1, 3, 0.5, 0), (0.1, 3, 0.5, 1)]
)
def test_a_set_counts_for_what_is_real_of_its_gain(dispersion, levels, noise, depth):
    chosen = set()
    for seed in range(20):
        sums, rules = random_sums(np.random.default_rng(seed)), rules_of()
        node, words = split_of(
            sums, rules, categorical=True, dispersion=dispersion, levels=levels, noise=noise, depth=depth
        )
        gains = []
        for f in range(D):
            G, H, rows = sums[f]
            held = np.minimum(rows, levels).sum()
            chance = dispersion * (noise if depth == 0 else 1.0)
            share = real_share(spread(G * UNIT, H * UNIT), held - 2.0, chance)
            order = np.argsort(G / np.where(H > 0, H, 1.0), kind="stable")
            order = order[H[order] > 0]
            cuts = [sums[f][:, order[:i]].sum(axis=1) for i in range(1, len(order))]
            gains.append(share * max(gain_of(left, sums[f].sum(axis=1), rules) for left in cuts))
        assert max(node["gain"], 0.0) == pytest.approx(max(gains), rel=1e-9, abs=1e-9)
        chosen.add(int(node["feature"]))
        if node["feature"] >= 0:
            assert node["feature"] == np.argmax(gains)
            left = sums[node["feature"]][:, : N_BINS[node["feature"]] + 1][:, sides(node, words)].sum(axis=1)
            assert [node["left_gradient"], node["left_curvature"], node["left_weight"]] == left.tolist()
    assert len(chosen) > 1


@pytest.mark.parametrize("drift", [-1e6, 0.0, 1e6])
def test_categories_without_rows_go_where_they_end_up_as_average_rows_do(drift):
    for seed in range(10):
        sums, rules = (
            random_sums(np.random.default_rng(seed), missing=False),
            rules_of(drift=np.full(D, drift)),
        )
        node, words = split_of(sums, rules, categorical=True)
        G, H, _ = sums[node["feature"]]
        left = sides(node, words)
        missing = left[N_BINS[node["feature"]]]
        left = np.append(left, np.zeros(len(G) - len(left), dtype=bool)) & (H > 0)
        assert missing == node["missing_left"]
        if drift == 0.0:  # the child of more curvature has the value nearer to the node's own
            assert missing == (2 * H[left].sum() >= H.sum())
        else:
            left_value, right_value = -G[left].sum() / H[left].sum(), -G[~left].sum() / H[~left].sum()
            assert missing == ((left_value < right_value) == (drift > 0))


def draw(seed, key, f, count):
    """As `draw_cut`, in whole numbers of any size."""

    def mix(x):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> shift)) * factor % 2**64
        return x ^ (x >> 31)

    return mix((2**64 - 1 - mix((seed + key) % 2**64) + f) % 2**64) % count


@pytest.mark.parametrize("least", [1, 12])
def test_a_drawn_cut_is_the_only_one_of_its_feature(least):
    split = 0
    for seed in range(40):
        sums = random_sums(np.random.default_rng(seed), missing=False)
        sums[0, :, 3:6] = 0  # bins without rows make no cuts of their own
        sums[0, :, 6] += sums[1].sum(axis=1) - sums[0].sum(axis=1)
        if sums[0, 1, 6] <= 0 or sums[0, 2, 6] <= 0:
            continue
        rules = rules_of(random_cuts=True, seed=np.uint64(seed), min_weight=least)
        node, _ = split_of(sums, rules)
        best = 0.0, -1, -1
        for f in range(D):
            occupied = np.flatnonzero(sums[f][1])
            cut = occupied[draw(seed, 0, f, len(occupied) - 1)]
            gain = gain_of(sums[f][:, : cut + 1].sum(axis=1), sums[f].sum(axis=1), rules)
            best = max(best, (gain, f, cut), key=lambda item: item[0])
        if best[0] <= 0.0:
            assert node["feature"] == -1
            continue
        split += 1
        assert (node["feature"], node["bin"]) == best[1:]
        assert node["gain"] == pytest.approx(best[0], rel=1e-9)
    assert split > 10


def test_features_that_are_not_allowed_and_gains_that_are_too_small():
    sums = random_sums(np.random.default_rng(0))
    free, _ = split_of(sums, rules_of())
    features = np.ones(D, dtype=np.uint8)
    features[free["feature"]] = 0
    other, _ = split_of(sums, rules_of(features=features))
    assert other["feature"] != free["feature"]
    assert other["gain"] < free["gain"]
    asked, _ = split_of(sums, rules_of(min_gain=float(free["gain"]) * 1.001))
    assert asked["feature"] == -1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("signs", [[0, 0, 0], [1, -1, 0]])
def test_a_node_of_few_rows_has_the_split_of_its_histogram(weighted, signs):
    """Features that are not allowed, empty first bins, missing values alone on a side, categories.

    What the node holds is taken from its sibling's histogram, if that has one, of all features.
    """
    rng, room = np.random.default_rng(3), np.zeros(1, dtype=ROOM)  # one room: it must be left as it was found
    monotone = np.array(signs, dtype=np.int8)
    n_bins, none, missing_alone = np.array([255, 6, 70]), np.zeros(0, dtype=np.int64), 0
    for trial in range(40):
        n = int(rng.integers(4, 60))
        rows = np.column_stack([rng.integers(b // 3, b + 1, n) for b in n_bins]).astype(np.uint8)
        rows[rng.random(n) < 0.3, 0] = 255
        g, h = rng.integers(-900, 900, n), rng.integers(0, 400, n)
        kinds = np.array([0, trial % 2, 0], dtype=np.uint8)
        binned = Binned(rows, rows.T.copy(), n_bins, kinds, np.ones((D, BINS)), np.ones(D))
        parts = np.column_stack([g, h, np.ones(n)]).astype(np.int32)
        packed, parts = (none, parts) if weighted else ((g << 32) + h, parts[:0])
        signal = Signal(packed, parts, UNIT, UNIT, 1.0, 0.0)
        features = (rng.random(D) < 0.8).astype(np.uint8)
        rules = rules_of(l2=1.0, monotone=monotone, any_monotone=bool(monotone.any()), features=features)
        nodes, sets = np.zeros(2, dtype=NODE), np.zeros((2, SET_WORDS), dtype=np.uint32)
        nodes["gradient"], nodes["curvature"], nodes["weight"] = g.sum(), h.sum(), n
        nodes["stop"], nodes["counted"], nodes["lower"], nodes["upper"] = n, 1, -np.inf, np.inf
        nodes["packed"] = not weighted
        histogram, first = np.zeros(D * CELLS, dtype=np.int64), g if weighted else packed
        for f in range(D):
            for x, offset in ((first, 0), (h, CURVATURES), (np.ones(n, dtype=np.int64), WEIGHTS)):
                np.add.at(histogram, f * CELLS + offset + rows[:, f].astype(np.intp), x)
        index = np.arange(n, dtype=np.uint32)
        _best_split(histogram, features, binned, signal, rules, np.zeros(1, dtype=ROOM), nodes[:1], sets[:1])
        family, whole = np.zeros(2, dtype=NODE), 3 * histogram
        family["packed"], family["counted"], family["slot"] = not weighted, 1, (-1, trial % 3 - 1)
        _best_split_of_rows(features, binned, signal, rules, index, room, nodes[1:], sets[1:], family, whole)
        assert nodes[0] == nodes[1]
        used = np.arange(D * CELLS) % CELLS < (
            CELLS if weighted else CURVATURES
        )  # packed: none by themselves
        np.testing.assert_array_equal(whole[used], (2 if trial % 3 else 3) * histogram[used])
        np.testing.assert_array_equal(sets[0], sets[1])
        missing_alone += nodes["feature"][0] == 0 and nodes["missing_left"][0] and nodes["bin"][0] == 0
    assert not room["together"].any()
    assert missing_alone or not monotone.any()
