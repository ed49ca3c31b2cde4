"""Linear models against scikit-learn, glum, statsmodels and skglm: ratios measured side by side.

Run ``python benchmarks/linear.py`` (all cases) or ``python benchmarks/linear.py dense tailored`` (some). Each
case runs the programs in turn, several times over, and keeps the best time of each; a ratio is a program's
time over ours. Accuracy is the largest violation of the optimality conditions of the mean loss, on the data's
own scale, computed here in the same way for all.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import warnings
from pathlib import Path
from threading import Event, Thread

import numpy as np
from scipy import sparse

from propriety.linear import LinearClassifier, path

THREADS = 2


def logistic_data(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, 1:] += 0.5 * X[:, :-1]
    b = rng.standard_normal(d) * min(1.0, 2 / np.sqrt(d))
    y = (rng.random(n) < 1 / (1 + np.exp(-(X @ b - 0.5)))).astype(int)
    return X, y


def sparse_data(n, d, per_row, seed=0):
    rng = np.random.default_rng(seed)
    indices = rng.integers(0, d, size=(n, per_row)).astype(np.int32).ravel()
    indptr = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
    X = sparse.csr_matrix((rng.standard_normal(n * per_row), indices, indptr), shape=(n, d))
    X.sum_duplicates()
    b = rng.standard_normal(d) * 0.3
    y = (rng.random(n) < 1 / (1 + np.exp(-(X @ b)))).astype(int)
    return X, y


def gap(X, y, coef, intercept, alpha=0.0):
    """Largest entry of the gradient of the mean log loss with a ridge."""
    F = np.asarray(X @ coef).ravel() + intercept
    residual = 1 / (1 + np.exp(-F)) - y
    g = np.asarray(X.T @ residual).ravel() / len(y) + alpha * coef
    return max(np.abs(g).max(), abs(residual.mean()))


def best_of(programs, repeats):
    """Best seconds and last result of each program, run in turn."""
    times, results = {}, {}
    for _ in range(repeats):
        for name, run in programs.items():
            start = time.perf_counter()
            results[name] = run()
            seconds = time.perf_counter() - start
            times[name] = min(seconds, times.get(name, np.inf))
    return times, results


def report(title, times, notes):
    ours = times["propriety"]
    print(f"\n### {title}\n\n| program | seconds | times ours | note |\n|---|---|---|---|")
    for name, seconds in times.items():
        print(f"| {name} | {seconds:.2f} | {seconds / ours:.2f} | {notes.get(name, '')} |")
    sys.stdout.flush()


def sklearn_fit(X, y, solver, tol, C=np.inf):
    from sklearn.linear_model import LogisticRegression

    return lambda: LogisticRegression(C=C, solver=solver, tol=tol, max_iter=5000).fit(X, y)


def glum_fit(X, y, tol, alpha=0.0):
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(family="binomial", alpha=alpha, gradient_tol=tol, max_iter=500)
    return lambda: model.fit(X, y.astype(float))


def statsmodels_fit(X, y):
    import statsmodels.api as sm

    design = sm.add_constant(X, prepend=False)
    return lambda: sm.GLM(y, design, family=sm.families.Binomial()).fit(tol=1e-12)


def coefficients(fitted):
    if hasattr(fitted, "params"):
        return fitted.params[:-1], fitted.params[-1]
    return np.ravel(fitted.coef_), float(np.ravel(fitted.intercept_)[0])


def dense(repeats):
    X, y = logistic_data(1_000_000, 50)
    programs = {
        "propriety": lambda: LinearClassifier(n_jobs=THREADS).fit(X, y),
        "scikit-learn newton-cholesky": sklearn_fit(X, y, "newton-cholesky", 1e-8),
        "scikit-learn lbfgs": sklearn_fit(X, y, "lbfgs", 1e-8),
        "glum": glum_fit(X, y, 1e-8),
        "statsmodels": statsmodels_fit(X, y),
    }
    times, results = best_of(programs, repeats)
    notes = {name: f"gradient {gap(X, y, *coefficients(r)):.1e}" for name, r in results.items()}
    report("1,000,000 × 50 dense, log loss, no penalty, gradient 1e-8", times, notes)


def tailored(repeats):
    X, y = logistic_data(1_000_000, 50)
    programs = {
        "propriety": lambda: LinearClassifier(n_jobs=THREADS).fit(X, y),
        "propriety, Tailored(0.2, 5)": lambda: LinearClassifier("Tailored(0.2, 5)", n_jobs=THREADS).fit(X, y),
    }
    times, results = best_of(programs, repeats)
    notes = {name: f"{r.n_iter_} steps on all rows" for name, r in results.items()}
    report("1,000,000 × 50 dense, a tailored loss beside the log loss", times, notes)


def wide(repeats):
    X, y = logistic_data(20_000, 2_000)
    alpha = 1e-3
    C = 1 / (alpha * len(y))
    programs = {
        "propriety": lambda: LinearClassifier(alpha=alpha, n_jobs=THREADS, tol=1e-7).fit(X, y),
        "propriety lbfgs": lambda: LinearClassifier(
            alpha=alpha, n_jobs=THREADS, tol=1e-7, solver="lbfgs"
        ).fit(X, y),
        "scikit-learn lbfgs": sklearn_fit(X, y, "lbfgs", 1e-7, C),
        "scikit-learn newton-cholesky": sklearn_fit(X, y, "newton-cholesky", 1e-7, C),
        "glum": glum_fit(X, y, 1e-7, alpha),
    }
    times, results = best_of(programs, repeats)
    notes = {name: f"gradient {gap(X, y, *coefficients(r), alpha):.1e}" for name, r in results.items()}
    report("20,000 × 2,000 dense, ridge 1e-3, gradient 1e-7", times, notes)


def thin(repeats):
    X, y = sparse_data(1_000_000, 100_000, 20)
    alpha = 1e-6
    programs = {
        "propriety": lambda: LinearClassifier(alpha=alpha, n_jobs=THREADS, tol=2e-7).fit(X, y),
        "propriety lbfgs": lambda: LinearClassifier(
            alpha=alpha, n_jobs=THREADS, tol=1e-6, solver="lbfgs"
        ).fit(X, y),
        "scikit-learn lbfgs": sklearn_fit(X, y, "lbfgs", 1e-8, 1 / (alpha * len(y))),
        "scikit-learn newton-cg": sklearn_fit(X, y, "newton-cg", 1e-6, 1 / (alpha * len(y))),
    }
    times, results = best_of(programs, repeats)
    notes = {name: f"gradient {gap(X, y, *coefficients(r), alpha):.1e}" for name, r in results.items()}
    notes["glum"] = "forms the 100,000 × 100,000 matrix of second derivatives: does not fit in memory"
    times["glum"] = np.nan
    report("1,000,000 × 100,000 sparse, 20 values a row, ridge 1e-6", times, notes)


def lasso(repeats):
    from skglm import SparseLogisticRegression
    from sklearn.linear_model import LogisticRegression

    X, y = logistic_data(10_000, 300)
    top = np.abs(X.T @ (y - y.mean())).max() / len(y)
    alphas = top * np.logspace(0, -2, 100)
    F = np.asfortranarray(X)

    def objective(coef, intercept, alpha):
        score = (X @ coef + intercept) * (2 * y - 1)
        return np.mean(np.logaddexp(0, -score)) + alpha * np.abs(coef).sum()

    def ours():
        way = path(LinearClassifier(l1_ratio=1.0, tol=1e-5, n_jobs=THREADS), X, y, alphas=alphas)
        return [(c[0], i[0]) for c, i in zip(way.coefs, way.intercepts, strict=True)]

    def skglm_path():
        model, points = SparseLogisticRegression(tol=1e-5, warm_start=True), []
        for alpha in alphas:
            model.alpha = alpha
            model.fit(F, 2 * y - 1)
            points.append(coefficients(model))
        return points

    def saga_path():
        model, points = (
            LogisticRegression(l1_ratio=1.0, solver="saga", tol=1e-3, warm_start=True, max_iter=100),
            [],
        )
        for alpha in alphas:
            model.C = 1 / (alpha * len(y))
            model.fit(X, y)
            points.append(coefficients(model))
        return points

    times, results = best_of({"propriety": ours, "skglm": skglm_path}, repeats)
    more, last = best_of({"scikit-learn saga": saga_path}, 1)
    times |= more
    results |= last
    least = np.min(
        [[objective(*p, a) for p, a in zip(r, alphas, strict=True)] for r in results.values()], axis=0
    )
    notes = {
        name: "largest excess of the objective "
        f"{max(objective(*p, a) - b for p, a, b in zip(r, alphas, least, strict=True)):.1e}"
        for name, r in results.items()
    }
    report("L1 path of 100 values, 10,000 × 300 dense, from the largest alpha to a hundredth", times, notes)


def resident():
    """Megabytes of this process in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def memory(repeats):
    X, y = logistic_data(2_000_000, 50)
    LinearClassifier(n_jobs=THREADS).fit(X[:100_000], y[:100_000])
    before, seen, done = resident(), [], Event()

    def watch():
        while not done.wait(0.002):
            seen.append(resident())

    watcher = Thread(target=watch)
    watcher.start()
    LinearClassifier(n_jobs=THREADS).fit(X, y)
    done.set()
    watcher.join()
    size, more = X.nbytes / 2**20, max(seen) - before
    print(
        f"\n### Memory, 2,000,000 × 50\n\nX takes {size:.0f} MB; fitting takes {more:.0f} MB more at most:",
        end=" ",
    )
    print(f"{1 + more / size:.2f} × X in all.")


CASES = {"memory": memory, "dense": dense, "tailored": tailored, "wide": wide, "thin": thin, "lasso": lasso}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = logistic_data(2_000, 5)
    LinearClassifier().fit(X, y)  # compile
    LinearClassifier(alpha=0.01, l1_ratio=1.0).fit(X, y)
    for case in arguments.cases:
        CASES[case](arguments.repeats)


if __name__ == "__main__":
    main()
