"""Bounds hold, are tight where they can be, and are told beside what was observed."""

import numpy as np
import pytest
from scipy import optimize
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from propriety import BoostingClassifier, LinearClassifier, evaluation, losses
from propriety.boosting import Algorithm
from propriety.evaluation import theory

SMOOTH = [loss for loss in losses.examples() if isinstance(loss, losses.SmoothLoss)]


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_excess_cost_never_exceeds_the_bounds(loss):
    rng = np.random.default_rng(0)
    eta = rng.uniform(0.02, 0.98, 100)
    y = (rng.uniform(size=100) < eta).astype(int)
    for c in (0.1, 0.6):
        near = np.clip(eta + rng.normal(0, 0.03, 100), 0.01, 0.99)
        for p in (near, np.where(eta < c, c, c - 1e-9)):  # the last decides every row wrongly, hardly
            result = theory.cost_bound(y, p, loss, c, eta=eta)
            assert result.excess_cost <= result.tight * (1 + 1e-3) + 1e-12
            assert result.tight <= result.bound * (1 + 1e-3) + 1e-12
            truth = np.where((eta >= c) != (p >= c), np.abs(eta - c), 0).mean()
            assert result.excess_cost == pytest.approx(truth, abs=1e-15)


def test_bound_is_attained():
    """Rows that are all as wrong as can be: p on the other side of c, hardly."""
    eta, c = np.full(10, 0.4), 0.3
    result = theory.cost_bound([0, 1] * 5, np.full(10, 0.3 - 1e-9), "Squared", c, eta=eta)
    assert result.excess_cost == pytest.approx(0.1)
    assert result.tight == pytest.approx(0.1, rel=1e-4)
    assert result.bound == pytest.approx(0.1, rel=1e-4)


def test_squared_and_log_by_hand():
    assert theory.excess_cost_bound("Squared", 0.0004, 0.2) == pytest.approx(0.02, rel=1e-3)
    # By the lemma for the log loss at ½: KL(½ + t, ½) = excess.
    t = optimize.brentq(lambda t: losses.Log().regret(0.5 + t, 0.5) - 0.01, 1e-6, 0.5)
    assert theory.excess_cost_bound("Log", 0.01, 0.5) == pytest.approx(t, rel=1e-4)
    assert theory.excess_cost_bound("Log", 0.0, 0.5) == 0
    assert theory.excess_cost_bound("Log", 9.0, 0.3) == pytest.approx(0.7)
    with pytest.raises(TypeError, match="no weight function"):
        theory.excess_cost_bound("CostWeighted(0.2)", 0.1, 0.2)


def test_unknown_truth_is_the_recalibrated_one(rows):
    y, p, weight, _ = rows
    result = theory.cost_bound(y, p, "Log", 0.3, sample_weight=weight)
    eta = evaluation.recalibrate(y, p, weight)(p)
    assert result == theory.cost_bound(y, p, "Log", 0.3, eta=eta, sample_weight=weight)
    assert "observed" in str(result)


@pytest.fixture(scope="module")
def stumps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(0, 0.5, 300) > 0, "yes", "no")
    return X, y, GradientBoostingClassifier(max_depth=1, n_estimators=30, random_state=0).fit(X, y)


def test_weak_learning_of_a_linear_separator():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(80, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 3, 80) > 0).astype(int)
    for loss in ("Matsushita", "Log"):
        model = LinearClassifier(loss, solver="uls").fit(X, y)
        result = theory.weak_learning(model)
        assert result.exact
        assert result.rounds == model.n_iter_ == len(result.edges)
        assert result.rounds <= result.bound == model.report_.bound
    assert "rounds suffice" in str(result)


def test_weak_learning_of_any_booster(stumps):
    X, y, model = stumps
    result = theory.weak_learning(model, X, y)
    assert result.rounds == 30
    assert not result.exact
    assert np.all((result.edges > 0) & (result.edges <= 1))
    assert np.isfinite(result.bound)
    # The first learner by hand: the constant and a stump, weights 1 − ½.
    first = next(iter(model.staged_decision_function(X))).ravel()
    sign = np.where(y == "yes", 1, -1)
    assert result.edges[0] == pytest.approx(abs(np.mean(sign * first)) / np.abs(first).max(), rel=1e-12)
    exponential = theory.weak_learning(model, X, y, loss="Exponential")
    assert exponential.bound == np.inf
    assert "phi'' is not bounded" in str(exponential)
    savage = theory.weak_learning(model, X, y, loss="Savage")
    assert np.isnan(savage.bound)
    assert "no bound, because the loss is no convex margin loss" in str(savage)


