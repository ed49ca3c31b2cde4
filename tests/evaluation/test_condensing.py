"""Dask collections are judged by their distinct rows, as the same rows here; or refused by name."""

import inspect

import numpy as np
import pandas as pd
import pytest

from propriety import Costs, evaluation
from propriety.evaluation import condensing
from propriety.evaluation.calibration import calibration_cross_entropy
from propriety.evaluation.dominance import dominance

da = pytest.importorskip("dask.array", reason="dask is not installed")
import dask.dataframe as dd  # noqa: E402

N = 900
AT = np.linspace(0.05, 0.95, 7)
CHUNKS = (0, 300, 1, 0, 599)


def lazy(values):
    """A collection of uneven chunks, some of them empty."""
    if values is None or np.ndim(values) == 0:
        return values
    return da.from_array(values, chunks=(CHUNKS, values.shape[1:]) if values.ndim > 1 else (CHUNKS,))


@pytest.fixture(scope="module", params=["once", "copies", "relative"])
def rows(request):
    rng = np.random.default_rng(0)
    p = rng.random(N).round(2)
    weight = {"copies": rng.integers(0, 4, N), "relative": rng.random(N)}.get(request.param)
    return (rng.random(N) < p).astype(int), p, weight, rng.random(N).round(2)


def close(one, other, tolerance=1e-12):
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_murphy_curves_with_their_errors(rows):
    y, p, weight, other = rows
    fn_cost = 1 + np.arange(N) % 3
    for make, given in (
        (evaluation.murphy_curve, (y, p, weight)),
        (evaluation.murphy_difference, (y, p, other, weight)),
    ):
        for costs in ({}, {"fn_cost": fn_cost}):
            here = make(*given, **costs)
            there = make(*map(lazy, given), **{name: lazy(values) for name, values in costs.items()})
            close(here(AT), there(AT))
            close(here.area("Squared"), there.area("Squared"))
            close(here.standard_error(AT), there.standard_error(AT), 1e-10)
            close(
                here.factor(simultaneous=True, n_resamples=50),
                there.factor(simultaneous=True, n_resamples=50),
            )
    if weight is None:
        curve = evaluation.murphy_curve(lazy(y), lazy(p))
        assert len(curve.y) < N / 3
        assert curve.times.sum() == N


@pytest.mark.parametrize(
    "judge",
    [
        evaluation.mean_loss,
        evaluation.calibration_error,
        lambda *rows, **weight: evaluation.calibration_slope(*rows, **weight).value,
        calibration_cross_entropy,
        lambda *rows, **weight: evaluation.calibration_slope(*rows, **weight).low,
        lambda *rows, **weight: evaluation.decomposition(*rows, "Squared", **weight).miscalibration,
        lambda *rows, **weight: evaluation.recalibrate(*rows, **weight).rate,
        lambda *rows, **weight: evaluation.ranking_curve(*rows, **weight).average_precision,
        lambda y, p, **weight: dominance(y, p, p**2 + 0.1 * p[:, :1], low=0.2, **weight).worst,
        lambda *rows, **weight: evaluation.calibration_error(*rows, **weight, strategy="quantile", norm="l2"),
    ],
)
def test_losses_and_calibration(rows, judge):
    y, p, weight, _ = rows
    p = np.clip(p, 0.01, 0.99)
    labels, P = np.array(["no", "yes"])[y], np.column_stack([1 - p, p])
    close(
        judge(labels, P, sample_weight=weight), judge(lazy(labels), lazy(P), sample_weight=lazy(weight)), 1e-8
    )


def test_reliability_has_the_same_curve_and_a_band_like_it(rows):
    y, p, weight, _ = rows
    here = evaluation.reliability(y, p, sample_weight=weight, n_resamples=400)
    there = evaluation.reliability(lazy(y), lazy(p), sample_weight=lazy(weight), n_resamples=400)
    close(here.curve.rate, there.curve.rate)
    for end in ("low", "high"):
        assert np.abs(getattr(here, end) - getattr(there, end)).mean() < 0.015


