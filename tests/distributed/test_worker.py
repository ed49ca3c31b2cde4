"""Trees, forests and boosting on any number of workers, with partitions of any kind: the bits of one process.

Workers of this process stand for workers: all that Dask adds is where they are.
"""

import hashlib
import os
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from propriety import BoostingClassifier, ForestClassifier, TreeClassifier
from propriety.communicator import NotDistributable
from propriety.distributed.driver import drive
from propriety.distributed.worker import Worker
from propriety.model.following import Callbacks

pytestmark = pytest.mark.skipif(
    not hasattr(os, "posix_fallocate"), reason="memory is shared by POSIX systems"
)
N = 1500
ESTIMATORS = {
    "boosting": BoostingClassifier(max_iter=3, max_leaf_nodes=6, random_state=0, n_jobs=1),
    "tree": TreeClassifier(splits="histogram", max_bins=40, n_jobs=1),
    "ahead": TreeClassifier(splits="histogram", max_leaf_nodes=60, min_samples_leaf=20, n_jobs=1),
    "whole tree": TreeClassifier(splits="histogram", max_leaf_nodes=None, min_samples_leaf=9, n_jobs=1),
    "forest": ForestClassifier(n_estimators=7, random_state=0, n_jobs=1),
    "extra trees": ForestClassifier(
        n_estimators=5, splitter="random", bootstrap=False, max_leaf_nodes=30, random_state=0, n_jobs=1
    ),
}


class LocalWorker(Worker):
    """A worker of this process."""

    def way_to(self, where):
        return where._relay.receive


class Near:
    """A worker of this process, as its driver sees it."""

    def __init__(self, worker):
        self.worker = self.where = worker

    def call(self, method, *arguments):
        return getattr(self.worker, method)(*arguments)

    def start(self, method, *arguments):
        result = self.call(method, *arguments)
        return lambda: result


class Together:
    """Workers that hold partitions, the first one's rows those of partitions 0, n, 2n, … of n workers."""

    def __init__(self, partitions, n, apart):
        self.partitions, self.n, self.apart = partitions, n, apart

    def workers(self):
        workers = [LocalWorker() for _ in range(self.n)]
        counts = [s.take(self.partitions[k :: self.n]) for k, s in enumerate(workers)]
        for number, worker in enumerate(workers):
            if self.apart:
                worker.machine = lambda number=number: (str(number),)
        return [Near(s) for s, count in zip(workers, counts, strict=True) if count]

    def dismiss(self, workers):
        pass


def table(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5)).round(2)
    X[:, 3] = rng.integers(0, 30, N)
    X[:, 4] = X[:, 0]
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + np.sin(X[:, 3]) + rng.normal(size=N), [-1.0, 1.0])
    X[rng.random(X.shape) < 0.08] = np.nan
    return X, y, rng


def partitions(X, y, given, rng, n):
    """Partitions of shuffled rows, of sizes that differ, some of them empty."""
    order, ends = rng.permutation(len(X)), np.sort(rng.integers(0, len(X), 2 * n))
    ends = np.concatenate([[0, 0], ends, [ends[-1], len(X)]])
    rows = [order[a:b] for a, b in pairwise(ends)]
    return [(X[r], y[r], {name: values[r] for name, values in given.items()}) for r in rows]


def fitted_on(estimator, pieces, n, apart=False, follower=None):
    ours = clone(estimator)
    learned = drive(
        Together(pieces, n, apart), ours, lambda *_: {}, lambda _: [], lambda _: None, follower=follower
    )
    model = clone(estimator)
    vars(model).update(learned)
    return model


def digest(model, tmp_path):
    model.save(tmp_path / "model")
    return hashlib.sha256((tmp_path / "model").read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", ["weights", "copies", "classes"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_workers_and_partitions_do_not_change_a_bit(name, kind, tmp_path):
    X, y, rng = table(len(name))
    y = y if kind == "classes" else y > 1
    weight = {"weights": rng.random(N), "copies": rng.integers(0, 4, N)}.get(kind)
    given = {} if weight is None else {"sample_weight": weight}
    estimator = clone(ESTIMATORS[name]).set_params(categorical_features=[3])
    whole = clone(estimator).fit(X, y, **given)
    for n in (1, 2, 3, 5):
        model = fitted_on(estimator, partitions(X, y, given, rng, n), n)
        np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
        assert digest(model, tmp_path) == digest(whole, tmp_path)


@pytest.mark.parametrize("name", ["tree", "forest"])
def test_machines_that_share_no_memory(name, tmp_path):
    X, y, rng = table(1)
    whole = clone(ESTIMATORS[name]).fit(X, y)
    model = fitted_on(ESTIMATORS[name], partitions(X, y, {}, rng, 3), 3, apart=True)
    assert digest(model, tmp_path) == digest(whole, tmp_path)


@pytest.mark.parametrize(
    ("estimator", "named"),
    [
        (TreeClassifier(), "splits"),
        (TreeClassifier(splits="histogram", ccp_alpha="one_se"), "ccp_alpha"),
        (ForestClassifier(oob_score=True), "oob_score"),
    ],
)
def test_what_needs_all_rows_is_refused_by_name(estimator, named):
    X, y, rng = table(2)
    with pytest.raises(NotDistributable, match=named):
        fitted_on(estimator, partitions(X, y, {}, rng, 2), 2)


def test_a_forest_that_memory_does_not_hold_is_refused(monkeypatch):
    X, y, rng = table(3)
    monkeypatch.setattr("propriety.memory.available", lambda: 100_000)
    with pytest.raises(NotDistributable, match="bins of all 1,500 rows"):
        fitted_on(ESTIMATORS["forest"], partitions(X, y, {}, rng, 2), 2)


class Watching:
    """A callback that notes the loss after each round, and has had enough after some."""

    def __init__(self, X, y, enough):
        self.X, self.y, self.enough, self.seen, self.hooks = X, y, enough, [], []

    def setup(self, estimator, context):
        self.hooks.append("setup")

    def teardown(self, estimator, context):
        self.hooks.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.hooks.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.hooks.append(f"end {context.task_name}")
        if context.task_name == "round":
            self.seen.append(fitted_estimator.decision_function(self.X))
        return len(self.seen) == self.enough


@pytest.mark.parametrize("apart", [False, True])
def test_callbacks_see_every_round_and_can_stop(apart):
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    X, y, rng = table(4)
    here, there = Watching(X, y, 3), Watching(X, y, 3)
    estimator = ESTIMATORS["boosting"].set_params(max_iter=6)
    whole = clone(estimator).set_callbacks(here).fit(X, y)
    watched = clone(estimator).set_callbacks(there)
    pieces = partitions(X, y, {}, rng, 2)
    model = fitted_on(estimator, pieces, 2, apart, follower=Callbacks(watched, X, y))
    assert model.n_iter_ == whole.n_iter_ == 3
    np.testing.assert_array_equal(here.seen, there.seen)
    assert there.hooks == here.hooks[: len(there.hooks)]


def test_a_callback_that_raises_ends_the_fit():
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")

    class Failing(Watching):
        def on_fit_task_end(self, estimator, context):
            raise LookupError("a bad callback")

    X, y, rng = table(5)
    watched = clone(ESTIMATORS["boosting"]).set_callbacks(Failing(X, y, 1))
    with pytest.raises(LookupError, match="a bad callback"):
        fitted_on(ESTIMATORS["boosting"], partitions(X, y, {}, rng, 2), 2, follower=Callbacks(watched, X, y))
