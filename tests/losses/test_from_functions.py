"""Losses made from plain functions: right to 1e-8, or refused with the reason."""

import pickle

import numpy as np
import pytest
from scipy import stats

from propriety import links, losses

P = np.concatenate(
    [np.geomspace(1e-6, 0.3, 25), np.linspace(0.31, 0.69, 15), 1 - np.geomspace(0.3, 1e-4, 25)]
)


def weight_pq(p, q):
    return 1 / (p * q)


def scalar_only(p):
    if p < 0:
        raise ValueError
    return 2.0 if p < 2 else 0.0


def agree(mine, known, rtol=1e-8, p=P, faces=("entropy", "slope", "weight")):
    for face in faces:
        np.testing.assert_allclose(
            getattr(mine, face)(p), getattr(known, face)(p), rtol=rtol, atol=rtol * 1e-2, err_msg=face
        )
    for y in (0, 1):
        np.testing.assert_allclose(
            mine.loss(y, p), known.loss(y, p), rtol=rtol, atol=1e-12, err_msg=f"loss({y})"
        )


@pytest.mark.parametrize(
    ("weight", "known"),
    [
        (weight_pq, losses.Log()),
        (lambda p: 1 / (p * (1 - p)), losses.Log()),
        (lambda p, q: 0.5 * (p * q) ** -1.5, losses.Boosting()),
        (lambda p, q: p**5 * q**13, losses.Beta(6, 14)),
        (lambda p: p**5 * (1 - p) ** 13, losses.Beta(6, 14)),
        (lambda p: 2.0, losses.Squared()),
        (scalar_only, losses.Squared()),
        (lambda p: 2 * stats.beta(1, 1).pdf(p), losses.Squared()),
        (lambda p, q: stats.norm.pdf((p - 0.3) / 0.1), losses.HandVinciotti(0.3, 0.1)),
    ],
)
def test_from_weight(weight, known):
    agree(losses.from_weight(weight), known)


def test_from_weight_slope_is_differentiated():
    mine, known = losses.from_weight(lambda p, q: p**5 * q**13), losses.Beta(6, 14)
    np.testing.assert_allclose(mine.weight_slope(P), known.weight_slope(P), rtol=1e-7)


def test_from_weight_with_jumps_is_the_mixture_of_its_costs():
    # Weight 1 on [0.2, 0.4]: ℓ(1, p) = ∫ (1 − c) over the costs above p.
    mine = losses.from_weight(lambda p: np.where((p > 0.2) & (p < 0.4), 1.0, 0.0))
    assert mine.loss(1, 0.1) == pytest.approx(0.2 - (0.16 - 0.04) / 2, abs=1e-9)
    assert mine.loss(1, 0.3) == pytest.approx(0.1 - (0.16 - 0.09) / 2, abs=1e-9)
    assert mine.loss(0, 0.5) == pytest.approx((0.16 - 0.04) / 2, abs=1e-9)
    assert not mine.properties()["strict"]


def test_from_variance():
    agree(losses.from_variance(lambda p, q: p * q), losses.Log())


@pytest.mark.parametrize(
    ("entropy", "known", "rtol"),
    [
        (lambda p, q: -p * np.log(p) - q * np.log(q), losses.Log(), 1e-8),
        (lambda p, q: np.sqrt(p * q), losses.Matsushita(), 1e-8),
        (lambda p: np.sqrt(p * (1 - p)), losses.Matsushita(), 1e-8),
        (lambda p, q: 0.5 + 0.5 * np.sqrt(p * q), losses.Mu(0.5), 1e-8),
        (lambda p, q: p * -np.expm1(16 * np.log1p(-q)), losses.CascadeUp(16), 1e-7),
    ],
)
def test_from_entropy(entropy, known, rtol):
    mine = losses.from_entropy(entropy)
    # A cascade's weight is 1e-50 for small p; differences of its entropy cannot know.
    least = 0.6 if known == losses.CascadeUp(16) else 1e-4
    agree(mine, known, rtol, p=P[(least < P) & (P < 0.9995)])


