"""Rows that are fitted in batches, without a copy, give the model that a copy gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from propriety.cli import recipes
from propriety.cli.recipes import Arguments, Order
from propriety.cli.taking import Taken

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


@pytest.mark.parametrize("weighted", [False, True])
def test_no_copy_gives_the_same_bits(rows, weighted):
    frame, chosen, y, weight = rows
    order = Order(settings={"max_iter": 3, "max_leaf_nodes": 7})
    given = Arguments(weight if weighted else None)
    lazy = recipes.fit_taken(BOOSTING, order, Taken(frame, chosen, y, given.weight), given)
    plain = recipes.fit(BOOSTING, order, frame.take(pa.array(chosen)), y, given)
    np.testing.assert_array_equal(lazy.probabilities(frame), plain.probabilities(frame))


@pytest.mark.parametrize(
    ("recipe", "order", "given"),
    [
        ("tree", Order(), Arguments()),
        ("boosting", Order(search=True), Arguments()),
        ("boosting", Order(), Arguments(offset=np.zeros(3))),
        ("boosting", Order(settings={"max_iter": "cv"}), Arguments()),
        ("boosting", Order(settings={"max_bins": -1}), Arguments()),
    ],
)
def test_what_needs_all_rows_at_once_is_left_to_fit(rows, recipe, order, given):
    frame, chosen, y, _ = rows
    assert recipes.fit_taken(recipes.named([recipe])[0], order, Taken(frame, chosen, y, None), given) is None
    few = Taken(frame, chosen[:100], y[:100], None)
    assert recipes.fit_taken(BOOSTING, Order(), few, Arguments()) is None
