"""Special functions that SciPy does not have, or not where we need them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import special

from propriety.losses.point import Array, as_float

SQRT_2 = np.sqrt(2.0)
LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


@cache
def gauss_legendre(n: int) -> tuple[Array, Array]:
    """Nodes and weights of Gauss–Legendre quadrature on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return (nodes + 1) / 2, weights / 2


def log_cosh(a: Array) -> Array:
    """log cosh a without overflow."""
    a = np.abs(a)
    return a + np.log1p(np.exp(-2 * a)) - np.log(2)


def normal_density(z: Array) -> Array:
    """φ(z)."""
    return np.exp(-0.5 * z * z - LOG_SQRT_2PI)


def inverse_mills(x: Array) -> Array:
    """φ(x) / (1 − Φ(x)), the hazard of the normal distribution; exact for x ≥ 0, however large."""
    return np.sqrt(2 / np.pi) / special.erfcx(x / SQRT_2)


def inverse_mills_excess(x: Array) -> Array:
    """φ(x) / (1 − Φ(x)) − x for x ≥ 0.

    For large x the difference cancels, and Laplace's continued fraction 1/(x + 2/(x + 3/(x + ...)))
    takes over.
    """
    large = np.maximum(x, 4.0)
    fraction = large
    for k in range(70, 1, -1):
        fraction = large + k / fraction
    return np.where(x < 4.0, inverse_mills(np.minimum(x, 4.0)) - x, 1 / fraction)


def incomplete_beta(x: Array, y: Array, a: float, b: float) -> Array:
    """∫_0^x u^(a−1) (1−u)^(b−1) du with y = 1 − x, for a > 0 and b > −1, b ≤ 0 included.

    SciPy's regularized function needs b > 0. For b ≤ 0 the integral grows without bound as x → 1; then

    - away from 1 the hypergeometric series x^a y^b / a · ₂F₁(1, a+b; a+1; x) has terms below x^n;
    - near 1, (1 − y^b)/b + J + Σ ... separates the divergent part, which is exact through expm1 also in
      the limit b → 0, from the constant J = B(a, b) − 1/b and a series in y.
    """
    x, y = np.broadcast_arrays(as_float("x", x), as_float("y", y))
    if b > 0:
        # betainc takes x alone, so the side near 1 goes through the complement, in the exact y.
        with np.errstate(under="ignore"):
            total = np.exp(special.betaln(a, b))
            return np.where(x <= 0.5, special.betainc(a, b, x), special.betaincc(b, a, y)) * total
    near_one = min(0.5, 2 / a)
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        away = _away_from_one(np.minimum(x, 1 - near_one), a, b)
        near = _near_one(np.minimum(y, near_one), a, b)
    return np.where(y >= near_one, away, near)


def _away_from_one(x: Array, a: float, b: float) -> Array:
    factor = np.exp(a * np.log(x) + b * np.log1p(-x)) / a
    term = np.ones_like(x)
    total = np.ones_like(x)
    largest = float(np.max(x, initial=0.0))
    for n in range(100_000):
        ratio = (a + b + n) / (a + 1 + n)
        term = term * ratio * x
        total = total + term
        if abs(ratio) * largest < 1 and np.max(np.abs(term), initial=0.0) <= 1e-17 * (1 - largest):
            break
    return factor * total


def _near_one(y: Array, a: float, b: float) -> Array:
    log_y = np.log(y)
    divergent = -log_y if b == 0 else -np.expm1(b * log_y) / b
    series = np.zeros_like(y)
    coefficient = 1.0
    for k in range(1, 60):
        coefficient *= (k - a) / k
        series = series + coefficient * np.exp((b + k) * log_y) / (b + k)
    return divergent + _beta_minus_pole(a, b) - series


def _beta_minus_pole(a: float, b: float) -> float:
    """B(a, b) − 1/b, continued through b = 0, where it is −ψ(a) − γ."""
    if abs(b) < 0.05:
        # log[Γ(a) Γ(1+b) / Γ(a+b)] = Σ_n b^n/n! (ψ_{n−1}(1) − ψ_{n−1}(a)); divided by b term by term.
        n = np.arange(1, 16)
        terms = (special.polygamma(n - 1, 1.0) - special.polygamma(n - 1, a)) / special.factorial(n)
        scaled = float(np.sum(terms * float(b) ** (n - 1)))
        return scaled if b == 0 else float(np.expm1(b * scaled) / b)
    log_ratio = special.gammaln(a) + special.gammaln(1 + b) - special.gammaln(a + b)
    # gammaln loses the sign of Γ(a + b), which is negative for −1 < a + b < 0.
    return float((special.gammasgn(a + b) * np.exp(log_ratio) - 1) / b)


def invert_increasing(
    function: Any, slope: Any, target: Array, limit: float = 1400.0, start: Array | None = None
) -> Array:
    """Root of function(t) = target on [−limit, limit]: Newton's steps inside a shrinking bracket.

    Steps are taken on asinh of both sides, which is straight where the function is exponential, and a step
    that leaves the bracket or is not half the last one is replaced by a bisection. Targets beyond the
    function's range give ±limit.
    """
    target = np.asarray(target, dtype=np.float64)
    goal = np.arcsinh(target)
    low, high = np.full_like(target, -limit), np.full_like(target, limit)
    t = np.zeros_like(target) if start is None else start
    last = np.full_like(target, 2 * limit)
    for _ in range(200):
        with np.errstate(all="ignore"):
            value = function(t)
            excess = value - target
            high, low = np.where(excess >= 0, t, high), np.where(excess <= 0, t, low)
            rate = slope(t)
            step = (np.arcsinh(value) - goal) * np.hypot(1, value) / rate
            newton = t - step
        # At the end steps are rounding errors, which do not halve. And a slope that has overflowed would make
        # a step of nothing, which looks like the end.
        halved = (np.abs(step) <= 0.5 * last) | (np.abs(step) <= 1e-13 * (1 + np.abs(t)))
        good = (newton >= low) & (newton <= high) & halved & np.isfinite(rate)
        new = np.where(excess == 0, t, np.where(good, newton, 0.5 * (low + high)))
        last = np.abs(new - t)
        t = new
        # The last step is quadratically far above the error it leaves.
        if np.all(last <= 1e-13 * (1 + np.abs(t))):
            break
    return t


def one_minus_x_over_expm1(x: Array) -> Array:
    """1 − x/(eˣ − 1), by its series near 0."""
    small = np.minimum(x, 0.5)
    series = np.ones_like(small)
    for k in range(20, 2, -1):
        series = 1 + small / k * series
    direct = np.maximum(x, 0.5)
    return np.where(
        x < 0.5,
        small * small / 2 * series / np.where(small == 0, 1, np.expm1(small)),
        1 - direct * np.exp(-direct) / -np.expm1(-direct),
    )
