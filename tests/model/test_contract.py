"""The contract of a fitted model, over the catalogue: a new row is tested by being there."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import propriety
from propriety import losses
from propriety.costs import ResolvedCosts
from propriety.losses import simplex
from propriety.model import catalogue, contract, files
from propriety.model.base import ProperClassifier

ROWS = catalogue.ESTIMATORS
#: Parameters that make a fit small, for the estimators that have them.
SMALL = {
    "max_iter": 20,
    "n_estimators": 20,
    "n_rules": 4,
    "min_samples_leaf": 3,
    "random_state": 0,
    "alpha": 0.01,
    "members": ("linear", "forest"),
}


def small(row, **params):
    names = row.type._get_param_names()
    given = {name: value for name, value in SMALL.items() if name in names} | params
    return row.type(**given)


def data(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    score = X[:, 0] - 0.5 * X[:, 1] + 0.3 * rng.normal(size=150)
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, np.array(["a", "b", "c"])[np.digitize(score, cuts)]


def cases():
    return [pytest.param(row, k, id=f"{row.key}-{k}") for row in ROWS for k in (2, 3)]


@pytest.mark.parametrize(("row", "n_classes"), cases())
def test_a_fitted_model_keeps_the_contract(row, n_classes):
    X, y = data(n_classes)
    model = small(row).fit(X, y)
    assert isinstance(model, ProperClassifier)
    assert isinstance(model, contract.FittedModel)
    kind = losses.Composite if n_classes == 2 else simplex.SimplexLoss
    assert isinstance(model.loss_, kind)
    assert isinstance(model.costs_, ResolvedCosts)
    assert model.view in (contract.TREE, contract.TEXT, contract.CURVES, contract.EFFECTS)
    scores, P = model.decision_function(X), model.predict_proba(X)
    assert scores.shape == ((150,) if n_classes == 2 else (150, n_classes))
    assert P.dtype == np.float64
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.costs_.decide(P)])
    words = model.words(X[:5])
    assert len(words) == 5
    assert all(isinstance(text, str) for row_words in words for text in row_words)


@pytest.mark.parametrize(("row", "n_classes"), cases())
def test_contributions_add_up_to_the_score(row, n_classes):
    X, y = data(n_classes)
    model = small(row).fit(X, y)
    parts = model.contributions(X)
    assert parts.shape == ((150, 5) if n_classes == 2 else (150, n_classes, 5))
    np.testing.assert_allclose(parts.sum(axis=-1), model.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(parts, model.predict_contributions(X))


@pytest.mark.parametrize(("row", "n_classes"), cases())
def test_importances_are_shares_and_find_what_matters(row, n_classes):
    X, y = data(n_classes)
    model = small(row).fit(X, y)
    importances = model.importances()
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1)
    assert np.argmax(importances) == 0
    np.testing.assert_array_equal(importances, model.feature_importances_)


@pytest.mark.parametrize(("row", "n_classes"), cases())
def test_a_model_comes_back_from_its_file_the_same(row, n_classes):
    X, y = data(n_classes)
    model = small(row, fn_cost=1.0).fit(X, y)
    bytes_ = files.to_bytes(model)
    again = files.from_bytes(bytes_)
    assert files.to_bytes(again) == bytes_
    assert again.loss_ == model.loss_
    for method in ("predict_proba", "decision_function", "predict", "contributions"):
        np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    np.testing.assert_array_equal(again.importances(), model.importances())
    assert again.words(X[:3]) == model.words(X[:3])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_a_gain_or_link_is_in_the_loss_that_was_fitted(row):
    X, y = data(2)
    model = small(row, loss="Log", link="Probit").fit(X, y)
    assert model.loss_ == losses.Log().with_link(losses.links.Probit())
    gained = losses.Log().composite().shrunk(8.0)
    if row.key != "auto":
        assert small(row, loss=gained).fit(X, y).loss_ == gained


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_a_fit_that_fails_leaves_the_model_as_it_was(row):
    X, y = data(2)
    model = small(row).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="fp_cost"):
        model.set_params(fp_cost=-1.0).fit(X[:, :2], y)
    model.set_params(fp_cost=1.0)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items() if name.endswith("_"))
    with pytest.raises(NotFittedError):
        small(row).predict(X)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_every_parameter_offered_can_be_set(row):
    model = row.type(loss=losses.Tailored(0.2, 3).with_link(losses.links.Logit(2.0)))
    for name, value in model.get_params().items():
        clone(model).set_params(**{name: value})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_the_signature_is_annotated(row):
    for cls in (row.type, ProperClassifier):
        for name, method in inspect.getmembers(cls, inspect.isfunction):
            if not name.startswith("_") and method.__module__.startswith("propriety"):
                hints = inspect.signature(method)
                assert hints.return_annotation is not inspect.Signature.empty, f"{cls.__name__}.{name}"
    for name, parameter in inspect.signature(row.type).parameters.items():
        assert parameter.annotation is not inspect.Parameter.empty, name


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_the_catalogue_is_what_the_package_offers(row):
    assert getattr(propriety, row.name) is row.type
    assert row.name in propriety.__all__
    assert row.type.table_settings(100).keys() <= set(row.type._get_param_names())


@pytest.mark.filterwarnings("ignore::propriety.linear.SeparationWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@parametrize_with_checks([row.type() for row in ROWS])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


#: Attributes that a model file does not keep: numbers of the training rows, and histories.
NOT_IN_FILES = {"oof_decision_function_"}
CHOSEN = {"boosting": {"max_iter": "cv"}, "linear": {"alpha": "cv"}, "forest": {"oob_score": True}}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_a_file_keeps_every_attribute_but_those_of_the_training_rows(row, tmp_path):
    model = small(row, **CHOSEN.get(row.key, {})).fit(*data(2))
    model.save(tmp_path / "m.propriety")
    again = propriety.load(tmp_path / "m.propriety")

    def public(fitted):
        return {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}

    assert public(again) == public(model) - NOT_IN_FILES
    for name in public(again):
        value = getattr(model, name)
        if isinstance(value, (np.ndarray, int, float, str)):
            np.testing.assert_array_equal(getattr(again, name), value, err_msg=name)
