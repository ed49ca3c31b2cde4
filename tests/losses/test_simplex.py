import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from propriety import losses
from propriety.losses import simplex

ALL = [
    simplex.Log(),
    simplex.Brier(),
    simplex.Power(0.5),
    simplex.Power(2.0),
    simplex.PairwiseExponential(),
    simplex.OneVsRest("Log"),
    simplex.OneVsRest("Tailored(0.3, 5)"),
    simplex.MH(),
]
PROPER = ALL[:5]
scores = arrays(np.float64, (6, 4), elements=st.floats(-4, 4))
BINARY = [
    (simplex.Log(), losses.Log().composite(), 1.0),
    (simplex.Brier(), losses.Squared().composite(), 1.0),
    (simplex.Power(0.5), losses.DensityPower(0.5).composite(), 1.0),
    (simplex.Power(2.0), losses.DensityPower(2).composite(), 1.0),
    (simplex.PairwiseExponential(), losses.Exponential().composite(), 1.0),
]


@pytest.mark.parametrize(("many", "two", "factor"), BINARY)
@given(F=arrays(np.float64, 8, elements=st.floats(-8, 8)), y=st.integers(0, 1))
def test_two_classes_are_the_binary_loss(many, two, factor, F, y):
    assert many.binary == two
    pairs = np.column_stack([-0.3 * F, 0.7 * F])
    labels = np.full(len(F), y)
    np.testing.assert_allclose(many.value(labels, pairs), two.value(y, F), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(many.inverse(pairs)[:, 1], two.inverse(F), rtol=1e-12)
    np.testing.assert_allclose(many.gradient(labels, pairs)[:, 1], two.gradient(y, F), rtol=1e-8, atol=1e-12)
    for curvature in ("fisher", "newton"):
        bend = many.derivatives(labels, pairs, curvature=curvature)[1][:, 1]
        truth = two.fisher(F) if curvature == "fisher" else two.hessian(y, F)
        np.testing.assert_allclose(bend, truth, rtol=1e-7, atol=1e-11)


@pytest.mark.parametrize("loss", ["Log", "Squared", "Exponential"])
@given(F=arrays(np.float64, 8, elements=st.floats(-6, 6)), y=st.integers(0, 1))
def test_one_versus_rest_of_two_symmetric_classes_is_the_binary_loss(loss, F, y):
    two, many = losses.as_composite(loss), simplex.OneVsRest(loss)
    pairs, labels = np.column_stack([-F, F]), np.full(len(F), y)
    np.testing.assert_allclose(many.value(labels, pairs), two.value(y, F), rtol=1e-9)
    np.testing.assert_allclose(many.inverse(pairs)[:, 1], two.inverse(F), rtol=1e-9)


@given(F=scores, y=st.integers(0, 3))
def test_mh_is_the_sum_of_exponentials(F, y):
    sign = np.where(np.arange(4) == y, 1, -1)
    labels = np.full(len(F), y)
    np.testing.assert_allclose(simplex.MH().value(labels, F), np.exp(-sign * F).sum(axis=1), rtol=1e-9)


@given(F=scores, y=st.integers(0, 3))
def test_pairwise_exponential_is_m2(F, y):
    expected = [sum(np.exp(f[k] - f[y]) for k in range(4) if k != y) for f in F]
    np.testing.assert_allclose(simplex.PairwiseExponential().value(np.full(6, y), F), expected, rtol=1e-12)


@pytest.mark.parametrize("loss", ALL, ids=repr)
@given(F=scores, y=st.integers(0, 3))
def test_derivatives_against_differences(loss, F, y):
    labels, step = np.full(len(F), y), 1e-5
    gradient, bend = loss.derivatives(labels, F, curvature="newton")
    for k in range(4):
        shift = step * (np.arange(4) == k)
        numeric = (loss.value(labels, F + shift) - loss.value(labels, F - shift)) / (2 * step)
        scale = 1 + np.abs(loss.value(labels, F))
        assert np.all(np.abs(gradient[:, k] - numeric) <= 1e-6 * scale)
        numeric = (loss.gradient(labels, F + shift)[:, k] - loss.gradient(labels, F - shift)[:, k]) / (
            2 * step
        )
        scale = 1 + np.abs(gradient[:, k])
        assert np.all(np.abs(bend[:, k] - numeric) <= 1e-6 * scale)


@pytest.mark.parametrize("loss", ALL, ids=repr)
@given(F=scores)
def test_fisher_is_the_mean_hessian(loss, F):
    P = np.asarray(loss.composite.inverse(F)) if isinstance(loss, simplex.OneVsRest) else loss.inverse(F)
    if isinstance(loss, (simplex.OneVsRest, simplex.MH)):
        return  # its classes' probabilities need not sum to one
    mean = sum(P[:, [k]] * loss.derivatives(np.full(len(F), k), F, curvature="newton")[1] for k in range(4))
    np.testing.assert_allclose(loss.derivatives(np.zeros(6, int), F)[1], mean, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", PROPER, ids=repr)
@given(F=scores, G=scores)
def test_proper(loss, F, G):
    truth = loss.inverse(F)
    assert np.all(loss.value(truth, F) <= loss.value(truth, G) + 1e-9 * (1 + loss.value(truth, G)))
    np.testing.assert_allclose(loss.inverse(loss.link(truth)), truth, rtol=1e-9)
    np.testing.assert_allclose(loss.entropy(truth), loss.value(truth, F), rtol=1e-9)


def test_extreme_scores_stay_finite():
    F = np.array([[700.0, -700.0, 0.0], [0.0, 0.0, 700.0]])
    for loss in (simplex.Log(), simplex.Brier(), simplex.Power(0.5)):
        for curvature in ("fisher", "newton"):
            G, H = loss.derivatives([1, 2], F, curvature=curvature)
            assert np.all(np.isfinite(G))
            assert np.all(np.isfinite(H))
    assert simplex.Log().value([1], F[:1])[0] == pytest.approx(1400)


def test_out_and_conversion():
    out = np.empty((2, 3)), np.empty((2, 3))
    assert simplex.Log().derivatives([0, 1], np.zeros((2, 3)), out=out) is out
    assert simplex.of("DensityPower(2)") == simplex.Power(2)
    assert simplex.of(simplex.MH()) == simplex.MH()
    assert simplex.of(losses.Exponential()).composite == losses.Exponential().composite()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simplex.Log().value([3], np.zeros((1, 3))), "class indices from 0 to 2"),
        (lambda: simplex.Log().value(["a"], np.zeros((1, 3))), "class indices"),
        (lambda: simplex.Log().value([0], np.zeros((1, 1))), "one column for each"),
        (lambda: simplex.Log().link([[0.5, 0.6]]), "rows that sum to 1"),
        (lambda: simplex.Log().derivatives([0], np.zeros((1, 3)), curvature="x"), "curvature must be"),
        (lambda: simplex.Power(-2), "gamma must be"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize("curvature", ["fisher", "newton"])
def test_compiled_softmax_is_the_formula(curvature):
    rng = np.random.default_rng(0)
    n, classes = 9_001, 5  # more than one block, and a part of one
    F, y = rng.normal(size=(n, classes)) * rng.choice([0.1, 3, 50], size=(n, 1)), rng.integers(0, classes, n)
    F[::7] += 1000
    out = np.full((classes, n), np.nan).T, np.full((classes, n), np.nan).T
    assert simplex.Log().derivatives(y, F, curvature=curvature, out=out, n_jobs=2) is out
    expected = simplex.Log()._derivatives(np.eye(classes)[y], F, curvature == "fisher")
    for found, truth in zip(out, expected, strict=True):
        np.testing.assert_allclose(found, truth, rtol=0, atol=1e-12)
    alone = simplex.Log().derivatives(y, F, curvature=curvature)
    np.testing.assert_array_equal(alone, out)
    assert np.all(out[1] >= 0)


def test_compiled_softmax_leaves_infinite_scores_to_the_formula():
    F, y = np.zeros((1_000, 3)), np.arange(1_000) % 3
    F[5, 1], F[7, 0], F[8, 2] = np.inf, -np.inf, np.nan
    found = simplex.Log().derivatives(y, F)
    with np.errstate(all="ignore"):
        expected = simplex.Log()._derivatives(np.eye(3)[y], F, True)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