@pytest.mark.parametrize("takes_q", [True, False])
def test_an_entropy_with_kinks_has_point_masses(takes_q):
    # [B §7]: a weight may have atoms; −H′ jumps there.
    known = 0.5 * losses.Squared() + 0.4 * losses.CostWeighted(0.2) + 1.5 * losses.CostWeighted(0.7)
    mine = losses.from_entropy((lambda p, q: known.entropy(p, q)) if takes_q else known.entropy)
    agree(mine, known, 1e-8, p=np.linspace(0.02, 0.98, 49), faces=("entropy",))
    atoms = [(a, part) for a, part in mine.terms if isinstance(part, losses.CostWeighted)]
    assert atoms == [(0.4, losses.CostWeighted(0.2)), (1.5, losses.CostWeighted(0.7))]
    alone = losses.from_entropy(lambda p: np.minimum(p, 1 - p))
    assert alone == 2 * losses.CostWeighted(0.5)
    with pytest.raises(ValueError, match="must be concave"):
        losses.from_entropy(lambda p: np.abs(p - 0.4))


def test_from_partial_losses():
    agree(losses.from_partial_losses(lambda p, q: -np.log(p), lambda p, q: -np.log(q)), losses.Log())
    agree(losses.from_partial_losses(lambda p, q: q**2, lambda p, q: p**2), losses.Squared())


@pytest.mark.parametrize(
    ("phi", "known"),
    [
        (lambda v: np.log1p(np.exp(-v)), losses.Log().composite()),
        (lambda v: np.exp(-v), losses.Exponential().composite()),
        (lambda v: 1 / (1 + np.exp(2 * v)) ** 2, losses.Savage().composite()),
        (lambda v: 0.5 * (np.sqrt(4 + v * v) - v), losses.GBoost(1).composite()),
    ],
)
def test_from_margin_loss(phi, known):
    mine = losses.from_margin_loss(phi)
    p = np.linspace(0.02, 0.98, 49)
    agree(mine, known.loss, 1e-8, p=p)
    v = np.linspace(-3, 3, 31)
    c = mine.composite()
    np.testing.assert_allclose(c.inverse(v), known.inverse(v), rtol=1e-9)
    np.testing.assert_allclose(c.margin_loss(v), phi(v), rtol=1e-8)
    np.testing.assert_allclose(c.gradient(1, v), known.gradient(1, v), rtol=1e-8)
    np.testing.assert_allclose(c.hessian(1, v), known.hessian(1, v), rtol=1e-6, atol=1e-8)


def test_from_margin_loss_with_its_derivative():
    mine = losses.from_margin_loss(lambda v: np.exp(-v), derivative=lambda v: -np.exp(-v))
    agree(mine, losses.Boosting(), 1e-9, p=np.linspace(0.001, 0.999, 99))


def test_from_link_and_binding():
    agree(
        losses.from_link_and_binding(links.Logit(), lambda v: -v),
        losses.Log(),
        p=P[(P > 1e-5) & (P < 0.9999)],
    )
    mine = losses.from_link_and_binding(links.Logit(0.5), lambda v: -2 * np.sinh(v))
    agree(mine, losses.Boosting(), p=P[(P > 1e-4) & (P < 0.999)])
    assert mine.default_link == links.Logit(0.5)


@pytest.mark.parametrize(
    ("density", "known"),
    [
        (lambda v: np.exp(-v) / (1 + np.exp(-v)) ** 2, losses.Log()),
        ("logistic", losses.Log()),
        (stats.logistic, losses.Log()),
        (stats.logistic(), losses.Log()),
        (stats.norm(scale=np.sqrt(8 / np.pi)), losses.GGauss(1)),
        (stats.laplace(scale=2), losses.GLaplace(1)),
    ],
)
def test_from_density(density, known):
    mine = losses.from_density(density)
    agree(mine, known, 1e-8, p=np.linspace(0.01, 0.99, 50))
    assert mine.composite().gradient(1, 0.3) == pytest.approx(mine.composite().inverse(0.3) - 1, rel=1e-9)


