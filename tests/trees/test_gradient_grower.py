"""The grower against a plain search in Python, and against itself on other threads."""

import tracemalloc
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from propriety import BoostingClassifier, TreeClassifier
from propriety.communicator import SINGLE
from propriety.data.table import Schema
from propriety.distributed.turns import TurnTaking, take_turns
from propriety.trees.binned import Binned
from propriety.trees.binning import Binner
from propriety.trees.fixed_point import row_weights
from propriety.trees.gradient_growth import GradientGrower
from propriety.trees.gradients import Quantizer
from propriety.trees.predictor import Forest, finish_tree
from propriety.trees.split_score import SplitParameters
from propriety.weights import Weights

from .gradient_oracle import Oracle


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def parameters_for(d, **changes):
    fields = {
        "max_leaves": 31,
        "max_depth": 2**30,
        "min_weight": 1,
        "min_curvature": 1e-9,
        "min_gain": 0.0,
        "l2": 0.0,
        "set_smoothing": 1.0,
        "monotone": np.zeros(d, dtype=np.int8),
        "groups": np.zeros((0, d), dtype=np.uint8),
        "features": np.ones(d, dtype=np.uint8),
        "split_features": d,
        "random_cuts": False,
        "seed": np.uint64(0),
        "drift": np.zeros(d),
    }
    return SplitParameters(**(fields | changes))


def grow(X, g, h, weights=None, categorical=None, n_jobs=1, rows=None, **changes):
    schema, table = Schema.fit(X, categorical)
    weights = Weights.read(weights, len(X))
    binner = Binner.fit(table, weights, (g > 0).astype(float), schema.n_categories, 255, n_jobs)
    binned = binner.transform(table, n_jobs)
    parameters = parameters_for(X.shape[1], **changes)
    grower = GradientGrower(binned, parameters.max_leaves, len(parameters.groups), n_jobs)
    signal = Quantizer(len(X), row_weights(weights))(g, h, n_jobs)
    nodes = grower.grow(signal, parameters, rows).copy()
    return nodes, grower, binner, signal


def gain(G, H, left):
    def score(m):
        return G[m].sum() ** 2 / H[m].sum()

    return 0.5 * (score(left) + score(~left) - score(np.ones(len(G), dtype=bool)))


def best_gain(X, g, h, least=1):
    found = 0.0
    for f in range(X.shape[1]):
        for t in np.unique(X[:, f])[:-1]:
            left = X[:, f] <= t
            if min(left.sum(), (~left).sum()) >= least:
                found = max(found, gain(g, h, left))
    return found


@pytest.mark.parametrize("n", [40, 700])
@pytest.mark.parametrize("least", [1, 15])
def test_root_split_is_the_best_of_all(rng, n, least):
    X = rng.normal(size=(n, 4))
    g, h = rng.normal(size=n), rng.random(n) + 0.1
    nodes, *_ = grow(X, g, h, max_leaves=2, min_weight=least)
    exact = np.unique(X[:, 0]).size <= 255
    expected = best_gain(X, g, h, least)
    assert nodes["gain"][0] <= expected * (1 + 1e-4)
    assert nodes["gain"][0] >= expected * (1 - 1e-4 if exact else 0.8)


def test_every_inner_node_gains_what_it_says(rng):
    """Small nodes are searched directly, larger ones by histogram and subtraction: all agree with sums."""
    n = 6_000
    X = np.round(rng.normal(size=(n, 5)), 1)
    g, h = rng.normal(size=n) + X[:, 0] * X[:, 1], rng.random(n) + 0.1
    nodes, grower, *_ = grow(X, g, h, max_leaves=64, min_weight=10)
    index = grower.index.rows
    assert (nodes["left"] >= 0).sum() == 63
    for node in nodes[nodes["left"] >= 0]:
        rows = index[node["start"] : node["stop"]]
        left = nodes[node["left"]]
        mask = np.zeros(len(rows), dtype=bool)
        mask[: left["stop"] - left["start"]] = True
        assert gain(g[rows], h[rows], mask) == pytest.approx(node["gain"], rel=2e-3, abs=1e-3)
        # No other cut of these rows, at the values that occur, gains more.
        assert best_gain(X[rows], g[rows], h[rows], 10) <= node["gain"] * 1.002 + 1e-3


