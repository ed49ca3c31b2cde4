"""What goes wrong with a custom loss in other libraries' trainers, one thing at a time.

``python benchmarks/interop.py`` fits LightGBM, XGBoost and CatBoost to rows whose true probabilities are
known: a table of the mean regret of each loss on new rows: as `propriety.interop` does it, and with one part
left out. Regrets are percent of the loss of the base rate, so that losses can be compared: means over tables
of as many seeds, ± their standard errors.
"""

from __future__ import annotations

import argparse
import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from measuring import Options, Part, Table

from propriety import interop, losses

LOSSES = ("Log", "Exponential", "Squared", "Tailored(0.1, 20)", "Beta(6, 14)")


def rows(n: int, seed: int) -> tuple[Any, Any, Any]:
    """A table with three features that matter of eight, labels, and the true probabilities; a rare class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    t = -2.2 + 1.2 * X[:, 0] - 1.5 * (X[:, 1] > 0.5) + np.where(X[:, 2] > 0, X[:, 0], -X[:, 0])
    eta = 1 / (1 + np.exp(-t))
    return X, (rng.uniform(size=n) < eta).astype(float), eta


def raw_lightgbm(ours: Any, X: Any, y: Any, Z: Any) -> Any:
    import lightgbm

    settings = {"objective": ours.objective, "verbose": -1, "num_threads": 1}
    return lightgbm.train(settings, lightgbm.Dataset(X, y), 60).predict(Z, raw_score=True)


def raw_xgboost(ours: Any, X: Any, y: Any, Z: Any) -> Any:
    import xgboost

    settings = {"nthread": 1, "base_score": 0.0, "learning_rate": 0.1}
    booster = xgboost.train(settings, xgboost.DMatrix(X, y), 60, obj=ours.objective)
    return booster.predict(xgboost.DMatrix(Z), output_margin=True)


def raw_catboost(ours: Any, X: Any, y: Any, Z: Any) -> Any:
    import catboost

    model = catboost.CatBoost(
        {
            "loss_function": ours.objective,
            "eval_metric": ours.metric,
            "iterations": 60,
            "learning_rate": 0.1,
            "leaf_estimation_method": "Newton",
            "verbose": False,
            "thread_count": 1,
            "allow_writing_files": False,
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return model.predict(Z, prediction_type="RawFormulaVal")


TRAINERS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "lightgbm": (interop.lightgbm, raw_lightgbm),
    "xgboost": (interop.xgboost, raw_xgboost),
    "catboost": (interop.catboost, raw_catboost),
}


def spoiled(ours: Any, part: str) -> Any:
    """The same loss for the same trainer, with one part left out."""
    made = dataclasses.replace(ours)
    if part == "scale":
        made.__dict__["scale"] = 1.0
    elif part == "start":
        middle = dataclasses.replace(ours, base_rate=0.5)
        made.__dict__.update(start=middle.start, scale=ours.scale)
    elif part == "curvature":
        made.__dict__["derivatives"] = lambda y, raw, weight=None: tuple(
            part / made.scale for part in made.loss.derivatives(y, made.scores(raw), curvature="newton")
        )
    return made


def regret(loss: losses.Loss, eta: Any, p: Any) -> float:
    share = float(eta.mean())
    return float(np.mean(loss.regret(eta, np.clip(p, 1e-15, 1 - 1e-15))) / loss.entropy(share))


def line(maker: Any, raw_scores: Any, text: str, n: int, repeat: int) -> list[float]:
    """Regrets of one table: as it should be, with one part left out each, and with the sigmoid as link."""
    X, y, _ = rows(n, repeat)
    Z, _, eta = rows(20_000, 1000 + repeat)
    ours = maker(text, y.mean())
    found, sigmoid = [], None
    for part in ("", "scale", "start", "curvature"):
        made = spoiled(ours, part)
        raw = raw_scores(made, X, y, Z)
        found.append(regret(ours.loss.loss, eta, made.probabilities(raw)))
        if part == "":
            sigmoid = 1 / (1 + np.exp(-ours.scores(raw)))
    return [*found, regret(ours.loss.loss, eta, sigmoid)]


def regrets(given: Options) -> Iterator[Table]:
    """Every trainer with every loss."""
    table = []
    for trainer, (maker, raw_scores) in TRAINERS.items():
        for text in LOSSES:
            repeats = max(2, given.times(5))
            n = given.size(given.rows)
            values = 100 * np.array([line(maker, raw_scores, text, n, repeat) for repeat in range(repeats)])
            errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
            cells = [f"{m:.2f} ± {e:.2f}" for m, e in zip(values.mean(axis=0), errors, strict=True)]
            table.append([trainer, text, *cells])
    heads = ["trainer", "loss", "interop", "no scale", "no start", "Newton's curvature", "sigmoid as link"]
    yield Table("regrets", "Regret, in percent of the loss of the base rate", heads, table)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The size."""
    parser.add_argument("--rows", type=int, default=20_000)


PART = Part(__doc__, {"regrets": regrets}, arguments=arguments)

if __name__ == "__main__":
    PART.main()
