"""Probabilities of one population made those of another."""

import numpy as np
import pytest

import propriety
from propriety import LinearClassifier, TreeClassifier, losses
from propriety.model import adapt, catalogue, files
from propriety.weights import Weights

SMALL = {"max_iter": 10, "n_estimators": 10, "n_rules": 4, "random_state": 0, "members": ("linear", "forest")}


def population(n, shares, seed, moved=0.0):
    """Classes of normal columns, whose shares differ between populations."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(shares), n, p=shares)
    return 1.5 * y[:, None] + rng.normal(moved, size=(n, 1)), y


def truth(x, shares):
    density = shares * np.exp(-((x - 1.5 * np.arange(len(shares))) ** 2) / 2)
    return density / density.sum(axis=1, keepdims=True)


def log_loss(P, y):
    return -np.mean(np.log(P[np.arange(len(y)), y]))


@pytest.mark.parametrize("row", catalogue.ESTIMATORS, ids=lambda row: row.key)
@pytest.mark.parametrize("k", [2, 3])
def test_known_shares_are_a_factor_of_the_odds_for_every_estimator(row, k, tmp_path):
    X, codes = population(200, np.full(k, 1 / k), 0)
    y = np.array(["a", "b", "c"])[codes]
    names = row.type._get_param_names()
    model = row.type(**{name: value for name, value in SMALL.items() if name in names}).fit(X, y)
    old, new = np.bincount(codes) / 200, np.array([0.9, 0.1] if k == 2 else [0.7, 0.2, 0.1])
    P, scores = model.predict_proba(X), model.decision_function(X)
    adapted = model.adapt(prevalence=dict(zip("abc"[:k], new, strict=True)))
    expected = P * new / old
    np.testing.assert_allclose(adapted.predict_proba(X), expected / expected.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(model.predict_proba(X), P)
    np.testing.assert_array_equal(adapted.decision_function(X), scores)
    np.testing.assert_array_equal(adapted.predict(X), adapted.decide(adapted.predict_proba(X)))
    np.testing.assert_allclose(adapted.adapt(prevalence=old).predict_proba(X), P, atol=1e-12)
    again = files.from_bytes(files.to_bytes(adapted))
    np.testing.assert_array_equal(again.predict_proba(X), adapted.predict_proba(X))
    assert again.adaptation_ == adapted.adaptation_
    assert model.fit(X, y).adaptation_ is None


def test_a_sample_drawn_by_class_gives_the_probabilities_of_the_population_for_any_link():
    X, y = population(20_000, np.array([0.97, 0.03]), 0)
    kept = np.flatnonzero((y == 1) | (np.random.default_rng(1).random(20_000) < 0.03))
    for link in ("Logit", "Probit", "Cauchit"):
        model = LinearClassifier("Log", link=link).fit(X[kept], y[kept])
        adapted = model.adapt(prevalence=y.mean())
        assert model.predict_proba(X)[:, 1].mean() > 0.2
        assert abs(adapted.predict_proba(X)[:, 1].mean() - y.mean()) < 0.004


def test_prevalence_is_that_of_the_positive_class():
    X, codes = population(300, np.array([0.5, 0.5]), 0)
    y = np.where(codes, "good", "bad")
    model = LinearClassifier(pos_label="bad").fit(X, y).adapt(prevalence=0.01)
    assert model.adaptation_.shares == pytest.approx((0.01, 0.99))
    assert "1% of bad" in str(model.adaptation_)
    assert "probabilities adapted: shares" in model.export_text()
    assert "probabilities adapted: shares" in TreeClassifier().fit(X, y).adapt(prevalence=0.1).export_text()


def test_shares_are_estimated_from_rows_without_labels():
    old, new = np.array([0.5, 0.3, 0.2]), np.array([0.8, 0.05, 0.15])
    covered = []
    for seed in range(20):
        x, _ = population(300, new, seed)
        found = adapt.of_rows(truth(x, old), Weights(300), old, None)
        covered += [low <= share <= high for share, (low, high) in zip(new, found.intervals, strict=True)]
    assert 0.85 < np.mean(covered) <= 1
    np.testing.assert_allclose(found.shares, new, atol=0.1)
    none, _ = population(100, np.array([1.0, 0.0]), 0)
    found = adapt.of_rows(truth(none, old[:2] / 0.8), Weights(100), old[:2] / 0.8, None)
    assert found.intervals[1][0] == 0
    assert found.intervals[1][1] > 0.005


def test_the_test_of_a_shift_of_shares_finds_other_shifts():
    old, new = np.array([0.6, 0.4]), np.array([0.9, 0.1])

    def rejected(moved):
        p = []
        for seed in range(30):
            (x, _), (ref, _) = population(600, new, seed, moved), population(600, old, seed + 100)
            p.append(adapt.of_rows(truth(x, old), Weights(600), old, truth(ref, old)).p_value)
        return np.mean(np.array(p) < 0.05)

    assert rejected(0.0) < 0.2
    assert rejected(0.7) > 0.3


def test_few_labels_change_little_and_many_do_as_they_say():
    old, new = np.array([0.6, 0.4]), np.array([0.95, 0.05])
    judged, labels = population(5000, old, 99)
    shifted, shifted_labels = population(5000, new, 98)
    for n, no_change, better in ((8, 0.02, 0.04), (300, 0.01, 0.19)):
        worse, gained = [], []
        for seed in range(20):
            x, y = population(n, old, seed)
            kept = adapt.of_labels(truth(x, old), y, Weights(n))(truth(judged, old))
            worse.append(log_loss(kept, labels) - log_loss(truth(judged, old), labels))
            x, y = population(n, new, seed)
            moved = adapt.of_labels(truth(x, old), y, Weights(n))(truth(shifted, old))
            gained.append(log_loss(truth(shifted, old), shifted_labels) - log_loss(moved, shifted_labels))
        assert np.mean(worse) < no_change
        assert np.mean(gained) > better


def test_a_slope_is_found_and_weights_are_copies():
    x, y = population(2000, np.array([0.5, 0.5]), 0)
    P = truth(x, np.array([0.5, 0.5])) ** 2
    P /= P.sum(axis=1, keepdims=True)
    assert adapt.of_labels(P, y, Weights(2000)).slope == pytest.approx(0.5, abs=0.05)
    copies = np.arange(2000) % 3
    once = adapt.of_labels(P, y, Weights.read(copies, 2000))
    again = adapt.of_labels(np.repeat(P, copies, axis=0), np.repeat(y, copies), Weights(int(copies.sum())))
    np.testing.assert_allclose(once.shifts, again.shifts, atol=1e-9)


def test_what_cannot_be_adapted_is_refused():
    X, y = population(100, np.array([0.5, 0.5]), 0)
    model = LinearClassifier().fit(X, y)
    with pytest.raises(ValueError, match="either prevalence"):
        model.adapt()
    with pytest.raises(ValueError, match="prevalence must"):
        model.adapt(prevalence=1.0)
    with pytest.raises(ValueError, match="not classes of the model"):
        model.adapt(X, y + 1)
    with pytest.raises(ValueError, match="offset"):
        LinearClassifier().fit(X, y, offset=np.zeros(100)).adapt(X)
    assert isinstance(propriety.LinearClassifier().fit(X, y).loss_, losses.Composite)
