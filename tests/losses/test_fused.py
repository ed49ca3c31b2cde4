"""The compiled pass against the formulas."""

import numpy as np
import pytest

from propriety import links, losses
from propriety.losses import fused

SMOOTH = [loss for loss in losses.examples() if isinstance(loss, losses.SmoothLoss)]
RNG = np.random.default_rng(3)
LINKS = [
    links.Logit(),
    links.Probit(),
    links.CLogLog(),
    links.LogLog(),
    links.Cauchit(),
    links.Laplace(),
    links.Identity(),
    links.FromDistribution("t", (4.0,)),
]
USER = [
    losses.from_weight(lambda p, q: 1 / (p * q)).with_link(links.Logit()),
    losses.from_weight(lambda p: p**4.5 * (1 - p) ** 2.5).composite(),
    losses.from_weight(lambda p: np.where(p < 0.3, 1.0, 2.0)).composite(),
    losses.from_margin_loss(lambda v: np.log1p(np.exp(-v))).composite(),
    (2 * losses.Log() + losses.Tailored(0.1, 20)).composite(),
    losses.Log().tilted(positive=9).composite(),
    losses.Tailored(0.3, 90).composite(),
]
CASES = [loss.composite() for loss in SMOOTH] + [losses.Log().with_link(link) for link in LINKS] + USER


def tolerance(c, F):
    """What the formulas themselves are good for: less where a user's function of p alone nears p = 1."""
    with np.errstate(all="ignore"):
        return 10 * c.loss._accuracy(c.link._log_odds(F).t)


@pytest.mark.parametrize("c", CASES, ids=repr)
@pytest.mark.parametrize("curvature", ["fisher", "newton"])
def test_derivatives_equal_the_formulas(c, curvature):
    F = np.concatenate([RNG.normal(scale=3, size=3000), RNG.normal(scale=30, size=200), [0.0, -700.0, 700.0]])
    y = (RNG.random(len(F)) < 0.4).astype(float)
    y[:50] = RNG.random(50)
    gradient, bend = c.derivatives(y, F, curvature=curvature)
    fisher = c.fisher(F)
    truth = c.hessian(y, F) if curvature == "newton" else fisher
    rtol = tolerance(c, F)
    size = y * np.abs(c.gradient(1, F)) + (1 - y) * np.abs(c.gradient(0, F))
    assert np.all(np.abs(gradient - c.gradient(y, F)) <= rtol * size + 1e-250)
    scale = np.abs(truth) + fisher + np.abs(c.hessian(0, F)) + np.abs(c.hessian(1, F))
    finite = np.isfinite(truth)
    assert np.all(np.abs(bend - truth)[finite] <= (100 * rtol * scale + 1e-250)[finite])
    assert np.array_equal(bend[~finite], truth[~finite])


@pytest.mark.parametrize("c", CASES, ids=repr)
def test_values_equal_the_formulas(c):
    F = np.concatenate([RNG.normal(scale=3, size=2500), RNG.normal(scale=20, size=100)])
    y = (RNG.random(len(F)) < 0.4).astype(np.uint8)
    truth = c.value(y, F)
    assert np.all(np.abs(c.values(y, F) - truth) <= tolerance(c, F) * np.abs(truth) + 1e-250)


@pytest.mark.parametrize(
    "loss",
    [
        losses.Beta(6, 14),
        losses.Tailored(0.1, 20),
        losses.DensityPower(0.5),
        losses.AlphaTunable(2),
        2 * losses.Log() + losses.Arcsine(),
        losses.Beta(2, 3).tilted(positive=9),
    ],
    ids=repr,
)
def test_many_rows_are_looked_up_and_few_are_computed(loss, monkeypatch):
    c, y = loss.composite(), RNG.random((40, 60)).round()
    F = np.concatenate([RNG.normal(scale=3, size=2398), [800.0, -800.0]]).reshape(40, 60)
    p = np.concatenate([[0.0, 1.0, 1e-300], RNG.random(57)])
    few, few_losses = c.value(y, F), loss.loss(y, p)
    made = []
    by_table = fused.values_and_gradients
    monkeypatch.setattr(fused, "values_and_gradients", lambda *a, **k: made.append(1) or by_table(*a, **k))
    monkeypatch.setattr(fused, "MANY", 2401)
    assert np.array_equal(c.value(y, F), few)
    assert not made
    monkeypatch.setattr(fused, "MANY", 2400)
    np.testing.assert_allclose(c.value(y, F), few, rtol=1e-11, atol=1e-250)
    np.testing.assert_allclose(loss.loss(y, p), few_losses, rtol=1e-11, atol=1e-250)
    assert np.array_equal(loss.loss(y, p)[:, :2], few_losses[:, :2])
    assert len(made) == 3