def test_leaves_hold_their_minimum_and_all_rows_once(rng):
    n = 30_000
    X, g = rng.normal(size=(n, 3)), rng.normal(size=n)
    nodes, grower, *_ = grow(X, g, np.ones(n), max_leaves=200, min_weight=97)
    leaves = nodes[nodes["left"] < 0]
    assert (leaves["stop"] - leaves["start"]).min() >= 97
    assert sorted(grower.index.rows.tolist()) == list(range(n))
    assert (leaves["stop"] - leaves["start"]).sum() == n


def test_a_split_that_leaves_too_few_rows_is_replaced_by_the_best_that_does_not(rng):
    """Large nodes do not count rows per bin; one row with a huge gradient tempts them."""
    n = 20_000
    X, g = rng.normal(size=(n, 2)), rng.normal(size=n) * 0.1
    X[0, 0], g[0] = 50.0, 300.0
    nodes, *_ = grow(X, g, np.ones(n), max_leaves=2, min_weight=500)
    children = nodes[1:3]
    assert (children["stop"] - children["start"]).min() >= 500


@pytest.mark.parametrize("least", [2, 10, 40])
def test_it_does_not_matter_when_rows_are_counted(rng, least):
    """With categories nodes count them per bin from the start; else, mostly, when a split leaves too few."""
    n, d = 6_000, 5
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) < 0.05] = np.nan
    g, h = rng.normal(size=n) * (1 + 9 * (rng.random(n) < 0.02)), rng.random(n) + 0.1
    later, *_ = grow(X, g, h, max_leaves=64, min_weight=least)
    first, *_ = grow(np.column_stack([X, np.zeros(n)]), g, h, None, [d], max_leaves=64, min_weight=least)
    assert (later["has_weights"] != first["has_weights"]).any()
    assert len(later) == 127
    for field in ("start", "stop", "feature", "bin", "missing_left", "gain"):
        np.testing.assert_array_equal(later[field], first[field])


@pytest.mark.parametrize("n_jobs", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_threads_do_not_change_the_tree(rng, n_jobs, weighted):
    n, d = 60_000, 6
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) < 0.05] = np.nan
    g, h = rng.normal(size=n) + np.nan_to_num(X[:, 0]), rng.random(n)
    w = rng.random(n) if weighted else None
    one = grow(X, g, h, w, n_jobs=1, min_weight=20)
    many = grow(X, g, h, w, n_jobs=n_jobs, min_weight=20)
    assert one[0].tolist() == many[0].tolist()
    np.testing.assert_array_equal(one[1].index.rows, many[1].index.rows)


def test_missing_values_go_where_they_gain_most(rng):
    X = rng.normal(size=(500, 1))
    X[:100] = np.nan
    g = np.where(np.isnan(X[:, 0]) | (X[:, 0] > 0), 1.0, -1.0)
    nodes, *_ = grow(X, g, np.ones(500), max_leaves=2)
    assert nodes["missing_left"][0] == 0
    nodes, *_ = grow(-X, g, np.ones(500), max_leaves=2)
    assert nodes["missing_left"][0] == 1
    only = np.where(np.isnan(X[:, 0]), 1.0, -1.0)
    nodes, *_ = grow(X, only, np.ones(500), max_leaves=2)
    assert nodes["stop"][2] - nodes["start"][2] == 100


def test_missing_values_never_seen_go_to_the_larger_child(rng):
    X = rng.normal(size=(400, 1))
    nodes, *_ = grow(X, np.where(X[:, 0] > 1.0, 1.0, -1.0), np.ones(400), max_leaves=2)
    assert nodes["missing_left"][0] == 1


