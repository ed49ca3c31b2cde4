"""What columns count for, by the loss on rows whose values were dealt out anew."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from propriety import LinearClassifier, TreeClassifier, evaluation
from propriety.evaluation.companions import companions
from propriety.evaluation.importance import Importance


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 1200
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "level": pd.Categorical(rng.choice([f"l{k}" for k in range(40)], n)),
            "noise": rng.normal(size=n),
        },
        index=np.arange(n)[::-1],
    )
    y = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-2 * frame["x"])), "yes", "no")
    return frame, y


def test_only_what_matters_counts(table):
    X, y = table
    model = TreeClassifier(max_leaf_nodes=6, categorical_features="from_dtype").fit(X[:600], y[:600])
    found = evaluation.importance(model, X[600:], y[600:]).estimates
    assert list(found) == ["x", "level", "noise"]
    assert found["x"].low > 0.05
    assert all(abs(found[name].value) < 0.05 for name in ("level", "noise"))


def test_columns_that_go_together_are_named_and_refitting_without_one_costs_little():
    rng = np.random.default_rng(3)
    first = rng.normal(size=2000)
    X = np.column_stack([first, first + 0.02 * rng.normal(size=2000), rng.normal(size=2000)])
    y = (first + rng.normal(size=2000) > 0).astype(int)
    model = LinearClassifier(alpha=0.0).fit(X[:1000], y[:1000])
    rises = evaluation.importance(model, X[1000:], y[1000:]).estimates
    less = LinearClassifier(alpha=0.0).fit(X[:1000, 1:], y[:1000])
    worth = evaluation.mean_loss(y[1000:], less.predict_proba(X[1000:, 1:]), "Log") - evaluation.mean_loss(
        y[1000:], model.predict_proba(X[1000:]), "Log"
    )
    assert rises["x0"].low > 10 * abs(worth)  # relied on, and not needed
    found = companions({f"x{j}": X[1000:, j] for j in range(3)})
    assert (found["x0"].name, found["x0"].close) == ("x1", True)
    assert found["x0"].correlation > 0.99
    assert not found["x2"].close


def test_columns_without_ranks_go_with_none():
    x = np.arange(30.0)
    columns = {"x": x, "same": np.ones(30), "text": x.astype(str), "gone": np.where(x > 3, np.nan, x)}
    assert set(companions(columns)) == {"x", "gone"}
    assert companions({"x": x}) == {}


def test_it_is_the_mean_rise_of_the_loss_over_all_ways_to_deal(table):
    """Against the mean over every shift of the column, which deals each value to each row once."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 2))
    y = (X[:, 0] + rng.normal(size=150) > 0).astype(int)
    model = LinearClassifier(alpha=0.01).fit(X, y)

    def loss(X):
        return evaluation.mean_loss(y, model.predict_proba(X), "Squared")

    shifted = [loss(np.column_stack([np.roll(X[:, 0], k), X[:, 1]])) for k in range(150)]
    found = evaluation.importance(model, X, y, loss="Squared").estimates["x0"]
    assert found.value == pytest.approx(np.mean(shifted) - loss(X), rel=0.1)
    assert found.low < found.value < found.high


def test_frames_arrays_and_sparse_matrices_are_alike():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    y = (X[:, 1] > 0).astype(int)
    model = LinearClassifier(alpha=0.1).fit(X, y)
    named = LinearClassifier(alpha=0.1).fit(pd.DataFrame(X, columns=list("abc")), y)
    expected = evaluation.importance(model, X, y).increases
    for other, form in (
        (model, sparse.csr_array(X)),
        (named, pd.DataFrame(X, columns=list("abc"), index=np.arange(200)[::-1])),
        (named, pa.table(dict(zip("abc", X.T, strict=True)))),
    ):
        np.testing.assert_allclose(evaluation.importance(other, form, y).increases, expected, atol=1e-12)


def test_a_rare_class_is_judged_whole_and_counts_as_often_as_it_is():
    rng = np.random.default_rng(3)
    x = rng.normal(size=20_000)
    y = (rng.uniform(size=20_000) < 0.01 * np.exp(x - 0.5)).astype(int)

    def predict(X):
        return np.clip(0.01 * np.exp(X[:, 0] - 0.5), 0, 1)

    part = evaluation.importance(predict, x[:, None], y, most=1000)
    assert part.increases.shape == (1, 500 + y.sum())
    whole = evaluation.importance(predict, x[:, None], y, most=10**6).estimates["x0"]
    found = part.estimates["x0"]
    assert found.low < whole.value < found.high
    assert part.weights.total == pytest.approx(20_000)


def test_parts_are_joined_row_by_row_and_columns_dealt_together():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    model = LinearClassifier(alpha=0.1).fit(X, y)
    both = {"both": [0, 1]}
    halves = [evaluation.importance(model, X[i::2], y[i::2], columns=both) for i in range(2)]
    joined = Importance.join(halves)
    assert joined.names == ("both",)
    assert joined.increases.shape == (1, 300)
    mean = np.mean([half.estimates["both"].value for half in halves])
    assert joined.estimates["both"].value == pytest.approx(mean, rel=0.02)
