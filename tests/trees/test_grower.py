"""The grower against the same in NumPy, on hundreds of small problems, and in every way to run it."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.trees.oracle import Oracle, Problem

from propriety.model.measure import measure_of
from propriety.trees.criteria import BY_TABLE, HIGHEST, LOWEST, entropy_table
from propriety.trees.grower import grow, start_tree
from propriety.trees.layout import (
    COLUMN,
    PARAMS,
    ROW,
    TO_CLASS,
    TO_COUNT,
    Sample,
    make_found,
    make_scratch,
    make_tree,
    make_work,
    most_waiting,
)
from propriety.trees.search import count_nodes, search_nodes, take_better

LOSSES = ["Log", "Squared", "CostWeighted(0.3)", "Tailored(0.2, 5)"]


def problem(seed, n_classes=2, **settings):
    """A small problem of a kind that depends on the seed."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 90)), int(rng.integers(1, 6))
    codes = rng.integers(0, rng.integers(1, 12, d), (n, d))
    score = codes[:, 0] / (1 + codes[:, 0].max()) + codes[:, -1] / (1 + codes[:, -1].max())
    labels = np.digitize(score + 0.4 * rng.normal(size=n), np.arange(1, n_classes) * 2 / n_classes)
    missing = codes.max(axis=0) + 1
    if rng.random() < 0.5:
        codes = np.where(rng.random((n, d)) < 0.2, missing, codes)
    given = {
        "categorical": rng.random(d) < 0.3,
        "monotone": rng.integers(-1, 2, d) * (n_classes == 2) * (rng.random() < 0.4),
        "weights": rng.integers(1, 4 if rng.random() < 0.5 else 2, n),
        "loss": LOSSES[seed % len(LOSSES)],
        "max_leaves": int(rng.choice([0, 2, 5, 9])),
        "max_depth": int(rng.choice([2, 100])),
        "min_weight": int(rng.choice([1, 5])),
        "min_gain": float(rng.choice([0.0, 0.02])),
        "seed": seed,
    }
    given["monotone"] = np.where(given["categorical"], 0, given["monotone"])
    given["best_first"] = bool(given["max_leaves"] and rng.random() < 0.7)
    return Problem(codes, missing, labels=labels, n_classes=n_classes, **(given | settings))


def grown(p, dtype=np.uint8, batch=0, parts=1, summed=False):
    """The tree of the kernels: by columns in so many parts, and sums that were added, as nested tuples."""
    n, d = p.codes.shape
    columns = np.zeros(d, dtype=COLUMN)
    columns["missing"], columns["categorical"], columns["monotone"] = p.missing, p.categorical, p.monotone
    columns["place"] = np.cumsum(p.missing + 1) - p.missing - 1
    plain = np.all(p.weights == 1)
    none = np.empty(0, dtype=np.int64)
    sample = Sample(
        p.codes.T.astype(dtype).ravel(), columns, np.ones((d if p.categorical.any() else 0, 256)),
        p.labels.astype(np.uint8), none, none if plain else p.weights.astype(np.int64),
    )  # fmt: skip
    table, params, K = (
        entropy_table(measure_of(p.loss, None, p.n_classes)),
        np.zeros(1, PARAMS),
        p.n_classes,
    )
    for name in (
        "n_classes",
        "max_leaves",
        "best_first",
        "max_depth",
        "min_weight",
        "min_gain",
        "random_cuts",
    ):
        params[name] = getattr(p, name)
    params["criterion"] = {"entropy": BY_TABLE, "highest": HIGHEST, "lowest": LOWEST}[p.criterion]
    params["split_features"], params["batch"], params["line"] = p.split_features, batch, 1
    params["dispersion"], params["unit"], params["loss_unit"] = 1.0, 1.0, table.unit
    tree = make_tree(sample, K, 2 * n)
    work = make_work(sample, K, 2 * n, batch, near=False, made=True, votes=False)
    found, scratch = make_found(K, most_waiting(2 * n, batch)), make_scratch(sample, K)
    tree.sums[0] = np.bincount(p.labels, p.weights, K)
    work.entries[:] = (
        np.arange(n, dtype=np.uint64) | p.labels.astype(np.uint64) << TO_CLASS | np.uint64(1) << TO_COUNT
    )
    given = params, table, work, tree, found
    with np.errstate(over="ignore"):
        start_tree(*given, n, np.uint64(p.seed))
        while many := grow(sample, *given, scratch):
            totals = np.zeros((many, K * int(np.sum(p.missing + 1)) * summed), dtype=np.int64)
            ranges = list(pairwise(np.linspace(0, d, parts + 1).astype(int).tolist()))
            for first, last in ranges * summed:
                count_nodes(sample, params, work, found, scratch, first, last, totals)
            best = [make_found(K, many) for _ in range(parts)]
            for own, (first, last) in zip(best, ranges, strict=True):
                search_nodes(sample, *given, own, scratch, first, last, totals)
            for own in best:
                take_better(work, found, own)
    assert not scratch.cells.any()
    assert not scratch.words.any()

    def shape(at):
        node, made = tree.nodes[at], work.made[at]
        rows = np.sort(work.entries[made["start"] : made["stop"]] & ROW).astype(int)
        np.testing.assert_array_equal(tree.sums[at], np.bincount(p.labels[rows], p.weights[rows], K))
        if node["feature"] < 0:
            return tuple(rows.tolist())
        return int(node["feature"]), shape(node["left"]), shape(node["left"] + 1)

    return shape(0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_tree_is_that_of_the_oracle(n_classes):
    splits = 0
    for seed in range(150):
        p = problem(seed, n_classes)
        tree = grown(p)
        assert tree == Oracle(p).grow().shape(), seed
        splits += str(tree).count(", (")
    assert splits > 500


@pytest.mark.parametrize("criterion", ["highest", "lowest"])
def test_the_same_of_one_end_of_the_probabilities(criterion):
    for seed in range(400, 460):
        p = problem(seed, criterion=criterion)
        assert grown(p) == Oracle(p).grow().shape(), seed


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("drawn", [0, 1, 2])
def test_the_same_of_random_cuts_and_drawn_columns(n_classes, drawn):
    for seed in range(60):
        p = problem(seed, n_classes, random_cuts=drawn < 2, split_features=drawn, min_gain=0.0)
        p = replace(p, monotone=np.zeros(len(p.missing), dtype=int))
        assert grown(p) == Oracle(p).grow().shape(), seed


@pytest.mark.parametrize("n_classes", [2, 3])
def test_neither_parts_of_columns_nor_sums_over_processes_nor_nodes_together_change_a_tree(n_classes):
    for seed in range(200, 240):
        p = problem(seed, n_classes)
        tree = grown(p)
        assert grown(p, batch=1, parts=2) == tree
        assert grown(p, batch=8, parts=3) == tree
        assert grown(p, batch=3, summed=True) == tree


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bins_may_be_ranks_of_many_values(n_classes):
    """Codes that are far apart are cut in the same way: of two bytes, and of four."""
    for seed in range(300, 330):
        p = problem(seed, n_classes)
        wide = ~p.categorical
        far = replace(
            p,
            codes=np.where(wide, 511 * p.codes + 7, p.codes),
            missing=np.where(wide, 511 * p.missing + 7, p.missing),
        )
        tree = grown(p)
        assert grown(far, np.uint16) == tree
        assert grown(far, np.uint32, batch=2, parts=2) == tree
