"""Studies of rows that are read in parts."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.frozen import FrozenEstimator

from propriety import BoostingClassifier, Costs, Study, scan
from propriety.errors import ArgumentError
from propriety.study.streamed import chosen

N = 2000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=N), "z": rng.normal(size=N), "amount": rng.random(N) + 0.5})
    late = np.where(X["x"] + rng.normal(size=N) > 0.5, "yes", "no")
    return X, late, rng.integers(1, 4, N).astype(float)


@pytest.mark.parametrize("costs", [Costs(1, 4), Costs(0.5, "amount")])
def test_a_scan_is_judged_as_rows_in_memory_are(table, costs):
    X, late, weight = table
    judges = chosen(np.arange(N, dtype=np.uint64), 0.25, 0)
    model = BoostingClassifier(max_iter=10, costs=costs, random_state=0)
    fitted = model.fit(X[~judges], late[~judges], sample_weight=weight[~judges])
    inside = Study.from_estimator(
        fitted, X[judges], late[judges], sample_weight=weight[judges], name="BoostingClassifier"
    )
    rows = scan(pa.Table.from_pandas(X.assign(late=late, weight=weight)), target="late", weight="weight")
    study = Study(BoostingClassifier(max_iter=10, random_state=0), rows, costs=costs)
    assert study.judgement.cost == inside.judgement.cost
    assert study.best_constant.cost == inside.best_constant.cost
    assert study.judgement.log_loss == inside.judgement.log_loss
    assert f"{judges.sum()} of 2,000 rows" in study.summary()
    assert "Counterfactuals" in study.report()


def test_a_study_of_a_scan_boosts_unless_asked_otherwise(table):
    X, late, _ = table
    study = Study(X=scan(pa.Table.from_pandas(X.assign(late=late)), target="late"), rivals=["tree"])
    assert [rule.name for rule in study.models] in (
        ["propriety boosting", "propriety tree"],
        ["propriety tree", "propriety boosting"],
    )
    assert len(study.split.rows) < N / 3


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("cv", {"cv": 5}),
        ("groups", {"groups": np.zeros(N)}),
        ("y", {"y": np.zeros(N)}),
        ("model", {"model": "linear"}),
        ("X", {"model": FrozenEstimator(BoostingClassifier())}),
    ],
)
def test_what_needs_all_rows_is_refused_by_its_argument(table, argument, given):
    X, late, _ = table
    rows = scan(pa.Table.from_pandas(X.assign(late=late)), target="late")
    with pytest.raises(ArgumentError, match=argument) as refused:
        Study(**{"model": "tree", "X": rows} | given).run()
    assert refused.value.argument == argument