def test_weak_learning_needs_no_canonical_link(stumps):
    # [N8 Thm 2]: 4 m (φ(0) − inf φ) a_m² sup φ″/(a_Z² a_γ²); of −log Φ(v), sup φ″ = 1.
    X, y, model = stumps
    result = theory.weak_learning(model, X, y, loss="Log().with_link(Probit())")
    c = losses.Log().with_link("Probit")
    sign, score, totals = np.where(y == "yes", 1, -1), 0.0, []
    for stage in model.staged_decision_function(X):
        totals.append(np.sum(c.example_weight(sign * score * np.ones(len(y)))))
        score = stage.ravel()
    m = len(y)
    expected = 4 * m * np.log(2) * m / (min(totals) * np.mean(result.edges)) ** 2
    assert expected <= result.bound <= 1.01 * expected
    canonical = theory.weak_learning(model, X, y)
    assert canonical.bound == pytest.approx(
        4 * m * np.log(2) * m / 4 / (canonical_total(model, X, sign) * np.mean(canonical.edges)) ** 2
    )


@pytest.mark.parametrize("calibrate", ["platt", "isotonic"])
def test_weak_learning_is_of_the_loss_that_was_boosted_before_its_link_was_bent(stumps, calibrate):
    X, y, _ = stumps
    model = BoostingClassifier("Log().with_link(Probit())", max_leaf_nodes=2, calibrate=calibrate).fit(X, y)
    result = theory.weak_learning(model, X, y)
    assert np.isfinite(result.bound)
    assert result.bound == theory.weak_learning(model, X, y, loss="Log().with_link(Probit())").bound


def canonical_total(model, X, sign):
    c, scores = losses.Log().composite(), [np.zeros(len(sign))]
    scores += [stage.ravel() for stage in model.staged_decision_function(X)]
    return min(np.sum(c.example_weight(sign * F)) for F in scores[:-1])


def test_margin_bound_of_a_booster(stumps):
    X, y, model = stumps
    result = theory.margin_bound(model, X, y, X_test=X[:50], y_test=y[:50])
    assert result.error == pytest.approx(1 - model.score(X, y), abs=1e-12)
    assert result.test_error == pytest.approx(1 - model.score(X[:50], y[:50]), abs=1e-12)
    sign = np.where(y == "yes", 1, -1)
    margins = sign * model.decision_function(X) / result.norm
    assert np.all(np.abs(margins) <= 1 + 1e-12)
    assert result.smallest_margin == pytest.approx(margins.min())
    assert result.share == pytest.approx(np.mean(margins <= result.theta))
    assert result.strength == pytest.approx(4)  # of the logit: 1/p′(0)
    assert result.kappa == pytest.approx(4 / result.norm)
    assert result.bound > result.error
    tighter = theory.margin_bound(model, X, y, vc_dimension=1)
    assert tighter.bound < result.bound
    larger = theory.margin_bound(model, X, y, n_leaves=8)
    assert larger.bound > result.bound
    assert "says nothing" in str(larger)


def test_the_gain_is_part_of_the_loss_that_was_boosted(stumps):
    X, y, _ = stumps
    options = {"algorithm": Algorithm(weak_learner="stump", step="gradient"), "max_iter": 10}
    model = BoostingClassifier(losses.Log().composite().shrunk(8), **options).fit(X, y)
    strength = theory.margin_bound(model, X, y).strength
    assert strength == model.loss_.regularization_strength(0.0)
    assert strength == pytest.approx(8 * losses.Log().composite().regularization_strength(0.0))


def test_margin_bound_falls_with_the_rows():
    rng = np.random.default_rng(0)
    X = np.sign(rng.normal(size=(200_000, 1)))
    y = (X[:, 0] > 0).astype(int)
    y[::50] = 1 - y[::50]
    bounds = []
    for n in (500, 200_000):
        model = LinearClassifier("Log", solver="uls", fit_intercept=False, max_iter=5).fit(X[:n], y[:n])
        bounds.append(theory.margin_bound(model, X[:n], y[:n]))
    assert bounds[1].bound < 0.2 < bounds[0].bound
    assert bounds[1].bound > bounds[1].error == pytest.approx(0.02, abs=1e-6)


def test_what_is_no_booster_is_refused(stumps):
    X, y, _ = stumps
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="no staged_decision_function"):
        theory.margin_bound(forest, X, y)
    with pytest.raises(TypeError, match="give loss="):
        theory.weak_learning(forest, X, y)
    with pytest.raises(ValueError, match="give X and y"):
        theory.weak_learning(stumps[2])
    three = GradientBoostingClassifier(n_estimators=1).fit(X, np.arange(300) % 3)
    with pytest.raises(ValueError, match="two classes"):
        theory.margin_bound(three, X, np.arange(300) % 3)