def test_categories_are_split_by_their_scores(rng):
    codes = rng.integers(0, 12, 3_000).astype(float)
    high = np.isin(codes, [1, 4, 5, 9])
    g = np.where(high, 1.0, -1.0) + 0.1 * rng.normal(size=3_000)
    nodes, grower, *_ = grow(codes[:, None], g, np.ones(3_000), categorical=[0], max_leaves=2)
    assert nodes["by_set"][0] == 1
    left = {b for b in range(12) if grower.tree.sets[0, b >> 5] >> (b & 31) & 1}
    assert left in ({1, 4, 5, 9}, set(range(12)) - {1, 4, 5, 9})


def test_depth_features_and_groups_are_respected(rng):
    X, g = rng.normal(size=(5_000, 4)), rng.normal(size=5_000)
    nodes, *_ = grow(X, g, np.ones(5_000), max_depth=2)
    assert nodes["depth"].max() == 2
    features = np.array([0, 1, 0, 1], dtype=np.uint8)
    nodes, *_ = grow(X, g, np.ones(5_000), features=features)
    assert set(nodes["feature"][nodes["left"] >= 0]) == {1, 3}
    groups = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], dtype=np.uint8)
    nodes, *_ = grow(X, g, np.ones(5_000), groups=groups)
    for i in np.flatnonzero(nodes["left"] >= 0):
        path, at = set(), i
        while at >= 0:
            path.add(int(nodes["feature"][at]))
            at = nodes["parent"][at]
        assert path <= {0, 1} or path <= {2, 3}


def test_split_features_are_drawn_anew_for_each_split(rng):
    X, g = rng.normal(size=(5_000, 10)), rng.normal(size=5_000)
    nodes, *_ = grow(X, g, np.ones(5_000), split_features=1)
    assert len(set(nodes["feature"][nodes["left"] >= 0])) > 3


def test_constant_gradient_is_not_split(rng):
    X = rng.normal(size=(1_000, 3))
    nodes, *_ = grow(X, np.full(1_000, 0.3), np.full(1_000, 0.2))
    assert len(nodes) == 1


def test_only_the_given_rows_are_used(rng):
    X, g = rng.normal(size=(2_000, 2)), rng.normal(size=2_000)
    rows = np.flatnonzero(rng.random(2_000) < 0.3).astype(np.uint32)
    nodes, grower, *_ = grow(X, g, np.ones(2_000), rows=rows)
    assert sorted(grower.index.rows[: len(rows)].tolist()) == rows.tolist()
    assert nodes["stop"][0] == len(rows)


def test_scores_of_bins_and_of_values_are_the_same(rng):
    n = 3_000
    X = rng.normal(size=(n, 3))
    X[:, 2] = rng.integers(0, 40, n)
    X[rng.random((n, 3)) < 0.1] = np.nan
    g = rng.normal(size=n) + np.nan_to_num(X[:, 0]) + 2 * np.isin(X[:, 2], [3, 17, 21])
    nodes, grower, binner, signal = grow(X, g, np.ones(n), categorical=[2])
    leaves = np.flatnonzero(nodes["left"] < 0)
    tree = finish_tree(
        nodes, grower.tree.sets, binner, leaves, rng.normal(size=len(leaves)), signal.weight_unit
    )
    forest = Forest.join([tree, tree], 1)
    by_bin, by_value = np.zeros((n, 1)), np.zeros((n, 1))
    forest.add_binned_scores(grower.binned, by_bin, 1)
    encoded = X.copy()
    encoded[:, 2] = binner.encoders()[2](X[:, 2])
    forest.add_scores(encoded, by_value, 2)
    np.testing.assert_array_equal(by_bin, by_value)
    expected = np.zeros(n)
    for node in np.flatnonzero(nodes["left"] < 0):
        rows = grower.index.rows[nodes["start"][node] : nodes["stop"][node]]
        expected[rows] = 2 * tree.nodes["value"][node]
    np.testing.assert_allclose(by_bin[:, 0], expected, rtol=1e-14)
    again = forest.split()
    assert again[0].nodes.tobytes() == again[1].nodes.tobytes() == tree.nodes.tobytes()
    assert (tree.nodes["set"] >= 0).any()


