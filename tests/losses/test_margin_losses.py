"""A margin loss is its own loss on the whole line, and a proper loss on the range of its link."""

import pickle
from functools import partial

import numpy as np
import pytest
from scipy.special import erf
from surrogates import SURROGATES

from propriety import links, losses

MINE = {name: losses.from_margin_loss(s.phi).composite() for name, s in SURROGATES.items()}
named = pytest.mark.parametrize("name", SURROGATES)
V = np.concatenate([np.linspace(-8, 8, 65) + 0.003, [-3.0, -1.0, 0.0, 1.0, 2.0]])


def squared_hinge(v):
    return np.maximum(0, 1 - v) ** 2


@named
@pytest.mark.parametrize("with_derivative", [False, True])
def test_value_gradient_and_curvature_are_those_of_phi_on_the_whole_line(name, with_derivative):
    s, c = SURROGATES[name], MINE[name]
    if with_derivative:
        c = losses.from_margin_loss(s.phi, derivative=s.slope).composite()
    np.testing.assert_allclose(c.margin_loss(V), s.phi(V), rtol=1e-12)
    np.testing.assert_allclose(c.value(0, V), s.phi(-V), rtol=1e-12)
    scale = 1 + np.abs(s.slope(V))
    assert np.all(np.abs(c.gradient(1, V) - s.slope(V)) <= 1e-9 * scale)
    assert np.all(np.abs(c.gradient(0, V) + s.slope(-V)) <= 1e-9 * (1 + np.abs(s.slope(-V))))
    smooth = np.abs(np.abs(V) - np.array([[0.0], [1.0]])).min(axis=0) > 1e-6  # curvatures jump at 0 and ±1
    np.testing.assert_allclose(c.hessian(1, V[smooth]), s.bend(V[smooth]), rtol=1e-6, atol=1e-6)
    mean = c.values(np.full(len(V), 0.3), V)
    np.testing.assert_allclose(mean, 0.3 * s.phi(V) + 0.7 * s.phi(-V), rtol=1e-12)


@named
def test_the_probability_is_the_inverse_link_and_clipped_beyond_it(name):
    s, c = SURROGATES[name], MINE[name]
    inside = V[np.abs(V) < s.high]
    truth = s.slope(-inside) / (s.slope(inside) + s.slope(-inside))
    np.testing.assert_allclose(c.inverse(inside), truth, atol=1e-8)
    assert c.link.high == pytest.approx(s.high, abs=2e-4)
    assert np.all(c.inverse(V[s.high + 1e-3 < V]) == 1)
    assert np.all(c.inverse(V[-s.high - 1e-3 > V]) == 0)
    p = np.linspace(0.02, 0.98, 25)
    np.testing.assert_allclose(c.inverse(c.link(p)), p, rtol=1e-9)


@named
def test_on_the_range_of_the_link_it_is_a_proper_loss(name):
    s, c = SURROGATES[name], MINE[name]
    p = np.linspace(0.05, 0.95, 19)
    F = c.link(p)
    # The risk of the truth is least at its own score, and that least risk is the entropy.
    assert np.all(np.abs(c.gradient(p, F)) <= 1e-8 * np.abs(c.gradient(1, F)))
    np.testing.assert_allclose(c.loss.entropy(p), c.value(p, F), rtol=1e-9)
    grid = np.linspace(-6, 6, 2001)
    for eta, entropy in zip(p, c.loss.entropy(p), strict=True):
        assert entropy <= np.min(eta * s.phi(grid) + (1 - eta) * s.phi(-grid)) + 1e-9
    np.testing.assert_allclose(c.hessian(p, F), c.fisher(F), rtol=1e-6)
    facts = c.properties()
    assert all(facts[what] for what in ("symmetric", "strict", "permissible", "convex", "margin form"))
    assert bool(facts["real range"]) == (s.high == np.inf)
    assert ("beyond them" in facts["proper"].reason) == (s.high < np.inf)


def test_the_squared_hinge_as_its_formula_says():
    c = losses.from_margin_loss(squared_hinge).composite()
    assert c.margin_loss(-3) == 16
    assert c.gradient(1, -3.0) == pytest.approx(-8, rel=1e-12)
    assert (c.margin_loss(2), c.gradient(1, 2.0), c.inverse(2.0), c.inverse(-1.5)) == (0, 0, 1, 0)
    gained = c.with_gain(2)
    assert (gained.margin_loss(-6), gained.inverse(2.5)) == (16, 1)
    assert c.shrunk(2).margin_loss(-6) == 32
    # Every weight is that of a margin: w = 2 (1 − v).
    assert c.legendre(8.0, 1.0) == pytest.approx(6.0)
    assert c.bregman(8.0, 2.0) == pytest.approx(9.0)
    again = pickle.loads(pickle.dumps(c))
    assert again == c
    assert again.margin_loss(-3) == 16


