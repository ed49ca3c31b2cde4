"""Laws that hold for every proper loss, run over the whole registry and every link."""

from inspect import isabstract

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import integrate, special

from propriety import links, losses
from propriety.losses.base import DerivedLoss, Loss

#: Losses made of other losses or of a user's functions: no families.
MADE = ("propriety.losses.algebra", "propriety.losses.from_functions")

ALL = losses.examples()
SMOOTH = [loss for loss in ALL if isinstance(loss, losses.SmoothLoss)]
MIXED = [
    2 * losses.Log() + losses.Tailored(0.1, 20),
    losses.Log().tilted(positive=9),
    losses.Log() + losses.Savage(),
]
LINKS = links.examples()
COMPOSITES = [loss.composite() for loss in SMOOTH + MIXED]
COMPOSITES += [
    loss.with_link(link) for loss in (losses.Log(), losses.Beta(6, 14), losses.GGauss(2)) for link in LINKS
]


def several(low, high):
    """Sixteen numbers at a time: the formulas are for arrays, and so are the laws."""
    return arrays(np.float64, 16, elements=st.floats(low, high))


probability = several(1e-6, 1 - 1e-6)
log_odds = several(-8, 8)


def sigmoid(t):
    return 1 / (1 + np.exp(-t))


def close(value, truth, rel=0.0, abs=0.0):
    """Every |value − truth| ≤ rel·|truth| + abs, and no nan."""
    value, truth = np.asarray(value), np.asarray(truth)
    excess = np.abs(value - truth) - (rel * np.abs(truth) + abs)
    return bool(np.all(excess <= 0))


def concrete(base):
    """The library's classes below `base` that have formulas of their own."""
    for cls in base.__subclasses__():
        yield from concrete(cls)
        if (
            cls.__module__.startswith("propriety.losses")
            and not cls.__module__.startswith(MADE)
            and not isabstract(cls)
        ):
            yield cls


def test_every_family_is_registered_and_exported():
    families = {cls.__name__ for cls in concrete(Loss)}
    assert families == set(losses.names())
    assert families <= set(losses.__all__)


def test_every_link_is_registered_and_exported():
    assert {cls.__name__ for cls in concrete(links.Link)} == set(links.names())
    assert set(links.names()) <= set(links.__all__)


@pytest.mark.parametrize("loss", SMOOTH + MIXED, ids=repr)
@given(t=log_odds)
def test_weight_is_the_slopes_derivative(loss, t):
    p = sigmoid(np.where(np.abs(t) < 0.01, 0.01, t))  # the Laplace weight has a kink at 1/2
    step = 1e-4 * np.minimum(p, 1 - p)
    numeric = (loss.slope(p + step) - loss.slope(p - step)) / (2 * step)
    scale = abs(loss.slope(p)) * 1e-15 / step
    assert close(numeric, loss.weight(p), rel=1e-5, abs=1e-9 + 10 * scale)


@pytest.mark.parametrize("loss", SMOOTH + MIXED, ids=repr)
@given(t=log_odds)
def test_weight_slope_is_the_weights_derivative(loss, t):
    t = np.where(np.abs(t) < 0.01, 0.01, t)  # the Laplace weight has a kink at 1/2
    p = sigmoid(t)
    step = 1e-4 * np.minimum(p, 1 - p)
    numeric = (loss.weight(p + step) - loss.weight(p - step)) / (2 * step)
    assert close(
        numeric, loss.weight_slope(p), rel=1e-4, abs=1e-4 * loss.weight(p) / np.minimum(p, 1 - p) + 1e-300
    )


@pytest.mark.parametrize("loss", ALL + MIXED, ids=repr)
@given(p=probability)
def test_slope_is_the_tangent(loss, p):
    # ℓ(y, p) = H(p) + H′(p)(y − p)
    for y in (0, 1):
        tangent = loss.entropy(p) - loss.slope(p) * (y - p)
        assert close(loss.loss(y, p), tangent, rel=1e-7, abs=1e-9 * (1 + abs(loss.slope(p))))


