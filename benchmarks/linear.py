"""Linear models against scikit-learn, glum, statsmodels and skglm: ratios measured side by side.

Run ``python benchmarks/linear.py`` (all cases) or ``python benchmarks/linear.py dense tailored`` (some). Each
case runs the programs in turn, several times over, and keeps the best time of each; a ratio is a program's
time over ours. Accuracy is the largest violation of the optimality conditions of the mean loss, on the data's
own scale, computed here in the same way for all.
"""

from __future__ import annotations

import resource
import warnings
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread

import numpy as np
from measuring import Column, Part, Table, best_of
from scipy import sparse
from threadpoolctl import threadpool_limits

from propriety.linear import LinearClassifier, path

THREADS = 2
SECONDS, RATIO = Column("seconds", "s", ".2f"), Column("time ÷ ours", "peer ÷ ours", ".2f")


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


def report(name, title, times, notes, **more):
    """Seconds, the ratio to ours and a note, which is a number with its head, of each program."""
    ours = times["propriety"]
    rows = [[program, seconds, seconds / ours, notes.get(program)] for program, seconds in times.items()]
    return Table(name, title, ["program", SECONDS, RATIO, more.pop("note", GRADIENT)], rows, **more)


GRADIENT = Column("gradient", format=".1e")


def installed(programs):
    """Those programs whose package is there."""
    missing = [name for name in ("glum", "skglm", "statsmodels") if find_spec(name) is None]
    return {name: run for name, run in programs.items() if name not in missing}


def sklearn_fit(X, y, solver, tol, C=np.inf):
    from sklearn.linear_model import LogisticRegression

    return lambda: LogisticRegression(C=C, solver=solver, tol=tol, max_iter=5000).fit(X, y)


def glum_fit(X, y, tol, alpha=0.0):
    def run():
        from glum import GeneralizedLinearRegressor

        model = GeneralizedLinearRegressor(family="binomial", alpha=alpha, gradient_tol=tol, max_iter=500)
        return model.fit(X, y.astype(float))

    return run


def statsmodels_fit(X, y):
    def run():
        import statsmodels.api as sm

        return sm.GLM(y, design, family=sm.families.Binomial()).fit(tol=1e-12)

    design = np.column_stack([X, np.ones(len(y))])
    return run


def coefficients(fitted):
    if hasattr(fitted, "params"):
        return fitted.params[:-1], fitted.params[-1]
    return np.ravel(fitted.coef_), float(np.ravel(fitted.intercept_)[0])


def dense(given):
    X, y = logistic_data(given.size(1_000_000), 50)
    programs = {
        "propriety": lambda: LinearClassifier(n_jobs=THREADS).fit(X, y),
        "scikit-learn newton-cholesky": sklearn_fit(X, y, "newton-cholesky", 1e-8),
        "scikit-learn lbfgs": sklearn_fit(X, y, "lbfgs", 1e-8),
        "glum": glum_fit(X, y, 1e-8),
        "statsmodels": statsmodels_fit(X, y),
    }
    times, results = best_of(installed(programs), given.times(3))
    notes = {name: gap(X, y, *coefficients(r)) for name, r in results.items()}
    goals = {"linear": times["scikit-learn lbfgs"] / times["propriety"]}
    title = f"{len(y):,} × 50 dense, log loss, no penalty, gradient 1e-8"
    yield report("dense", title, times, notes, goals=goals)


def tailored(given):
    X, y = logistic_data(given.size(1_000_000), 50)
    programs = {
        "propriety": lambda: LinearClassifier(n_jobs=THREADS).fit(X, y),
        "propriety, Tailored(0.2, 5)": lambda: LinearClassifier("Tailored(0.2, 5)", n_jobs=THREADS).fit(X, y),
    }
    times, results = best_of(installed(programs), given.times(3))
    notes = {name: r.n_iter_ for name, r in results.items()}
    title = f"{len(y):,} × 50 dense, a tailored loss beside the log loss"
    yield report("tailored", title, times, notes, note=Column("steps on all rows", format=".0f"))


def wide(given):
    X, y = logistic_data(20_000, given.size(2_000))
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
    times, results = best_of(installed(programs), given.times(3))
    notes = {name: gap(X, y, *coefficients(r), alpha) for name, r in results.items()}
    goals = {"linear wide": times["scikit-learn lbfgs"] / times["propriety"]}
    title = f"20,000 × {X.shape[1]:,} dense, ridge 1e-3, gradient 1e-7"
    yield report("wide", title, times, notes, goals=goals)


