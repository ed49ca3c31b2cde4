from dataclasses import dataclass
from functools import partial
from inspect import isabstract

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from propriety import BoostingClassifier, LinearClassifier, TreeClassifier, links, losses
from propriety.losses import simplex

ALL = [
    *simplex.examples(),
    simplex.Power(0),
    simplex.OneVsRest(losses.Log().with_link("Probit")),
    simplex.Recalibrated(simplex.Brier(), (0.7, 1.2, 0.9, 1), (0.3, 0, -0.2, 0)),
]
PROPER = [loss for loss in ALL if loss.one_vs_rest is None]


def in_order(loss, F):
    """Scores of ordered classes fall from threshold to threshold: others state what the least so far does."""
    if not isinstance(loss, simplex.OrderedLoss):
        return F
    return np.column_stack([F[:, 0], np.minimum.accumulate(F[:, 1:], axis=1)])


@dataclass(frozen=True, repr=False)
class Ours(simplex.SimplexLoss):
    """A user's loss: twice the log loss, by its first derivatives alone."""

    shift_invariant = True

    def inverse(self, F):
        return simplex.Log().inverse(F)

    def link(self, P):
        return simplex.Log().link(P)

    def _value(self, Y, F):
        return 2 * simplex.Log()._value(Y, F)

    def _derivatives(self, Y, F, fisher):
        gradient, curvature = simplex.Log()._derivatives(Y, F, fisher)
        return 2 * gradient, 2 * curvature


class OursForTwo(Ours):
    @property
    def binary(self):
        return (2 * losses.Log()).composite()


