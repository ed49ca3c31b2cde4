"""Ordered classes: thresholds in linear models and boosting, beside statsmodels and one against the rest.

Five folds by class; every model decides the median class, whose expected |i − j| is least. Numbers are
standardized, categories are indicators for linear models. Classes of fewer than `LEAST` rows are joined with
their neighbour towards the middle. statsmodels' OrderedModel is the maximum likelihood of proportional odds.

    python benchmarks/ordinal.py        # some minutes; needs the folder of `quality_data`
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
import quality_data
from sklearn.model_selection import StratifiedKFold
from statsmodels.miscmodels.ordinal_model import OrderedModel

from propriety import BoostingClassifier, LinearClassifier

#: Tables, and their classes from the lowest to the highest; None: as numbers.
TABLES = {
    "winequality-red": None,
    "winequality-white": None,
    "heart-cleveland": None,
    "car": ["unacc", "acc", "good", "vgood"],
    "abalone": None,
}
LEAST, FOLDS = 15, 5


def load(name, order):
    """Rows, those as numbers for linear models, and the place of each class."""
    where = quality_data.folder()
    X, _ = quality_data.read(name, "")
    spec = quality_data.importlib.util.spec_from_file_location("load_uci", where / "load_uci.py")
    reader = quality_data.importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reader)
    labels = np.array([label.strip() for label in reader.load(name)[1]])
    place = np.array([order.index(label) for label in labels]) if order else labels.astype(int)
    place = np.unique(place, return_inverse=True)[1]
    while True:
        counts = np.bincount(place)
        few = np.flatnonzero(counts < LEAST)
        if not len(few):
            break
        end = few[0] if few[0] < len(counts) / 2 else few[-1]
        place[place == end] += 1 if end < len(counts) / 2 else -1
        place = np.unique(place, return_inverse=True)[1]
    N = pd.get_dummies(X, drop_first=True, dtype=float)
    N = N.fillna(N.median())
    return X, (N - N.mean()) / N.std(), place


def linear(**params):
    def program(X, N, y, rows, others):
        model = LinearClassifier(alpha=1 / len(rows), **params).fit(N.iloc[rows], y[rows])
        return model.predict_proba(N.iloc[others])

    return program


def boosting(**params):
    def program(X, N, y, rows, others):
        model = BoostingClassifier(max_iter="cv", random_state=0, **params).fit(X.iloc[rows], y[rows])
        return model.predict_proba(X.iloc[others])

    return program


def statsmodels(X, N, y, rows, others):
    """Proportional odds by maximum likelihood."""
    kept = N.columns[N.iloc[rows].std() > 0]
    model = OrderedModel(y[rows], N.iloc[rows][kept], distr="logit").fit(method="bfgs", maxiter=500, disp=0)
    return np.asarray(model.predict(N.iloc[others][kept]))


PROGRAMS = {
    "statsmodels OrderedModel": statsmodels,
    "linear, ordinal": linear(multiclass="ordinal"),
    "linear, ordinal, ranked probability": linear(loss="simplex.RankedProbability()"),
    "linear, softmax": linear(),
    "linear, one against the rest": linear(multiclass="ovr"),
    "boosting, ordinal": boosting(multiclass="ordinal"),
    "boosting, softmax": boosting(),
    "boosting, one against the rest": boosting(multiclass="ovr"),
}


def judged(P, y):
    """Mean |i − j| of the median class, ranked probability score, and log loss."""
    below = np.cumsum(P, axis=1)[:, :-1]
    score = ((below - (y[:, None] <= np.arange(P.shape[1] - 1))) ** 2).sum(axis=1).mean()
    loss = -np.log(np.clip(P[np.arange(len(y)), y], 1e-15, 1)).mean()
    return np.abs((below < 0.5).sum(axis=1) - y).mean(), score, loss


def main():
    """Print a row for each table and program."""
    print("| table | rows | classes | program | mean \\|i − j\\| | ranked probability | log loss | seconds |")
    print("|---|---:|---:|---|---:|---:|---:|---:|")
    for name, order in TABLES.items():
        X, N, y = load(name, order)
        for title, program in PROGRAMS.items():
            found = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
                for rows, others in folds.split(X, y):
                    start = time.perf_counter()
                    P = program(X, N, y, rows, others)
                    found.append([*judged(P, y[others]), time.perf_counter() - start])
            *means, _ = np.mean(found, axis=0)
            numbers = " | ".join(f"{value:.4f}" for value in means)
            seconds = np.median([row[-1] for row in found])
            print(f"| {name} | {len(y)} | {y.max() + 1} | {title} | {numbers} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
