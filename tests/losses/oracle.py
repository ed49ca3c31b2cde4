"""Every family and link once more, in mpmath, straight from the formulas of the papers.

Nothing here is shared with the package. p and q = 1 − p are given apart, so 60 digits are enough even where
q is 1e-304. Partial losses are ℓ(1, p); a family without its own ℓ(0, p) is symmetric.
"""

from __future__ import annotations

import mpmath as mp

from propriety import links, losses

mp.mp.dps = 60


class Family:
    def __init__(self, weight, one, zero=None):
        self.weight = weight
        self.one = one
        self.zero = zero or (lambda p, q: one(q, p))


def beta_integral(a, b, x):
    return mp.betainc(a, b, 0, x)


def beta_family(a, b, scale=1):
    a, b = mp.mpf(a), mp.mpf(b)
    return Family(
        lambda p, q: scale * p ** (a - 1) * q ** (b - 1),
        lambda p, q: scale * beta_integral(b + 1, a, q),
        lambda p, q: scale * beta_integral(a + 1, b, p),
    )


def with_digits(digits, function):
    """Closed forms that cancel, evaluated with digits enough to lose."""

    def precise(p, q):
        with mp.workdps(digits):
            return function(p, q)

    return precise


def bump_integral(c, s, x):
    """∫_0^x u φ((u − c)/s) du."""
    ends = -c / s, (x - c) / s
    mass = (mp.erf(ends[1] / mp.sqrt(2)) - mp.erf(ends[0] / mp.sqrt(2))) / 2
    return s * (c * mass - s * (mp.npdf(ends[1]) - mp.npdf(ends[0])))


def scaled(factor, f):
    return Family(
        lambda p, q: factor * f.weight(p, q),
        lambda p, q: factor * f.one(p, q),
        lambda p, q: factor * f.zero(p, q),
    )


LOG = Family(lambda p, q: 1 / (p * q), lambda p, q: -mp.log(p) if p < 0.5 else -mp.log1p(-q))
SQUARED = Family(lambda p, q: mp.mpf(2), lambda p, q: q**2)
BOOSTING = Family(lambda p, q: (p * q) ** mp.mpf("-1.5") / 2, lambda p, q: mp.sqrt(q / p))


def quantile(p, q):
    """Φ⁻¹(p), by Newton's method on log Φ, from whichever side is small."""
    if p > q:
        return -quantile(q, p)
    if p == q:
        return mp.mpf(0)
    x = -mp.sqrt(-2 * mp.log(p)) if p < 0.1 else mp.mpf(-0.5)
    for _ in range(200):
        cdf = mp.erfc(-x / mp.sqrt(2)) / 2
        step = (mp.log(cdf) - mp.log(p)) * cdf / mp.npdf(x)
        x -= step
        if abs(step) < mp.mpf(10) ** -55 * (1 + abs(x)):
            break
    return x


