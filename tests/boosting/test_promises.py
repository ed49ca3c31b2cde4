"""The promises of the library, for boosting."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.inside import forest_of

from propriety import LinearClassifier, TreeClassifier, links, losses, parallel
from propriety.boosting import Algorithm, BoostingClassifier, rounds
from propriety.boosting.objective import BinaryObjective

LOSSES = [
    "Log()",
    "Squared()",
    "Exponential()",
    "Tailored(0.1, 20)",
    "Beta(2, 1)",
    "2 * Log() + Tailored(0.3, 10)",
    "Matsushita()",
    "GLaplace(1.0)",
]


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(600, 8, n_informative=5, weights=[0.7], flip_y=0.05, random_state=3)
    return X, y


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("step", ["fisher", "newton", "gradient", "exact"])
def test_without_splits_the_probability_is_the_weighted_base_rate(data, loss, step):
    X, y = data
    w = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    model = BoostingClassifier(loss, algorithm=Algorithm(step=step), max_iter=3, min_samples_leaf=10_000).fit(
        X, y, w
    )
    np.testing.assert_allclose(model.predict_proba(X[:3])[:, 1], np.average(y, weights=w), atol=1e-9)


def test_a_log_loss_of_ones_own_gives_the_built_in_trees(data):
    X, y = data
    own = losses.from_weight(lambda p: 1 / (p * (1 - p)))
    built_in = BoostingClassifier("Log()", link="Logit()", max_iter=25).fit(X, y)
    model = BoostingClassifier(own, link="Logit()", max_iter=25).fit(X, y)
    for name in ("feature", "bin", "left"):
        np.testing.assert_array_equal(forest_of(model).nodes[name], forest_of(built_in).nodes[name])
    np.testing.assert_allclose(model.predict_proba(X), built_in.predict_proba(X), atol=1e-9)


def test_with_several_classes_multiples_and_ones_own_log_loss_are_the_log_loss():
    X, y = make_classification(300, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    own = losses.from_weight(lambda p: 1 / (p * (1 - p)))
    for type_ in (BoostingClassifier, LinearClassifier, TreeClassifier):
        common = {"max_iter": 10} if type_ is BoostingClassifier else {}
        expected = type_("Log", **common).fit(X, y).predict_proba(X)
        for loss in (3 * losses.Log(), own):
            P = type_(loss, **common).fit(X, y).predict_proba(X)
            np.testing.assert_allclose(P, expected, rtol=0, atol=1e-7 if type_ is LinearClassifier else 1e-9)


@pytest.mark.parametrize("calibrate", ["platt", "beta"])
def test_a_model_of_several_classes_without_splits_is_not_calibrated(calibrate):
    X, y = np.zeros((50, 1)), np.repeat([0, 1, 2], [30, 15, 5])
    P = BoostingClassifier(max_iter=3, calibrate=calibrate).fit(X, y).predict_proba(X[:1])
    np.testing.assert_allclose(P[0], [0.6, 0.3, 0.1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES[:4])
@pytest.mark.parametrize(
    "regularizers", [{}, {"l2_regularization": 2.0, "min_split_gain": 0.5, "min_weight_leaf": 2.0}]
)
@pytest.mark.parametrize("step", ["fisher", "gradient", "exact"])
def test_the_scale_of_the_loss_does_not_matter(data, loss, regularizers, step):
    X, y = data
    composite = losses.as_composite(loss)
    tripled = (3 * composite.loss).with_link(composite.link)
    one = BoostingClassifier(composite, algorithm=Algorithm(step=step), max_iter=10, **regularizers).fit(X, y)
    three = BoostingClassifier(tripled, algorithm=Algorithm(step=step), max_iter=10, **regularizers).fit(X, y)
    np.testing.assert_allclose(one.predict_proba(X), three.predict_proba(X), atol=1e-9)
    assert forest_of(one).nodes["depth"].max() > 1


@pytest.mark.parametrize("loss", ["Log()", "Squared()", "Tailored(0.1, 20)"])
@pytest.mark.parametrize("criterion", ["auto", "fisher"])
def test_the_scale_of_the_loss_does_not_matter_where_the_hessian_vanishes(data, loss, criterion):
    """The Hessian of Log() with the Laplace link is 0 for half of the scores, up to rounding."""
    X, y = data
    common = {"link": "Laplace()", "algorithm": Algorithm(step="newton", criterion=criterion), "max_iter": 10}
    one = BoostingClassifier(losses.parse(loss), **common).fit(X, y)
    for scale in (3, 0.7, 1e-5):
        other = BoostingClassifier(scale * losses.parse(loss), **common).fit(X, y)
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)
    assert forest_of(one).nodes["depth"].max() > 1


@pytest.mark.parametrize("loss", ["Log()", "Tailored(0.1, 20)"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"algorithm": Algorithm(step="exact")}, {"min_samples_leaf": 3, "l2_regularization": 1.0}],
)
def test_a_weight_is_a_number_of_copies(data, loss, parameters):
    X, y = data
    rng = np.random.default_rng(1)
    w = rng.integers(0, 5, len(y))
    copies = rng.permutation(np.repeat(np.arange(len(y)), w))
    weighted = BoostingClassifier(loss, max_iter=20, **parameters).fit(X, y, w.astype(float))
    copied = BoostingClassifier(loss, max_iter=20, **parameters).fit(X[copies], y[copies])
    assert_same_model(weighted, copied)
    without = w > 0
    assert_same_model(
        weighted, BoostingClassifier(loss, max_iter=20, **parameters).fit(X[without], y[without], w[without])
    )


def test_a_weight_is_a_number_of_copies_for_several_classes():
    X, y = make_classification(400, 6, n_informative=4, n_classes=3, random_state=0)
    w = np.random.default_rng(1).integers(0, 4, len(y))
    copies = np.repeat(np.arange(len(y)), w)
    weighted = BoostingClassifier(max_iter=8).fit(X, y, w)
    copied = BoostingClassifier(max_iter=8).fit(X[copies], y[copies])
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-9, 1e6])
def test_the_scale_of_weights_that_are_not_whole_does_not_matter(data, scale):
    X, y = data
    w = np.random.default_rng(1).random(len(y))
    one = BoostingClassifier(max_iter=10, l2_regularization=1.0).fit(X, y, w)
    other = BoostingClassifier(max_iter=10, l2_regularization=1.0).fit(X, y, scale * w)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)
    assert forest_of(one).nodes["depth"].max() > 1


def assert_same_model(a, b):
    assert (
        forest_of(a).nodes[["feature", "bin", "left", "missing_left"]].tolist()
        == forest_of(b).nodes[["feature", "bin", "left", "missing_left"]].tolist()
    )
    np.testing.assert_allclose(
        forest_of(a).nodes["value"], forest_of(b).nodes["value"], rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize(
    "parameters", [{}, {"subsample": 0.5, "max_features": 0.5}, {"loss": "Exponential()"}]
)
def test_the_model_does_not_depend_on_the_number_of_threads(parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 10)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = rng.random(40_000) < 1 / (1 + np.exp(-np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2])))
    w = rng.random(40_000)
    for weight in (None, w):
        models = [
            BoostingClassifier(max_iter=8, n_jobs=n, random_state=0, **parameters).fit(X, y, weight)
            for n in (1, 2, 4, 2)
        ]
        first = forest_of(models[0]).nodes.tolist()
        assert all(forest_of(m).nodes.tolist() == first for m in models[1:])
        scores = [m.decision_function(X).tobytes() for m in models]
        assert len(set(scores)) == 1


def test_classes_side_by_side_are_the_same_model(monkeypatch):
    """With many classes each thread grows trees of its own; what was learned of a class stays with it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7500, 6))
    X[:, 0] = rng.integers(0, 40, 7500)
    y = (X[:, 1] + X[:, 2] * X[:, 3] + 0.1 * (X[:, 0] % 7) + rng.normal(size=7500)).round().clip(-2, 2) % 4
    sizes, whole = [], rounds.Booster._crew_size
    monkeypatch.setattr(parallel, "n_cores", lambda: 2)
    monkeypatch.setattr(rounds.Booster, "_crew_size", lambda self: sizes.append(whole(self)) or sizes[-1])

    def fitted(n_jobs, sample_weight=None, **parameters):
        model = BoostingClassifier(max_iter=6, n_jobs=n_jobs, categorical_features=[0], random_state=0)
        return model.set_params(**parameters).fit(X, y, sample_weight)

    for weight in (None, (np.arange(7500) % 5 > 0).astype(float)):
        models = [fitted(n, sample_weight=weight) for n in (1, 2)]
        assert forest_of(models[0]).nodes.tolist() == forest_of(models[1]).nodes.tolist()
        assert forest_of(models[0]).sets.tolist() == forest_of(models[1]).sets.tolist()
    assert sizes == [1, 2] * 2
    # Where a score looks at the others', or numbers are drawn in turns, the learners take turns.
    for parameters in ({"algorithm": Algorithm(step="exact")}, {"subsample": 0.5}, {"max_features": 0.5}):
        fitted(2, max_iter=1, **parameters)
        assert sizes[-1] == 1


