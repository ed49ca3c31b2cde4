"""Time of the compiled pass over a million rows, for every family and for losses written by a user.

    python benchmarks/losses.py

Two ratios a row: how many times faster than the plain NumPy expression of the same formulas, and how much
slower than the log loss with the logit link. Best of several repetitions, in alternating order, since the
machines are noisy. It also prints the time of ``import propriety`` as a ratio to ``import sklearn``.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import time

import numba
import numpy as np
import scipy

from propriety import links, losses
from propriety.parallel import n_threads

ROWS = 1_000_000
REPEATS = 7


def sharp(p, q):
    return np.exp(-0.5 * ((p - 0.2) / 0.05) ** 2)


def cases():
    smooth = [loss for loss in losses.examples() if isinstance(loss, losses.SmoothLoss)]
    mine = {
        "user: weight 1/(p q)": losses.from_weight(lambda p, q: 1 / (p * q)).with_link(links.Logit()),
        "user: weight p^4.5 (1-p)^2.5": losses.from_weight(lambda p: p**4.5 * (1 - p) ** 2.5).composite(),
        "user: Gaussian weight": losses.from_weight(sharp).composite(),
        "user: entropy sqrt(p q)": losses.from_entropy(lambda p, q: np.sqrt(p * q)).with_link(links.Logit()),
        "user: margin loss": losses.from_margin_loss(lambda v: np.log1p(np.exp(-v))).composite(),
        "user: 2 Log + Tailored(0.1, 20)": (2 * losses.Log() + losses.Tailored(0.1, 20)).composite(),
    }
    return {repr(loss): loss.composite() for loss in smooth} | mine


def plain_numpy(c, y, F):
    """The textbook expressions on whole arrays: p, p′, ω, then −(y − p) ω p′ and ω p′²."""
    curve = c.link_.curve(F)
    weight = c.loss.weight(curve.p, curve.q)
    with np.errstate(all="ignore"):
        return -(y - curve.p) * weight * curve.dp, weight * curve.dp**2


def logistic_numpy(y, F):
    p = 1 / (1 + np.exp(-F))
    return p - y, p * (1 - p)


def best(functions):
    """Best time of each function; all of them once a round, in alternating order."""
    times = [np.inf] * len(functions)
    for function in functions:
        function()
    for repeat in range(REPEATS):
        order = range(len(functions)) if repeat % 2 else reversed(range(len(functions)))
        for i in order:
            start = time.perf_counter()
            functions[i]()
            times[i] = min(times[i], time.perf_counter() - start)
    return times


def import_ratio():
    def seconds(module):
        code = f"import time; s = time.perf_counter(); import {module}; print(time.perf_counter() - s)"
        runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
        return min(float(run.stdout) for run in runs)

    return seconds("propriety") / seconds("sklearn")


def main() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(ROWS) < 0.3).astype(np.float64)
    F = rng.normal(scale=3, size=ROWS)
    out = np.empty(ROWS), np.empty(ROWS)
    log = losses.Log().composite()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, ", end="")
    print(f"Numba {numba.__version__}, {n_threads(None)} threads, {ROWS:,} rows\n")
    print("| loss | faster than NumPy | time against log/logit |")
    print("|---|---:|---:|")
    for name, c in cases().items():
        plain = logistic_numpy if c == log else lambda y, F, c=c: plain_numpy(c, y, F)
        compiled, reference, numpy_time = best(
            [
                lambda c=c: c.derivatives(y, F, out=out),
                lambda: log.derivatives(y, F, out=out),
                lambda plain=plain: plain(y, F),
            ]
        )
        print(f"| {name} | {numpy_time / compiled:.1f}× | {compiled / reference:.2f}× |", flush=True)
    print(f"\nimport propriety takes {import_ratio():.2f} times as long as import sklearn")


if __name__ == "__main__":
    main()