def test_canonical_loss_of_an_asymmetric_link():
    c = losses.CanonicalFor(links.CLogLog()).composite()
    F = np.linspace(-5, 1.2, 20)
    np.testing.assert_allclose(c.gradient(1, F), c.inverse(F) - 1, rtol=1e-9)
    assert c.properties()["convex"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        # absolute deviation, |y − p|^r, focal loss: not proper
        (
            lambda: losses.from_partial_losses(lambda p: 1 - p, lambda p: p),
            "true probability is 0.3 .* p = 0.0005",
        ),
        (lambda: losses.from_partial_losses(lambda p: (1 - p) ** 3, lambda p: p**3), "not proper"),
        (
            lambda: losses.from_partial_losses(
                lambda p: -((1 - p) ** 2) * np.log(p), lambda p: -(p**2) * np.log(1 - p)
            ),
            "not proper",
        ),
        (lambda: losses.from_margin_loss(lambda v: np.maximum(0, 1 - v)), "do not tell probabilities apart"),
        (lambda: losses.from_margin_loss(lambda v: np.exp(v)), "must fall at 0"),
        (lambda: losses.from_weight(lambda p: p - 0.5), "negative or not finite at p"),
        (lambda: losses.from_weight(lambda p: 0.0), "zero everywhere"),
        (lambda: losses.from_weight(lambda p, q: p**-2.5), "diverges at p = 0"),
        (lambda: losses.from_weight(lambda p, q: q**-2.5), "diverges at p = 1"),
        (lambda: losses.from_weight(3), "weight must be a function"),
        (lambda: losses.from_entropy(lambda p: p**2), "must be concave"),
        (lambda: losses.from_link_and_binding(links.CLogLog(), lambda v: -v), "is not symmetric"),
        (lambda: losses.from_link_and_binding(links.Logit(), lambda v: 1 - v), "must be odd"),
        (lambda: losses.from_link_and_binding(links.Logit(), lambda v: v), "must decrease"),
        (lambda: losses.from_density(stats.norm(1)), "symmetric about 0"),
        (lambda: losses.from_density(lambda v: v**2 * np.exp(-(v**2))), "single mode at 0"),
        (lambda: losses.from_density(lambda v: -np.exp(-(v**2))), "not negative"),
        (lambda: losses.from_density("no_such_distribution"), "must name a continuous distribution"),
    ],
)
def test_what_is_not_proper_is_refused_with_the_reason(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


@pytest.mark.parametrize("name", ["Focal", "Hinge", "Absolute", "PowerDeviation", "CressieRead"])
def test_improper_names_are_explained(name):
    for text in (f"{name}(2)", name.lower()):
        with pytest.raises(ValueError, match=f"{name} is not a proper loss: "):
            losses.parse(text)


def test_bounds_of_user_losses():
    assert not losses.from_weight(lambda p, q: (p * q) ** -1.2).properties()["bounded"]
    assert not losses.from_weight(weight_pq).properties()["bounded"]
    assert losses.from_weight(lambda p, q: (p * q) ** -0.5).properties()["bounded"]
    assert not losses.from_margin_loss(lambda v: np.log1p(np.exp(-v))).properties()["bounded"]
    savage = losses.from_margin_loss(lambda v: 1 / (1 + np.exp(2 * v)) ** 2)
    assert savage.loss(1, 0.0) == 1
    assert losses.from_weight(weight_pq).loss([0, 1], [0.0, 1.0]).tolist() == [0, 0]


@pytest.mark.parametrize("steepness", [1, 3, 5, 8])
def test_smooth_hinge_is_proper(steepness):
    mine = losses.from_margin_loss(lambda v: np.logaddexp(0, steepness * (1 - v)) / steepness)
    c, v = mine.composite(), np.linspace(-0.9, 0.9, 19)
    slope = 1 / (1 + np.exp(-steepness * (1 - v)))
    np.testing.assert_allclose(c.example_weight(v), slope, rtol=1e-7)
    np.testing.assert_allclose(c.inverse(v), slope[::-1] / (slope + slope[::-1]), rtol=1e-7)


def test_user_losses_are_values():
    mine = losses.from_weight(weight_pq)
    assert mine == losses.from_weight(weight_pq)
    assert hash(mine) == hash(losses.from_weight(weight_pq))
    assert mine != losses.from_weight(scalar_only)
    back = pickle.loads(pickle.dumps(mine))
    assert back == mine
    assert back.loss(1, 0.3) == mine.loss(1, 0.3)
    mixed = 2 * mine + losses.Squared()
    assert mixed.weight(0.5) == pytest.approx(10.0)
    assert repr(mine) == "FromWeight(weight_pq)"


def test_a_weight_that_overflows_in_the_tails_has_its_link_all_the_same():
    # (pq)^−1.2 is infinite from log-odds of 592 on, where the search for a root may look.
    mine, built_in = losses.from_weight(lambda p, q: (p * q) ** -1.2), losses.Beta(-0.2, -0.2)
    F = np.linspace(-8, 8, 33)
    p = mine.canonical_link.inverse(F)
    assert np.allclose(p, built_in.canonical_link.inverse(F), rtol=1e-9)
    assert np.allclose(mine.composite().value(1, F), built_in.with_link(built_in.canonical_link).value(1, F))
