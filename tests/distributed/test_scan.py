"""Rows that are read in batches give the model of the same rows in memory, bit for bit."""

import hashlib

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

import pyarrow.dataset as ds  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from pyarrow import csv, feather  # noqa: E402
from sklearn.base import clone  # noqa: E402
from tests import many_rows  # noqa: E402
from tests.inside import forest_of, schema_of  # noqa: E402

import propriety  # noqa: E402
from propriety import (  # noqa: E402
    BoostingClassifier,
    Costs,
    ForestClassifier,
    LinearClassifier,
    TreeClassifier,
    memory,
    scan,
)
from propriety.distributed import out_of_core  # noqa: E402
from propriety.distributed import scan as scanning  # noqa: E402
from propriety.distributed.progress import ProgressBar  # noqa: E402
from propriety.trees import binning  # noqa: E402

N = 4000
FEATURES = ["size", "level", "kind", "text"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    size, level = rng.normal(size=N), rng.integers(0, 40, N).astype(float)
    level[rng.random(N) < 0.1] = np.nan
    kind, text = rng.choice(["a", "b", "c"], N), rng.choice(["left", "right"], N)
    F = size + (level > 20) + 2.0 * (kind == "b")
    return pa.table(
        {
            "size": size,
            "level": level,
            "kind": pa.array(kind).dictionary_encode(),
            "text": text,
            "copies": rng.integers(0, 3, N),
            "share": rng.random(N),
            "y": (F + rng.normal(size=N) > 1).astype(int),
            "three": np.array(["low", "mid", "top"])[np.digitize(F + rng.normal(size=N), [0, 2])],
        }
    )


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    for k in range(3):
        pq.write_table(table.slice(1500 * k, 1500), path / f"{k}.parquet", row_group_size=700)
    return path


@pytest.fixture
def always(monkeypatch):
    """Read even few rows in batches, small ones."""
    monkeypatch.setattr(out_of_core, "FEW", 0)
    monkeypatch.setattr(scanning, "BATCH", 900)


def plain(table):
    """The features as a table that ``fit`` takes."""
    return table.select(FEATURES).set_column(3, "text", table.column("text").dictionary_encode())


def hash_of(model, tmp_path):
    model.save(tmp_path / "model")
    return hashlib.sha256((tmp_path / "model").read_bytes()).hexdigest()


SETTINGS = {
    "plain": ({}, "y", None),
    "copies": ({}, "y", "copies"),
    "relative weights, early": ({"early_stopping": True}, "y", "share"),
    "several classes": ({"max_iter": 3}, "three", None),
    "subsampled": ({"subsample": 0.5, "max_features": 0.6}, "y", None),
    "histograms": ({"algorithm": "additive"}, "y", None),
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("sampled", [False, True])
def test_the_model_is_that_of_the_rows_in_memory(
    setting, sampled, table, folder, tmp_path, always, monkeypatch
):
    parameters, target, weight = SETTINGS[setting]
    parameters = {"max_iter": 6, "random_state": 0} | parameters
    if sampled:
        monkeypatch.setattr(binning, "SAMPLE", 800)
    weights = None if weight is None else table.column(weight).to_numpy()
    labels = table.column(target).to_numpy()
    expected = BoostingClassifier(**parameters).fit(plain(table), labels, weights)
    rows = scan(folder / "*.parquet", target=target, weight=weight, columns=FEATURES)
    for n_parts in (1, 4):
        model = BoostingClassifier(**parameters)
        assert out_of_core.fit_parts(model, rows, {}, n_parts, ProgressBar(shown=False)) is model
        assert hash_of(model, tmp_path) == hash_of(expected, tmp_path)
    np.testing.assert_array_equal(model.predict_proba(rows), expected.predict_proba(plain(table)))
    np.testing.assert_array_equal(model.predict(rows), expected.predict(plain(table)))


@pytest.mark.parametrize("name", many_rows.MODELS)
def test_many_rows_a_part(name):
    X, y = many_rows.table(name)
    expected = clone(many_rows.MODELS[name]).fit(X, y)
    rows = scan(pa.table({f"x{k}": column for k, column in enumerate(X.T)} | {"y": y}), target="y")
    model = out_of_core.fit_parts(clone(many_rows.MODELS[name]), rows, {}, 2, ProgressBar(shown=False))
    np.testing.assert_array_equal(model.predict_proba(rows), expected.predict_proba(X))


@pytest.mark.parametrize(
    ("estimator", "all_parts"),
    [
        (TreeClassifier(splits="histogram", max_bins=20), (1, 4)),
        (TreeClassifier(splits="histogram", max_leaf_nodes=None, ccp_alpha=0.001), (1, 3)),
        (ForestClassifier(n_estimators=4, random_state=0), (1,)),
    ],
    ids=["tree", "whole tree", "forest"],
)
def test_trees_and_forests_are_those_of_the_rows_in_memory(
    estimator, all_parts, table, folder, tmp_path, always
):
    for target, weight in (("y", "copies"), ("three", "share")):
        weights, labels = table.column(weight).to_numpy(), table.column(target).to_numpy()
        expected = clone(estimator).fit(plain(table), labels, weights)
        rows = scan(folder / "*.parquet", target=target, weight=weight, columns=FEATURES)
        for n_parts in all_parts:
            model = out_of_core.fit_parts(clone(estimator), rows, {}, n_parts, ProgressBar(shown=False))
            assert hash_of(model, tmp_path) == hash_of(expected, tmp_path)
        np.testing.assert_array_equal(model.predict_proba(rows), expected.predict_proba(plain(table)))


@pytest.mark.parametrize(
    "estimator", [BoostingClassifier(max_iter=4, random_state=0), TreeClassifier(splits="histogram")]
)
def test_rows_of_weight_zero_do_not_matter(estimator, table, always):
    """Not even where they are all rows of a part, and hold a category that no other row has."""
    kind, weight = table.column("kind").to_numpy().copy(), table.column("share").to_numpy().copy()
    kind[:1100], weight[:1100], weight[::5] = "alone", 0.0, 0.0
    table = table.set_column(2, "kind", pa.array(kind).dictionary_encode())
    table = table.set_column(5, "share", pa.array(weight))
    kept = plain(table).filter(pa.array(weight > 0)), table.column("y").to_numpy()[weight > 0]
    expected = clone(estimator).fit(*kept, weight[weight > 0])
    for n_parts in (1, 4):
        rows = scan(table, target="y", weight="share", columns=FEATURES)
        model = out_of_core.fit_parts(clone(estimator), rows, {}, n_parts, ProgressBar(shown=False))
        assert schema_of(model) == schema_of(expected)
        np.testing.assert_array_equal(model.predict_proba(rows), expected.predict_proba(plain(table)))


@pytest.mark.parametrize(
    ("estimator", "named"),
    [
        (TreeClassifier(splits="exact"), "splits='exact'"),
        (TreeClassifier(ccp_alpha="min"), "ccp_alpha='min'"),
        (ForestClassifier(oob_score=True), "oob_score=True"),
    ],
)
def test_what_trees_and_forests_need_in_memory_is_refused(estimator, named, folder, always):
    with pytest.raises(ValueError, match=named):
        estimator.fit(scan(folder, target="y", columns=FEATURES))


def test_a_forest_needs_the_memory_for_all_its_bins(folder, always):
    rows = scan(folder, target="y", columns=FEATURES, memory="10MB")
    with pytest.raises(ValueError, match="bins of all rows in memory"):
        ForestClassifier().fit(rows)


def test_batches_and_parts_of_any_size_have_every_row_once(table, folder, monkeypatch):
    rows = scan(folder, target="y")
    for size in (1, 7, 1000):
        monkeypatch.setattr(scanning, "BATCH", size)
        monkeypatch.setattr(scanning, "batch_rows", lambda _, size=size: size)
        part = rows.part(1300, 1450 if size == 1 else 3950)
        sizes = [batch.num_rows for batch in part.batches(["size"])]
        assert max(sizes) <= size
        values = np.concatenate([batch.column("size").to_numpy() for batch in part.batches(["size"])])
        np.testing.assert_array_equal(values, table.column("size").to_numpy()[1300 : 1300 + part.n_rows])


def sources(table, folder):
    """The same rows in everything that can be scanned."""
    yield "pattern", str(folder / "*.parquet")
    yield "list", [folder / f"{k}.parquet" for k in range(3)]
    yield "dataset", ds.dataset(folder)
    yield "table", table
    yield "function", lambda: iter(table.to_batches(max_chunksize=333))
    yield "list of batches", table.to_batches(max_chunksize=700)
    feather.write_feather(table, folder.parent / "rows.feather")
    yield "feather", folder.parent / "rows.feather"
    polars = pytest.importorskip("polars")
    yield "polars", polars.from_arrow(table)
    yield "lazy polars", polars.scan_parquet(str(folder / "*.parquet"))
    duckdb = pytest.importorskip("duckdb")
    yield "duckdb", duckdb.read_parquet(str(folder / "*.parquet"))


def test_every_kind_of_source(table, folder, tmp_path, always):
    parameters = {"max_iter": 2, "random_state": 0}
    expected = BoostingClassifier(**parameters).fit(plain(table), table.column("y").to_numpy())
    for name, source in sources(table, folder):
        rows = scan(source, target="y", columns=FEATURES)
        assert rows.shape == (N, 4), name
        for n_parts in (1, 3):
            model = out_of_core.fit_parts(
                BoostingClassifier(**parameters), rows, {}, n_parts, ProgressBar(shown=False)
            )
            assert hash_of(model, tmp_path) == hash_of(expected, tmp_path), name


def test_csv_files(table, tmp_path, always):
    numbers = table.select(["size", "copies", "y"])
    for name in ("a.csv", "b.csv"):
        csv.write_csv(numbers, tmp_path / name)
    model = BoostingClassifier(max_iter=2).fit(scan(str(tmp_path / "*.csv"), target="y"))
    assert list(model.feature_names_in_) == ["size", "copies"]
    assert forest_of(model).split()[0] is not None


def test_few_rows_are_fitted_as_ever(table, tmp_path):
    few = table.slice(0, 300)
    rows = scan(few, target="three", weight="copies", columns=FEATURES)
    model = BoostingClassifier(random_state=0).fit(rows)
    labels, weights = few.column("three").to_numpy(), few.column("copies").to_numpy()
    expected = BoostingClassifier(random_state=0).fit(plain(few), labels, weights)
    assert hash_of(model, tmp_path) == hash_of(expected, tmp_path)


def test_a_budget_makes_parts_and_leaves_nothing_behind(table, folder, tmp_path, always, monkeypatch):
    monkeypatch.setattr(out_of_core, "_LEAST_ROWS", 500)
    monkeypatch.setattr(memory, "_LARGE", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made, empty = [], memory.Maps.empty
    monkeypatch.setattr(memory.Maps, "empty", lambda self, *shape: made.append(shape) or empty(self, *shape))
    rows = scan(folder, target="y", columns=FEATURES, memory="1MB")
    model = BoostingClassifier(max_iter=2, random_state=0)
    with pytest.warns(UserWarning, match="memory=1 MB is less than"):
        model.fit(rows)
    assert len(made) > 20
    assert not list(tmp_path.iterdir())
    expected = BoostingClassifier(max_iter=2, random_state=0).fit(plain(table), table.column("y").to_numpy())
    np.testing.assert_array_equal(model.predict_proba(rows), expected.predict_proba(plain(table)))


def test_the_plan_says_in_words_what_will_be(folder):
    rows = scan(folder, target="y", memory="8GB")
    here = out_of_core.plan(rows, 2)
    assert here.parts == 1
    assert "4,000 rows of 7 columns in " in here.words
    assert "in memory, about" in here.words
    assert here.words.endswith("at the peak; about 1 s")
    rows.source.__dict__["_pieces"] = [(10**9, None)]
    apart = out_of_core.plan(rows, 2)
    assert apart.parts > 10
    assert apart.memory < 8 * 2**30 < apart.on_disk
    assert f"{apart.parts} parts that take turns" in apart.words
    assert (
        out_of_core.plan(rows, 2, rounds=1000, threads=1).seconds
        > 20 * out_of_core.plan(rows, 2, rounds=1, threads=2).seconds
    )


def test_held_out_rows_of_the_users_own(table, folder, tmp_path, always):
    X, y = plain(table), table.column("y").to_numpy()
    parameters = {"max_iter": 5, "early_stopping": True, "random_state": 0}
    given = {"X_val": X.slice(0, 500), "y_val": y[:500]}
    expected = BoostingClassifier(**parameters).fit(X, y, **given)
    for n_parts in (1, 3):
        model = BoostingClassifier(**parameters)
        out_of_core.fit_parts(
            model, scan(folder, target="y", columns=FEATURES), given, n_parts, ProgressBar(shown=False)
        )
        np.testing.assert_array_equal(model.validation_score_, expected.validation_score_)
        assert hash_of(model, tmp_path) == hash_of(expected, tmp_path)


def test_costs_by_a_column(table, folder, always):
    rows = scan(folder, target="y", columns=FEATURES[:2])
    model = BoostingClassifier(max_iter=2, costs=Costs(fn="size"), random_state=0)
    positive = scan(
        table.set_column(0, "size", pa.array(np.abs(table.column("size").to_numpy()))),
        target="y",
        columns=FEATURES[:2],
    )
    model.fit(positive)
    expected = np.abs(table.column("size").to_numpy())
    np.testing.assert_array_equal(model.costs_for(positive).threshold, 1 / (1 + expected))
    with pytest.raises(ValueError, match="fn_cost"):
        model.fit(rows)


# --- what is refused --------------------------------------------------------------------------------


def test_bad_sources(table, folder, tmp_path):
    for source, error, words in (
        (str(folder / "*.csv"), FileNotFoundError, "no file matches"),
        (tmp_path, FileNotFoundError, "has no file that ends in"),
        (iter(table.to_batches()), TypeError, "can be read once.*a function that returns a new one"),
        (table.to_reader(), TypeError, "can be read once"),
        (np.zeros((3, 2)), TypeError, "source is a ndarray: give files"),
        ([str(folder / "0.parquet"), __file__], ValueError, "ends in none of"),
    ):
        with pytest.raises(error, match=words):
            scan(source, target="y")
    rows = folder / "*.parquet"
    for given, words in (
        ({"target": "z"}, "target: 3 files has no column 'z'; it has 'size'"),
        ({"target": "y", "weight": "w"}, "weight: .* no column 'w'"),
        ({"target": "y", "columns": ["size", "no"]}, "columns: .* no column 'no'"),
        ({"target": "y", "columns": ["size", "y"]}, "columns has the target"),
        ({"target": "y", "columns": ["size", "size"]}, "twice"),
        ({"target": "y", "memory": "much"}, "memory must be a number of bytes"),
    ):
        with pytest.raises(ValueError, match=words):
            scan(rows, **given)


def test_sources_that_change(table, always):
    batches = table.to_batches(max_chunksize=1000)
    used_up = iter(batches)
    with pytest.raises(TypeError, match="the same iterator twice"):
        BoostingClassifier(max_iter=1).fit(scan(lambda: used_up, target="y", columns=["size"]))
    calls = []

    def shorter():
        calls.append(0)
        return iter(batches if len(calls) < 4 else batches[1:])

    with pytest.raises(ValueError, match="the source has other rows"):
        BoostingClassifier(max_iter=1).fit(scan(shorter, target="y", columns=["size"]))
    calls.clear()

    def turned():
        calls.append(0)
        return iter(batches if len(calls) < 4 else batches[::-1])

    with pytest.raises(ValueError, match="in another order"):
        BoostingClassifier(max_iter=1).fit(scan(turned, target="y", columns=["size"]))


@pytest.mark.parametrize("column", ["size", "copies", None])
def test_files_that_change_between_passes(column, table, tmp_path, always):
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=700)
    rows = scan(path, target="y", weight="copies", columns=["size", "level"])
    batches, passes = rows.source.batches, []

    def changing(*asked):
        passes.append(asked)
        if len(passes) == 3:
            others = table.slice(0, N - 1)  # fewer rows, or other values of the same ones
            if column is not None:
                others = table.set_column(table.column_names.index(column), column, pa.array(np.ones(N)))
            pq.write_table(others, path, row_group_size=700)
        return batches(*asked)

    rows.source.batches = changing
    with pytest.raises(ValueError, match=r"rows.parquet' has changed since it was scanned"):
        BoostingClassifier(max_iter=1).fit(rows)
    assert len(passes) >= 3


def test_a_file_that_is_gone(table, tmp_path, always):
    for k in range(2):
        pq.write_table(table, tmp_path / f"{k}.parquet")
    rows = scan(tmp_path, target="y", columns=["size"])
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(ValueError, match=r"1.parquet' has changed since it was scanned .it is gone"):
        BoostingClassifier(max_iter=1).fit(rows)


def test_what_a_scan_does_not_allow_is_refused_before_it_is_read(table, always):
    def unread():
        raise AssertionError("it was read")

    rows = scan(table, target="y", columns=["size"])
    rows.source.batches = unread
    model = BoostingClassifier()
    for given, words in (
        ({"y": [0, 1]}, "y is the target of the scan"),
        ({"sample_weight": [1, 1]}, "weight=name"),
        ({"groups": [1, 2]}, "groups is given by row"),
        ({"offset": [1.0, 2.0]}, "offset is given by row"),
        ({"fn_cost": [1.0, 2.0]}, "name a column of the scan"),
        ({"X_val": rows, "y_val": [0]}, "X_val must be a table in memory"),
    ):
        with pytest.raises(TypeError, match=words):
            model.fit(rows, **given)
    for parameters, words in (
        ({"algorithm": "uls_corrective"}, "coefficient='corrective' needs all rows in memory"),
        ({"max_iter": "cv"}, "max_iter='cv' learns from folds"),
        ({"calibrate": "platt"}, "calibrate='platt' learns from folds"),
    ):
        with pytest.raises(ValueError, match=words):
            BoostingClassifier(**parameters).fit(rows)
    with pytest.raises(TypeError, match="fn_cost is a function"):
        BoostingClassifier(fn_cost=lambda X: X).fit(rows)
    with pytest.raises(ValueError, match="the scan has no target"):
        model.fit(scan(table, columns=["size"]))


def test_queries_and_other_estimators_name_the_scan(table):
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"propriety\.scan\(X, target=…\)"):
        BoostingClassifier().fit(polars.from_arrow(table).lazy(), [0, 1])
    rows = scan(table, target="y", columns=["size"])
    for make in (LinearClassifier, propriety.RuleClassifier, propriety.AutoClassifier):
        with pytest.raises(TypeError, match=r"X is a propriety\.scan.*to_arrow"):
            make().fit(rows, None)
    with pytest.raises(TypeError, match=r"X is a propriety\.scan"):
        propriety.LossSearchCV(BoostingClassifier()).fit(rows, None)


def test_labels_and_columns_that_cannot_be(table, always):
    labels = table.column("y").to_pylist()
    without = table.set_column(6, "y", pa.array([None, *labels[1:]]))
    with pytest.raises(ValueError, match="'y' has rows without a label"):
        BoostingClassifier(max_iter=1).fit(scan(without, target="y", columns=["size"]))
    with pytest.raises(ValueError, match="continuous"):
        BoostingClassifier(max_iter=1).fit(scan(table, target="share", columns=["size"]))
    dated = table.append_column("when", pa.array(np.arange(N).astype("datetime64[D]")))
    with pytest.raises(ValueError, match="could not convert column 'when'"):
        BoostingClassifier(max_iter=1).fit(scan(dated, target="y", columns=["size", "when"]))


def test_a_model_predicts_by_name(table, always):
    model = BoostingClassifier(max_iter=2, random_state=0).fit(scan(table, target="y", columns=FEATURES))
    turned = scan(table.select(["text", "kind", "size", "level"]))
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(plain(table)))
    with pytest.raises(ValueError, match="no column 'text'"):
        model.predict_proba(scan(table.select(["kind", "size", "level"])))


