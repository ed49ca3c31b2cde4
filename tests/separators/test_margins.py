import numpy as np
import pytest

from propriety import losses
from propriety.separators import margins

BOUNDED_GROWTH = ["Log", "Exponential", "Matsushita", "GBoost(1)", "GLaplace(1)", "AlphaTunable(0.25)"]


@pytest.mark.parametrize(
    ("loss", "growth"), [("Log", 1.0), ("Exponential", 1.0), ("GLaplace(2)", 0.25), ("GLog(2)", 0.5)]
)
def test_rate_of_growth(loss, growth):
    assert losses.as_composite(loss, None).growth == pytest.approx(growth, rel=1e-6)


@pytest.mark.parametrize("loss", BOUNDED_GROWTH)
def test_growth_bounds_the_loss(loss):
    """φ(v + δ) ≤ φ(v) + (w/L)(e^{−Lδ} − 1)."""
    c = losses.as_composite(loss, None)
    L = c.growth
    v, delta = np.meshgrid(np.linspace(-6, 6, 61), np.linspace(-3, 3, 61))
    bound = c.margin_loss(v) + c.example_weight(v) / L * np.expm1(-L * delta)
    assert np.all(c.margin_loss(v + delta) <= bound * (1 + 1e-9) + 1e-12)


def test_a_small_loss_of_several_classes_is_not_none():
    loss = margins.MultinomialMargins(2)
    np.testing.assert_allclose(
        loss.values(np.array([40.0, 41.0])).sum(), np.exp(-40) + np.exp(-41), rtol=1e-14
    )
    v = np.array([-3.0, 2.0])
    np.testing.assert_allclose(loss.values(v).sum(), np.log(1 + np.exp(-v).sum()), rtol=1e-14)