def test_losses_of_plain_formulas_are_computed_however_many():
    assert not fused.are_many(losses.Log(), 1.0, np.zeros(fused.MANY))
    assert fused.are_many(losses.Beta(6, 14), 1.0, np.zeros(fused.MANY))


def test_every_default_composite_has_a_kernel():
    for loss in SMOOTH:
        assert fused._derivative_kernel(loss.composite(), False) is not None, loss
        assert fused._value_kernel(loss.composite()) is not None, loss
    for c in USER:
        jump = c is USER[2]
        assert (fused._derivative_kernel(c, False) is None) == jump, c


def test_values_that_are_special_functions_are_sums_of_gradients():
    slow = [loss.composite() for loss in SMOOTH if loss._slow] + USER[4:5]
    assert len(slow) > 5
    for c in slow:
        if fused._derivative_kernel(c, False).table is not None:
            assert fused._summed(c, fused._value(c)) is not None, c
    # A value that the gradient does not belong to is noticed.
    other = fused._value(losses.Tailored(0.1, 5.0001).composite())
    assert fused._summed(losses.Tailored(0.1, 5).composite(), other) is None


def test_threads_and_blocks_change_nothing():
    F = RNG.normal(scale=4, size=150_001)
    y = (RNG.random(len(F)) < 0.3).astype(np.uint8)
    for c in (losses.Log().composite(), losses.Beta(6, 14).composite()):
        one = c.derivatives(y, F, n_jobs=1)
        for n_jobs in (2, 4, None):
            again = c.derivatives(y.astype(float), F, n_jobs=n_jobs)
            assert np.array_equal(one[0], again[0])
            assert np.array_equal(one[1], again[1])


def test_out_is_filled_and_strange_scores_do_no_harm():
    c = losses.Squared().composite()
    F = np.array([np.nan, np.inf, -np.inf, 1e300, 0.0])
    out = np.full(5, 7.0), np.full(5, 7.0)
    result = c.derivatives(np.ones(5), F, out=out)
    assert result[0] is out[0]
    assert np.isnan(out[0][0])
    assert out[0][1] == 0
    assert out[0][4] == -0.25


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"y": [1.0], "F": [0.0, 1.0]}, "of one length"),
        ({"y": [1.0], "F": [0.0], "curvature": "hesse"}, "curvature must be"),
        ({"y": [1.0], "F": [0.0], "out": (np.empty(2), np.empty(1))}, r"out\[0\] must be a float64 array"),
        ({"y": [1.0], "F": ["a"]}, "F must be a number"),
        ({"y": [1.0], "F": [0.0], "n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_bad_input(kwargs, message):
    y, F = kwargs.pop("y"), kwargs.pop("F")
    if "n_jobs" in kwargs:
        y, F = np.zeros(100_000), np.zeros(100_000)
    with pytest.raises((ValueError, TypeError), match=message):
        losses.Log().composite().derivatives(y, F, **kwargs)


@pytest.mark.parametrize("c", [losses.Log().composite(), losses.Matsushita().composite()], ids=repr)
def test_few_rows_may_ask_for_the_table_or_for_the_formulas(c):
    y, F = (RNG.random(3000) < 0.4).astype(np.uint8), RNG.normal(size=3000)
    many, few = c.derivatives(y, F, curvature="newton"), slice(0, 10)
    for whole, part in zip(many, c.derivatives(y[few], F[few], curvature="newton", table=True), strict=True):
        np.testing.assert_array_equal(part, whole[few])
    np.testing.assert_array_equal(c.values(y[few], F[few], table=True), c.values(y, F)[few])
    np.testing.assert_array_equal(c.derivatives(y, F, table=False)[0], c.gradient(y, F))
    np.testing.assert_array_equal(c.values(y, F, table=False), c.value(y, F))
