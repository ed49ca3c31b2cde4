"""Boosting algorithms of the papers against plain NumPy versions that follow the papers step by step."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, special
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import propriety
from propriety import BoostingClassifier, algorithms, losses
from propriety.boosting import Algorithm
from propriety.boosting.algorithm import NAMED

ROUNDS = 12


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3)).round(6)
    s = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.normal(0, 0.7, 160) > 0.4, 1.0, -1.0)
    return X, s


@pytest.fixture(scope="module")
def binned():
    """Whole numbers: the values of a feature are its bins."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 6, size=(150, 4)).astype(float)
    s = np.where(rng.random(150) < special.expit(0.8 * (X[:, 0] - 2.5) + (X[:, 1] % 2)), 1.0, -1.0)
    return X, s


def best_stump(X, g, h, least=1):
    """The split of largest Σ G²/H, as (feature, threshold): Gini's index if g = y*w and h = w."""
    best = (-1.0, 0, 0.0)
    for f in range(X.shape[1]):
        values = np.unique(X[:, f])
        for low, high in itertools.pairwise(values):
            left = X[:, f] <= (low + high) / 2
            if min(left.sum(), (~left).sum()) < least:
                continue
            score = sum(g[m].sum() ** 2 / h[m].sum() for m in (left, ~left))
            if score > best[0] * (1 + 1e-9):
                best = (score, f, (low + high) / 2)
    return best[1], best[2]


def sides(X, stump):
    left = X[:, stump[0]] <= stump[1]
    return left, ~left


def discrete_adaboost(X, s):
    F, w = np.zeros(len(s)), np.full(len(s), 1 / len(s))
    for _ in range(ROUNDS):
        h = np.empty(len(s))
        for side in sides(X, best_stump(X, w * s, w)):
            h[side] = np.sign((w * s)[side].sum())
        error = w[h != s].sum()
        alpha = 0.5 * np.log((1 - error) / error)
        F += alpha * h
        w = w * np.exp(-alpha * s * h)
        w /= w.sum()
    return F


def real_adaboost(X, s):
    F, most = np.zeros(len(s)), np.log(2 * len(s) + 1)
    for _ in range(ROUNDS):
        w = np.exp(-s * F)
        for side in sides(X, best_stump(X, w * s, w)):
            plus, minus = w[side & (s > 0)].sum(), w[side & (s < 0)].sum()
            with np.errstate(divide="ignore"):
                F[side] += np.clip(0.5 * np.log(plus / minus), -most, most)
    return F


def gentle_adaboost(X, s):
    F = np.zeros(len(s))
    for _ in range(ROUNDS):
        w = np.exp(-s * F)
        for side in sides(X, best_stump(X, w * s, w)):
            F[side] += (w * s)[side].sum() / w[side].sum()
    return F


def logitboost(X, s):
    F, y = np.zeros(len(s)), (s + 1) / 2
    for _ in range(ROUNDS):
        p = special.expit(F)
        w = p * (1 - p)
        z = (y - p) / w
        for side in sides(X, best_stump(X, w * z, w)):
            F[side] += np.average(z[side], weights=w[side])
    return F


@pytest.mark.parametrize("algorithm", [discrete_adaboost, real_adaboost, gentle_adaboost, logitboost])
def test_the_algorithms_are_the_published_ones(data, algorithm):
    X, s = data
    model = algorithms.make(algorithm.__name__, max_iter=ROUNDS).fit(X, s)
    np.testing.assert_allclose(model.decision_function(X), algorithm(X, s), atol=1e-9)


def test_discrete_adaboost_is_that_of_scikit_learn(data):
    X, s = data
    model = algorithms.make("discrete_adaboost", max_iter=ROUNDS).fit(X, s)
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1, random_state=0), n_estimators=ROUNDS)
    theirs.fit(X, s)
    # Their coefficient is log((1 − ε)/ε), and their score that of class 1 less that of class −1.
    ours = 4 * model.decision_function(X) / theirs.estimator_weights_.sum()
    np.testing.assert_allclose(ours, theirs.decision_function(X), atol=1e-9)


def test_real_adaboost_has_probabilities_by_the_half_logit_link(data):
    X, s = data
    model = algorithms.make("real_adaboost", max_iter=ROUNDS).fit(X, s)
    expected = special.expit(2 * model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-14)


