"""Rows that a model was fitted to are known again, by what they hold."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import propriety
from propriety import LinearClassifier, TreeClassifier
from propriety.data.seen import RowSketch
from propriety.data.table import Schema
from propriety.model.seen import RowsAsked, rows_seen
from propriety.study import Study

RNG = np.random.default_rng(3)
X = RNG.normal(size=(3000, 4))
Y = (X[:, 0] + RNG.normal(size=3000) > 0).astype(int)


def sketch(X):
    return RowSketch.of(Schema.fit(X)[1])


def asked(known, X):
    return sketch(known).asked(Schema.fit(X)[1])


@pytest.mark.parametrize("n", [40, 200, 2000])
def test_training_rows_and_new_rows_are_told_apart(n):
    same, new, mixed = asked(X[:n], X[:n]), asked(X[:n], X[n : 2 * n]), asked(X[:n], X[n // 2 : 3 * n // 2])
    assert (same.share, same.some, same.none) == (1, True, False)
    assert (new.share, new.some, new.none) == (0, False, True)
    assert mixed.some
    assert mixed.share == pytest.approx(0.5, abs=0.15)


def test_part_of_the_training_rows_is_known_again():
    part = asked(X[:2000], X[100:700:2])
    assert (part.share, part.some) == (1, True)


def test_the_sketch_depends_on_no_order_no_copies_and_no_weights():
    once = sketch(X)
    assert np.array_equal(once.hashes, sketch(X[::-1]).hashes)
    assert np.array_equal(once.hashes, sketch(np.repeat(X, 3, axis=0)).hashes)
    fitted = LinearClassifier(), LinearClassifier()
    one, other = fitted
    weight = np.arange(3000) % 3
    one.fit(X, Y, weight)
    copies = np.repeat(np.arange(3000), weight)
    other.fit(X[copies], Y[copies])
    assert np.array_equal(*(model._training_rows.hashes for model in fitted))


def test_a_row_is_the_same_in_any_kind_of_table():
    rows = np.where(RNG.uniform(size=(300, 3)) < 0.5, 0, np.round(RNG.normal(size=(300, 3)), 2))
    wanted = sketch(rows).hashes
    zeros = np.where(rows == 0, -0.0, rows)
    for table in (rows.astype(np.float32), np.asfortranarray(rows), zeros, pd.DataFrame(rows)):
        assert np.array_equal(sketch(table).hashes, wanted)
    for matrix in (sparse.csr_array(rows), sparse.csc_array(rows)):
        assert np.array_equal(sketch(matrix).hashes, wanted)
    missing = np.where(rows == 0, np.nan, rows)
    assert np.array_equal(sketch(missing).hashes, sketch(np.where(rows == 0, -np.nan, rows)).hashes)


def test_rows_that_many_cases_share_are_no_proof():
    """New rows of a few columns of few values equal training rows, so nothing can be said of them."""
    rows = (RNG.uniform(size=(3000, 5)) < 0.3).astype(float)
    new = asked(rows[:2000], rows[2000:])
    assert new.share > 0.9
    assert (new.some, new.none, new.judged_by, new.warning) == (False, False, "", "")


def test_a_table_in_pieces_is_asked_about_as_a_whole():
    model = TreeClassifier(max_leaf_nodes=3).fit(X[:2000], Y[:2000])
    pieces = RowsAsked(model)
    for start in range(0, 2000, 300):
        pieces.add(X[start : min(start + 300, 2000)])
    assert pieces.answer == rows_seen(model, X[:2000])


def test_a_model_file_keeps_what_it_knows_and_a_forged_one_is_refused(tmp_path):
    model = LinearClassifier().fit(X[:500], Y[:500])
    model.save(tmp_path / "m")
    assert rows_seen(propriety.load(tmp_path / "m"), X[:500]).share == 1
    state, arrays = model.state()
    text = state["training_rows"]
    for forged in (text[:-1], text[:-2], text[16:32] + text[:16], "", "x" * 16, text * 2):
        with pytest.raises(propriety.storage.ModelFileError, match="hashes of rows"):
            LinearClassifier.from_state({}, {**model.state()[0], "training_rows": forged}, arrays)


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: make_pipeline(StandardScaler(), m)])
def test_a_report_says_what_is_known_of_the_judging_rows(wrap):
    model = wrap(TreeClassifier(max_leaf_nodes=8)).fit(X[:1000], Y[:1000])
    report = Study.from_estimator(model, X[:1000], Y[:1000])
    assert report.split.text == "rows that the model was fitted to"
    assert "was fitted to the rows that judge it" in report.warnings[-1].text + report.report()
    fresh = Study.from_estimator(model, X[1000:2000], Y[1000:2000])
    assert fresh.split.text == "rows that the model was not fitted to"
    assert fresh.remarks == []


def test_a_report_does_not_claim_what_is_not_known():
    from sklearn.linear_model import LogisticRegression

    for page in (
        Study.from_estimator(LogisticRegression().fit(X, Y), X, Y).report(),
        Study.from_predictions(Y, np.full(3000, 0.5)).report(),
    ):
        assert "It is not known whether the model has seen these rows." in page
        assert "has not seen" not in page