def test_memory_goes_by_the_rows_not_by_the_leaves_that_are_asked_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 100))
    y = X[:, 0] + rng.normal(size=1000) > 0
    for least in (0, 1, "auto"):
        few, many = (
            BoostingClassifier(max_iter=2, max_leaf_nodes=leaves, min_samples_leaf=least)
            for leaves in (1000, 10**7)
        )
        expected = few.fit(X, y).decision_function(X)
        tracemalloc.start()
        many.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 20e6, least  # a histogram for each leaf asked for would be 59 TiB, for each row 630 MB
        np.testing.assert_array_equal(many.decision_function(X), expected)
    TreeClassifier(max_leaf_nodes=4).fit(X, y)  # what the compiler needs does not count
    tracemalloc.start()
    TreeClassifier(max_leaf_nodes=10**7, min_samples_leaf=1).fit(X, y)
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


@pytest.mark.parametrize("n", [300, 511, 512, 513, 530, 760])
@pytest.mark.parametrize("ratio", [1.5, 3.0])
def test_histograms_suffice_when_rows_are_split_off_one_by_one(n, ratio):
    # Then nearly each split leaves a child of more than a few rows, which takes most histograms.
    i = np.arange(n, dtype=float)
    g = np.where(i < 250, ratio**-i, 0.0)
    X = np.minimum(i, 250.0)[:, None]
    nodes, grower, _, _ = grow(X, g, np.ones(n), max_leaves=10**6, min_weight=0)
    sums, room = grower.sums, n // 512 + 1
    assert len(sums.histograms) == room
    assert sorted(sums.slots) == list(range(room))
    assert len(nodes) <= len(grower.tree.nodes) == 2 * n - 1
    assert len(nodes) > 20


