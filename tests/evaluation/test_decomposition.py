"""Miscalibration, discrimination, uncertainty; isotonic recalibration."""

import numpy as np
import pytest
from model_diagnostics.scoring import ElementaryScore, LogLoss, SquaredError, decompose
from sklearn.isotonic import IsotonicRegression

from propriety import evaluation, losses


def test_recalibration_agrees_with_scikit_learn(rows):
    y, p, weight, _ = rows
    curve = evaluation.recalibrate(y, p, weight)
    kept = weight > 0
    peer = IsotonicRegression().fit(p[kept], y[kept], sample_weight=weight[kept])
    np.testing.assert_allclose(curve.rate, peer.predict(curve.p), atol=1e-12)
    inside = np.linspace(curve.p[0], curve.p[-1], 50)
    np.testing.assert_allclose(curve(inside), peer.predict(inside), atol=1e-12)
    rate, _, mass = curve.blocks
    assert np.all(np.diff(rate) > 0)
    assert np.sum(rate * mass) == pytest.approx(np.sum(weight * y))


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_agree_with_model_diagnostics(rows, weighted):
    y, p, weight, _ = rows
    w = weight + 0.5 if weighted else None
    for loss, peer in [
        ("Squared", SquaredError()),
        ("Log", LogLoss()),
        ("CostWeighted(0.3)", ElementaryScore(0.3, functional="mean")),
    ]:
        ours = evaluation.decomposition(y, p, loss, sample_weight=w)
        theirs = decompose(y, p, weights=w, scoring_function=peer)
        parts = [ours.miscalibration, ours.discrimination, ours.uncertainty, ours.score]
        expected = [theirs[name][0] for name in ("miscalibration", "discrimination", "uncertainty", "score")]
        np.testing.assert_allclose(parts, expected, atol=1e-10)


@pytest.mark.parametrize("loss", losses.examples(), ids=repr)
def test_parts_of_every_loss(loss, rows):
    y, p, weight, _ = rows
    parts = evaluation.decomposition(y, p, loss, sample_weight=weight)
    assert parts.score == pytest.approx(evaluation.mean_loss(y, p, loss, sample_weight=weight), rel=1e-10)
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert total == pytest.approx(parts.score, rel=1e-10)
    assert min(parts.miscalibration, parts.discrimination, parts.uncertainty) >= 0
    # One recalibration is best by this loss too: moving any block's rate costs.
    best = evaluation.recalibrate(y, p, weight)
    recalibrated = best(p)
    least = evaluation.mean_loss(y, recalibrated, loss, sample_weight=weight)
    assert least == pytest.approx(parts.score - parts.miscalibration, rel=1e-9)
    again = evaluation.decomposition(y, recalibrated, loss, sample_weight=weight)
    assert again.miscalibration == pytest.approx(0, abs=1e-9 * max(parts.score, 1e-300))
    for power in (0.8, 1.2):
        assert evaluation.mean_loss(y, recalibrated**power, loss, sample_weight=weight) >= least * (1 - 1e-12)


def test_constant_and_perfect_and_one_class():
    flat = evaluation.decomposition([0, 1, 0, 0], [0.4] * 4, "Log")
    assert flat.discrimination == 0
    assert flat.skill < 0
    perfect = evaluation.decomposition([0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0], "Log")
    assert perfect.miscalibration == perfect.score == 0
    assert perfect.discrimination == perfect.uncertainty == pytest.approx(np.log(2))
    one = evaluation.decomposition([1, 1], [0.9, 0.8], "Log")
    assert one.uncertainty == one.discrimination == 0
    assert np.isnan(one.skill)
    wrong = evaluation.decomposition([1, 0], [0.0, 0.5], "Log")
    assert wrong.miscalibration == np.inf
