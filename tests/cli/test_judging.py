"""Judging: a row of weight k is k rows, and no row that judges has a part in what it judges."""

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from running import as_json
from samples import columns

import propriety
from propriety import BoostingClassifier, LinearClassifier
from propriety.cli.study import study_of
from propriety.cli.training import TrainingTable
from propriety.study.models import FitRequest, ModelSpec
from propriety.study.splitting import split_rows
from propriety.tables import Overrides, TableCosts, infer, open_source
from propriety.tree import TreeClassifier

# --- which rows take part -------------------------------------------------------------------------------


class Recording(TreeClassifier):
    """A tree that notes the rows it sees."""

    seen: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append(("fit", rows_of(X)))
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        self.seen.append(("judge", rows_of(X)))
        return super().predict_proba(X)


def rows_of(frame):
    return frozenset(int(v) for v in frame.column("place").to_pylist())


SPEC = ModelSpec("recording", "recording", lambda request, costs, n: Recording(max_leaf_nodes=4))
N = 120


@pytest.fixture
def training(tmp_path, monkeypatch):
    monkeypatch.setattr(Recording, "seen", [])
    data = {name: [str(v) for v in values] for name, values in columns(N).items()}
    table = pa.table({**data, "place": [str(i) for i in range(N)]})
    findings = infer(table, "sick", overrides=Overrides(keep=("place",)))
    (tmp_path / "t.csv").write_text("a\n1\n")
    with open_source(str(tmp_path / "t.csv")) as source:
        frame = findings.columns.encode(table)[0]
        yield TrainingTable(
            source, findings, frame, findings.codes, stated=TableCosts.read({"fn_cost": "4"}, [])
        )


def test_no_row_that_judges_has_a_part_in_what_it_judges(training):
    split = split_rows(training.y, 3, None, 0)
    study_of(training, FitRequest(), [SPEC], split, refit=False).run()
    seen = iter(Recording.seen)
    for _, test in split.pairs:
        (fitted, learned_from), (judged, rows) = next(seen), next(seen)
        assert (fitted, judged) == ("fit", "judge")
        assert rows == frozenset(test.tolist())
        assert not learned_from & rows


def test_the_model_that_is_kept_is_fitted_to_all_rows(training):
    study = study_of(training, FitRequest(), [SPEC], split_rows(training.y, 2, None, 0)).run()
    assert [rows for what, rows in Recording.seen if what == "fit"][2] == frozenset(range(N))
    assert study.judgement.name == "recording"


@pytest.mark.parametrize("model", ["linear", "boosting"])
def test_a_column_of_many_levels_without_effect_does_not_count(tmp_path, model):
    """Sixty levels that say nothing beside one number that does: the same measure for every model."""
    rng = np.random.default_rng(0)
    n = 600
    x, level = rng.normal(size=n), rng.integers(0, 60, n)
    y = rng.uniform(size=n) < 1 / (1 + np.exp(-1.5 * x))
    lines = ["x,level,y", *(f"{a:.4f},l{b},{int(c)}" for a, b, c in zip(x, level, y, strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    few = ("--set", "max_iter=20") if model == "boosting" else ()
    saved = tmp_path / "m"
    fit = ("fit", tmp_path / "t.csv", "-t", "y", "--model", model, "--holdout", "0.5", "--save", saved)
    result = as_json(*fit, *few)
    assert result["importances"]["x"] > 0.05
    assert result["importances"]["level"] < result["importances"]["x"] / 4
    again = as_json("explain", saved)
    assert again["importances"] == result["importances"]
    assert propriety.load(saved).importances()[0] > 0.5  # by the model's own account


def test_rows_in_order_of_time_that_are_judged_at_random_are_told_what_time_says(tmp_path):
    """What x says turns round halfway: at random nobody sees it, by time it costs more than no model."""
    rng = np.random.default_rng(0)
    n = 600
    x, when = rng.normal(size=n), np.sort(rng.uniform(0, 1e4, n))
    sign = np.where(np.arange(n) < 0.75 * n, 1, -1)
    y = rng.uniform(size=n) < 1 / (1 + np.exp(-3 * sign * x))
    lines = ["when,x,y", *(f"{t:.3f},{a:.4f},{int(c)}" for t, a, c in zip(when, x, y, strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    given = ("fit", tmp_path / "t.csv", "-t", "y", "--model", "linear", "--holdout", "0.3")
    (told,) = [text for text in as_json(*given)["warnings"] if "in order of 'when'" in text]
    by_time = as_json(
        "fit", tmp_path / "t.csv", "-t", "y", "--model", "linear", "--holdout", "0.25", "--time", "when"
    )
    cost = by_time["judgements"][0]["cost_per_1000"]
    assert f"cost {cost:,.0f} " in told
    assert "more than" in told
    assert "may be chance" not in told
    assert not any("in order of" in text for text in by_time["warnings"])
    rng.shuffle(lines[1:])
    shuffled = [lines[0], *rng.permutation(lines[1:])]
    (tmp_path / "t.csv").write_text("\n".join(shuffled))
    assert not any("in order of" in text for text in as_json(*given)["warnings"])


def test_rounds_that_end_at_once_or_at_their_limit_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    noise, signal = rng.integers(0, 2, 400), (X[:, 0] > 0).astype(int)
    given = {"max_iter": 5, "early_stopping": True, "max_leaf_nodes": 3, "random_state": 0}
    (text,) = BoostingClassifier(**given).fit(X, signal).remarks
    assert "limit of 5 rounds" in text
    (text,) = (
        BoostingClassifier(**given | {"learning_rate": 1.0, "min_samples_leaf": 1}).fit(X, noise).remarks
    )
    assert "stopped" in text
    assert BoostingClassifier(max_iter=3).fit(X, signal).remarks == []
    assert LinearClassifier(alpha=0.1).fit(X, signal).remarks == []