# −φ′ of [M Table 2] and (53), written from the paper.
def glog(v, sigma):
    return special.expit(-v / sigma)


def ggauss(v, sigma):
    return 0.5 * special.erfc(np.sqrt(np.pi) * v / (4 * sigma))


def glaplace(v, sigma):
    return 0.5 * (1 - np.sign(v) * (1 - np.exp(-np.abs(v) / (2 * sigma))))


def gboost(v, sigma):
    return 0.5 - v / sigma / (2 * np.sqrt(4 + (v / sigma) ** 2))


def alpha_tunable(v, sigma, alpha=0.3):
    u = v / sigma
    return special.expit(-u) * (1 - alpha) / (2 - 3 * alpha) * (np.exp(-alpha * u) + np.exp(alpha * u))


WEIGHTS = [
    (losses.GLog, glog),
    (losses.GGauss, ggauss),
    (losses.GLaplace, glaplace),
    (losses.GBoost, gboost),
    (lambda sigma: losses.AlphaTunable(sigma, 0.3), alpha_tunable),
]


@pytest.mark.parametrize("name", ["boostlr", "boostlr_sign"])
@pytest.mark.parametrize(("family", "weight"), WEIGHTS)
def test_boostlr_is_algorithm_1_with_histogram_learners(binned, family, weight, name):
    X, s = binned
    sigma = 3.0
    G = np.zeros(len(s))
    for _ in range(ROUNDS):
        w = weight(s * G, sigma)
        best = (-1.0, None)
        for f in range(X.shape[1]):
            g = np.empty(len(s))
            for value in np.unique(X[:, f]):
                here = X[:, f] == value
                edge = (s * w)[here].sum()
                g[here] = np.sign(edge) if name == "boostlr_sign" else edge / w[here].sum()
            score = (s * w * g).sum()
            best = max(best, (score, f, g), key=lambda candidate: candidate[0])
        G += best[2]
    model = algorithms.make(name, loss=family(sigma), max_iter=ROUNDS)
    model.fit(X, s)
    np.testing.assert_allclose(model.decision_function(X), G, atol=1e-9)


@pytest.mark.parametrize(
    ("loss", "phi", "weight"),
    [
        ("Log()", lambda v: np.logaddexp(0, -v), lambda v: special.expit(-v)),
        ("Matsushita()", lambda v: (np.hypot(1, v) - v) / 2, lambda v: 0.5 - v / (2 * np.hypot(1, v))),
    ],
)
@pytest.mark.parametrize("corrective", [False, True])
def test_uls_minimizes_along_one_learner_or_all(data, loss, phi, weight, corrective):
    X, s = data
    # Wrong labels everywhere, so that the least loss is at finite coefficients.
    s = np.where(np.random.default_rng(5).random(len(s)) < 0.2, -s, s)
    columns, alpha = [], np.empty(0)
    for _ in range(8):
        M = np.array(columns).T.reshape(len(s), -1)
        v = M @ alpha
        w = weight(v)
        h = np.empty(len(s))
        for side in sides(X, best_stump(X, w * s, w, least=20)):
            h[side] = np.sign((w * s)[side].sum())
        columns.append(s * h)
        M = np.column_stack([M, s * h])
        if corrective:
            found = optimize.minimize(
                lambda a, M=M: phi(M @ a).sum(),
                np.append(alpha, 0.0),
                jac=lambda a, M=M: -M.T @ weight(M @ a),
                method="BFGS",
                options={"gtol": 1e-9, "maxiter": 1000},
            )
            alpha = found.x
        else:
            step = optimize.brentq(
                lambda d, v=v, h=h: (s * h * weight(v + d * s * h)).sum(), -9, 9, xtol=1e-13
            )
            alpha = np.append(alpha, step)
    name = "uls_corrective" if corrective else "uls"
    model = algorithms.make(name, loss=loss, max_iter=8, min_samples_leaf=20).fit(X, s)
    # The learners are compared too: another one anywhere would show in the scores.
    tolerance = 2e-6 if corrective else 1e-9
    np.testing.assert_allclose(s * model.decision_function(X), np.array(columns).T @ alpha, atol=tolerance)


def mh_weights(F, y):
    sign = np.where(y[:, None] == np.arange(F.shape[1]), 1.0, -1.0)
    q = np.exp(-sign * F)
    return -sign * q, q.sum()


