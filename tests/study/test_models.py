"""Rows that are fitted where they are give the model that a copy of them gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from propriety.data.table import Rows
from propriety.errors import ArgumentError
from propriety.study import models
from propriety.study.models import Arguments, FitRequest

BOOSTING = models.named("boosting")


@pytest.fixture(scope="module")
def rows():
    """A table in several chunks, more rows of it than are read into memory, and their labels and weights."""
    rng = np.random.default_rng(0)
    n = models.FEW + 12_000
    x = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    kind = pa.array(np.array(["a", "b", "c"])[rng.integers(0, 3, n)]).dictionary_encode()
    frame = pa.table(
        {"x": pa.array(x, from_pandas=True), "kind": kind, "z": rng.integers(0, 9, n).astype(float)}
    )
    frame = pa.concat_tables([frame.slice(0, 10_001), frame.slice(10_001)])
    chosen = rng.permutation(n)[: models.FEW + 5_000]
    return (
        frame,
        chosen,
        (np.nan_to_num(x) + rng.normal(size=n) > 0).astype(np.intp)[chosen],
        rng.random(len(chosen)),
    )


@pytest.fixture
def noted(monkeypatch):
    """What kind of table each fit was given."""
    kinds, made = [], models._fit

    def fit(spec, request, frame, *given):
        kinds.append(type(frame))
        return made(spec, request, frame, *given)

    monkeypatch.setattr(models, "_fit", fit)
    return kinds


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", [{}, {"early_stopping": True}, {"subsample": 0.5}])
def test_no_copy_gives_the_same_bits(rows, weighted, settings, noted):
    frame, chosen, y, weight = rows
    request = FitRequest(settings={"max_iter": 3, "max_leaf_nodes": 7} | settings)
    given = Arguments(weight if weighted else None)
    lazy = models.fit(BOOSTING, request, Rows(frame, chosen), y, given)
    plain = models.fit(BOOSTING, request, frame.take(pa.array(chosen)), y, given)
    assert noted == [Rows, pa.Table]
    np.testing.assert_array_equal(lazy.probabilities(frame), plain.probabilities(frame))


def test_rows_are_predicted_in_pieces(rows, monkeypatch):
    monkeypatch.setattr(models, "_PIECE", 7_001)
    frame, chosen, y, _ = rows
    fitted = models.fit(BOOSTING, FitRequest(settings={"max_iter": 3}), Rows(frame, chosen), y)
    alone = fitted.probabilities(frame.take(pa.array(chosen)))
    np.testing.assert_array_equal(fitted.probabilities(Rows(frame, chosen)), alone)


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ("tree", FitRequest(settings={"max_depth": 2})),
        ("boosting", FitRequest(search=True, settings={"max_iter": 1})),
    ],
)
def test_others_get_a_copy(rows, spec, asked, noted):
    frame, chosen, y, _ = rows
    models.fit(models.named(spec), asked, Rows(frame, chosen[:300]), y[:300])
    assert noted == [pa.Table]


def test_errors_are_told_of_a_copy(rows, noted):
    frame, chosen, y, _ = rows
    with pytest.raises(ArgumentError, match="max_bins"):
        models.fit(BOOSTING, FitRequest(settings={"max_bins": -1}), Rows(frame, chosen), y)
    assert noted == [Rows, pa.Table]