def test_each_leaf_of_many_rows_keeps_its_histogram():
    # Ten leaves of 512 rows, then each again in two: the first ten are all that there is room for.
    i = np.arange(5120)
    g = i // 512 + np.where(i % 512 < 256, 0.0, 0.01)
    X = (i // 256).astype(float)[:, None]
    ten, grower, _, _ = grow(X, g, np.ones(len(i)), max_leaves=10, min_weight=256)
    assert [n["stop"] - n["start"] for n in ten if n["left"] < 0] == [512] * 10
    nodes, grower, _, _ = grow(X, g, np.ones(len(i)), max_leaves=20, min_weight=256)
    assert len(grower.sums.histograms) == 11
    assert sorted(grower.sums.slots) == list(range(11))
    assert sorted(n["start"] for n in nodes if n["left"] < 0) == list(range(0, 5120, 256))


def shape(nodes, index, at=0):
    node = nodes[at]
    if node["left"] < 0:
        return tuple(np.sort(index[node["start"] : node["stop"]]).tolist())
    return (int(node["feature"]), shape(nodes, index, node["left"]), shape(nodes, index, node["right"]))


def random_problem(seed):
    """A small table, its weights, and settings of a tree."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([4, 20, 60, 600])), int(rng.integers(1, 5))
    X = np.round(rng.normal(size=(n, d)), int(rng.integers(0, 2)))
    X[rng.random((n, d)) < rng.choice([0.0, 0.2])] = np.nan
    categorical = [0] if rng.random() < 0.4 else None
    if categorical:
        X[:, 0] = rng.integers(0, 6, n)
    weights = [None, rng.integers(1, 4, n).astype(float), rng.random(n) + 0.1][rng.integers(0, 3)]
    g, h = rng.normal(size=n) + np.nan_to_num(X[:, 0]), rng.random(n) + 0.05
    changes = {
        "max_leaves": int(rng.choice([2, 5, 12])),
        "max_depth": int(rng.choice([2, 100])),
        "min_weight": int(rng.choice([1, 5])),
        "l2": float(rng.choice([0.0, 2.0])),
        "seed": np.uint64(rng.integers(2**60)),
        "random_cuts": bool(rng.random() < 0.3),
        "split_features": int(rng.integers(1, d + 1)),
    }
    if rng.random() < 0.4:
        changes["monotone"] = (rng.integers(-1, 2, d) * (np.arange(d) > 0)).astype(np.int8)
    if rng.random() < 0.3:
        changes["groups"] = np.array([[1, 1, 0, 1], [0, 1, 1, 0]], dtype=np.uint8)[:, :d].copy()
    rows = np.flatnonzero(rng.random(n) < 0.7).astype(np.uint32) if rng.random() < 0.3 else None
    return X, g, h, weights, categorical, changes, rows if rows is not None and len(rows) else None


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_trees_are_those_of_the_plain_search(first):
    for seed in range(first, first + 50):
        X, g, h, weights, categorical, changes, rows = random_problem(seed)
        nodes, grower, _, gradients = grow(X, g, h, weights, categorical, rows=rows, **changes)
        parameters = parameters_for(X.shape[1], **changes)
        oracle = Oracle(grower.binned, gradients, parameters)
        root = oracle.grow(np.arange(len(X)) if rows is None else rows.astype(int))
        assert shape(nodes, grower.index.rows) == root.shape(), seed


@pytest.mark.parametrize("splits", [1, 8])
@pytest.mark.parametrize("sizes", [(0, 3_000), (1, 2_999), (1_700, 0, 1_300), (70_000, 70_000)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_in_several_processes_give_the_tree_of_one(sizes, splits, weighted, monkeypatch):
    monkeypatch.setattr(TurnTaking, "speculative_splits", splits)
    rng, n, d = np.random.default_rng(7), sum(sizes), 3
    rows = rng.integers(0, 40, (n, d)).astype(np.uint8)
    categorical = np.array([0, 0, 1], dtype=np.uint8)
    n_bins, levels = np.full(d, 39), np.ones((d, 256))  # bin 39 has the missing values
    g = np.sin(rows[:, 0] / 3.0) * (rows[:, 1] - 20) + (rows[:, 2] % 3) + rng.normal(size=n)
    h, w = rng.random(n) + 0.1, rng.random(n) + 0.1 if weighted else None
    parameters = parameters_for(d, max_leaves=20, min_weight=n // 60)
    starts = np.cumsum([0, *sizes])

    def work(k, communicator):
        mine = slice(0, n) if k is None else slice(starts[k], starts[k + 1])
        own = rows[mine]
        binned = Binned(own, np.ascontiguousarray(own.T), n_bins, categorical, levels, np.ones(d))
        weights = replace(Weights.read(w, n).take(np.arange(n)[mine]), communicator=communicator)
        gradients = Quantizer(len(own), row_weights(weights), communicator)(g[mine], h[mine], 1)
        grower = GradientGrower(binned, 20, 0, 1, communicator)
        nodes = grower.grow(gradients, parameters).copy()
        leaves = nodes[nodes["left"] < 0]
        held = [np.sort(grower.index.rows[leaf["start"] : leaf["stop"]]) + mine.start for leaf in leaves]
        return nodes, grower.tree.sets[: len(nodes)].copy(), held

    nodes, sets, held = work(None, SINGLE)
    others = take_turns([partial(work, k) for k in range(len(sizes))])
    assert len(nodes) > 20
    inner = nodes["left"] >= 0  # what the search of a leaf has found last may differ
    for its, its_sets, _ in others:
        for name in ("left", "right", "gradient", "curvature", "weight", "lower", "upper"):
            np.testing.assert_array_equal(its[name], nodes[name])
        for name in ("feature", "bin", "missing_left", "by_set", "gain"):
            np.testing.assert_array_equal(its[name][inner], nodes[name][inner])
        np.testing.assert_array_equal(
            its_sets[inner & (nodes["by_set"] > 0)], sets[inner & (nodes["by_set"] > 0)]
        )
    for leaf, expected in enumerate(held):
        np.testing.assert_array_equal(np.concatenate([parts[leaf] for *_, parts in others]), expected)