@pytest.mark.parametrize("kind", ["numbers", "by row", "matrix"])
def test_costs_with_their_intervals(rows, kind):
    y, p, weight, _ = rows
    labels, decision = np.array(["bad", "good"])[y], np.where(p > 0.4, "good", "bad")
    costs = {
        "numbers": {"fp_cost": 1, "fn_cost": 5, "pos_label": "bad"},
        "by row": {"costs": Costs(fn=1.0 + np.arange(N) % 4, tn_benefit=0.5, pos_label="good")},
        "matrix": {"costs": Costs(matrix=np.array([[0, 2], [7, 0]]))},
    }[kind]
    asked = costs
    if kind == "by row":
        asked = {"costs": costs["costs"].replace(fn=lazy(costs["costs"].fn))}
    here = evaluation.cost_summary(labels, decision, sample_weight=weight, **costs)
    there = evaluation.cost_summary(lazy(labels), lazy(decision), sample_weight=lazy(weight), **asked)
    assert here.constant == there.constant
    for part in ("mean", "total", "saved"):
        for end in ("value", "low", "high"):
            close(getattr(getattr(here, part), end), getattr(getattr(there, part), end), 1e-10)
    mean = evaluation.mean_cost(lazy(labels), lazy(decision), sample_weight=lazy(weight), **asked)
    close(mean, evaluation.mean_cost(labels, decision, sample_weight=weight, **costs))


def test_frames_and_several_classes():
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.ones(3), N)
    y = np.array(list("abc"))[rng.integers(0, 3, N)]
    frame = dd.from_pandas(pd.DataFrame(P).assign(y=y), npartitions=3, sort=False)
    loss = evaluation.mean_loss(frame["y"], frame[[0, 1, 2]].to_dask_array(lengths=True))
    close(loss, evaluation.mean_loss(y, P))


def test_more_distinct_rows_than_there_is_room_for(rows, monkeypatch):
    y, p, weight, other = rows
    p = np.clip(p + other / 1000, 1e-9, 1)
    monkeypatch.setattr(condensing, "MOST", 400)
    with pytest.warns(UserWarning, match="rounded to 16 binary digits"):
        there = evaluation.murphy_curve(lazy(y), lazy(p), lazy(weight))
    here = evaluation.murphy_curve(y, p, weight)
    close(here.area("Log"), there.area("Log"), 1e-4)
    close(here.standard_error(AT), there.standard_error(AT), 1e-3)
    with pytest.raises(ValueError, match="400 rows with different costs"):
        evaluation.murphy_curve(lazy(y), lazy(p), fn_cost=lazy(p))


def test_clear_errors(rows):
    y, p, _, _ = rows
    with pytest.raises(TypeError, match="p is a ndarray, and y a Dask collection"):
        evaluation.murphy_curve(lazy(y), p)
    with pytest.raises(ValueError, match="same partitions"):
        evaluation.murphy_curve(lazy(y), da.from_array(p, chunks=100))
    with pytest.raises(ValueError, match=r"p must lie in \[0, 1\]"):
        evaluation.murphy_curve(lazy(y), lazy(p + 1))
    with pytest.raises(ValueError, match="no rows"):
        evaluation.murphy_curve(da.zeros(0, dtype=int), da.zeros(0))


#: Functions that take rows and judge collections of them, and those that take no rows.
JUDGES = {
    "calibration_error",
    "calibration_slope",
    "cost_summary",
    "decomposition",
    "mean_cost",
    "mean_loss",
    "murphy_curve",
    "murphy_difference",
    "ranking_curve",
    "recalibrate",
    "reliability",
}
WITHOUT_ROWS = {"cost_scorer", "scorer", "holm", "compare", "nearest_flip", "excess_cost_bound"}
FUNCTIONS = [name for name in evaluation.__all__ if inspect.isfunction(getattr(evaluation, name))]


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - JUDGES - WITHOUT_ROWS))
def test_what_needs_all_rows_refuses_collections_by_name(name):
    judge, y = getattr(evaluation, name), da.from_array(np.tile([0, 1], 50), chunks=50)
    p = da.from_array(np.linspace(0.1, 0.9, 100), chunks=50)
    given = {"y": y, "y_true": y, "p": p, "other": p, "eta": p, "q": p, "X": p[:, None], "decision": y}
    given |= {"margins": p, "x": p, "fp_cost": p, "probabilities": p, "target": y, "groups": y}
    wanted = inspect.signature(judge).parameters.values()
    needed = [k.name for k in wanted if k.default is k.empty or name in ("threshold", "weak_learning")]
    with pytest.raises(TypeError, match="Dask"):
        judge(**{k: given.get(k) for k in needed})
