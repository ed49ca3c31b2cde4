"""Fits on Ray datasets: actors that run Ray's own protocol, against one process."""

import hashlib
import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from propriety import BoostingClassifier, ForestClassifier, LinearClassifier, RuleClassifier, TreeClassifier
from propriety.communicator import NotDistributable

ray = pytest.importorskip("ray", reason="ray is not installed")
pytest.importorskip("ray.data", reason="ray[data] is not installed")

import propriety.ray  # noqa: E402
from propriety.distributed import ray as backend  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
N = 1200
ESTIMATORS = {
    "boosting": BoostingClassifier(max_iter=4, max_leaf_nodes=8, random_state=1, n_jobs=1),
    "tree": TreeClassifier(splits="histogram", max_leaf_nodes=9, n_jobs=1),
    "forest": ForestClassifier(n_estimators=5, random_state=0, n_jobs=1),
    "fitted here": ForestClassifier(n_estimators=3, random_state=0, oob_score=True, n_jobs=1),
}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    propriety.ray.local(3)
    yield
    ray.shutdown()


@pytest.fixture
def apart(monkeypatch):
    """Every actor passes for a machine of its own, so that they send each other their sums."""

    class Apart(backend._RayWorker):
        def machine(self):
            return (str(os.getpid()),)

    monkeypatch.setattr(backend, "_RayWorker", Apart)


def table(seed=0):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc"))
    df["kind"] = rng.choice(list("uvwxyz"), N)
    df["y"] = (df["a"] + df["b"] * df["c"] + rng.normal(size=N) > 0).astype(int)
    df["w"] = rng.integers(0, 3, N)
    df.loc[rng.random(N) < 0.05, "a"] = np.nan
    return df


def dataset(df, cuts=(300, 300, 301, 900)):
    """Blocks of any size, some of them empty."""
    pieces = [df.iloc[a:b] for a, b in zip([0, *cuts], [*cuts, len(df)], strict=True)]
    return ray.data.from_pandas(pieces)


def digest(model, tmp_path):
    model.save(tmp_path / "model")
    return hashlib.sha256((tmp_path / "model").read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_bits_of_one_process(name, tmp_path):
    df = table()
    X = df.drop(columns=["y", "w"])
    whole = clone(ESTIMATORS[name]).fit(X, df["y"], sample_weight=df["w"])
    fitted = clone(ESTIMATORS[name]).fit(dataset(df), "y", sample_weight="w")
    assert list(fitted.feature_names_in_) == [*"abc", "kind"]
    assert digest(whole, tmp_path) == digest(fitted, tmp_path)


def test_probabilities_stand_beside_the_rows():
    df = table()
    X = df.drop(columns=["y", "w"])
    model = clone(ESTIMATORS["tree"]).fit(X, df["y"])
    rows = propriety.ray.predict_proba(model, dataset(df)).to_pandas()
    assert len(rows) == N
    np.testing.assert_array_equal(rows[["p_0", "p_1"]].to_numpy(), model.predict_proba(rows[X.columns]))


def test_actors_on_several_machines(apart, tmp_path):
    df = table(1)
    whole = clone(ESTIMATORS["boosting"]).fit(df.drop(columns=["y", "w"]), df["y"])
    fitted = clone(ESTIMATORS["boosting"]).fit(dataset(df.drop(columns="w")), "y")
    assert digest(whole, tmp_path) == digest(fitted, tmp_path)


def test_an_actor_that_is_killed_changes_nothing(monkeypatch, tmp_path):
    df = table(2)
    model = BoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=1, n_jobs=1)
    whole = clone(model).fit(df.drop(columns=["y", "w"]), df["y"])
    pids, begin = [], backend._RayPool.workers

    class Mortal(backend._RayWorker):
        def pid(self):
            return os.getpid()

    def workers(pool):
        found = begin(pool)
        if not pids:
            pids.append(found[-1].call("pid"))
            threading.Timer(0.3, os.kill, (pids[0], signal.SIGKILL)).start()
        else:
            pids.append(found[-1].call("pid"))
        return found

    monkeypatch.setattr(backend, "_RayWorker", Mortal)
    monkeypatch.setattr(backend._RayPool, "workers", workers)
    monkeypatch.setattr(
        Mortal, "_tell", lambda self, *news: time.sleep(0.05) or backend._RayWorker._tell(self, *news)
    )
    fitted = clone(model).fit(dataset(df.drop(columns="w")), "y")
    assert len(pids) == 2
    assert digest(whole, tmp_path) == digest(fitted, tmp_path)


def test_what_cannot_be_is_refused():
    df = table()
    rows = dataset(df)
    with pytest.raises(ValueError, match="y must name one of its columns"):
        BoostingClassifier().fit(rows, df["y"])
    with pytest.raises(ValueError, match="sample_weight must name one of its columns"):
        BoostingClassifier().fit(rows, "y", sample_weight="weight")
    with pytest.raises(TypeError, match="offset is given by row"):
        BoostingClassifier().fit(rows, "y", offset=np.zeros(N))
    with pytest.raises(ValueError, match=r"between 1 and 3"):
        BoostingClassifier(n_jobs=64).fit(rows, "y")
    with pytest.raises(ValueError, match="a linear model needs numbers"):
        LinearClassifier(n_jobs=1).fit(rows, "y")  # told by the actors
    with pytest.raises(TypeError, match="X is a Ray Dataset"):
        RuleClassifier().fit(rows, df["y"])
    with pytest.raises(TypeError, match=r"propriety\.ray\.predict_proba"):
        ESTIMATORS["tree"].fit(df[["a"]], df["y"]).predict_proba(rows)


def test_many_rows_that_need_one_place_are_refused(monkeypatch):
    monkeypatch.setattr("propriety.distributed.driver.FEW", 100)
    with pytest.raises(NotDistributable, match="oob_score"):
        clone(ESTIMATORS["fitted here"]).fit(dataset(table()), "y")
