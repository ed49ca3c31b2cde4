import numpy as np
import pytest

from propriety import links, losses

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


def test_a_loss_that_is_zero_in_its_tails_has_a_margin_form():
    loss = losses.from_weight(lambda p, q: np.where(np.abs(p - q) < 0.4, 1.0, 0.0))
    assert loss.with_link(links.Logit()).has_margin_form
    assert loss.properties()["symmetric"]