def test_the_order_of_rows_and_columns_does_not_matter(data):
    X, y = data
    rows = np.random.default_rng(0).permutation(len(y))
    columns = np.random.default_rng(1).permutation(X.shape[1])
    one = BoostingClassifier(max_iter=15).fit(X, y)
    assert_same_model(one, BoostingClassifier(max_iter=15).fit(X[rows], y[rows]))
    other = BoostingClassifier(max_iter=15).fit(X[:, columns], y)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X[:, columns]), atol=1e-9)


@pytest.mark.parametrize("loss", ["Log()", "Squared()", "Exponential()"])
def test_flipping_the_labels_flips_the_probabilities(data, loss):
    X, y = data
    one = BoostingClassifier(loss, max_iter=15).fit(X, y)
    other = BoostingClassifier(loss, max_iter=15).fit(X, 1 - y)
    np.testing.assert_allclose(one.predict_proba(X)[:, 1], other.predict_proba(X)[:, 0], atol=1e-9)


def test_probabilities_scores_and_decisions(data):
    X, y = data
    model = BoostingClassifier("Tailored(0.1, 20)", fp_cost=1, fn_cost=9, max_iter=20).fit(
        X, np.array(["no", "yes"])[y]
    )
    p = model.predict_proba(X)
    assert p.dtype == np.float64
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-15)
    composite = losses.as_composite("Tailored(0.1, 20)")
    np.testing.assert_allclose(composite.inverse(model.decision_function(X)), p[:, 1], atol=1e-15)
    np.testing.assert_array_equal(model.predict(X) == "yes", p[:, 1] >= 0.1)


