import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from propriety import losses
from propriety.linear import LinearClassifier, LinearPath, SeparationWarning, separating_direction
from propriety.linear.updates import Uls
from propriety.losses import simplex
from propriety.separators import separation

ESTIMATORS = [
    LinearClassifier("Squared", alpha=1e-3),
    LinearClassifier(alpha=1e-2, l1_ratio=1.0),
    LinearPath(alphas=4, cv=2),
]


@pytest.mark.filterwarnings("ignore::propriety.linear.SeparationWarning")
@pytest.mark.filterwarnings("ignore::propriety.linear.SlopeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


SMOOTH_LOSSES = ["Log", "Exponential", "Squared", "Tailored(0.3, 4)", "Matsushita", "DensityPower(0.5)"]


@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
@pytest.mark.parametrize("penalty", [{}, {"alpha": 0.02}, {"alpha": 0.02, "l1_ratio": 0.5}])
def test_scale_of_the_loss_does_not_matter(problem, loss, penalty):
    X, y = problem
    one = LinearClassifier(losses.parse(loss), tol=1e-11, **penalty).fit(X, y)
    three = LinearClassifier(3 * losses.parse(loss), link=one.loss_.link, tol=1e-11, **penalty).fit(X, y)
    np.testing.assert_allclose(one.predict_proba(X), three.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
def test_without_slopes_the_probability_is_the_base_rate(problem, loss):
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = LinearClassifier(loss).fit(np.zeros_like(X), y, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], np.average(y, weights=weight), atol=1e-7)


@pytest.mark.parametrize("loss", ["Log", "Tailored(0.3, 4)"])
@pytest.mark.parametrize("penalty", [{}, {"alpha": 0.02, "l1_ratio": 1.0}])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_weights_are_copies(problem, loss, penalty, form):
    X, y = problem
    weight = np.arange(len(y)) % 3
    weighted = LinearClassifier(loss, tol=1e-10, **penalty).fit(form(X), y, sample_weight=weight)
    copies = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    copied = LinearClassifier(loss, tol=1e-10, **penalty).fit(form(copies[0]), copies[1])
    np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=1e-8)


