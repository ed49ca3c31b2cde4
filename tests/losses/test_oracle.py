"""Closed forms against mpmath at 60 digits, far into the tails."""

import warnings

import mpmath as mp
import numpy as np
import pytest
from oracle import inverse_link, log_weight_slope, oracle

from propriety import links, losses

SMOOTH = [loss for loss in losses.examples() if isinstance(loss, losses.SmoothLoss)]
LINKS = [
    links.Logit(),
    links.Logit(0.5),
    links.Probit(),
    links.CLogLog(),
    links.LogLog(),
    links.Cauchit(),
    links.Laplace(),
    links.Algebraic(),
]
TINY = [1e-12, 1e-9, 1e-5, 0.01, 0.2, 0.37, 0.5]
PAIRS = [(p, 1 - p) for p in TINY] + [(1 - q, q) for q in TINY[:-1]]
SCORES = [-700.0, -300.0, -37.0, -9.5, -3.0, -0.7, -0.01, 0.02, 0.9, 2.5, 8.0, 33.0, 250.0, 700.0]
REPRESENTABLE = (mp.mpf(10) ** -290, mp.mpf(10) ** 300)


def check(name, value, truth, scale=None):
    """Relative 1e-10, or the right side of the range of doubles; never nan."""
    size = abs(truth) if scale is None else scale
    assert not np.isnan(value), f"{name}: nan, true value {mp.nstr(truth, 8)}"
    if size < REPRESENTABLE[0]:
        assert abs(value) < 1e-280, f"{name}: {value}, true value {mp.nstr(truth, 8)}"
    elif size > REPRESENTABLE[1]:
        # Terms beyond the range of doubles: only their sum's size can be asked for.
        assert abs(value) > 1e290 or abs(truth) < size, f"{name}: {value}, true value {mp.nstr(truth, 8)}"
    else:
        error = abs(mp.mpf(float(value)) - truth) / size
        assert error < 1e-10, f"{name}: {value!r}, true value {mp.nstr(truth, 20)}, error {mp.nstr(error, 3)}"


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_faces_in_probability(loss):
    family = oracle(loss)
    for p, q in PAIRS:
        mp_p, mp_q = (mp.mpf(p), 1 - mp.mpf(p)) if p <= 0.5 else (1 - mp.mpf(q), mp.mpf(q))
        at = f"{loss!r} at p={p}, q={q}: "
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            one, zero = family.one(mp_p, mp_q), family.zero(mp_p, mp_q)
            check(at + "loss(1)", loss.loss(1, p, q), one)
            check(at + "loss(0)", loss.loss(0, p, q), zero)
            check(at + "entropy", loss.entropy(p, q), mp_p * one + mp_q * zero)
            check(at + "slope", loss.slope(p, q), zero - one, scale=max(abs(one), abs(zero)))
            weight = family.weight(mp_p, mp_q)
            check(at + "weight", loss.weight(p, q), weight)
            growth = log_weight_slope(family, mp_p, mp_q) / (mp_p * mp_q)
            if not (isinstance(loss, losses.GLaplace) and p == 0.5):  # a kink
                scale = weight * max(abs(growth), 1 / min(mp_p, mp_q) * mp.mpf(10) ** -3)
                check(at + "weight_slope", loss.weight_slope(p, q), weight * growth, scale=scale)


def digits(F):
    """Working precision: far out, 1 − e^{−|F|} and the cancellation in a Hessian need hundreds of digits."""
    return 700 if abs(F) > 100 else 40


def composite_truth(family, link, F):
    p, q, d1, d2 = inverse_link(link, F)
    weight = family.weight(p, q)
    rate = weight * d1
    # [ω p′]′ = ω′ p′² + ω p″, with ω′ = ω (d log ω/dt)/(p q)
    first, second = rate * log_weight_slope(family, p, q) / (p * q) * d1, weight * d2
    return {
        "gradient1": -q * rate,
        "gradient0": p * rate,
        "fisher": rate * d1,
        "hessian1": rate * d1 - q * (first + second),
        "hessian0": rate * d1 + p * (first + second),
        "scale1": rate * d1 + q * (abs(first) + abs(second)),
        "scale0": rate * d1 + p * (abs(first) + abs(second)),
        "p": p,
    }


@pytest.mark.parametrize("link", LINKS, ids=repr)
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_composite(loss, link):
    family, c = oracle(loss), loss.with_link(link)
    for F in SCORES:
        if abs(F) > 1e3 * link.scale:
            continue
        with mp.workdps(digits(F)):
            try:
                truth = composite_truth(family, link, F)
            except (ZeroDivisionError, ValueError, OverflowError):
                # Beyond even mpmath's patience: exp(-exp(700)); the doubles must still be finite or zero.
                truth = None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            values = {
                "gradient1": c.gradient(1, F),
                "gradient0": c.gradient(0, F),
                "fisher": c.fisher(F),
                "hessian1": c.hessian(1, F),
                "hessian0": c.hessian(0, F),
                "p": c.inverse(F),
            }
        for name, value in values.items():
            at = f"{c!r} at F={F}: {name}"
            if truth is None:
                assert not np.isnan(value), at
            else:
                check(at, value, truth[name], scale=abs(truth[name.replace("hessian", "scale")]))


def is_inverted_numerically(loss):
    return isinstance(loss.default_link, links.Canonical)


@pytest.mark.parametrize("loss", [loss for loss in SMOOTH if not is_inverted_numerically(loss)], ids=repr)
def test_value_of_default_composite(loss):
    c, family = loss.composite(), oracle(loss)
    for F in SCORES:
        with mp.workdps(330 if abs(F) > 100 else 40):
            p, q, *_ = inverse_link(c.link, F)
            if min(p, q) < mp.mpf(10) ** -320:
                continue
            one, zero = family.one(p, q), family.zero(p, q)
        check(f"{c!r} at F={F}: value(1)", c.value(1, F), one)
        check(f"{c!r} at F={F}: value(0)", c.value(0, F), zero)


@pytest.mark.parametrize("loss", [loss for loss in SMOOTH if is_inverted_numerically(loss)], ids=repr)
def test_numerically_inverted_link(loss):
    # The score of p is loss(0, p) - loss(1, p); from it the link must find p, and the value its losses.
    c, family = loss.composite(), oracle(loss)
    for p in TINY:
        one, zero = family.one(mp.mpf(p), 1 - mp.mpf(p)), family.zero(mp.mpf(p), 1 - mp.mpf(p))
        F = float(zero - one)
        check(f"{c!r} at p={p}: inverse", c.inverse(F), mp.mpf(p))
        check(f"{c!r} at p={p}: value(1)", c.value(1, F), one)
        check(f"{c!r} at p={p}: value(0)", c.value(0, F), zero)
        check(f"{c!r} at p={p}: value of the mirror", c.value(0, -F), one)


@pytest.mark.parametrize("link", LINKS, ids=repr)
def test_link_round_trip(link):
    for p, q in PAIRS:
        F = link.link(p, q)
        curve = link.curve(F)
        assert curve.p == pytest.approx(p, rel=1e-12)
        assert curve.q == pytest.approx(q, rel=1e-12)