def class_data(rows, n_classes=20, seed=0):
    """So many rows of each class, around centres of their own in four dimensions."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), rows)
    return rng.standard_normal((len(y), 4)) + rng.standard_normal((n_classes, 4))[y], y


def class_gap(X, y, model, alpha):
    """Largest entry of the gradient of the mean log loss of several classes with a ridge."""
    F = X @ model.coef_.T + model.intercept_
    P = np.exp(F - F.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    P[np.arange(len(y)), y] -= 1
    return max(np.abs(P.T @ X / len(y) + alpha * model.coef_).max(), np.abs(P.mean(axis=0)).max())


def classes(given):
    """Twenty classes × 4 features: scikit-learn at our tolerance, and at its own."""
    rows, least = [], np.inf
    with threadpool_limits(1):
        for per_class in (1, 3, 10, 30, 100):
            X, y = class_data(per_class)
            for alpha in (1 / len(y), 0.0):
                C = 1.0 if alpha else np.inf
                programs = {
                    "propriety": lambda X=X, y=y, a=alpha: LinearClassifier(alpha=a, n_jobs=1).fit(X, y),
                    "scikit-learn, tol 1e-8": sklearn_fit(X, y, "lbfgs", 1e-8, C),
                    "scikit-learn, tol 1e-4": sklearn_fit(X, y, "lbfgs", 1e-4, C),
                }
                times, fitted = best_of(programs, given.times(20))
                ours, same, default = times.values()
                gaps = [class_gap(X, y, model, alpha) for model in fitted.values()]
                penalty = "C = 1" if alpha else "none"
                rows.append([str(per_class), penalty, 1e3 * ours, same / ours, default / ours, *gaps])
                least = min(least, same / ours)
    ratio = {name: Column(f"{name} ÷ ours", "peer ÷ ours", ".2f") for name in ("tol 1e-8", "tol 1e-4")}
    gradients = [Column(name, format=".0e") for name in ("gradient, ours", *ratio)]
    columns = ["rows a class", "penalty", Column("ours, ms", "ms", ".1f"), *ratio.values(), *gradients]
    title = "20 classes × 4 features, beside scikit-learn's lbfgs at two tolerances, one thread"
    yield Table("classes", title, columns, rows, goals={"linear classes": least})


def thin(given):
    X, y = sparse_data(given.size(1_000_000), given.size(100_000), 20)
    alpha = 1e-6
    programs = {
        "propriety": lambda: LinearClassifier(alpha=alpha, n_jobs=THREADS, tol=2e-7).fit(X, y),
        "propriety lbfgs": lambda: LinearClassifier(
            alpha=alpha, n_jobs=THREADS, tol=1e-6, solver="lbfgs"
        ).fit(X, y),
        "scikit-learn lbfgs": sklearn_fit(X, y, "lbfgs", 1e-8, 1 / (alpha * len(y))),
        "scikit-learn newton-cg": sklearn_fit(X, y, "newton-cg", 1e-6, 1 / (alpha * len(y))),
    }
    times, results = best_of(installed(programs), given.times(3))
    notes = {name: gap(X, y, *coefficients(r), alpha) for name, r in results.items()}
    title = f"{len(y):,} × {X.shape[1]:,} sparse, 20 values a row, ridge 1e-6"
    yield report("thin", title, times, notes)


def lasso(given):
    from sklearn.linear_model import LogisticRegression

    X, y = logistic_data(10_000, 300)
    top = np.abs(X.T @ (y - y.mean())).max() / len(y)
    alphas = top * np.logspace(0, -2, 3 if given.quick else 100)
    F = np.asfortranarray(X)

    def objective(coef, intercept, alpha):
        score = (X @ coef + intercept) * (2 * y - 1)
        return np.mean(np.logaddexp(0, -score)) + alpha * np.abs(coef).sum()

    def ours():
        way = path(LinearClassifier(l1_ratio=1.0, tol=1e-5, n_jobs=THREADS), X, y, alphas=alphas)
        return [(c[0], i[0]) for c, i in zip(way.coefs, way.intercepts, strict=True)]

    def skglm_path():
        from skglm import SparseLogisticRegression

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

    times, results = best_of(installed({"propriety": ours, "skglm": skglm_path}), given.times(3))
    more, last = best_of({"scikit-learn saga": saga_path}, 1)
    times |= more
    results |= last
    least = np.min(
        [[objective(*p, a) for p, a in zip(r, alphas, strict=True)] for r in results.values()], axis=0
    )
    notes = {
        name: max(objective(*p, a) - b for p, a, b in zip(r, alphas, least, strict=True))
        for name, r in results.items()
    }
    title = f"L1 path of {len(alphas)} values, 10,000 × 300 dense, from the largest alpha to a hundredth"
    yield report("lasso", title, times, notes, note=Column("largest excess of the objective", format=".1e"))


def resident():
    """Megabytes of this process in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def memory(given):
    X, y = logistic_data(given.size(2_000_000), 50)
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
    columns = ["data", Column("X, MB", format=".0f"), Column("fitting beside it, MB", "MB", ".0f")]
    yield Table("memory", "Memory of a fit", columns, [[f"{len(y):,} × 50", size, more]])


def compiled(case):
    """The case, after the kernels were compiled."""

    def run(given):
        warnings.simplefilter("ignore")
        X, y = logistic_data(2_000, 5)
        LinearClassifier().fit(X, y)
        LinearClassifier(alpha=0.01, l1_ratio=1.0).fit(X, y)
        yield from case(given)

    return run


CASES = {
    "memory": memory,
    "dense": dense,
    "tailored": tailored,
    "wide": wide,
    "classes": classes,
    "thin": thin,
    "lasso": lasso,
}
PART = Part(__doc__, {name: compiled(case) for name, case in CASES.items()})

if __name__ == "__main__":
    PART.main()
