"""How many rounds, and how shrunken: the default of boosting on small tables, against fixed numbers.

Every third set of `quality_data`, at most 1,500 rows, 60 % to fit and 40 % to judge, two splits. Choices were
made on the first half of these sets ("decide"); the other half ("report") was looked at afterwards:

    python benchmarks/rounds.py decide
    python benchmarks/rounds.py report
"""

from __future__ import annotations

import sys
import time

import numpy as np
import quality_data
from measuring import Column, Part, Table
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from propriety import BoostingClassifier

ROWS, CLIP = 1500, 1e-9
OLD = {"max_iter": 100, "l2_regularization": 0.0, "min_samples_leaf": 20, "random_state": 0}
SMALL = {"l2_regularization": 5.0, "min_samples_leaf": 5, "subsample": 0.7, "max_features": 0.5}


class OneOfThree(BoostingClassifier):
    """The default with one model of the rounds that the folds find, where it takes the mean of three."""

    def fit(self, X, y):
        """Fit the default for its rounds, and one model."""
        rounds = BoostingClassifier(n_jobs=1, random_state=0).fit(X, y).n_iter_ // 3
        return self.set_params(max_iter=rounds, random_state=0, **SMALL).fit_plain(X, y)

    fit_plain = BoostingClassifier.fit


MODELS = {
    "100 rounds": OLD,
    "100 rounds of 0.05, l2 5": OLD | {"learning_rate": 0.05, "l2_regularization": 5.0},
    "100 rounds, Platt": OLD | {"calibrate": "platt"},
    "cv alone": OLD | {"max_iter": "cv"},
    "cv, nothing drawn, one model": {"max_iter": "cv", "subsample": 1.0, "max_features": 1.0},
    "cv, one model": None,
    "default": {"random_state": 0},
    "default, Platt": {"calibrate": "platt", "random_state": 0},
}


def made(settings):
    """A model of its settings; without any, one of three."""
    return OneOfThree(n_jobs=1) if settings is None else BoostingClassifier(n_jobs=1, **settings)


def judge(model, X, y, seed: int) -> list[float]:
    """Log loss, AUC, calibration slope, seconds and rounds."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
    began = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - began
    p = model.predict_proba(X_test)[:, 1].clip(CLIP, 1 - CLIP)
    slope = LogisticRegression(C=1e4).fit(np.log(p / (1 - p))[:, None], y_test).coef_[0, 0]
    return [log_loss(y_test, p), roc_auc_score(y_test, p), slope, seconds, model.n_iter_]


def half(which: str, given) -> Table:
    """A row for each model: means over the sets, medians of slope, relative time and rounds."""
    names = quality_data.names()[1::3]
    names = names[::2] if which == "decide" else names[1::2]
    values = []
    for name in names[:1] if given.quick else names:
        X, y = quality_data.load(name)
        X, y = X.iloc[:ROWS], y[:ROWS]
        if not values:  # the first fits compile
            judge(BoostingClassifier(n_jobs=1), X, y, 0)
        scores = [[judge(made(settings), X, y, seed) for seed in (0, 1)] for settings in MODELS.values()]
        values.append(np.mean(scores, axis=1))
        print(name, values[-1][:, 0].round(4), file=sys.stderr, flush=True)
    table = np.array(values)
    table[..., 3] /= table[:, :1, 3]
    rows = [
        [model, *row[:, :2].mean(axis=0), *np.median(row[:, 2:], axis=0)]
        for model, row in zip(MODELS, np.swapaxes(table, 0, 1), strict=True)
    ]
    columns = ["model", Column("log loss", "loss", ".4f"), Column("AUC", format=".4f")]
    columns += [Column("calibration slope", format=".2f"), Column("time", "ours ÷ other", ".2f")]
    columns.append(Column("rounds", format=".0f"))
    return Table(which, f"{which}: {len(values)} sets", columns, rows)


HALVES = ("decide", "report")
PART = Part(__doc__, {which: lambda given, which=which: [half(which, given)] for which in HALVES})

if __name__ == "__main__":
    PART.main()