@pytest.mark.parametrize("loss", ALL + MIXED, ids=repr)
@given(eta=probability, p=probability)
def test_regret_is_never_negative_and_zero_at_the_truth(loss, eta, p):
    assert np.all(loss.regret(eta, p) >= 0)
    assert np.all(loss.regret(p, p) == 0)
    risk = loss.risk(eta, p)
    assert close(risk, loss.entropy(eta) + loss.regret(eta, p), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@pytest.mark.parametrize(("eta", "p"), [(0.4, 0.55), (0.5, 0.6), (0.45, 0.5), (0.49, 0.51), (0.02, 0.03)])
def test_regret_near_the_truth_is_the_difference(loss, eta, p):
    difference = loss.risk(eta, p) - loss.entropy(eta)
    assert close(loss.regret(eta, p), difference, rel=1e-9, abs=1e-13 * loss.risk(eta, p))


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@given(t=several(-4, 4), d=several(1e-9, 1e-3))
def test_regret_near_the_truth_is_half_the_weighted_square(loss, t, d):
    p = sigmoid(t)
    eta = p + d * p * (1 - p)
    actual = eta - p  # after rounding
    assert close(loss.regret(eta, p), 0.5 * loss.weight(p) * actual**2, rel=0.05)


@pytest.mark.parametrize("loss", SMOOTH + MIXED, ids=repr)
@pytest.mark.parametrize("p", [0.03, 0.4, 0.85])
def test_loss_is_a_mixture_of_cost_weighted_losses(loss, p):
    # L(y | q) = ∫ L_c(y | q) ω(c) dc, in log-odds: ω dc = ω c(1 − c) dt
    start = np.log(p / (1 - p))

    def mass(t, y):
        c, d = sigmoid(t), sigmoid(-t)
        return (d if y else c) * loss.weight(c, d) * c * d

    one = integrate.quad(mass, start, start + 60, args=(1,), epsabs=0, epsrel=1e-10, limit=400)[0]
    zero = integrate.quad(mass, start - 60, start, args=(0,), epsabs=0, epsrel=1e-10, limit=400)[0]
    floor = getattr(loss, "mu", 0.0)
    assert close(loss.loss(1, p), one + floor, rel=1e-7)
    assert close(loss.loss(0, p), zero + floor, rel=1e-7)


@pytest.mark.parametrize("loss", ALL + MIXED, ids=repr)
@given(a=probability, b=probability, share=st.floats(0.05, 0.95))
def test_no_split_loses_information(loss, a, b, share):
    whole = loss.entropy(share * a + (1 - share) * b)
    parts = share * loss.entropy(a) + (1 - share) * loss.entropy(b)
    assert np.all(whole >= parts - 1e-12 * (1 + np.abs(whole)))


@given(
    a=st.floats(0.01, 100),
    b=st.floats(0.01, 100),
    p=probability,
    i=st.integers(0, 100),
    j=st.integers(0, 100),
)
def test_the_cone_is_linear(a, b, p, i, j):
    first, second = ALL[i % len(ALL)], ALL[j % len(ALL)]
    mixed = a * first + b * second
    for face in ("entropy", "slope"):
        expected = a * getattr(first, face)(p) + b * getattr(second, face)(p)
        scale = a * abs(getattr(first, face)(p)) + b * abs(getattr(second, face)(p))
        assert close(getattr(mixed, face)(p), expected, rel=1e-12, abs=1e-12 * scale)
    if isinstance(mixed, losses.SmoothLoss):
        for face in ("weight", "weight_slope"):
            parts = [a * getattr(first, face)(p), b * getattr(second, face)(p)]
            assert close(
                getattr(mixed, face)(p), sum(parts), rel=1e-9, abs=1e-9 * np.max(np.abs(parts), axis=0)
            )


@pytest.mark.parametrize("c", COMPOSITES, ids=repr)
@given(t=several(-6, 6), y=st.sampled_from([0.0, 1.0, 0.3]))
def test_gradient_and_hessian_against_differences(c, t, y):
    for kink in (0.0, *getattr(c.link, "values", ())):  # the Laplace link has one at 0, others at their knots
        t = np.where(np.abs(t - kink) < 0.05, kink + 0.05, t)
    F = c.link(sigmoid(t))
    # At the ends of a bounded range a step must be small beside the distance to the end.
    length = sigmoid(t) * sigmoid(-t) / c.link.curve(F).dp
    step = 1e-4 * np.minimum(c.link(0.75) - c.link(0.25), length)
    numeric = (c.value(y, F + step) - c.value(y, F - step)) / (2 * step)
    size = abs(c.gradient(0, F)) + abs(c.gradient(1, F))
    noise = 1e-14 * abs(c.value(y, F)) / step
    assert close(c.gradient(y, F), numeric, abs=1e-5 * size + noise)
    numeric = (c.gradient(y, F + step) - c.gradient(y, F - step)) / (2 * step)
    size = abs(c.hessian(0, F)) + abs(c.hessian(1, F)) + c.fisher(F)
    assert close(c.hessian(y, F), numeric, abs=1e-4 * size)


@pytest.mark.parametrize("c", COMPOSITES, ids=repr)
@given(t=several(-12, 12))
def test_fisher_is_the_mean_hessian(c, t):
    F = c.link(sigmoid(t))
    p = c.inverse(F)
    size = p * abs(c.hessian(1, F)) + (1 - p) * abs(c.hessian(0, F))
    assert close(c.hessian(p, F), c.fisher(F), rel=1e-9, abs=1e-8 * size)
    assert np.all(c.fisher(F) >= 0)


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@given(t=several(-5, 5), y=st.sampled_from([0.0, 1.0]))
def test_canonical_gradient_is_p_minus_y(loss, t, y):
    link = loss.canonical_link
    c = loss.with_link(link)
    F = link.link(sigmoid(t))
    # The way back is as good as the score tells: a focused loss has a flat link far from its cost.
    known = 1e-13 * (abs(F) + abs(link.link(0.5))) / (loss.weight(sigmoid(t)) + 1e-300)
    assert close(link.inverse(F), sigmoid(t), rel=1e-9, abs=known)
    assert close(c.gradient(y, F), c.inverse(F) - y, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(c.hessian(y, F), c.fisher(F), rtol=1e-9)
    assert c.properties()["canonical"]


@pytest.mark.parametrize("link", LINKS, ids=repr)
@given(t=several(-25, 25))
def test_link_round_trip(link, t):
    p, q = sigmoid(t), sigmoid(-t)
    back = link.curve(link.link(p, q))
    tolerance = 1e-7 if isinstance(link, links.FromDistribution) else 1e-11
    # A score of bounded range cannot tell probabilities apart that differ by less than its rounding.
    known = 4 * np.finfo(float).eps * np.abs(link.link(p, q)) * back.dp
    assert close(back.p, p, rel=tolerance, abs=known)
    assert close(back.q, q, rel=tolerance, abs=known)
    assert np.all(back.dp > 0)


@pytest.mark.parametrize("link", LINKS, ids=repr)
@given(t=several(-10, 10), d=several(0.01, 1))
def test_links_increase(link, t, d):
    assert np.all(link.link(sigmoid(t)) < link.link(sigmoid(t + d)))


@pytest.mark.parametrize("c", COMPOSITES, ids=repr)
@pytest.mark.parametrize("rate", [0.1, 0.35, 0.7])
def test_an_intercept_alone_finds_the_base_rate(c, rate):
    # The mean loss falls until the score of the base rate and rises after it.
    target = c.link(rate)
    p = np.linspace(0.01, 0.99, 99)
    F = c.link(p)
    slope = c.gradient(rate, F)
    assert np.all(slope * (p - rate) >= -1e-12 * np.abs(slope))
    assert close(c.gradient(rate, target), 0, abs=1e-9 * abs(c.gradient(1, target)))
    assert np.all(c.value(rate, F) >= c.value(rate, target) * (1 - 1e-12))


@pytest.mark.parametrize("loss", [loss for loss in SMOOTH if loss.properties()["symmetric"]], ids=repr)
@given(t=several(-10, 10))
def test_margin_form(loss, t):
    c = loss.composite()
    v = c.link(sigmoid(t))
    assert close(c.value(0, v), c.margin_loss(-v), rel=1e-10)
    assert close(c.example_weight(v), -c.gradient(1, v), rel=1e-12)
    assert close(c.binding(v), -loss.slope(c.inverse(v)), rel=1e-8, abs=1e-9)
    # φ′ = (1 − p) β′ [M Thm 5]
    step = 1e-4 * (c.link(0.75) - c.link(0.25))
    slope = (c.binding(v + step) - c.binding(v - step)) / (2 * step)
    assert close(-c.example_weight(v), (1 - c.inverse(v)) * slope, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("loss", [loss for loss in SMOOTH if loss.properties()["symmetric"]], ids=repr)
def test_loss_margin(loss):
    # μ = −φ′(0)/φ″(0) = ρ(0)/2
    c = loss.composite()
    assert close(c.loss_margin, -c.gradient(1, 0.0) / c.hessian(1, 0.0), rel=1e-9)
    assert close(c.with_gain(3.0).loss_margin, 3 * c.loss_margin)


@pytest.mark.parametrize("c", COMPOSITES, ids=repr)
@given(t=several(-12, 12), y=st.sampled_from([0.0, 1.0]), sigma=st.floats(0.2, 5))
def test_shrinkage_is_a_rescaled_loss(c, t, y, sigma):
    # φ_σ(v) = σ φ(v/σ), probabilities q(v/σ) [M (51)]
    shrunk, F = c.shrunk(sigma), c.link(sigmoid(t), sigmoid(-t))
    assert close(shrunk.value(y, sigma * F), sigma * c.value(y, F), rel=1e-9, abs=1e-300)
    assert close(shrunk.gradient(y, sigma * F), c.gradient(y, F), rel=1e-9, abs=1e-300)
    assert close(shrunk.inverse(sigma * F), c.inverse(F), rel=1e-9)


@given(t=log_odds, w1=st.floats(0.1, 50), w0=st.floats(0.1, 50))
def test_tilted_loss_undoes_a_class_weighting(t, w1, w0):
    for loss in (losses.Log(), losses.Squared(), losses.Beta(2, 5)):
        tilted = loss.tilted(w1, w0)
        p = sigmoid(t)
        moved = w1 * p / (w1 * p + w0 * (1 - p))
        assert close(tilted.loss(1, p), w1 * loss.loss(1, moved), rel=1e-7)
        assert close(tilted.loss(0, p), w0 * loss.loss(0, moved), rel=1e-7)
        # Through the shifted link it is the weighted loss of the original score.
        c = tilted.with_link(links.Shifted(links.Logit(), np.log(w1 / w0)))
        F = c.link(p)
        assert close(c.value(1, F), w1 * loss.with_link(links.Logit()).value(1, F), rel=1e-9)


#: Each loss with its default link or else its canonical one, where that is a convex margin loss.
CONVEX = [
    next(c for c in pair if c.has_convex_margin_form)
    for pair in ((loss.composite(), loss.with_link(loss.canonical_link)) for loss in SMOOTH)
    if any(c.has_convex_margin_form for c in pair)
]


@pytest.mark.parametrize("c", CONVEX, ids=repr)
def test_bregman_distance_of_weights_is_that_of_margins(c):
    # B(w(u) ‖ w(v)) = φ(v) − φ(u) − φ′(u)(v − u), and the loss is the distance of its weight from 0. [C §3]
    s, t = np.linspace(-7, 7, 8)[:, None], np.linspace(-6.5, 6.9, 7)
    u, v = c.link(sigmoid(s)), c.link(sigmoid(t))
    a, b = c.example_weight(u), c.example_weight(v)
    expected = c.margin_loss(v) - c.margin_loss(u) + a * (v - u)
    scale = c.margin_loss(v) + c.margin_loss(u) + a * np.abs(v - u)
    assert close(c.bregman(a, b), expected, rel=1e-8, abs=1e-10 * scale)
    assert close(c.bregman(0.0, b), c.margin_loss(v) - c.loss.loss(1, 1.0), rel=1e-8, abs=1e-10)
    assert np.all(c.bregman(a, a) == 0)
    assert close(c.legendre(a, v - u), b, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("c", [c for c in CONVEX if np.isfinite(c.growth)], ids=repr)
def test_growth_bounds_the_loss(c):
    # φ(v + δ) ≤ φ(v) + (w(v)/L)(e^{−Lδ} − 1)
    v, L = c.link(sigmoid(np.linspace(-8, 8, 33)[:, None])), c.growth
    step = np.linspace(-2, 2, 18) / L
    bound = c.margin_loss(v) + c.example_weight(v) / L * np.expm1(-L * step)
    assert np.all(c.margin_loss(v + step) <= bound + 1e-9 * (1 + np.abs(bound)))


def test_balanced_surrogates_of_the_paper():
    # [N9 Table 1], each with F(0) = 1
    v = np.linspace(-3, 3, 25)
    known = {
        losses.Matsushita(): np.sqrt(1 + v * v) - v,
        losses.Mu(0.3): (np.sqrt(0.49 + v * v) - v) / 0.7,
        losses.Log(): np.logaddexp(0, -v) / np.log(2),
        losses.Squared(): (1 - v) ** 2,
    }
    for loss, expected in known.items():
        c = loss.with_link(loss.canonical_link)
        np.testing.assert_allclose(c.balanced_surrogate(v), expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(c.with_gain(2).balanced_surrogate(2 * v), expected, rtol=1e-10, atol=1e-12)
    with pytest.raises(ValueError, match="has no balanced surrogate: a margin form needs"):
        losses.Beta(6, 14).composite().balanced_surrogate(0.0)
    with pytest.raises(ValueError, match="has no balanced surrogate: that is of the canonical link"):
        losses.Exponential().composite().balanced_surrogate(0.0)


def test_bregman_distances_of_the_paper():
    a, b = np.array([0.3, 0.3, 0.0, 0.9]), np.array([0.6, 0.01, 0.5, 0.2])
    exponential, log = losses.Exponential().composite(), losses.Log().composite()
    unnormalized = special.xlogy(a, a / b) - a + b
    relative_entropy = special.xlogy(a, a / b) + (1 - a) * np.log((1 - a) / (1 - b))
    np.testing.assert_allclose(exponential.bregman(a, b), unnormalized, rtol=1e-12)
    np.testing.assert_allclose(log.bregman(a, b), relative_entropy, rtol=1e-12)
    np.testing.assert_allclose(log.bregman(a, b), losses.Log().regret(a, b), rtol=1e-10)
    np.testing.assert_allclose(exponential.legendre(a, 0.7), a * np.exp(-0.7), rtol=1e-12)
    assert log.bregman(1.5, 0.5) == np.inf
    assert exponential.bregman(0.5, 0.0) == np.inf
    with pytest.raises(ValueError, match="needs a convex margin loss"):
        losses.Savage().with_link("Logit").bregman(0.1, 0.2)
    with pytest.raises(ValueError, match="must not be negative"):
        log.bregman(-0.1, 0.2)


def test_derived_families_equal_their_core():
    for loss in SMOOTH:
        if isinstance(loss, DerivedLoss):
            p = np.linspace(0.01, 0.99, 33)
            np.testing.assert_allclose(loss.entropy(p), loss.core.entropy(p), rtol=1e-12)
            np.testing.assert_allclose(loss.weight(p), loss.core.weight(p), rtol=1e-12)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (losses.Beta(-0.5, -0.5), 2 * losses.Boosting()),
        (losses.Beta(0, 0), losses.Log()),
        (losses.Beta(1, 1), 0.5 * losses.Squared()),
        (losses.DensityPower(1), losses.Squared()),
        (losses.DensityPower(1e-9), losses.Log()),
        (losses.Power(0.5), losses.Matsushita()),
        (losses.AlphaTunable(3, 0), losses.GLog(3)),
        (losses.AlphaTunable(1, 0.5), 2 * losses.Exponential()),
        (losses.Tailored(0.3, 0), losses.Log()),
        (2 * losses.CostWeighted(0.5), losses.Misclassification()),
    ],
)
def test_special_cases(one, other):
    p = np.linspace(0.005, 0.995, 67)
    np.testing.assert_allclose(one.entropy(p), other.entropy(p), rtol=1e-7)
    np.testing.assert_allclose(one.loss(1, p), other.loss(1, p), rtol=1e-7)


def test_alpha_one_half_is_the_exponential_loss_with_gain():
    v = np.linspace(-4, 4, 41)
    c = losses.AlphaTunable(2.0, 0.5).composite()
    np.testing.assert_allclose(c.example_weight(v), np.exp(-v / 4), rtol=1e-9)


def test_focus_tends_to_the_cost_weighted_loss():
    c = 0.2
    sharp = losses.Tailored(c, 400)
    p = np.array([0.02, 0.1, 0.3, 0.6])
    scale = 1 / special.beta(sharp.core.alpha, sharp.core.beta)  # total weight one
    np.testing.assert_allclose(scale * sharp.loss(1, p), losses.CostWeighted(c).loss(1, p), atol=2e-3)
    np.testing.assert_allclose(scale * sharp.loss(0, p), losses.CostWeighted(c).loss(0, p), atol=2e-3)
