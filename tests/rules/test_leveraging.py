"""Coefficients of rules: zero edges, against SciPy, the linear solver and closed forms."""

import numpy as np
import pytest
from scipy.optimize import brentq

from propriety import losses
from propriety.rules import leveraging
from propriety.separators import uls
from propriety.separators.bags import composite_of
from propriety.separators.margins import MarginLoss, Margins
from propriety.weights import Weights

LOSSES = ["Log()", "Exponential()", "Matsushita()", "Mu(0.3)", "Squared()", "GLaplace(1.0)", "GBoost(2.0)"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.4).astype(np.uint8)
    holds = (rng.random(300) < 0.3 + 0.4 * y).astype(np.uint8)
    return y, holds, rng.normal(0, 0.3, 300), rng.integers(1, 5, 300).astype(float)


def sample_of(y, w=None):
    return leveraging.RuleSample(y, Weights.read(w, len(y)), 1)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_edge_on_the_new_weights_is_zero(rows, loss, weighted):
    y, holds, F, w = rows
    composite = composite_of(loss, None)
    sample = sample_of(y, w if weighted else None)
    delta, point, errs = leveraging.leverage(sample, composite, sample.at(composite, F), holds)
    h, weight = 2.0 * holds - 1, w if weighted else np.ones(300)

    def edge(d):
        return float(np.sum(weight * h * np.asarray(composite.gradient(y, F + d * h))))

    assert errs
    assert delta == pytest.approx(brentq(edge, -5, 5, xtol=1e-14, rtol=1e-14), abs=1e-10)
    np.testing.assert_allclose(point.F, F + delta * h, atol=1e-12)


@pytest.mark.parametrize("loss", ["Log()", "Exponential()", "Squared()"])
@pytest.mark.parametrize("farthest", [1.0, 300.0])
def test_scores_in_one_pass_have_the_derivatives_of_the_formulas(loss, farthest):
    """Also of so many rows that threads share them, and of scores that no table holds."""
    n, composite = 70_000, composite_of(loss, None)
    rng = np.random.default_rng(1)
    y, holds = (rng.integers(0, 2, n, dtype=np.uint8) for _ in range(2))
    F = rng.uniform(-0.4, 0.4, n)
    F[[0, n // 2, n - 1]] = farthest if composite.link.has_real_range else 0.4
    point = leveraging.RuleSample(y, Weights.read(None, n), 2).moved(composite, F, holds, 0.1, -0.1)
    moved = F + np.where(holds, 0.1, -0.1)
    np.testing.assert_array_equal(point.F, moved)
    np.testing.assert_allclose(point.g, composite.gradient(y, moved), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(point.h, composite.hessian(y, moved), rtol=1e-11, atol=1e-13)
    assert point.tops == (np.abs(point.g).max(), np.abs(point.h).max())


def test_weights_that_have_all_but_vanished_are_still_weights():
    sample = sample_of(np.array([0, 1, 1], dtype=np.uint8))
    point = leveraging.ScoredRows(np.zeros(3), np.array([1e-300, -1e-300, 0.0]), np.zeros(3), (1e-300, 0.0))
    first, second, third = sample.quantized(point)
    assert first == second > 0
    assert third == 0


def test_the_exponential_loss_has_adaboosts_step(rows):
    y, holds, _, _ = rows
    composite = losses.Exponential().composite()
    sample = sample_of(y)
    delta, _, _ = leveraging.leverage(sample, composite, sample.at(composite, np.zeros(300)), holds)
    right = np.mean(holds == y)
    assert delta == pytest.approx(0.5 * np.log(right / (1 - right)), abs=1e-13)


@pytest.mark.parametrize("loss", ["Log()", "Matsushita()"])
def test_the_linear_solver_agrees(rows, loss):
    y, holds, F, w = rows
    composite, signs = composite_of(loss, None), 2.0 * y - 1
    problem = Margins((signs * (2.0 * holds - 1))[:, None], MarginLoss(composite), w / w.sum())
    v = signs * F
    state = uls.UlsState(np.zeros(1), v, problem.values(v), problem.edges(problem.weights(v)))
    expected = uls.step(state, problem, "all").coef[0]
    sample = sample_of(y, w)
    delta, _, _ = leveraging.leverage(sample, composite, sample.at(composite, F), holds)
    assert delta == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("loss", ["Log()", "Exponential()", "Matsushita()", "Squared()"])
def test_a_rule_without_mistakes_has_a_finite_coefficient(rows, loss):
    y, _, _, _ = rows
    composite = composite_of(loss, None)
    sample = sample_of(y)
    delta, _, errs = leveraging.leverage(sample, composite, sample.at(composite, np.zeros(300)), y.copy())
    assert not errs
    # One more row, half of it in each class.
    assert composite.inverse(delta) == pytest.approx(300.5 / 301, abs=1e-9)


@pytest.mark.parametrize("loss", ["Log()", "Exponential()", "Matsushita()"])
@pytest.mark.parametrize("intercept", [None, 0.1])
def test_totally_corrective_coefficients_have_zero_edges(rows, loss, intercept):
    y, holds, _, w = rows
    rng = np.random.default_rng(1)
    columns = [holds, *(rng.random((3, 300)) < 0.4 + 0.2 * y).astype(np.uint8)]
    composite, sample = composite_of(loss, None), sample_of(y, w)
    patterns = leveraging.Patterns.of(sample)
    for column in columns:
        patterns = patterns.split(sample, column)
    H = np.array(columns).T * 2.0 - 1
    np.testing.assert_array_equal(patterns.rules[patterns.group], H)
    np.testing.assert_array_equal(patterns.labels[patterns.group], y)
    base, coefficients, finite = leveraging.correct(composite, patterns, intercept, np.zeros(4))
    assert finite
    g = w * np.asarray(composite.gradient(y, base + H @ coefficients)) / w.sum()
    np.testing.assert_allclose(g @ H, 0, atol=1e-10)
    assert base == 0 if intercept is None else abs(g.sum()) < 1e-10


def test_rules_that_separate_are_said_to_and_stay_finite(rows):
    y, holds, _, _ = rows
    composite, sample = composite_of("Log()", None), sample_of(y)
    patterns = leveraging.Patterns.of(sample).split(sample, holds & y)  # holds for class 1 only
    _, coefficients, finite = leveraging.correct(composite, patterns, 0.0, np.zeros(1))
    assert not finite
    assert 1 < coefficients[0] < 10