def test_same_bits_for_any_number_of_threads(make):
    X, y = make(n=60_000, d=6, seed=8)
    first, *others = (LinearClassifier(n_jobs=k).fit(X, y) for k in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(first.coef_, other.coef_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_dense(make, dtype):
    X, y = make(n=500, d=6, seed=9)
    X = np.where(np.abs(X) > 0.8, X, 0).astype(dtype)
    dense, thin = LinearClassifier().fit(X, y), LinearClassifier().fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(dense.coef_, thin.coef_, atol=1e-7)
    np.testing.assert_allclose(dense.predict_proba(X), thin.predict_proba(sparse.csc_matrix(X)), atol=1e-7)
    assert dense.predict_proba(X).dtype == np.float64


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_give_names(problem, frame):
    X, y = problem
    table = frame({f"column {j}": X[:, j] for j in range(X.shape[1])})
    model = LinearClassifier().fit(table, y)
    assert list(model.feature_names_in_) == [f"column {j}" for j in range(X.shape[1])]
    np.testing.assert_allclose(model.coef_, LinearClassifier().fit(X, y).coef_, atol=1e-12)
    assert list(model.summary().columns["term"]) == [*table.columns, "(intercept)"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame({f"other {j}": X[:, j] for j in range(X.shape[1])}))


def test_costs_decide_and_tailor_only_if_asked(problem):
    X, y = problem
    model = LinearClassifier(fp_cost=1, fn_cost=4).fit(X, y)
    assert model.loss_.loss == losses.Log()
    np.testing.assert_array_equal(model.coef_, LinearClassifier().fit(X, y).coef_)
    np.testing.assert_array_equal(model.predict(X), (model.predict_proba(X)[:, 1] >= 0.2).astype(int))
    assert model.predict(X).sum() > LinearClassifier().fit(X, y).predict(X).sum()
    tailored = LinearClassifier("tailored(3)", fp_cost=1, fn_cost=4).fit(X, y)
    assert tailored.loss_.loss == losses.Tailored(0.2, 3)


def test_label_flip_of_a_symmetric_loss(problem):
    X, y = problem
    one, other = LinearClassifier("Squared").fit(X, y), LinearClassifier("Squared").fit(X, 1 - y)
    np.testing.assert_allclose(one.coef_, -other.coef_, atol=1e-7)


def test_labels_of_any_type_and_one_versus_rest(three_classes):
    X, y = three_classes
    names = np.array(["pear", "apple", "fig"])[y]
    model = LinearClassifier("Exponential").fit(X, names)
    assert list(model.classes_) == ["apple", "fig", "pear"]
    assert isinstance(model.loss_, simplex.OneVsRest)
    alone = LinearClassifier("Exponential").fit(X, names == "fig")
    np.testing.assert_allclose(model.coef_[1], alone.coef_[0], atol=1e-7)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (model.predict(X) == names).mean() > 0.5


@pytest.mark.parametrize(
    "loss", [simplex.Log(), simplex.Brier(), simplex.PairwiseExponential(), simplex.Power(0.5)]
)
def test_simplex_losses_are_stationary(three_classes, loss):
    X, y = three_classes
    model = LinearClassifier(loss).fit(X, y)
    G = loss.gradient(y, model.decision_function(X))
    assert model.converged_
    np.testing.assert_allclose(X.T @ G / len(y), 0, atol=3e-8)
    assert np.all(np.diff(model.trace_) <= 1e-14)


def test_simplex_losses_fit_two_classes(problem):
    X, y = problem
    twice = "2 * Exponential()"
    for loss, binary in ((simplex.Log(), "Log"), (simplex.Brier(), "Squared"), (simplex.MH(), twice)):
        one, other = LinearClassifier(loss).fit(X, y), LinearClassifier(binary).fit(X, y)
        np.testing.assert_array_equal(one.coef_, other.coef_)


def test_columns_constant_collinear_huge_and_tiny(problem):
    X, y = problem
    plain = LinearClassifier().fit(X, y)
    wild = np.column_stack([X * [1e150, 1e-150, 1e9, 1.0], np.full(len(y), 7.0), X[:, 3], X[:, 3]])
    wild[:, 2] += 1e12
    model = LinearClassifier().fit(wild, y)
    assert model.converged_
    assert model.coef_[0, 4] == 0
    np.testing.assert_allclose(model.predict_proba(wild), plain.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(model.coef_[0, [3, 5, 6]].sum(), plain.coef_[0, 3], atol=1e-4)


def test_warm_start_continues(problem):
    X, y = problem
    model = LinearClassifier(warm_start=True).fit(X, y)
    before = model.coef_.copy()
    assert model.n_iter_ > 1
    model.fit(X, y)
    assert model.n_iter_ == 1
    np.testing.assert_allclose(model.coef_, before, atol=1e-7)


def test_pickle_clone_and_nested_parameters(problem):
    X, y = problem
    model = LinearClassifier(losses.Tailored(0.3, 5)).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    with pytest.raises(ValueError, match=r"summary\(X, y\)"):
        again.summary()
    np.testing.assert_allclose(again.summary(X, y).columns["se"], model.summary().columns["se"])
    assert clone(model).set_params(loss__focus=7).loss == losses.Tailored(0.3, 7)
    assert clone(model).set_params(solver="uls", solver__features="all").solver == Uls("all")
    with pytest.raises(ValueError, match="features must be"):
        Uls(0)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"solver": "magic"}, "solver must be one of fisher"),
        ({"alpha": -1}, "alpha must be a number at least 0, got -1"),
        ({"l1_ratio": 2}, "l1_ratio must be a number at least 0 and at most 1, got 2"),
        ({"multiclass": "no"}, "multiclass must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": 0}, "tol must be"),
        ({"fp_cost": 0}, "fp_cost must be"),
        ({"loss": "Hinge"}, "not a proper loss"),
    ],
)
def test_bad_parameters(problem, parameters, words):
    X, y = problem
    with pytest.raises(ValueError, match=words):
        LinearClassifier(**parameters).fit(X, y)