def m2_weights(F, y):
    q = np.exp(F - F[np.arange(len(y)), y][:, None])
    q[np.arange(len(y)), y] = 0
    G = q.copy()
    G[np.arange(len(y)), y] = -q.sum(axis=1)
    return G, q.sum()


def logistic_weights(F, y):
    G = special.softmax(F, axis=1)
    G[np.arange(len(y)), y] -= 1
    return G, -G[np.arange(len(y)), y].sum()


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("adaboost_mh", mh_weights),
        ("adaboost_m2", m2_weights),
        ("multiclass_logistic", logistic_weights),
    ],
)
def test_several_classes_one_after_the_other(name, weights):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 3)).round(6)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.5, 150), [-0.5, 0.6])
    F = np.zeros((150, 3))
    for _ in range(ROUNDS):
        G, Z = weights(F, y)
        found = []
        for c in range(3):
            h = np.empty(150)
            for side in sides(X, best_stump(X, G[:, c], np.abs(G[:, c]))):
                h[side] = -np.sign(G[side, c].sum())
            found.append((-(G[:, c] * h).sum(), h))
        edges = np.abs([r for r, _ in found])
        c = int(np.argmax(edges >= edges.max() * (1 - 1e-9)))
        r, h = found[c]
        F[:, c] += 0.5 * np.log((Z + r) / (Z - r)) * h
    model = algorithms.make(name, max_iter=ROUNDS).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    trees = algorithms.make(name, max_iter=5, algorithm__weak_learner="tree", max_leaf_nodes=4).fit(X, y)
    assert trees.score(X, y) > 0.6


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"algorithm": Algorithm(coefficient="bregman"), "loss": "Squared()"}, "coefficient='line'"),
        ({"algorithm": Algorithm(coefficient="corrective"), "learning_rate": 0.1}, "learning_rate"),
        (
            {"algorithm": Algorithm(coefficient="corrective"), "learning_rate": 1, "early_stopping": True},
            "early_stopping",
        ),
        ({"algorithm": "additive", "monotonic_cst": [1, 0, 0]}, "no_interactions"),
        (
            {"algorithm": "adaboost"},
            "no algorithm 'adaboost' of boosting; give one of gradient,",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(data, params, message):
    X, s = data
    model = BoostingClassifier(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, s)
    assert not hasattr(model, "classes_")


def test_corrective_is_for_two_classes(data):
    X, s = data
    with pytest.raises(ValueError, match="two classes"):
        algorithms.make("uls_corrective").fit(X, s + (X[:, 2] > 1) * 5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"weak_learner": "forest"}, "weak_learner"),
        ({"step": "fischer"}, "step"),
        ({"criterion": "entropy"}, "criterion"),
        ({"coefficient": "exact"}, "coefficient"),
        ({"init": 0}, "init"),
        ({"max_intervals": 1}, "max_intervals"),
        ({"sequential": 1}, "sequential"),
    ],
)
def test_an_algorithm_checks_its_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        Algorithm(**params)
    with pytest.raises(TypeError, match=r"name or a boosting\.Algorithm, got 3"):
        BoostingClassifier(algorithm=3).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="loss must be"):
        Algorithm(loss=3)


KEPT = json.loads((Path(__file__).parent / "algorithms.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", algorithms.names("BoostingClassifier"))
def test_a_name_gives_the_kept_scores(data, name, tmp_path):
    """Those of release 0.2, which had a function for each algorithm."""
    X, s = data
    several = name in ("adaboost_mh", "adaboost_m2", "multiclass_logistic")
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, [0.2, 0.9]) if several else s
    model = BoostingClassifier(algorithm=name, max_iter=ROUNDS).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X[:6]), KEPT[name], rtol=1e-12)
    model.save(tmp_path / "model")
    assert propriety.load(tmp_path / "model").get_params() == model.get_params()


def test_a_part_of_an_algorithm_can_be_set(data):
    X, s = data
    model = BoostingClassifier(algorithm="logitboost", max_iter=3)
    model.set_params(algorithm__step="newton", algorithm__init="base_rate")
    assert model.algorithm == NAMED["logitboost"].replace(step="newton", init="base_rate")
    assert model.get_params()["algorithm__step"] == "newton"
    search = GridSearchCV(
        BoostingClassifier(max_iter=2), {"algorithm__weak_learner": ["tree", "stump"]}, cv=2
    )
    assert search.fit(X, s).best_estimator_.algorithm.step == "fisher"