scores = arrays(np.float64, (6, 4), elements=st.floats(-4, 4))
BINARY = [
    (simplex.Log(), losses.Log().composite(), 1.0),
    (simplex.Brier(), losses.Squared().composite(), 1.0),
    (simplex.Power(0.5), losses.DensityPower(0.5).composite(), 1.0),
    (simplex.Power(2.0), losses.DensityPower(2).composite(), 1.0),
    (simplex.PairwiseExponential(), losses.Exponential().composite(), 1.0),
    (simplex.Cumulative("Tailored(0.3, 5)"), losses.Tailored(0.3, 5).composite(), 1.0),
    (simplex.RankedProbability(), losses.Squared().composite(), 1.0),
    (
        simplex.Recalibrated(simplex.Log(), (0.5, 1.5), (0, 0.25)),
        losses.Log().with_link(links.Recalibrated(links.Logit(), 1.5, 0.5, 0.25)),
        1.0,
    ),
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


@pytest.mark.parametrize("loss", [*PROPER, Ours()], ids=repr)
@given(F=scores)
def test_fisher_is_the_mean_hessian(loss, F):
    F = in_order(loss, F)
    P, labels = loss.inverse(F), np.arange(4)
    mean = sum(P[:, [k]] * loss.derivatives(np.full(6, k), F, curvature="newton")[1] for k in labels)
    np.testing.assert_allclose(loss.derivatives(np.zeros(6, int), F)[1], mean, rtol=1e-9, atol=1e-12)
    mean = sum(P[:, [k], None] * loss.hessian(np.full(6, k), F) for k in labels)
    rounding = 1e-6 if isinstance(loss, Ours) else 1e-12  # of differences
    np.testing.assert_allclose(loss.fisher(F), mean, rtol=1e-9, atol=rounding)


@pytest.mark.parametrize("loss", ALL, ids=repr)
@given(F=scores, y=st.integers(0, 3))
def test_matrices_are_differences_of_the_gradient(loss, F, y):
    labels, F = np.full(6, y), in_order(loss, F)
    hessian, fisher = loss.hessian(labels, F), loss.fisher(F)
    numeric = simplex.SimplexLoss._hessian(loss, np.eye(4)[labels], F)
    scale = 1 + np.abs(numeric).max(axis=(1, 2), keepdims=True)
    assert hessian.shape == fisher.shape == (6, 4, 4)
    assert np.all(np.abs(hessian - numeric) <= 1e-6 * scale)
    V = np.sin(7 * F + np.arange(4))
    for times, matrix in ((loss.hessian_times(labels, F, V), hessian), (loss.fisher_times(F, V), fisher)):
        assert np.all(np.abs(times - np.einsum("mab,mb->ma", matrix, V)) <= 1e-12 * scale[:, 0])
    # Their diagonals are those of the one pass that boosting takes.
    for matrix, kind in ((hessian, "newton"), (fisher, "fisher")):
        diagonal = loss.derivatives(labels, F, curvature=kind)[1]
        np.testing.assert_allclose(np.diagonal(matrix, axis1=1, axis2=2), diagonal, rtol=1e-12, atol=1e-14)
    if loss.one_vs_rest is None and not isinstance(loss, simplex.OrderedLoss):  # whose ties are kinks
        numeric = simplex.SimplexLoss._fisher(loss, F)
        assert np.all(np.abs(fisher - numeric) <= 1e-6 * (1 + np.abs(numeric)))
    if loss.shift_invariant:
        assert np.all(np.abs(hessian.sum(axis=2)) <= 1e-12 * scale[:, :, 0])


@pytest.mark.parametrize("loss", ALL, ids=repr)
@given(F=scores, y=st.integers(0, 3))
def test_one_pass_and_pairs_of_classes_are_the_same_numbers(loss, F, y):
    labels = np.full(6, y)
    values, gradients = loss.values_and_gradients(labels, F)
    np.testing.assert_allclose(values, loss.value(labels, F), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(gradients, loss.gradient(labels, F), rtol=1e-12, atol=1e-14)
    matrices, (first, second) = loss.fisher(F), np.triu_indices(4)
    np.testing.assert_allclose(loss.fisher_pairs(F), matrices[:, first, second].T, rtol=1e-12, atol=1e-14)
    # Many rows go another way.
    many = loss.fisher_pairs(np.tile(F, (300, 1)))
    np.testing.assert_allclose(many[:, : len(F)], loss.fisher_pairs(F), rtol=1e-12, atol=1e-14)


@given(F=scores)
def test_matrices_of_the_log_loss(F):
    p = simplex.Log().inverse(F)
    expected = np.einsum("na,ab->nab", p, np.eye(4)) - p[:, :, None] * p[:, None, :]
    np.testing.assert_allclose(simplex.Log().fisher(F), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(simplex.Log().hessian(np.zeros(6, int), F), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("g", [0, 0.5, 2])
@pytest.mark.parametrize("F", [[0.3, -1.2, 2.0], [45.0, -3.0, 1.0], [-60.0, 0.0, 0.5]])
def test_matrices_keep_their_digits(g, F):
    # Fisher's matrix Σ_k ω_k p_k² (e_k − p)(e_k − p)ᵀ at 60 digits.
    with mp.workdps(60):
        odds = [mp.exp(mp.mpf(f)) for f in F]
        p = [x / sum(odds) for x in odds]

        def entry(a, b):
            return sum(p[k] ** (g + 1) * (mp.mpf(k == a) - p[a]) * (mp.mpf(k == b) - p[b]) for k in range(3))

        truth = np.array([[float(entry(a, b)) for b in range(3)] for a in range(3)])
    np.testing.assert_allclose(simplex.Power(g).fisher([F])[0], truth, rtol=1e-12)


def test_every_loss_on_the_simplex_is_registered_and_parses_back():
    def concrete(base):
        for cls in base.__subclasses__():
            yield from concrete(cls)
            if cls.__module__.startswith("propriety.") and not isabstract(cls):
                yield cls

    assert {cls.__name__ for cls in concrete(simplex.SimplexLoss)} == set(simplex.names())
    assert set(simplex.names()) <= set(simplex.__all__)
    for loss in ALL:
        assert losses.parse(repr(loss)) == loss
    assert repr(simplex.OneVsRest("Beta(6, 14)")) == "simplex.OneVsRest(Beta(6, 14))"
    assert (
        repr(simplex.OneVsRest("Log().with_link(Probit())")) == "simplex.OneVsRest(Log().with_link(Probit()))"
    )
    assert [repr(simplex.Log()), repr(simplex.Power(0.5))] == ["simplex.Log()", "simplex.Power(0.5)"]
    assert repr(Ours()) == "Ours()"


@pytest.mark.parametrize("loss", ALL, ids=repr)
@given(F=scores, y=st.integers(0, 3))
def test_the_facts_that_learners_ask(loss, F, y):
    labels, value = np.full(6, y), loss.value(np.full(6, y), F)
    moved = loss.value(labels, F + 1.5)
    same = np.abs(moved - value) <= 1e-9 * (1 + np.abs(value))
    assert np.all(same) if loss.shift_invariant else not np.allclose(moved, value, rtol=1e-3)
    form = loss.margin_form
    if loss.one_vs_rest is not None:
        each = loss.one_vs_rest.value(np.eye(4)[labels], F)
        np.testing.assert_allclose(value, loss.factor * each.sum(axis=1), rtol=1e-12)
    if form is None:
        assert loss.growth == np.inf
        return
    assert loss.growth == form.composite.growth
    if not form.composite.has_margin_form:
        return
    others = np.delete(F, y, axis=1)
    if form.kind == "rest":
        margins = np.where(np.arange(4) == y, F, -F)
        expected = form.factor * form.composite.margin_loss(margins).sum(axis=1)
    elif form.kind == "pairs":
        expected = form.factor * form.composite.margin_loss(F[:, [y]] - others).sum(axis=1)
    else:
        expected = form.factor * np.log1p(np.exp(others - F[:, [y]]).sum(axis=1))
    np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)


def test_a_users_loss_in_a_linear_model():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 2))
    y = (X[:, 0] + rng.logistic(size=300) > 0).astype(int) + (X[:, 1] + rng.logistic(size=300) > 1)
    for solver in ("fisher", "newton"):
        ours, log = (LinearClassifier(loss, solver=solver, alpha=0.01).fit(X, y) for loss in (Ours(), "Log"))
        np.testing.assert_allclose(ours.predict_proba(X), log.predict_proba(X), atol=1e-7)
    two, log = (LinearClassifier(loss).fit(X, y > 0) for loss in (OursForTwo(), "Log"))
    np.testing.assert_allclose(two.predict_proba(X), log.predict_proba(X), atol=1e-7)
    with pytest.raises(TypeError, match="does not say what it is for two classes: give Ours a property"):
        LinearClassifier(Ours()).fit(X, y > 0)


@pytest.mark.parametrize("loss", ["simplex.Log()", "simplex.OneVsRest(Squared())"])
def test_estimators_read_the_text_of_a_loss_on_the_simplex(loss):
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((90, 2)), np.arange(90) % 3
    for make in (LinearClassifier, TreeClassifier, partial(BoostingClassifier, max_iter=2)):
        given, read = make(losses.parse(loss)).fit(X, y), make(loss).fit(X, y)
        np.testing.assert_array_equal(given.predict_proba(X), read.predict_proba(X))
        assert np.all(np.isfinite(make(loss).fit(X, y > 0).predict_proba(X)))


@pytest.mark.parametrize("loss", PROPER, ids=repr)
@given(F=scores, G=scores)
def test_proper(loss, F, G):
    F = in_order(loss, F)
    truth = loss.inverse(F)
    assert np.all(loss.value(truth, F) <= loss.value(truth, G) + 1e-9 * (1 + loss.value(truth, G)))
    np.testing.assert_allclose(loss.inverse(loss.link(truth)), truth, rtol=1e-9, atol=1e-15)
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


def test_multiples_and_losses_of_ones_own_have_the_form_of_what_they_equal():
    own = losses.from_weight(lambda p: 1 / (p * (1 - p)))
    for loss in (own, own.with_link("Logit()"), losses.Beta(0, 0), losses.from_margin_loss(log_margin)):
        assert simplex.of(loss) == simplex.Log()
    assert simplex.of(3 * losses.Log()) == simplex.Log(3)
    assert simplex.of((0.2 * losses.Squared()).with_link("Logit()")) == simplex.Brier(0.2)
    assert simplex.of(2 * losses.DensityPower(0.5)) == simplex.Power(0.5, 2)
    assert simplex.of(losses.from_weight(lambda p: 5 + 0 * p)).scale == pytest.approx(2.5, rel=1e-9)
    for loss in (losses.Log().with_link("Probit()"), losses.Log() + losses.Squared(), losses.Beta(0.1, 0)):
        assert isinstance(simplex.of(loss), simplex.OneVsRest)


def log_margin(v):
    return np.log1p(np.exp(-v))


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


@pytest.mark.parametrize("loss", simplex.examples(), ids=repr)
def test_huge_scores_have_their_limit_probabilities(loss):
    F = 1e308 * np.array([[1, -1, 0], [1, 1, -1], [-1, -1, -1], [1, 1, 1], [0, 0, 1.0]])
    P = loss.inverse(F)
    assert np.all((P >= 0) & (P <= 1))
    np.testing.assert_allclose(P.sum(axis=1), 1)
    if isinstance(loss, simplex.OrderedLoss):
        np.testing.assert_allclose(P[[2, 3], 2], loss.threshold_loss.inverse(0.0))
    else:
        np.testing.assert_allclose(P[[2, 3]], 1 / 3)


@given(F=scores)
def test_classes_in_order_have_probabilities_that_are_none_below_0(F):
    for loss in simplex.examples("Cumulative"):
        assert np.all(loss.inverse(F) >= 0)
        ordered = in_order(loss, F)
        above = np.cumsum(loss.inverse(ordered)[:, ::-1], axis=1)[:, 2::-1]
        each = loss.threshold_loss.inverse(ordered[:, 1:] - ordered[:, :1])
        np.testing.assert_allclose(above, each, rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: simplex.Recalibrated(simplex.MH(), (1,), (0,)), "base must be a loss with the softmax link"),
        (lambda: simplex.Recalibrated(simplex.Log(), (), (0,)), "one for each class, got none"),
        (lambda: simplex.Recalibrated(simplex.Log(), (0,), (0,)), "slopes must be a finite number"),
    ],
)
def test_only_the_softmax_is_recalibrated_by_positive_slopes(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_a_recalibrated_loss_knows_its_number_of_classes():
    loss = simplex.Recalibrated(simplex.Log(), (1, 1, 2), (0,))
    with pytest.raises(ValueError, match="are those of 3 classes, and there are 4 scores"):
        loss.inverse(np.zeros((1, 4)))