def oracle(loss) -> Family:
    match loss:
        case losses.Log():
            return LOG
        case losses.Squared() | losses.Savage():
            return SQUARED
        case losses.Boosting() | losses.Exponential():
            return BOOSTING
        case losses.Matsushita():
            return scaled(mp.mpf(1) / 2, BOOSTING)
        case losses.Spherical():
            return Family(
                lambda p, q: (p * p + q * q) ** mp.mpf("-1.5"),
                lambda p, q: q * q / (mp.hypot(p, q) * (mp.hypot(p, q) + p)),
            )
        case losses.Mu(mu=m):
            m = mp.mpf(m)
            return Family(
                lambda p, q: (1 - m) * BOOSTING.weight(p, q) / 2,
                lambda p, q: m + (1 - m) * mp.sqrt(q / p) / 2,
            )
        case losses.Power(upsilon=u):
            u = mp.mpf(u)
            return Family(
                lambda p, q: u * (p * q) ** (u - 2) * ((1 - u) * (q - p) ** 2 + 2 * p * q),
                lambda p, q: (p * q) ** u + q * u * (p * q) ** (u - 1) * (q - p),
            )
        case losses.LogCosh(zeta=z):
            z = mp.mpf(z)
            return Family(
                lambda p, q: z / 2 * mp.sech(z / 4 * (p - q)) ** 2,
                with_digits(
                    700,
                    lambda p, q: (
                        2 / z * (mp.log(mp.cosh(z / 4)) - mp.log(mp.cosh(z / 4 * (1 - 2 * q))))
                        - q * mp.tanh(z / 4 * (1 - 2 * q))
                    ),
                ),
            )
        case losses.Beta(alpha=a, beta=b):
            return beta_family(a, b)
        case losses.Tailored():
            return beta_family(loss.core.alpha, loss.core.beta)
        case losses.Arcsine():
            return Family(
                lambda p, q: (p * q) ** mp.mpf("-0.5"),
                lambda p, q: mp.asin(mp.sqrt(q)) - mp.sqrt(p * q) if q > 1e-9 else beta_integral(1.5, 0.5, q),
            )
        case losses.CascadeUp(a=a):
            a = mp.mpf(a)
            return Family(
                lambda p, q: a * (a + 1) * p ** (a - 1),
                lambda p, q: (
                    1 - (a + 1) * p**a + a * p ** (a + 1)
                    if q > 1e-6
                    else a * (a + 1) * beta_integral(2, a, q)
                ),
                lambda p, q: a * p ** (a + 1),
            )
        case losses.CascadeDown(b=b):
            up = oracle(losses.CascadeUp(b))
            return Family(lambda p, q: up.weight(q, p), lambda p, q: up.zero(q, p), lambda p, q: up.one(q, p))
        case losses.DensityPower(gamma=g):
            g = mp.mpf(g)
            return Family(
                lambda p, q: p ** (g - 1) + q ** (g - 1),
                lambda p, q: beta_integral(2, g, q) + q ** (g + 1) / (g + 1),
            )
        case losses.HandVinciotti(c=c, width=s):
            c, s = mp.mpf(c), mp.mpf(s)
            return Family(
                lambda p, q: mp.npdf((p - c) / s),
                with_digits(700, lambda p, q: bump_integral(1 - c, s, q)),
                with_digits(700, lambda p, q: bump_integral(c, s, p)),
            )
        case losses.AlphaTunable(gain=s, alpha=a):
            s, a = mp.mpf(s), mp.mpf(a)
            k = s * (1 - a) / (2 - 3 * a)
            return Family(
                lambda p, q: k * (p ** (-a - 1) * q ** (a - 1) + p ** (a - 1) * q ** (-a - 1)),
                lambda p, q: k * (beta_integral(a + 1, -a, q) + beta_integral(1 - a, a, q)),
            )
        case losses.GLog(gain=s):
            return scaled(mp.mpf(s), LOG)
        case losses.GBoost(gain=s):
            return scaled(mp.mpf(s), BOOSTING)
        case losses.GGauss(gain=s):
            s = mp.mpf(s)
            k = mp.sqrt(mp.pi) / (4 * s)

            def gauss_one(p, q):
                v = quantile(p, q) / mp.sqrt(2) / k
                return -v / 2 * mp.erfc(k * v) + 2 * s / mp.pi * mp.exp(-((k * v) ** 2))

            return Family(lambda p, q: 4 * s * mp.exp(quantile(p, q) ** 2 / 2), gauss_one)
        case losses.GLaplace(gain=s):
            s = mp.mpf(s)

            def laplace_one(p, q):
                v = -2 * s * mp.sign(p - q) * mp.log(2 * min(p, q))
                return s * mp.exp(-abs(v) / (2 * s)) + (abs(v) - v) / 2

            return Family(lambda p, q: 2 * s / min(p, q), laplace_one)
    raise NotImplementedError(f"{loss!r} has no oracle: add its formulas to tests/losses/oracle.py")


def inverse_link(link, F):
    """p, q, dp/dF, d²p/dF² of a link at the score F."""
    F = mp.mpf(float(F))
    if isinstance(link, links.Identity):
        width = mp.mpf(link.high) - mp.mpf(link.low)
        return (F - link.low) / width, (link.high - F) / width, 1 / width, mp.mpf(0)
    s = mp.mpf(link.scale)
    z = F / s
    match link:
        case links.Logit():
            p, q = 1 / (1 + mp.exp(-z)), 1 / (1 + mp.exp(z))
            d1, d2 = p * q, p * q * (q - p)
        case links.Probit():
            p, q = mp.erfc(-z / mp.sqrt(2)) / 2, mp.erfc(z / mp.sqrt(2)) / 2
            d1, d2 = mp.npdf(z), -z * mp.npdf(z)
        case links.CLogLog():
            w = mp.exp(z)
            p, q = -mp.expm1(-w), mp.exp(-w)
            d1, d2 = w * q, w * q * (1 - w)
        case links.LogLog():
            w = mp.exp(-z)
            p, q = mp.exp(-w), -mp.expm1(-w)
            d1, d2 = w * p, w * p * (w - 1)
        case links.Cauchit():
            p, q = mp.acot(-z) / mp.pi % 1, mp.acot(z) / mp.pi % 1
            p, q = (mp.mpf(1) / 2, mp.mpf(1) / 2) if z == 0 else (p, q)
            d1, d2 = 1 / (mp.pi * (1 + z * z)), -2 * z / (mp.pi * (1 + z * z) ** 2)
        case links.Laplace():
            small = mp.exp(-abs(z)) / 2
            p, q = (small, 1 - small) if z < 0 else (1 - small, small)
            d1, d2 = small, -mp.sign(z) * small
        case links.Algebraic():
            root = mp.sqrt(4 + z * z)
            p, q = 2 / (root * (root - z)), 2 / (root * (root + z))
            d1, d2 = 2 / root**3, -6 * z / root**5
        case _:
            raise NotImplementedError(f"{link!r} has no oracle: add its formulas to tests/losses/oracle.py")
    return p, q, d1 / s, d2 / s**2


def log_weight_slope(family, p, q):
    """d log ω/dt in log-odds, at full precision in both tails."""
    t = mp.log(p / q)
    return mp.diff(lambda u: mp.log(family.weight(1 / (1 + mp.exp(-u)), 1 / (1 + mp.exp(u)))), t)