def test_bad_data(problem):
    X, y = problem
    with pytest.raises(ValueError, match="at least one row must have a positive weight"):
        LinearClassifier().fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"two classes with positive weight, got 1 class: \[1\]"):
        LinearClassifier().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match="two classes with positive weight, got 1 class"):
        LinearClassifier().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="NaN"):
        LinearClassifier().fit(np.where(X > 2, np.nan, X), y)


def test_costs_are_for_two_classes(three_classes):
    X, y = three_classes
    for loss in ("auto", "Log", simplex.Brier()):
        with pytest.raises(ValueError, match="fp_cost and fn_cost are for two classes, got 3 classes"):
            LinearClassifier(loss, fp_cost=1, fn_cost=4).fit(X, y)


NUMBERS = [1.0, 3.0, 2.0, 5.0, 4.0, 1.0]
LETTERS = list("ABABCA")


@pytest.mark.parametrize(
    ("X", "column"),
    [
        (pd.DataFrame({"size": NUMBERS, "kind": LETTERS}), "'kind'"),
        (pd.DataFrame({"size": NUMBERS, "kind": pd.Categorical([1, 2, 3, 1, 2, 3])}), "'kind'"),
        (pd.DataFrame({"size": NUMBERS, "kind": pd.Series([1, "B", 2.0, 3, 4, 5], dtype=object)}), "'kind'"),
        (pd.DataFrame({"size": NUMBERS, "day": pd.date_range("2026-01-01", periods=6)}), "'day'"),
        (pl.DataFrame({"size": NUMBERS, "kind": LETTERS}), "'kind'"),
        (pl.DataFrame({"size": NUMBERS, "kind": pl.Series(LETTERS, dtype=pl.Categorical)}), "'kind'"),
        (np.array([NUMBERS, LETTERS], dtype=object).T, "1"),
        (np.array([NUMBERS, LETTERS]).T, "1"),
        ([[a, b] for a, b in zip(NUMBERS, LETTERS, strict=True)], "1"),
    ],
)
def test_columns_that_are_not_numbers_are_named(X, column):
    words = f"^column {column} holds text, categories or dates, .*OneHotEncoder"
    with pytest.raises(ValueError, match=words):
        LinearClassifier().fit(X, [0, 1] * 3)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame, pl.DataFrame])
def test_missing_and_infinite_values_are_named_with_what_to_do(value, form):
    X = np.array([NUMBERS, NUMBERS, NUMBERS]).T
    X[2, 1] = value
    frame = form in (pd.DataFrame, pl.DataFrame)
    given = form({name: X[:, j] for j, name in enumerate("abc")}) if frame else form(X)
    column = "'b'" if frame else "1"
    words = f"contains NaN in column {column}; .* impute" if np.isnan(value) else f"inf.* in column {column}"
    with pytest.raises(ValueError, match=words) as raised:
        LinearClassifier().fit(given, [0, 1] * 3)
    assert "HistGradientBoosting" not in str(raised.value)


def test_numbers_of_other_types_are_numbers():
    y = [0, 1, 1, 0, 0, 1]
    plain = LinearClassifier(alpha=0.1).fit(np.array([NUMBERS, [1, 0, 1, 0, 0, 1]]).T, y)
    for flags in ([True, False, True, False, False, True], pd.array([1, 0, 1, 0, 0, 1], dtype="Int64")):
        frame = pd.DataFrame({"a": NUMBERS, "b": flags})
        np.testing.assert_array_equal(LinearClassifier(alpha=0.1).fit(frame, y).coef_, plain.coef_)


# -- separation ------------------------------------------------------------------------------------------


def test_complete_separation_is_said():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    with pytest.warns(SeparationWarning, match=r"perfectly separated .* alpha > 0"):
        model = LinearClassifier().fit(X, [0, 0, 1, 1])
    np.testing.assert_array_equal(model.predict(X), [0, 0, 1, 1])


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "uls", "parallel", "sequential", "gis"])
def test_every_solver_says_separation(solver):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    with pytest.warns(SeparationWarning, match="perfectly separated"):
        LinearClassifier(solver=solver, max_iter=100).fit(X, [0, 0, 1, 1])


