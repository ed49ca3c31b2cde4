"""Time of the compiled pass over a million rows, for every family and for losses written by a user.

    python benchmarks/losses.py

Two ratios a row: how many times faster than the plain NumPy expression of the same formulas, and how much
slower than the log loss with the logit link. Best of several repetitions, in alternating order, since the
machines are noisy. Two more tables have the time of ``composite.value`` against the formulas alone, and of
``import propriety`` as a ratio to ``import sklearn``.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from measuring import Column, Part, Table, alternate
from scipy import special

from propriety import links, losses

ROWS = 1_000_000
REPEATS = 21


def bump(p, q):
    return np.exp(-0.5 * ((p - 0.2) / 0.05) ** 2)


# The plain side: weights and inverse links as one would type them, on whole arrays.
WEIGHTS = {
    "Log()": lambda p: 1 / (p * (1 - p)),
    "GLog(2)": lambda p: 2 / (p * (1 - p)),
    "Squared()": lambda p: np.full_like(p, 2.0),
    "Savage()": lambda p: np.full_like(p, 2.0),
    "Spherical()": lambda p: (p**2 + (1 - p) ** 2) ** -1.5,
    "Boosting()": lambda p: 0.5 * (p * (1 - p)) ** -1.5,
    "Exponential()": lambda p: 0.5 * (p * (1 - p)) ** -1.5,
    "GBoost(2)": lambda p: (p * (1 - p)) ** -1.5,
    "Matsushita()": lambda p: 0.25 * (p * (1 - p)) ** -1.5,
    "Mu(0.5)": lambda p: 0.125 * (p * (1 - p)) ** -1.5,
    "Power(0.3)": lambda p: 0.3 * (p * (1 - p)) ** -1.7 * (0.7 * (1 - 2 * p) ** 2 + 2 * p * (1 - p)),
    "LogCosh(8)": lambda p: 4 / np.cosh(4 * (p - 0.5)) ** 2,
    "Beta(6, 14)": lambda p: p**5.0 * (1 - p) ** 13.0,
    "Beta(-0.3, 0.4)": lambda p: p**-1.3 * (1 - p) ** -0.6,
    "Beta(0, 0.5)": lambda p: p**-1.0 * (1 - p) ** -0.5,
    "Tailored(0.1, 20)": lambda p: p**1.0 * (1 - p) ** 17.0,
    "Tailored(0.3, by='mode')": lambda p: p**3.0 * (1 - p) ** 7.0,
    "Arcsine()": lambda p: (p * (1 - p)) ** -0.5,
    "CascadeUp(16)": lambda p: 272 * p**15.0,
    "CascadeDown(31)": lambda p: 992 * (1 - p) ** 30.0,
    "DensityPower(0.5)": lambda p: p**-0.5 + (1 - p) ** -0.5,
    "DensityPower(2)": lambda p: p + (1 - p),
    "HandVinciotti(0.3)": lambda p: np.exp(-0.5 * ((p - 0.3) / 0.1) ** 2) / np.sqrt(2 * np.pi),
    "AlphaTunable(2)": lambda p: 1.2 * (p**-1.25 * (1 - p) ** -0.75 + p**-0.75 * (1 - p) ** -1.25),
    "GGauss(2)": lambda p: 8 * np.exp(special.erfinv(2 * p - 1) ** 2),
    "GLaplace(2)": lambda p: 4 / np.minimum(p, 1 - p),
    "user: weight 1/(p q)": lambda p: 1 / (p * (1 - p)),
    "user: weight p^4.5 (1-p)^2.5": lambda p: p**4.5 * (1 - p) ** 2.5,
    "user: Gaussian weight": lambda p: bump(p, 1 - p),
    "user: entropy sqrt(p q)": lambda p: 0.25 * (p * (1 - p)) ** -1.5,
    "user: margin loss": lambda p: 1 / (p * (1 - p)),
    "user: 2 Log + Tailored(0.1, 20)": lambda p: 2 / (p * (1 - p)) + p**1.0 * (1 - p) ** 17.0,
}


def inverse_link(link, F):
    """p and p′, as one would type them."""
    z = F / getattr(link, "scale", 1.0)
    if isinstance(link, links.Probit):
        return special.ndtr(z), np.exp(-z * z / 2) / np.sqrt(2 * np.pi) / link.scale
    if isinstance(link, links.Laplace):
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1 - tail), tail / link.scale
    if isinstance(link, links.Algebraic):
        root = np.sqrt(4 + z * z)
        return 0.5 + z / (2 * root), 2 / root**3 / link.scale
    p = 1 / (1 + np.exp(-z))
    return p, p * (1 - p) / getattr(link, "scale", 1.0)


def plain_numpy(name, c, y, F):
    """p, p′, ω, then −(y − p) ω p′ and ω p′²."""
    with np.errstate(all="ignore"):
        p, dp = inverse_link(c.link, F)
        rate = WEIGHTS[name](p) * dp
        return -(y - p) * rate, rate * dp


def logistic_numpy(y, F):
    p = 1 / (1 + np.exp(-F))
    return p - y, p * (1 - p)


def cases():
    """Every family with its default link, the logit where that is a numerical inverse, and a user's."""
    smooth = [loss for loss in losses.examples() if isinstance(loss, losses.SmoothLoss)]
    families = {repr(loss): loss.composite() for loss in smooth}
    families["Power(0.3)"] = losses.Power(0.3).with_link(links.Logit())
    mine = {
        "user: weight 1/(p q)": losses.from_weight(lambda p, q: 1 / (p * q)).with_link(links.Logit()),
        "user: weight p^4.5 (1-p)^2.5": losses.from_weight(lambda p: p**4.5 * (1 - p) ** 2.5).composite(),
        "user: Gaussian weight": losses.from_weight(bump).composite(),
        "user: entropy sqrt(p q)": losses.from_entropy(lambda p, q: np.sqrt(p * q)).with_link(links.Logit()),
        "user: margin loss": losses.from_margin_loss(lambda v: np.log1p(np.exp(-v))).composite(),
        "user: 2 Log + Tailored(0.1, 20)": (2 * losses.Log() + losses.Tailored(0.1, 20)).composite(),
    }
    return families | mine


