"""Rows in several places give the bits of rows in one: threads that take turns stand for the places."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from tests.inside import forest_of

from propriety import BoostingClassifier, LinearClassifier
from propriety.boosting import Algorithm, learning
from propriety.boosting import settings as boosting_settings
from propriety.communicator import SINGLE, Disconnected, NotDistributable
from propriety.distributed.turns import take_turns
from propriety.model.fit_context import in_context

N = 2600


def table(kind, rng):
    X = rng.normal(size=(N, 5))
    z = X[:, 0] + X[:, 1] * X[:, 2]
    if "categories" in kind:
        X[:, 4] = rng.integers(0, 40, N)
        z = z + np.sin(7 * X[:, 4])
    if "missing" in kind:
        X[rng.random(X.shape) < 0.1] = np.nan
    classes = 3 if "classes" in kind else 2
    y = np.digitize(z + rng.normal(size=N), np.quantile(z, np.arange(1, classes) / classes))
    weights = {"whole": rng.integers(0, 4, N), "relative": rng.random(N), "zero": rng.integers(0, 2, N)}
    weight = next((w for name, w in weights.items() if name in kind), None)
    return SimpleNamespace(X=X, y=y, weight=weight, categorical=[4] if "categories" in kind else None)


def spread(estimator, data, shares):
    """The models that members with these rows have fitted together."""

    def task(rows):
        def fit(member):
            model = clone(estimator)
            in_context(model, communicator=member)
            weight = None if data.weight is None else data.weight[rows]
            return model.fit(data.X[rows], data.y[rows], sample_weight=weight)

        return fit

    return take_turns([task(rows) for rows in shares])


def shares_of(rng, sizes):
    return np.split(rng.permutation(N), np.cumsum(sizes)[:-1])


SETTINGS = {
    "plain": {},
    "drawn": {"subsample": 0.6, "max_features": 0.5},
    "cuts": {"splitter": "random", "min_samples_leaf": 30},
    "stopped": {"early_stopping": True, "n_iter_no_change": 2},
    "tailored": {"loss": "Tailored(0.2, 10)", "algorithm": Algorithm(step="exact")},
    "monotone": {"monotonic_cst": [1, 0, -1, 0, 0], "min_samples_leaf": 60},
    "depth": {
        "max_depth": 3,
        "algorithm": Algorithm(criterion="newton", step="newton"),
    },
    "additive": {"algorithm": "additive"},
    "additive, few drawn": {
        "algorithm": "additive",
        "subsample": 0.4,
    },  # of a single row in a place, none
    "drawn, bounded by scores": {"loss": "Squared()", "link": "Identity()", "subsample": 0.5},
    "grouped": {"interaction_cst": [[0, 1], [2, 3, 4]]},
    "linear search": {
        "algorithm": Algorithm(coefficient="line", weak_learner="stump"),
    },
}
CASES = [
    ("plain", "missing"),
    ("plain", "categories missing"),
    ("plain", "categories relative"),
    ("plain", "classes whole missing"),
    ("drawn", "categories missing"),
    ("drawn", "classes relative"),
    ("cuts", "categories missing"),
    ("cuts", "whole missing"),
    ("stopped", "whole"),
    ("stopped", "categories"),
    ("tailored", "missing"),
    ("monotone", "missing relative"),
    ("depth", "zero"),
    ("additive", "categories missing"),
    ("additive, few drawn", "missing"),
    ("drawn, bounded by scores", "zero"),
    ("grouped", "categories"),
    ("linear search", "relative"),
]


@pytest.mark.parametrize(("settings", "kind"), CASES)
def test_the_model_does_not_depend_on_where_rows_are(settings, kind):
    rng = np.random.default_rng(len(settings) + len(kind))
    data = table(kind, rng)
    estimator = BoostingClassifier(
        max_iter=5,
        max_leaf_nodes=12,
        random_state=3,
        n_jobs=1,
        categorical_features=data.categorical,
        **SETTINGS[settings],
    )
    whole = clone(estimator).fit(data.X, data.y, sample_weight=data.weight)
    for sizes in ((N - 700, 700), (1, 1200, N - 1201)):
        for model in spread(estimator, data, shares_of(rng, sizes)):
            assert model.n_iter_ == whole.n_iter_
            np.testing.assert_array_equal(model.decision_function(data.X), whole.decision_function(data.X))
            np.testing.assert_array_equal(model.validation_score_, whole.validation_score_)


@pytest.mark.parametrize(("least", "stops"), [(50, True), (1000, False)])
def test_what_is_left_to_us_does_not_depend_on_it_either(monkeypatch, least, stops):
    """Where rows count as many, some are held out, or too few to say anything; the seed is nobody's."""
    monkeypatch.setattr(boosting_settings, "FEW_ROWS", 1000.0)
    monkeypatch.setattr(learning, "_LEAST_PLACES", least)
    rng = np.random.default_rng(5)
    data = table("missing whole", rng)
    estimator = BoostingClassifier(max_leaf_nodes=3, learning_rate=0.7, n_jobs=1)
    whole = clone(estimator).fit(data.X, data.y, sample_weight=data.weight)
    assert (len(whole.validation_score_) > 0) == stops
    assert stops or whole.n_iter_ == 100
    for model in spread(estimator, data, shares_of(rng, (700, N - 700))):
        np.testing.assert_array_equal(model.decision_function(data.X), whole.decision_function(data.X))
        np.testing.assert_array_equal(model.validation_score_, whole.validation_score_)