@pytest.mark.parametrize("n_parts", [1, 3])
def test_callbacks_are_called_once_a_round_and_stop_every_part(n_parts, folder, always):
    pytest.importorskip("sklearn.callback")

    class Stopper:
        rounds = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **_):
            pass

        def on_fit_task_end(self, estimator, context, **_):
            self.rounds += context.task_name == "round"
            return self.rounds == 2

    stopper = Stopper()
    model = BoostingClassifier(max_iter=6, random_state=0).set_callbacks(stopper)
    out_of_core.fit_parts(
        model, scan(folder, target="y", columns=FEATURES), {}, n_parts, ProgressBar(shown=False)
    )
    assert (model.n_iter_, stopper.rounds) == (2, 2)


def test_an_interrupted_fit_keeps_its_rounds(folder, always, monkeypatch):
    from propriety.boosting import rounds

    advance = rounds.Booster.advance

    def interrupted(self, number):
        if number == 2:
            raise KeyboardInterrupt
        return advance(self, number)

    monkeypatch.setattr(rounds.Booster, "advance", interrupted)
    for n_parts in (1, 3):
        model = BoostingClassifier(max_iter=6, random_state=0)
        with pytest.raises(KeyboardInterrupt):
            out_of_core.fit_parts(
                model, scan(folder, target="y", columns=FEATURES), {}, n_parts, ProgressBar(shown=False)
            )
        assert model.n_iter_ == 2


def test_a_part_that_fails_ends_the_fit(table, always):
    broken = table.to_batches(max_chunksize=1000)

    def failing():
        yield from broken[:3]
        if len(opened) > 3:
            raise OSError("the disk is gone")
        yield broken[3]

    opened = []

    def source():
        opened.append(0)
        return failing()

    rows = scan(source, target="y", columns=["size"])
    with pytest.raises(OSError, match="the disk is gone"):
        out_of_core.fit_parts(BoostingClassifier(max_iter=2), rows, {}, 4, ProgressBar(shown=False))


def test_the_bar_tells_what_is_left(capsys, folder, always):
    BoostingClassifier(max_iter=2, verbose=1).fit(scan(folder, target="y", columns=["size"]))
    told = capsys.readouterr().err
    assert told.startswith("4,000 rows of 1 column in ")
    assert "rows read " in told
    assert "round 2/2" in told
    assert "s left" in told
