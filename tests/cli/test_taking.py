"""Rows that are fitted where they are give the model that a copy of them gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from propriety.cli import recipes
from propriety.cli.output import UsageError
from propriety.cli.recipes import Arguments, Order
from propriety.data.table import Rows

BOOSTING = recipes.named(["boosting"])[0]


@pytest.fixture(scope="module")
def rows():
    """A table in several chunks, more rows of it than are read into memory, and their labels and weights."""
    rng = np.random.default_rng(0)
    n = recipes.FEW + 12_000
    x = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    kind = pa.array(np.array(["a", "b", "c"])[rng.integers(0, 3, n)]).dictionary_encode()
    frame = pa.table(
        {"x": pa.array(x, from_pandas=True), "kind": kind, "z": rng.integers(0, 9, n).astype(float)}
    )
    frame = pa.concat_tables([frame.slice(0, 10_001), frame.slice(10_001)])
    chosen = rng.permutation(n)[: recipes.FEW + 5_000]
    return (
        frame,
        chosen,
        (np.nan_to_num(x) + rng.normal(size=n) > 0).astype(np.intp)[chosen],
        rng.random(len(chosen)),
    )


@pytest.fixture
def noted(monkeypatch):
    """What kind of table each fit was given."""
    kinds, made = [], recipes._fit

    def fit(recipe, order, frame, y, given):
        kinds.append(type(frame))
        return made(recipe, order, frame, y, given)

    monkeypatch.setattr(recipes, "_fit", fit)
    return kinds


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", [{}, {"early_stopping": True}, {"subsample": 0.5}])
def test_no_copy_gives_the_same_bits(rows, weighted, settings, noted):
    frame, chosen, y, weight = rows
    order = Order(settings={"max_iter": 3, "max_leaf_nodes": 7} | settings)
    given = Arguments(weight if weighted else None)
    lazy = recipes.fit(BOOSTING, order, Rows(frame, chosen), y, given)
    plain = recipes.fit(BOOSTING, order, frame.take(pa.array(chosen)), y, given)
    assert noted == [Rows, pa.Table]
    np.testing.assert_array_equal(lazy.probabilities(frame), plain.probabilities(frame))


def test_rows_are_predicted_in_pieces(rows, monkeypatch):
    monkeypatch.setattr(recipes, "_PIECE", 7_001)
    frame, chosen, y, _ = rows
    fitted = recipes.fit(BOOSTING, Order(settings={"max_iter": 3}), Rows(frame, chosen), y)
    alone = fitted.probabilities(frame.take(pa.array(chosen)))
    np.testing.assert_array_equal(fitted.probabilities(Rows(frame, chosen)), alone)


@pytest.mark.parametrize(
    ("recipe", "order"),
    [
        ("tree", Order(settings={"max_depth": 2})),
        ("boosting", Order(search=True, settings={"max_iter": 1})),
    ],
)
def test_others_get_a_copy(rows, recipe, order, noted):
    frame, chosen, y, _ = rows
    recipes.fit(recipes.named([recipe])[0], order, Rows(frame, chosen[:300]), y[:300])
    assert noted == [pa.Table]


def test_errors_are_told_of_a_copy(rows, noted):
    frame, chosen, y, _ = rows
    with pytest.raises(UsageError, match="max_bins"):
        recipes.fit(BOOSTING, Order(settings={"max_bins": -1}), Rows(frame, chosen), y)
    assert noted == [Rows, pa.Table]