def import_ratio():
    def seconds(module):
        code = f"import time; s = time.perf_counter(); import {module}; print(time.perf_counter() - s)"
        runs = [
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            for _ in range(5)
        ]
        return min(float(run.stdout) for run in runs)

    return seconds("propriety") / seconds("sklearn")


def families(given):
    n, repeats = given.size(ROWS), given.times(REPEATS)
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.3).astype(np.float64)
    F = rng.normal(scale=3, size=n)
    out = np.empty(n), np.empty(n)
    log = losses.Log().composite()
    rows = []
    for name, c in cases().items():
        plain = logistic_numpy if c == log else lambda y, F, name=name, c=c: plain_numpy(name, c, y, F)
        calls = {
            "compiled": lambda c=c: c.derivatives(y, F, out=out),
            "log": lambda: log.derivatives(y, F, out=out),
            "plain": lambda plain=plain: plain(y, F),
        }
        for call in calls.values():
            call()
        best = alternate(calls, repeats)
        rows.append([name, best["plain"] / best["compiled"], best["compiled"] / best["log"]])
    columns = [
        "loss",
        Column("NumPy ÷ compiled", "peer ÷ ours", ".1f"),
        Column("÷ log/logit", "ours ÷ other", ".2f"),
    ]
    yield Table("families", f"Gradient and Fisher weight of {n:,} rows in one pass", columns, rows)


def values(given):
    """Values of losses whose formulas are special functions: `value`, and the formulas alone."""
    n = given.size(ROWS)
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.3).astype(np.float64)
    F = rng.normal(scale=3, size=n)
    rows, slowest = [], 0.0
    for loss in (losses.Log(), losses.Beta(6, 14), losses.Tailored(0.1, 20), losses.AlphaTunable(2)):
        c = loss.composite()
        calls = {
            "value": lambda c=c: c.value(y, F),
            "formulas": lambda c=c: c.values(y, F, table=False),
        }
        for call in calls.values():
            call()
        best = alternate(calls, given.times(3))
        rows.append([repr(loss), 1000 * best["value"], best["formulas"] / best["value"]])
        if not isinstance(loss, losses.Log):  # which has no special function, and keeps its formula
            slowest = max(slowest, best["value"])
    columns = ["loss", Column("`value`, ms", "ms", ".1f"), Column("formulas ÷ `value`", "peer ÷ ours", ".1f")]
    yield Table("values", f"`composite.value` of {n:,} rows", columns, rows, goals={"values": slowest})


def importing(_):
    columns = ["", Column("time ÷ import sklearn", "ours ÷ other", ".2f")]
    yield Table("importing", "Importing", columns, [["import propriety", import_ratio()]])


PART = Part(__doc__, {"families": families, "values": values, "importing": importing})

if __name__ == "__main__":
    PART.main()