def test_partial_separation_is_said(problem):
    X, y = problem
    marker = np.where(y == 1, np.random.default_rng(0).random(len(y)) < 0.2, 0.0)
    with pytest.warns(SeparationWarning, match="quasi-complete"):
        LinearClassifier(max_iter=50).fit(np.column_stack([X, marker]), y)


def test_separated_rows_among_others_are_moved_away_in_few_steps():
    """Classes 0 and 1 overlap, 2 is apart: each of Newton's steps would leave 1/e of the gradient."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    X = rng.standard_normal((120, 2)) + np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 9.0]])[y]
    with pytest.warns(SeparationWarning):
        model = LinearClassifier().fit(X, y)
    assert model.n_iter_ <= 14
    P = model.predict_proba(X)
    residual = P - np.eye(3)[y]
    assert np.abs(np.column_stack([X, np.ones(120)]).T @ residual).max() / 120 < 1e-7
    both = y < 2
    pair = LinearClassifier().fit(X[both], y[both])
    np.testing.assert_allclose(P[both, 1], pair.predict_proba(X[both])[:, 1], atol=1e-6)


def test_separated_classes_end_where_no_gradient_is_left_and_few_steps_get_there():
    X = np.random.default_rng(1).standard_normal((20, 4))
    with pytest.warns(SeparationWarning, match="perfectly separated"):
        model = LinearClassifier().fit(X, np.arange(20))
    assert model.converged_
    assert model.n_iter_ < 10  # steps alone take 18
    assert (model.predict(X) == np.arange(20)).all()
    assert np.all(np.diff(model.trace_) <= 0)


def test_overlap_is_proved_without_a_linear_program(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    X = 3.0 * np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 8.0]])[y] + rng.standard_normal((400, 2))
    X[:40] = rng.standard_normal((40, 2)) * [4.0, 12.0]  # rows of any class, so that all overlap
    monkeypatch.setattr(separation, "separating_direction", lambda *_: pytest.fail("it was proved"))
    model = LinearClassifier().fit(X, y)
    assert model.predict_proba(X).min() < 1e-6  # extreme enough to be suspected


def test_overlap_and_penalty_are_silent(problem):
    X, y = problem
    assert separating_direction(X, y) is None
    LinearClassifier(alpha=1e-3).fit(np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1])


def test_more_columns_than_rows_says_separation():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 50)), np.arange(20) % 2
    with pytest.warns(SeparationWarning, match="perfectly separated"):
        model = LinearClassifier().fit(X, y)
    assert (model.predict(X) == y).all()


def test_scores_that_are_no_floats_are_refused_and_huge_ones_have_their_limit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    for y in (np.arange(90) % 2, np.arange(90) % 3):
        model = LinearClassifier().fit(X, y)
        P = model.predict_proba([[1e308, 1e308], [-1e308, 1e308]])
        assert np.all((P >= 0) & (P <= 1))
        model.coef_ = 50 * np.sign(model.coef_)
        with pytest.raises(ValueError, match="Input X has values so large that the score of row 1"):
            model.predict_proba([[1.0, 1.0], [1e308, 1e308]])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_of_the_largest_floats_are_fitted_like_others(n_classes, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.digitize(X[:, 0] + rng.normal(size=90), [-0.5, 0.5][: n_classes - 1])
    units = np.array([2.0**1021, 1.0])
    plain, huge = (LinearClassifier().fit(form(table), y) for table in (X, X * units))
    np.testing.assert_allclose(huge.predict_proba(form(X * units)), plain.predict_proba(form(X)), rtol=1e-7)
    np.testing.assert_allclose(huge.coef_ * units, plain.coef_, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("alpha", [0, 1e-3])
def test_a_huge_constant_column_says_what_the_intercept_says(alpha):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + rng.normal(size=60) > 0
    wide = np.column_stack([X, np.full(60, 1e308)])
    plain, huge = (LinearClassifier(alpha=alpha).fit(table, y) for table in (X, wide))
    np.testing.assert_allclose(huge.predict_proba(wide), plain.predict_proba(X), rtol=1e-6)
