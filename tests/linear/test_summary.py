import pickle

import numpy as np
import pytest
import statsmodels.api as sm

from propriety import losses
from propriety.evaluation import recalibrate
from propriety.linear import LinearClassifier, SeparationWarning


def test_table_agrees_with_statsmodels(problem):
    X, y = problem
    model = LinearClassifier(tol=1e-12).fit(X, y)
    oracle = sm.GLM(y, sm.add_constant(X, prepend=False), family=sm.families.Binomial())
    plain, robust = oracle.fit(tol=1e-14), oracle.fit(tol=1e-14, cov_type="HC0")
    frame = model.summary().frame()
    np.testing.assert_allclose(frame["se"], plain.bse, rtol=1e-7)
    np.testing.assert_allclose(frame["z"], plain.tvalues, rtol=1e-6)
    np.testing.assert_allclose(frame["p"], plain.pvalues, rtol=1e-5, atol=1e-300)
    np.testing.assert_allclose(frame[["low", "high"]], plain.conf_int(), atol=1e-7)
    np.testing.assert_allclose(frame["se_robust"], robust.bse, rtol=1e-6)
    facts = model.summary().facts
    assert 2 * facts["total loss"] == pytest.approx(plain.deviance, rel=1e-10)
    assert 2 * facts["loss of the null model"] == pytest.approx(plain.null_deviance, rel=1e-10)


def test_weights_count_as_rows(problem):
    X, y = problem
    weight = 1 + np.arange(len(y)) % 3
    one = LinearClassifier(tol=1e-11).fit(X, y, sample_weight=weight).summary()
    other = LinearClassifier(tol=1e-11).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).summary()
    for key in ("se", "se_robust", "p"):
        np.testing.assert_allclose(one.columns[key], other.columns[key], rtol=1e-6)


def test_far_and_wide_columns_do_not_spoil_the_errors(problem):
    X, y = problem
    scale, shift = np.array([1e6, 1.0, 1e-6, 1.0]), np.array([0.0, 1e5, 0.0, 0.0])
    plain = LinearClassifier(tol=1e-11).fit(X, y).summary().columns
    moved = LinearClassifier(tol=1e-11).fit(X * scale + shift, y).summary().columns
    np.testing.assert_allclose(moved["se"][:4] * scale, plain["se"][:4], rtol=1e-5)
    np.testing.assert_allclose(moved["z"][:4], plain["z"][:4], rtol=1e-5)


@pytest.mark.parametrize("loss", ["Exponential", "Tailored(0.4, 6)"])
def test_sandwich_is_the_estimators_spread(loss):
    """Standard errors against the spread of the coefficient over 80 samples from the model."""
    rng = np.random.default_rng(0)
    coefs, model_errors, robust_errors = [], [], []
    for _ in range(80):
        X = rng.standard_normal((400, 1))
        y = (rng.random(400) < losses.links.Logit().inverse(0.8 * X[:, 0] - 0.2)).astype(int)
        model = LinearClassifier(loss, tol=1e-6).fit(X, y)
        columns = model.summary().columns
        coefs.append(columns["coef"][0])
        model_errors.append(columns["se"][0])
        robust_errors.append(columns["se_robust"][0])
    spread = np.std(coefs)
    assert np.mean(model_errors) == pytest.approx(spread, rel=0.25)
    assert np.mean(robust_errors) == pytest.approx(spread, rel=0.25)