def ggauss(sigma, v):
    k = np.sqrt(np.pi) / (4 * sigma)
    return v / 2 * (erf(k * v) - 1) + 2 * sigma / np.pi * np.exp(-((k * v) ** 2))


PRINTED = {
    "Matsushita": (lambda v: np.sqrt(1 + v * v) - v, True),
    "phi_mu": (lambda v: 0.3 + (np.sqrt(0.49 + v * v) - v) / 2, True),
    "GBoost": (lambda v: np.sqrt(4 + (v / 2) ** 2) - v / 2, True),
    **{f"GGauss({sigma})": (partial(ggauss, sigma), True) for sigma in (0.3, 1, 2, 10)},
    "MadaBoost": (SURROGATES["MadaBoost"].phi, True),
    "naive logistic": (lambda v: np.log(1 + np.exp(-v)), True),
    "Savage": (lambda v: 1 / (1 + np.exp(2 * v)) ** 2, False),
}


@pytest.mark.parametrize("name", PRINTED)
def test_printed_margin_forms_have_consistent_facts(name):
    phi, convex = PRINTED[name]
    facts = losses.from_margin_loss(phi).composite().properties()
    for what in ("margin form", "symmetric", "strict", "permissible", "real range", "generalized logit"):
        assert facts[what], facts[what]
    assert bool(facts["convex"]) == bool(facts["Legendre dual"]) == convex
    assert bool(facts["bounded"]) == (name == "Savage")
    assert facts["regularization loss"]


def test_growth_of_truncated_weights():
    # w = min(1, e^−v): (log w)′ ≥ −1, so that the updates of [C] are safe.
    assert MINE["MadaBoost"].growth == pytest.approx(1, abs=1e-9)


def test_many_rows_are_looked_up_as_they_are_computed():
    rng = np.random.default_rng(0)
    F, y = rng.uniform(-9, 9, 5000), rng.integers(0, 2, 5000).astype(float)
    for name in ("squared", "squared hinge", "logistic plus a ridge"):
        c = MINE[name]
        g, h = c.derivatives(y, F, curvature="newton")
        np.testing.assert_allclose(g, c.gradient(y, F), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(h, c.hessian(y, F), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(c.values(y, F), c.value(y, F), rtol=1e-9, atol=1e-12)
        assert np.all(c.fisher(F) > 0)


def test_the_squared_loss_with_its_canonical_link_is_a_parabola():
    F = np.linspace(-4, 4, 33)
    for link, score in ((links.Identity(-1, 1), (1 + F) / 2), (links.Identity(), F)):
        c = losses.Squared().with_link(link)
        for y in (0.0, 1.0, 0.25):
            residual = y - score
            expected = residual**2 + y * (1 - y)  # linear in the label
            np.testing.assert_allclose(c.value(y, F), expected, rtol=1e-12, atol=1e-12)
            rate = 1 / (link.high - link.low)
            np.testing.assert_allclose(c.gradient(y, F), -2 * rate * residual, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(c.hessian(y, F), 2 * rate**2, rtol=1e-12)
    assert "beyond them the loss is the same parabola" in c.properties()["canonical"].reason


@pytest.mark.parametrize(
    ("phi", "message"),
    [
        (np.exp, "not classification-calibrated: the margin loss must fall at 0"),
        (lambda v: v**2, "not classification-calibrated: the margin loss must fall at 0"),
        (lambda v: np.maximum(0, -v), "not classification-calibrated"),
        (
            lambda v: np.where(v < 0, -2 * v, np.exp(-np.abs(v))),
            "not classification-calibrated: it has a kink",
        ),
        (lambda v: -v * np.exp(-v * v), "not classification-calibrated: it rises"),
        (lambda v: np.maximum(0, 1 - v), "has no link: .* as the hinge loss does"),
        (lambda v: np.exp(-v) + np.sin(3 * v) / 4, "phi has no link"),
        (lambda v: np.logaddexp(0, -v) - 0.4 * v, "no link for probabilities above 0.77"),
    ],
)
def test_what_is_not_calibrated_or_has_no_link_is_refused_by_name(phi, message):
    with pytest.raises(ValueError, match=message):
        losses.from_margin_loss(phi)


def test_a_derivative_of_another_function_is_refused():
    with pytest.raises(ValueError, match="derivative is not that of phi: at v = "):
        losses.from_margin_loss(squared_hinge, derivative=lambda v: -np.maximum(0, 1 - v))