def test_training_scores_are_predicted_scores(data):
    """What the rounds saw is what ``decision_function`` returns, bit for bit."""
    from propriety.boosting.learning import prepare
    from propriety.boosting.rounds import Booster
    from propriety.boosting.settings import settings_of
    from propriety.data.training import Training

    X, y = data
    estimator = BoostingClassifier(max_iter=12)
    training = Training.read("BoostingClassifier", X, y)
    lesson = prepare(training, settings_of(estimator, training, seed=0), losses.Log().composite())
    booster = Booster(
        lesson.binned, lesson.binner, lesson.objective, lesson.weights, lesson.settings, lesson.start
    )
    for number in range(12):
        booster.advance(number)
    np.testing.assert_array_equal(booster.scores[:, 0], estimator.fit(X, y).decision_function(X))


def test_gradients_are_computed_once_a_round(data, monkeypatch):
    X, y = data
    calls, derivatives = [], BinaryObjective.derivatives

    def counted(*args):
        calls.append(derivatives(*args))
        return calls[-1]

    monkeypatch.setattr(BinaryObjective, "derivatives", counted)
    model = BoostingClassifier(max_iter=4, warm_start=True).fit(X, y)
    assert len(calls) == 1 + 4  # at the start, and after each round
    calls.clear()
    resumed = model.set_params(max_iter=7).fit(X, y).decision_function(X)
    assert len(calls) == 1 + 1 + 3  # the units at the start, the scores so far, and after each round
    np.testing.assert_array_equal(resumed, BoostingClassifier(max_iter=7).fit(X, y).decision_function(X))


@parametrize_with_checks([BoostingClassifier("Tailored(0.3, 10)", max_iter=10)])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("link", links.examples(), ids=repr)
@pytest.mark.parametrize("step", ["newton", "fisher"])
def test_three_times_the_loss_is_the_same_model_with_every_link(link, step):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + rng.normal(size=300) > 0
    once, thrice = (
        BoostingClassifier(loss, link=link, algorithm=Algorithm(step=step), max_iter=8, random_state=0).fit(
            X, y
        )
        for loss in (losses.Log(), 3 * losses.Log())
    )
    np.testing.assert_allclose(thrice.predict_proba(X), once.predict_proba(X), rtol=1e-7, atol=1e-9)
