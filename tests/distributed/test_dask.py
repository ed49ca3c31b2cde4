"""Dask collections: the bits of one process, whatever the workers, the partitions and what befalls them."""

import contextlib
import gc
import hashlib
import os
import re
import signal
import tempfile
import time
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from tests import many_rows

from propriety import (
    BoostingClassifier,
    Costs,
    ForestClassifier,
    LinearClassifier,
    RuleClassifier,
    TreeClassifier,
    evaluation,
)
from propriety.communicator import NotDistributable

distributed = pytest.importorskip("distributed", reason="dask is not installed")
import dask  # noqa: E402
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

import propriety.dask  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
N = 1200


@pytest.fixture(scope="module")
def workers():
    # Dask gives up a worker for good that is not there 15 seconds after it was lost, however often it was.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "600s"}),
        propriety.dask.local(2) as client,
    ):
        yield client
        client.cluster.close()


@pytest.fixture
def client(workers):
    workers.wait_for_workers(2, timeout=120)
    return workers


def arrays(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0).astype(int)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y, rng


def model(**parameters):
    return BoostingClassifier(**{"max_iter": 4, "random_state": 1, "max_leaf_nodes": 8} | parameters)


def same(one, other, X):
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def frames(df, cuts):
    """A Dask frame of pieces, each with the categories that it holds."""
    pieces = [df.iloc[a:b].copy() for a, b in zip([0, *cuts], [*cuts, len(df)], strict=True)]
    for piece in pieces:
        for name in piece.select_dtypes("category"):
            piece[name] = piece[name].cat.remove_unused_categories()
    return dd.from_map(lambda piece: piece, pieces, meta=df.iloc[:0], enforce_metadata=False)


def test_arrays_of_any_chunks(client, tmp_path):
    X, y, _ = arrays()
    whole = model().fit(X, y)
    whole.save(tmp_path / "whole")
    for chunks in (N, 500, (100, 1, 1099)):
        fitted = model().fit(da.from_array(X, chunks=(chunks, 3)), da.from_array(y, chunks=chunks))
        same(whole, fitted, X)
        fitted.save(tmp_path / "part")
        first, second = (hashlib.sha256((tmp_path / n).read_bytes()).digest() for n in ("whole", "part"))
        assert first == second