def test_errors_and_bias_for_a_known_truth():
    """[B (40)-(43)] of a Beta loss with the logit, by hand; a logit model of a truth with two slopes."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (300, 2))
    eta = 0.5 * losses.links.Logit().inverse(2 * X[:, 0]) + 0.5 * losses.links.Logit().inverse(
        X[:, 0] - X[:, 1]
    )
    y, weight = (rng.random(300) < eta).astype(int), 1 + np.arange(300) % 3
    alpha, beta = 3.0, 1.5
    model = LinearClassifier(f"Beta({alpha}, {beta})", alpha=0.01, tol=1e-8).fit(X, y, sample_weight=weight)
    summary = model.summary(eta=eta)
    A1 = np.column_stack([X, np.ones(300)])
    q = model.predict_proba(X)[:, 1]
    slope = q**alpha * (1 - q) ** beta  # ω q′
    bent = slope * (alpha * (1 - q) - beta * q)  # [ω q′]′
    first = slope * q * (1 - q)
    curvature = first - (eta - q) * bent
    unit = losses.Beta(alpha, beta).entropy(0.5) / np.log(2)  # the penalty is stated for a loss of log 2
    penalty = 0.01 * weight.sum() * unit * np.diag([1.0, 1.0, 0.0])
    bread = np.linalg.inv(A1.T @ (A1 * (weight * curvature)[:, None]) + penalty)
    meat = A1.T @ (A1 * (weight * eta * (1 - eta) * slope**2)[:, None])
    np.testing.assert_allclose(summary.columns["se_eta"], np.sqrt(np.diag(bread @ meat @ bread)), rtol=1e-6)
    stable = np.where(q >= alpha / (alpha + beta), eta >= q, eta <= q)
    facts = summary.facts
    assert facts["rows that bias stabilizes"] == pytest.approx(np.average(stable, weights=weight))
    plain, biased = (A1.T @ (A1 * (weight * h)[:, None]) for h in (first, curvature))
    values = np.linalg.eigvals(np.linalg.solve(plain, biased)).real
    found = facts["least curvature"], facts["most curvature"]
    assert found == pytest.approx((values.min(), values.max()), rel=1e-6)
    assert "se_eta" in str(summary)


def test_a_model_that_is_right_has_no_bias(problem):
    X, y = problem
    model = LinearClassifier(tol=1e-11).fit(X, y)
    own = model.summary(eta=model.predict_proba(X)[:, 1])
    np.testing.assert_allclose(own.columns["se_eta"], own.columns["se"], rtol=1e-9)
    assert own.facts["rows that bias stabilizes"] == 1
    p = model.predict_proba(X)[:, 1]
    given = model.summary(eta=recalibrate(y, p)(p)).columns["se_eta"]
    np.testing.assert_allclose(model.summary(eta="recalibrated").columns["se_eta"], given, rtol=1e-12)


def test_a_truth_that_cannot_be_is_an_error(problem, three_classes):
    X, y = problem
    model = LinearClassifier().fit(X, y)
    with pytest.raises(ValueError, match="eta has 2 values, and"):
        model.summary(eta=[0.1, 0.2])
    with pytest.raises(ValueError, match="eta must be probabilities or 'recalibrated'"):
        model.summary(eta="known")
    with pytest.raises(ValueError, match="eta is for two classes, and there are 3"):
        LinearClassifier().fit(*three_classes).summary(eta="recalibrated")


def test_several_classes(three_classes):
    X, y = three_classes
    for multiclass in ("auto", "ovr"):
        frame = LinearClassifier(multiclass=multiclass).fit(X, y).summary().frame()
        assert list(frame["class"]) == [0] * 4 + [1] * 4 + [2] * 4
        assert np.all(frame["se"] > 0)


def test_multinomial_contrasts_agree_with_statsmodels(three_classes):
    X, y = three_classes
    model = LinearClassifier(tol=1e-11).fit(X, y)
    oracle = sm.MNLogit(y, sm.add_constant(X, prepend=False)).fit(disp=False, tol=1e-12)
    contrast = np.column_stack([model.coef_, model.intercept_])
    np.testing.assert_allclose((contrast[1:] - contrast[0]).T, oracle.params, atol=1e-7)


def test_text_has_everything(problem):
    X, y = problem
    text = str(LinearClassifier(alpha=0.1).fit(X, y).summary())
    for word in ("Log()", "total loss", "(intercept)", "se_robust", "shrunk by the penalty", "x3"):
        assert word in text


def test_collinear_columns_are_said(problem):
    X, y = problem
    wide = np.column_stack([X, X[:, 0] - X[:, 3], np.full(len(y), 7.0)])
    summary = LinearClassifier().fit(wide, y).summary()
    assert summary.facts["collinear"].startswith("x0, x3, x4, x5: rank 5 of 7")
    assert "not identified" in str(summary)
    unknown = np.array([True, False, False, True, True, True, False])
    np.testing.assert_array_equal(np.isnan(summary.columns["se"]), unknown)
    plain = LinearClassifier().fit(X, y).summary()
    assert "collinear" not in plain.facts
    np.testing.assert_allclose(summary.columns["se"][[1, 2]], plain.columns["se"][[1, 2]], rtol=1e-5)
    assert "collinear" not in LinearClassifier(alpha=0.01).fit(wide, y).summary().facts


def test_several_classes_are_not_called_collinear(three_classes):
    assert "collinear" not in LinearClassifier().fit(*three_classes).summary().facts


def test_separation_is_said():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    with pytest.warns(SeparationWarning, match="perfectly separated"):
        model = LinearClassifier().fit(X, y)
    assert "errors and p values mean nothing" in str(model.summary())
    assert "separation" in pickle.loads(pickle.dumps(model)).summary(X, y).facts
    assert "separation" not in model.set_params(alpha=0.1).fit(X, y).summary().facts


@pytest.mark.parametrize(("alpha", "loss"), [(0.001, "Log"), (0.03, "Exponential"), ("cv", "Log")])
def test_errors_under_a_ridge_are_the_spread_of_the_bootstrap(alpha, loss):
    """A dummy for each of two levels and for each of three: what the ridge alone decides has an error too."""
    rng = np.random.default_rng(3)
    n = 400
    two, three, x = rng.integers(0, 2, n), rng.integers(0, 3, n), rng.standard_normal(n)
    X = np.column_stack([np.eye(2)[two], np.eye(3)[three], x])
    y = (rng.random(n) < losses.links.Logit().inverse(0.3 - 1.2 * two + 0.5 * (three == 1) + x)).astype(int)
    model = LinearClassifier(loss, alpha=alpha, tol=1e-8).fit(X, y)
    columns = model.summary().columns
    # The strength is held: choosing it again is another source of spread, which the errors leave out.
    scale = X.std(axis=0) if alpha == "cv" else 1.0
    again = LinearClassifier(loss, alpha=model.alpha_, tol=1e-6)
    draws = np.empty((120, 7))
    for b in range(120):
        rows = rng.integers(0, n, n)
        again.fit(X[rows] / scale, y[rows])
        draws[b] = [*(again.coef_[0] / scale), again.intercept_[0]]
    spread = draws.std(axis=0)
    np.testing.assert_allclose(columns["se_robust"], spread, rtol=0.25)
    np.testing.assert_allclose(columns["se"][:6], spread[:6], rtol=0.35)
    # Coefficients that are exact opposites have the same error.
    np.testing.assert_allclose(columns["coef"][0], -columns["coef"][1], rtol=1e-4)
    np.testing.assert_allclose(columns["se_robust"][0], columns["se_robust"][1], rtol=1e-4)
