"""Losses in JAX: what `jit`, `grad` and `vmap` give is what the losses state."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

from propriety import interop, losses  # noqa: E402

SCORES = np.linspace(-12, 12, 97).astype(np.float32)
LABELS = (np.arange(97) % 3 / 2).astype(np.float32)


@pytest.mark.parametrize(
    "loss",
    [
        "Log",
        "Exponential",
        "Squared().with_link(Cauchit())",
        "Beta(6, 14)",
        "HandVinciotti(0.3)",
        "Log() + Squared()",
    ],
)
def test_values_and_two_derivatives(loss):
    c, ours = losses.as_composite(loss), interop.jax.loss(loss)
    first = jax.vmap(jax.grad(ours))
    second = jax.jit(jax.vmap(jax.grad(jax.grad(ours))))
    for mine, true in ((jax.jit(ours), c.value), (first, c.gradient), (second, c.hessian)):
        truth = true(LABELS, SCORES)
        assert np.allclose(mine(SCORES, LABELS), truth, rtol=2e-4, atol=1e-6 * np.abs(truth).max())
    assert np.allclose(ours.inverse(SCORES), c.inverse(SCORES), rtol=1e-4)


def test_derivatives_by_the_label():
    c, ours = losses.as_composite("Log"), interop.jax.loss("Log")
    slope = jax.grad(ours, argnums=1)(1.0, 0.25)
    assert float(slope) == pytest.approx(c.value(1, 1.0) - c.value(0, 1.0), rel=1e-6)
    cross = jax.grad(jax.grad(ours), argnums=1)(1.0, 0.25)
    assert float(cross) == pytest.approx(-1, rel=1e-6)  # ∂/∂y of p − y


def test_nothing_is_called_back():
    text = str(
        jax.make_jaxpr(jax.grad(lambda F: interop.jax.loss("Tailored(0.1, 20)")(F, LABELS).sum()))(SCORES)
    )
    assert "callback" not in text
    assert "sum" in text


def test_whole_numbers_and_broadcasts():
    ours = interop.jax.loss("Squared")
    assert ours(0, 1).item() == pytest.approx(0.25)
    assert ours(SCORES[:, None], LABELS[None, :]).shape == (97, 97)