@pytest.mark.parametrize("name", many_rows.MODELS)
def test_many_rows_a_worker(client, name, tmp_path):
    X, y = many_rows.table(name)
    np.save(tmp_path / "X", X)
    chunks = da.from_array(np.load(tmp_path / "X.npy", mmap_mode="r"), chunks=(len(X) // 2, X.shape[1]))
    fitted = clone(many_rows.MODELS[name]).fit(chunks, da.from_array(y, chunks=len(X) // 2))
    same(clone(many_rows.MODELS[name]).fit(X, y), fitted, X)


def test_frames_with_empty_partitions_categories_and_weights(client):
    X, y, rng = arrays(1)
    df = pd.DataFrame(X, columns=list("abcd")).assign(kind=pd.Categorical(rng.choice(list("uvwxyz"), N)))
    weight = rng.random(N)
    df.loc[df.index[:300], "kind"] = "u"
    cuts = [300, 300, 301, 900]
    ddf, labels = frames(df, cuts), frames(pd.DataFrame({"y": y}), cuts)["y"]
    weights = frames(pd.DataFrame({"w": weight}), cuts)["w"]
    whole = model().fit(df, y, sample_weight=weight)
    fitted = model().fit(ddf, labels, sample_weight=weights)
    same(whole, fitted, df)
    assert list(fitted.feature_names_in_) == [*list("abcd"), "kind"]
    lazy = fitted.predict_proba(ddf)
    assert lazy.dask
    np.testing.assert_array_equal(lazy.compute(), whole.predict_proba(df))
    np.testing.assert_array_equal(fitted.predict(ddf).compute(), whole.predict(df))
    judged = evaluation.mean_cost(labels, fitted.predict(ddf), fn_cost=5)
    assert judged == evaluation.mean_cost(y, whole.predict(df), fn_cost=5)
    with pytest.raises(TypeError, match="mean_cost"):
        fitted.score(ddf, labels)
    unknown = ddf.loc[:, list("abcd")].to_dask_array()  # of unknown chunks
    same(model().fit(X, y), model().fit(unknown, labels.to_dask_array()), X)


@pytest.mark.parametrize(
    "estimator",
    [
        TreeClassifier(splits="histogram", max_leaf_nodes=9),
        ForestClassifier(n_estimators=5, random_state=0),
        ForestClassifier(n_estimators=3, random_state=0, oob_score=True),  # fitted here
    ],
    ids=["tree", "forest", "out of bag"],
)
def test_trees_and_forests(client, estimator, tmp_path):
    X, y, rng = arrays(11)
    df = pd.DataFrame(X, columns=list("abcd")).assign(kind=pd.Categorical(rng.choice(list("uvwxyz"), N)))
    weight, cuts = rng.integers(0, 3, N), [300, 300, 301, 900]
    ddf, rows = frames(df, cuts), frames(pd.DataFrame({"y": y, "w": weight}), cuts)
    whole = clone(estimator).fit(df, y, sample_weight=weight)
    fitted = clone(estimator).fit(ddf, rows["y"], sample_weight=rows["w"])
    np.testing.assert_array_equal(fitted.predict_proba(ddf).compute(), whole.predict_proba(df))
    whole.save(tmp_path / "whole")
    fitted.save(tmp_path / "part")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "part").read_bytes()


def test_linear_models(client):
    X, y, _ = arrays(14)
    X = np.nan_to_num(X)
    whole = LinearClassifier(alpha=0.01).fit(X, y)
    fitted = LinearClassifier(alpha=0.01).fit(da.from_array(X, (500, 4)), da.from_array(y, 500))
    np.testing.assert_allclose(fitted.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(fitted.intercept_, whole.intercept_, rtol=1e-9)


def test_callbacks_are_called_here(client):
    callback = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    X, y, _ = arrays(12)
    monitors = [callback.ScoringMonitor(scoring={"loss": evaluation.scorer("Log")}) for _ in range(2)]
    model().set_callbacks(monitors[0]).fit(X, y)
    model().set_callbacks(monitors[1]).fit(da.from_array(X, 400), da.from_array(y, 400))
    here, there = (
        [row["loss"] for row in monitor.get_logs().data if row["task_name"] == "round"]
        for monitor in monitors
    )
    np.testing.assert_allclose(here, there, rtol=1e-12)
    assert len(there) == 4
    assert nothing_left(client)


def test_sparse_chunks_and_several_classes(client):
    X, y, rng = arrays(2)
    X, y = np.nan_to_num(X) * (rng.random(X.shape) < 0.4), np.array(["a", "b", "c"])[y + (X[:, 3] > 0)]
    blocks = [dask.delayed(sparse.csr_matrix)(X[a : a + 400]) for a in range(0, N, 400)]
    meta = sparse.csr_matrix((0, 4))
    collection = da.concatenate([da.from_delayed(b, shape=(400, 4), meta=meta) for b in blocks])
    fitted = model().fit(collection, da.from_array(y, chunks=400))
    assert list(fitted.classes_) == ["a", "b", "c"]
    same(model().fit(sparse.csr_matrix(X), y), fitted, X)


def test_costs_by_column_early_stopping_and_a_validation_set(client):
    X, y, rng = arrays(3)
    df = pd.DataFrame(X, columns=list("abcd")).assign(amount=rng.random(N) * 9)
    X_val, y_val, _ = arrays(4, 200)
    X_val = pd.DataFrame(X_val, columns=list("abcd")).assign(amount=1.0)
    cuts = [700]
    ddf, labels = frames(df, cuts), frames(pd.DataFrame({"y": y}), cuts)["y"]
    for parameters, given in (
        ({"early_stopping": True, "costs": Costs(fn="amount", weight_by_stakes=True)}, {}),
        ({"early_stopping": True, "fn_cost": 5}, {"X_val": X_val, "y_val": y_val}),
    ):
        whole = model(**parameters).fit(df, y, **given)
        fitted = model(**parameters).fit(ddf, labels, **given)
        same(whole, fitted, df)
        np.testing.assert_array_equal(whole.validation_score_, fitted.validation_score_)


def test_the_scale_of_a_fit_is_told_before_it_starts(client, capsys):
    X, y, _ = arrays(5)
    model(max_iter=2, verbose=1).fit(da.from_array(X, (400, 4)), da.from_array(y, 400))
    told = capsys.readouterr().err
    first, bar = told.split("\n")[0], told.rsplit("\r")[-1]
    assert first.startswith(
        "1,200 rows of 4 columns in 3 partitions on 2 workers with 2 threads; a row takes 64"
    )
    assert "1 MB a worker; about 1 s; dashboard: http://127.0.0.1:" in first
    assert "round 2/2" in bar


def test_few_rows_are_fitted_here(client):
    X, y, _ = arrays(5, 300)
    fitted = BoostingClassifier(random_state=0).fit(da.from_array(X, 100), da.from_array(y, 100))
    whole = BoostingClassifier(random_state=0).fit(X, y)
    same(whole, fitted, X)
    assert fitted.n_iter_ == whole.n_iter_


def test_clear_errors(client, monkeypatch):
    X, y, _ = arrays(6)
    dX, dy = da.from_array(X, 400), da.from_array(y, 400)
    with pytest.raises(TypeError, match="y is a ndarray"):
        model().fit(dX, y)
    with pytest.raises(ValueError, match="same partitions"):
        model().fit(dX, dy.rechunk(600))
    with pytest.raises(TypeError, match="sample_weight is a ndarray"):
        model().fit(dX, dy, sample_weight=np.ones(N))
    with pytest.raises(ValueError, match="learning_rate"):
        model(learning_rate=-1).fit(dX, dy)
    with pytest.raises(ValueError, match="two classes"):
        model().fit(dX, da.zeros(N, chunks=400, dtype=int))
    monkeypatch.setattr("propriety.distributed.driver.FEW", 10)
    with pytest.raises(NotDistributable, match="max_iter"):
        model(max_iter="cv").fit(dX, dy)

    def broken(block):
        raise RuntimeError("a bad disk")

    bad = da.map_blocks(broken, dX, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(RuntimeError, match="a bad disk"):
        model().fit(bad, dy)
    with pytest.raises(TypeError, match="Dask"):
        RuleClassifier().fit(dX, dy)
    with pytest.raises(NotDistributable, match="ccp_alpha"):
        TreeClassifier(splits="histogram", ccp_alpha="one_se").fit(dX, dy)
    same(model().fit(X, y), model().fit(dX, dy), X)  # the workers are as they were
    assert nothing_left(client)


def test_without_a_client():
    X, y, _ = arrays(7)
    from distributed import default_client

    try:
        default_client()
    except ValueError:
        with pytest.raises(ValueError, match=r"propriety\.dask\.local"):
            model().fit(da.from_array(X, 400), da.from_array(y, 400))


def nothing_left(client):
    """Whether the workers hold nothing of ours any more, after a little while."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        gc.collect()  # the traceback of an interrupt may hold futures in a cycle
        held = client.run(lambda dask_worker: (len(dask_worker.state.actors), len(dask_worker.data)))
        if all(counts == (0, 0) for counts in held.values()):
            return True
        time.sleep(0.2)
    return False


def while_fitting(action, rounds):
    """Do something when so many rounds are done."""
    from propriety.distributed.progress import ProgressBar

    begun = []

    class Watching(ProgressBar):
        def draw(self, what, done, of, score=None):
            if done >= rounds and not begun:
                begun.append(done)
                Thread(target=action, daemon=True).start()

    return Watching


@pytest.fixture
def larger():
    X, y, _ = arrays(8, 30_000)
    estimator = model(max_iter=120, early_stopping=True, n_iter_no_change=9999)
    return X, y, estimator


def pids(client):
    return list(client.run(os.getpid).values())


def shared_files():
    """Files that processes of this machine share."""
    folder = Path("/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir())
    return set(folder.glob("propriety-shared-*"))


def test_a_worker_that_is_killed_changes_nothing(client, larger, monkeypatch):
    X, y, estimator = larger
    before = shared_files()
    whole = clone(estimator).fit(X, y)
    killed = pids(client)[0]
    bar = while_fitting(lambda: os.kill(killed, signal.SIGKILL), 5)
    monkeypatch.setattr("propriety.distributed.driver.ProgressBar", bar)
    fitted = clone(estimator).fit(da.from_array(X, (7000, 4)), da.from_array(y, 7000))
    assert killed not in pids(client)
    same(whole, fitted, X)
    np.testing.assert_array_equal(whole.validation_score_, fitted.validation_score_)
    assert nothing_left(client)
    assert not shared_files() - before


def test_a_worker_that_is_killed_while_it_bins_changes_nothing(client):
    X, y, _ = arrays(10)
    killed, before = client.run(os.getpid), shared_files()

    def die_when_binning():
        from propriety.trees.binning import Binner

        Binner.transform = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)

    address = next(iter(killed))
    client.run(die_when_binning, workers=[address])
    fitted = model().fit(da.from_array(X, (300, 4)), da.from_array(y, 300))
    assert killed[address] not in pids(client)
    same(model().fit(X, y), fitted, X)
    assert nothing_left(client)
    assert not shared_files() - before


def test_a_worker_that_is_killed_while_it_predicts_changes_nothing(client, tmp_path):
    X, y, _ = arrays(11)
    fitted, mark = model().fit(X, y), tmp_path / "once"
    mark.touch()

    def die_once(block):
        with contextlib.suppress(FileNotFoundError):
            mark.unlink()  # whoever removes it is the only one to die
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    lazy = fitted.predict_proba(da.from_array(X, (300, 4)).map_blocks(die_once, meta=X[:0]))
    predicted = client.compute(lazy).result(timeout=120)
    assert not mark.exists()
    np.testing.assert_array_equal(predicted, fitted.predict_proba(X))
    assert nothing_left(client)


def test_a_worker_that_pauses_is_waited_for(client, larger, monkeypatch):
    X, y, estimator = larger
    paused = pids(client)[0]

    def pause():
        os.kill(paused, signal.SIGSTOP)
        time.sleep(3)
        os.kill(paused, signal.SIGCONT)

    monkeypatch.setattr("propriety.distributed.driver.ProgressBar", while_fitting(pause, 5))
    fitted = clone(estimator).fit(da.from_array(X, (7000, 4)), da.from_array(y, 7000))
    same(clone(estimator).fit(X, y), fitted, X)
    assert paused in pids(client)


def test_an_interrupt_keeps_the_rounds(client, larger, monkeypatch):
    X, y, estimator = larger
    answered = Event()

    def knock():
        for pause in (10, 10, 10):  # Python may lose one that comes while an object is finalized
            os.kill(os.getpid(), signal.SIGINT)
            if answered.wait(pause):
                return

    monkeypatch.setattr("propriety.distributed.driver.ProgressBar", while_fitting(knock, 5))
    fitted = clone(estimator).set_params(max_iter=20_000)  # far more than there is time for
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # one in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            fitted.fit(da.from_array(X, (7000, 4)), da.from_array(y, 7000))
    finally:
        answered.set()
        signal.signal(signal.SIGINT, before)
    assert len(fitted.validation_score_) > 5
    shorter = clone(estimator).set_params(max_iter=len(fitted.validation_score_) - 1).fit(X, y)
    np.testing.assert_array_equal(shorter.validation_score_, fitted.validation_score_)
    assert nothing_left(client)


def test_machines_that_share_no_memory(client):
    """Every worker claims to be a machine of its own, so that totals go from one to another."""

    def alone(dask_worker):
        from propriety.distributed.worker import Worker

        Worker.machine, Worker.known = lambda self: (str(os.getpid()),), Worker.machine

    def together(dask_worker):
        from propriety.distributed.worker import Worker

        Worker.machine = Worker.known

    X, y, _ = arrays(9)
    client.run(alone)
    try:
        fitted = model().fit(da.from_array(X, 300), da.from_array(y, 300))
    finally:
        client.run(together)
    same(model().fit(X, y), fitted, X)


def test_the_page_on_many_machines_runs(client, tmp_path, monkeypatch):
    """On small files, of which Dask would join more for a column than for a table."""
    (tmp_path / "loans").mkdir()
    rng = np.random.default_rng(0)
    for k in range(8):
        loans = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
        loans["default"] = (loans["a"] > 1).astype(int)
        loans.to_parquet(tmp_path / "loans" / f"{k}.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(propriety.dask, "local", lambda n_workers: client)
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(block, "scale.md", "exec"), names)
    assert names["model"].n_features_in_ == 4
    assert names["p"].compute().shape == (1600, 2)
    assert (tmp_path / "loans.propriety").exists()


def test_a_study_judges_rows_of_collections_by_what_they_hold(client):
    """Whatever the partitions, the same rows judge, and the model is that of the others in memory."""
    X, y, rng = arrays(11)
    X, weight = np.nan_to_num(X), rng.integers(1, 4, len(y)).astype(float)
    frame = pd.DataFrame(X, columns=list("abcd"))
    costs, found = propriety.Costs(1, 4), []
    for chunks in (len(y), 700):
        given = (dd.from_pandas(frame, chunksize=chunks), dd.from_pandas(pd.Series(y), chunksize=chunks))
        weights = dd.from_pandas(pd.Series(weight), chunksize=chunks)
        found.append(propriety.Study(model(), *given, costs=costs, sample_weight=weights))
    assert found[0].judgement.cost == found[1].judgement.cost
    assert found[0].judgement.log_loss == pytest.approx(found[1].judgement.log_loss, rel=1e-9)
    judged = found[0].question.X
    left = ~frame.apply(tuple, axis=1).isin(set(judged.apply(tuple, axis=1)))
    own = clone(model()).set_params(costs=costs).fit(frame[left], y[left], sample_weight=weight[left])
    np.testing.assert_allclose(own.predict_proba(judged)[:, 1], found[0].p, rtol=1e-9)
    as_arrays = propriety.Study(model(), da.from_array(X, chunks=(500, 4)), da.from_array(y, chunks=500))
    assert 0.15 < len(as_arrays.y) / len(y) < 0.35
