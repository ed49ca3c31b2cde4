import numpy as np
import pytest

from propriety import links, losses
from propriety.losses.from_functions.link import DensityFunction

EXPECTED = {
    # loss: strict, symmetric, permissible, bounded, classification calibrated
    "Log()": (True, True, True, False, True),
    "Squared()": (True, True, True, True, True),
    "Boosting()": (True, True, True, False, True),
    "Tailored(0.1, 20)": (True, False, False, True, True),
    "Beta(-0.3, 0.4)": (True, False, False, False, True),
    "DensityPower(0.5)": (True, True, True, True, True),
    "Spherical()": (True, True, True, True, True),
    "GLaplace(2)": (True, True, True, False, True),
    "CostWeighted(0.1)": (False, False, False, True, False),
    "Misclassification()": (False, True, False, True, True),
    "Log() + CostWeighted(0.1)": (True, False, False, False, True),
}


@pytest.mark.parametrize("text", EXPECTED)
def test_properties_of_losses(text):
    facts = losses.parse(text).properties()
    names = ("strict", "symmetric", "permissible", "bounded", "classification calibrated")
    assert tuple(bool(facts[name]) for name in names) == EXPECTED[text]
    assert all(fact.reason for fact in facts.values())
    assert "strict" in repr(facts)


@pytest.mark.parametrize(
    ("text", "convex", "canonical"),
    [
        ("Log().with_link(Logit())", True, True),
        ("Log().with_link(Logit(3))", True, True),
        ("Log().with_link(Probit())", True, False),
        ("Log().with_link(CLogLog())", True, False),
        ("Log().with_link(Cauchit())", False, False),
        ("Exponential()", True, False),
        ("Savage()", False, False),
        ("Squared().with_link(Logit())", False, False),
        ("Squared().with_link(Identity(-1, 1))", True, True),
        ("Tailored(0.1, 20)", False, False),
        ("GGauss(2)", True, True),
        ("GLaplace(2)", True, True),
        ("Power(0.3)", True, True),
    ],
)
def test_properties_of_composites(text, convex, canonical):
    facts = losses.as_composite(losses.parse(text)).properties()
    assert bool(facts["convex"]) == convex, facts["convex"]
    assert bool(facts["canonical"]) == canonical


@pytest.mark.parametrize("alpha", [-0.9, -0.5, 0.0, 0.3, 2.0])
@pytest.mark.parametrize("beta", [-0.9, -0.5, 0.0, 0.3, 2.0])
def test_beta_with_logit_is_convex_iff_both_parameters_are_in_minus_one_to_zero(alpha, beta):
    # [B §15]
    facts = losses.Beta(alpha, beta).composite(links.Logit()).properties()
    assert bool(facts["convex"]) == (alpha <= 0 and beta <= 0)


def test_convexity_agrees_with_the_hessians():
    for loss in losses.examples():
        if isinstance(loss, losses.SmoothLoss):
            c = loss.composite()
            F = c.link(1 / (1 + np.exp(-np.linspace(-15, 15, 601))))
            least = min(np.min(c.hessian(y, F) / (c.fisher(F) + 1e-300)) for y in (0, 1))
            assert bool(c.properties()["convex"]) == (least > -1e-7), c


def test_regularization_losses():
    # A loss regularizes iff its margin is at least 1/2 [M Thm 4].
    assert losses.Log().composite().properties()["regularization loss"]
    assert losses.Exponential().composite().loss_margin == 1
    assert not losses.Log().composite().with_gain(0.2).properties()["regularization loss"]
    assert not losses.Beta(6, 14).composite().properties()["regularization loss"]


def test_theorem_4_is_for_generalized_logits():
    # [M Definition 2]: p'' is 0 at 0 alone. Where that fails, the margin says nothing of other scores.
    sharp = losses.LogCosh(8)
    facts = sharp.with_link(sharp.canonical_link).properties()
    assert sharp.with_link(sharp.canonical_link).loss_margin >= 0.5
    assert not facts["generalized logit"]
    assert not facts["regularization loss"]
    assert "least regularization strength is 0.28" in facts["regularization loss"].reason
    two_peaks = DensityFunction(lambda v: np.exp(-((v - 2) ** 2) / 2) + np.exp(-((v + 2) ** 2) / 2))
    bimodal = losses.CanonicalFor(links.FromDistribution(two_peaks, scale=0.15)).composite()
    assert bimodal.loss_margin > 0.5
    assert not bimodal.properties()["generalized logit"]
    assert not bimodal.properties()["regularization loss"]
    for link in (links.Logit(), links.Probit(), links.Cauchit(), links.Laplace(), links.Algebraic()):
        assert losses.Log().with_link(link).properties()["generalized logit"]
    assert not losses.Log().with_link(links.CLogLog()).properties()["generalized logit"]
    least_squares = losses.Squared().with_link(links.Identity(-1, 1)).properties()
    assert least_squares["regularization loss"]  # by Definition 1: its strength is 2 everywhere


def test_a_loss_that_is_zero_in_its_tails_has_a_margin_form():
    loss = losses.from_weight(lambda p, q: np.where(np.abs(p - q) < 0.4, 1.0, 0.0))
    assert loss.with_link(links.Logit()).has_margin_form
    assert loss.properties()["symmetric"]