def test_the_file_does_not_depend_on_where_rows_are(tmp_path):
    rng = np.random.default_rng(0)
    data = table("categories missing whole", rng)
    estimator = BoostingClassifier(max_iter=4, random_state=0, categorical_features=[4])
    models = [clone(estimator).fit(data.X, data.y, sample_weight=data.weight)]
    models += spread(estimator, data, shares_of(rng, (500, N - 500)))
    hashes = set()
    for number, model in enumerate(models):
        model.save(tmp_path / f"{number}.propriety")
        hashes.add(hashlib.sha256((tmp_path / f"{number}.propriety").read_bytes()).hexdigest())
    assert len(hashes) == 1


def test_many_rows_are_counted_in_blocks():
    """Nodes of more rows than a packed sum holds, in places of fewer."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20_000, 3))
    data = SimpleNamespace(X=X, y=(X[:, 0] + rng.normal(size=20_000) > 0).astype(int), weight=None)
    estimator = BoostingClassifier(max_iter=2, min_samples_leaf=300)
    whole = clone(estimator).fit(data.X, data.y)
    shares = np.split(rng.permutation(20_000), [7000, 14_000])
    for model in spread(estimator, data, shares):
        np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


def test_threads_that_share_a_trip_do_not_change_the_tree():
    """Enough cells for two threads in each of two places, and categories, which are weighed."""
    rng = np.random.default_rng(4)
    n = 36_000
    X = rng.normal(size=(n, 8)).round(2)
    X[:, 7] = rng.integers(0, 300, n)
    y = (X[:, 0] + X[:, 1] * (X[:, 7] % 3 == 0) + rng.normal(size=n) > 0).astype(int)
    data = SimpleNamespace(X=X, y=y, weight=None)
    estimator = BoostingClassifier(
        max_iter=2, max_leaf_nodes=40, min_samples_leaf=60, n_jobs=2, categorical_features=[7]
    )
    whole = clone(estimator).fit(data.X, data.y)
    for model in spread(estimator, data, np.split(rng.permutation(n), [17_000])):
        np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


def test_everybody_gets_what_the_others_have_for_it():
    told = take_turns(
        [lambda member: member.exchange([(member.rank, k) for k in range(3)]) for _ in range(3)]
    )
    assert told == [[(rank, k) for rank in range(3)] for k in range(3)]


def test_an_interrupted_fit_goes_on_from_its_rounds():
    rng = np.random.default_rng(2)
    data = table("missing", rng)
    estimator = BoostingClassifier(max_iter=6, early_stopping=True, random_state=0)
    whole = clone(estimator).fit(data.X, data.y)
    first = clone(estimator).set_params(max_iter=3).fit(data.X, data.y)
    again = clone(estimator)
    in_context(again, known_rounds=forest_of(first).split())
    again.fit(data.X, data.y)
    np.testing.assert_array_equal(again.decision_function(data.X), whole.decision_function(data.X))
    np.testing.assert_array_equal(again.train_score_, whole.train_score_)
    np.testing.assert_array_equal(again.validation_score_, whole.validation_score_)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"max_iter": "cv"}, "max_iter"),
        ({"max_iter": 3, "calibrate": "platt"}, "calibrate"),
        ({"max_iter": 3, "algorithm": "uls_corrective"}, "corrective"),
    ],
)
def test_what_needs_all_rows_is_refused_by_name(parameters, named):
    rng = np.random.default_rng(3)
    data = table("", rng)
    with pytest.raises(NotDistributable, match=named):
        spread(BoostingClassifier(**parameters), data, shares_of(rng, (1000, N - 1000)))


def test_an_error_in_one_place_ends_all():
    def fail(member):
        member.max((1.0,))
        raise OSError("disk")

    seen = []

    def wait(member):
        try:
            for _ in range(5):
                member.max((2.0,))
        except Disconnected:
            seen.append(member.rank)
            raise

    with pytest.raises(OSError, match="disk"):
        take_turns([wait, fail, wait])
    assert sorted(seen) == [0, 2]


def test_one_process_is_the_whole():
    part = np.arange(3)
    assert SINGLE.sum(part) is part
    assert SINGLE.max((1.0, 2.0)) == (1.0, 2.0)
    assert SINGLE.gather(part)[0] is part


@pytest.mark.parametrize(
    ("parameters", "kind"),
    [
        ({}, "relative"),
        ({"solver": "lbfgs", "alpha": 0.1}, "classes"),
        ({"solver": "newton", "loss": "Tailored(0.3, 5)"}, ""),
        ({"alpha": 0.01, "fit_intercept": False, "loss": "Beta(0.5, 2)"}, "whole"),
        ({"multiclass": "ovr"}, "classes relative"),
    ],
)
def test_linear_models_agree(parameters, kind):
    rng = np.random.default_rng(4)
    data = table(kind, rng)
    data.X = np.column_stack([data.X, np.ones(N), 1e6 + data.X[:, 0] ** 2])
    whole = LinearClassifier(**parameters, tol=1e-12).fit(data.X, data.y, sample_weight=data.weight)
    for model in spread(LinearClassifier(**parameters, tol=1e-12), data, shares_of(rng, (40, 900, N - 940))):
        np.testing.assert_allclose(
            model.decision_function(data.X), whole.decision_function(data.X), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize(
    "parameters", [{"alpha": "cv"}, {"solver": "uls"}, {"alpha": 0.1, "l1_ratio": 1.0}], ids=str
)
def test_linear_models_refuse_by_name(parameters):
    rng = np.random.default_rng(3)
    data = table("", rng)
    with pytest.raises(NotDistributable, match=next(reversed(parameters))):
        spread(LinearClassifier(**parameters), data, shares_of(rng, (1000, N - 1000)))


def test_who_asks_when_others_have_done_does_not_wait():
    with pytest.raises(RuntimeError, match="another has done"):
        take_turns([lambda member: member.rank, lambda member: member.max((1.0,))])
