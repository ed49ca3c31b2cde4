"""An offset of the score, against statsmodels and by what must not change."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse, special

from propriety.linear import LinearClassifier, LinearPath, path
from propriety.model import files
from propriety.model.offsets import MissingOffsetWarning


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((120, 3))
    offset = rng.normal(0, 1.5, 120)
    y = (rng.random(120) < special.expit(X @ [1, -0.5, 0] + offset - 0.4)).astype(int)
    return X, y, offset


@pytest.mark.parametrize("solver", ["fisher", "newton", "lbfgs"])
@pytest.mark.parametrize(("link", "theirs"), [(None, "Logit"), ("Probit", "Probit"), ("CLogLog", "CLogLog")])
def test_the_fit_is_that_of_statsmodels(table, solver, link, theirs):
    X, y, offset = table
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    model = LinearClassifier("Log", link=link, solver=solver, tol=1e-10)
    model.fit(X, y, sample_weight=weight, offset=offset)
    family = sm.families.Binomial(getattr(sm.families.links, theirs)())
    glm = sm.GLM(y, sm.add_constant(X), family=family, offset=offset, freq_weights=weight)
    expected = glm.fit(tol=1e-14, tol_criterion="params")
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), expected.params, atol=1e-8)
    p = model.predict_proba(X, offset=offset)[:, 1]
    np.testing.assert_allclose(p, expected.predict(), atol=1e-8)
    np.testing.assert_array_equal(model.predict(X, offset=offset), p >= 0.5)
    summary = model.summary()
    null = sm.GLM(y, np.ones(len(y)), family=family, offset=offset, freq_weights=weight).fit()
    assert summary.facts["loss of the null model"] == pytest.approx(-null.llf, rel=1e-9)
    if link is None:
        np.testing.assert_allclose(np.roll(summary.columns["se"], 1), expected.bse, rtol=1e-6)
    again = model.summary(X, y, weight, offset=offset)
    np.testing.assert_allclose(again.columns["se"], summary.columns["se"])


@pytest.mark.parametrize("loss", ["Log", "Squared", "Tailored(0.3, 4)"])
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_a_constant_offset_shifts_the_intercept(table, loss, l1_ratio):
    X, y, _ = table
    plain = LinearClassifier(loss, alpha=0.01, l1_ratio=l1_ratio).fit(X, y)
    shifted = LinearClassifier(loss, alpha=0.01, l1_ratio=l1_ratio).fit(X, y, offset=np.full(len(y), 0.7))
    np.testing.assert_allclose(shifted.coef_, plain.coef_, atol=1e-6)
    np.testing.assert_allclose(shifted.intercept_, plain.intercept_ - 0.7, atol=1e-6)


def test_the_score_of_a_model_leaves_nothing_to_add(table):
    X, y, offset = table
    first = LinearClassifier().fit(X, y, offset=offset)
    score = first.decision_function(X, offset=offset)
    second = LinearClassifier().fit(X, y, offset=score)
    np.testing.assert_allclose(np.append(second.coef_, second.intercept_), 0, atol=1e-7)
    # A column with its coefficient fixed is an offset.
    fixed = LinearClassifier().fit(X[:, 1:], y, offset=offset + X[:, 0] * first.coef_[0, 0])
    np.testing.assert_allclose(fixed.coef_[0], first.coef_[0, 1:], atol=1e-6)


@pytest.mark.parametrize("multiclass", ["auto", "ovr"])
def test_several_classes_have_an_offset_each(three_classes, multiclass):
    X, y = three_classes
    offset = np.random.default_rng(1).normal(size=(len(y), 3))
    fixed = offset + X[:, :1] * [1.0, 0.5, -0.5]
    model = LinearClassifier(multiclass=multiclass, alpha=0.01).fit(X[:, 1:], y, offset=fixed)
    extra = LinearClassifier(multiclass=multiclass).fit(
        X[:, 1:], y, offset=model.decision_function(X[:, 1:], offset=fixed)
    )
    assert np.abs(extra.coef_).max() < np.abs(model.coef_).max()
    constant = LinearClassifier(multiclass=multiclass, alpha=0.01)
    moved = LinearClassifier(multiclass=multiclass, alpha=0.01).fit(X, y, offset=np.full((len(y), 3), 0.3))
    np.testing.assert_allclose(moved.coef_, constant.fit(X, y).coef_, atol=1e-6)
    P = model.predict_proba(X[:, 1:], offset=fixed)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    with pytest.raises(ValueError, match=r"offset must have shape \(300, 3\), one number for each class"):
        model.predict(X[:, 1:], offset=fixed[:, 0])


def test_paths_and_sparse_rows_have_offsets(table):
    X, y, offset = table
    way = path(LinearClassifier(), X, y, alphas=[0.1, 0.01], offset=offset)
    for alpha, coef in zip(way.alphas, way.coefs, strict=True):
        model = LinearClassifier(alpha=alpha).fit(sparse.csr_array(X), y, offset=offset)
        np.testing.assert_allclose(model.coef_, coef, atol=1e-6)
    chosen = LinearPath(alphas=[0.1, 0.01], cv=3).fit(X, y, offset=offset)
    direct = LinearClassifier(alpha=chosen.alpha_).fit(X, y, offset=offset)
    np.testing.assert_allclose(
        chosen.predict_proba(X, offset=offset), direct.predict_proba(X, offset=offset), atol=1e-9
    )


def test_a_missing_offset_is_said_also_after_loading(table):
    X, y, offset = table
    model = LinearClassifier().fit(X, y, offset=offset)
    for fitted in (model, files.from_bytes(files.to_bytes(model))):
        for method in (fitted.predict, fitted.predict_proba, fitted.decision_function):
            with pytest.warns(MissingOffsetWarning, match="give the offset of these rows"):
                method(X)
    LinearClassifier().fit(X, y).predict(X)  # no warning


@pytest.mark.parametrize("solver", ["uls", "parallel", "gis"])
def test_solvers_of_margins_refuse_it(table, solver):
    X, y, offset = table
    with pytest.raises(ValueError, match=f"solver='{solver}'.*cannot fit an offset.*fisher, newton, lbfgs"):
        LinearClassifier(solver=solver).fit(X, y, offset=offset)


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (np.zeros(3), r"offset must have shape \(120,\), got \(3,\)"),
        (np.r_[np.nan, np.zeros(119)], r"finite in every row, and is \[nan\] in row 0"),
        (["a"] * 120, "one number for each row"),
        (np.zeros((120, 2)), r"got \(120, 2\)"),
    ],
)
def test_wrong_offsets_are_refused(table, offset, message):
    X, y, _ = table
    with pytest.raises(ValueError, match=message):
        LinearClassifier().fit(X, y, offset=offset)
