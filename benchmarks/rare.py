"""Rare classes: average precision, log loss and cost of boosting, by default and with parts of it left out.

Every model is fitted to 70 % of the rows and judged on the others, of which some ten are of the rare class;
so all sets of up to `FEW` rows are split five times. Of rows that are copies one is kept:
a model that is judged by copies of what it has learned wins by learning them by heart. Costs are those of a
false alarm, c, and of a miss, 1 − c, decided at p ≥ c, in parts of what the better of "never" and "always"
costs:

    python benchmarks/rare.py                            # every set
    python benchmarks/rare.py --sets covertype sim-1000  # some of them

Real sets are rare classes of the folder that `quality_data` looks for; without it the simulated ones are
left. What leaves of a rare class must hold was chosen on the sets that are named in `CHOSEN_ON`.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import quality_data
from measuring import Column, Part, Table
from sklearn.metrics import average_precision_score, log_loss
from sklearn.model_selection import train_test_split

from propriety import BoostingClassifier
from propriety.evaluation import mean_cost

COSTS = (0.01, 0.05, 0.2, 0.5)
ROUNDS, LEAVES, RATE = 100, 31, 0.1
ROWS, FEW, SPLITS = 100_000, 100_000, 5
CLIP = 1e-15

#: Sets of the folder, and the label that is rare there.
REAL = {
    "covertype": "4",
    "shuttle": ["2", "3", "6", "7"],
    "ann-thyroid": "1",
    "nursery": "very_recom",
    "page-blocks": "3",
    "letter": "A",
    "winequality-white": "8",
    "yeast": "VAC",
    "abalone": [str(rings) for rings in range(20, 40)],
    "sick": "sick",
    "hypothyroid": "hypothyroid",
    "satimage": "4",
}
#: Rows, share of class 1, and features, of which four matter; the last is as large as a table of card fraud.
SIMULATED = {
    "sim-100": (20_000, 1e-2, 10),
    "sim-1000": (50_000, 1e-3, 10),
    "sim-10000": (100_000, 1e-4, 10),
    "card": (285_000, 1.7e-3, 30),
}
CHOSEN_ON = ["abalone", "ann-thyroid", "hypothyroid", "letter", "nursery", "page-blocks", "sim-1000", "yeast"]


def load(name: str):
    """A table and labels, at most `ROWS` rows, no two of them the same."""
    if name in SIMULATED:
        return simulate(*SIMULATED[name])
    X, y = quality_data.read(name, REAL[name])
    single = ~X.assign(y=y).duplicated().to_numpy()
    X, y = X[single], y[single]
    chosen = np.random.default_rng(0).permutation(len(y))[:ROWS]
    return X.iloc[chosen].reset_index(drop=True), y[chosen]


def simulate(n: int, rate: float, d: int):
    """Normal features, of which four matter, and log-odds with a kink and a product, shifted to the rate."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    t = 2 * np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3]
    low, high = -40.0, 10.0
    for _ in range(60):
        shift = 0.5 * (low + high)
        low, high = (shift, high) if np.mean(1 / (1 + np.exp(-t - shift))) < rate else (low, shift)
    return X, (rng.random(n) < 1 / (1 + np.exp(-t - shift))).astype(int)


def models():
    """Ours by default, with 100 rounds, and those with leaves or steps of any size; and peers."""
    from lightgbm import LGBMClassifier
    from xgboost import XGBClassifier

    size = {"max_iter": ROUNDS, "max_leaf_nodes": LEAVES, "learning_rate": RATE, "n_jobs": 1}
    any_leaf = {"l2_regularization": 0.0, "min_weight_leaf": 1e-3}
    made = {
        "default": BoostingClassifier(n_jobs=1, random_state=0),
        "100 rounds": BoostingClassifier(**size),
        "100 rounds, any leaf": BoostingClassifier(**size, **any_leaf),
        "100 rounds, any leaf and step": BoostingClassifier(max_step=None, **size, **any_leaf),
    }
    made["LightGBM"] = LGBMClassifier(
        n_estimators=ROUNDS, num_leaves=LEAVES, learning_rate=RATE, n_jobs=1, verbose=-1
    )
    made["XGBoost"] = XGBClassifier(
        n_estimators=ROUNDS,
        max_leaves=LEAVES,
        max_depth=0,
        grow_policy="lossguide",
        learning_rate=RATE,
        tree_method="hist",
        n_jobs=1,
        enable_categorical=True,
    )
    return made


def judge(model, X, y, seed: int) -> list[float]:
    """Average precision, log loss and relative costs on rows that the fit has not seen."""
    parts = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    p = model.fit(parts[0], parts[2]).predict_proba(parts[1])[:, 1].astype(float)
    test = parts[3]
    costs = []
    for c in COSTS:
        trivial = min(c * np.mean(test == 0), (1 - c) * np.mean(test == 1))
        costs.append(mean_cost(test, p >= c, fp_cost=c, fn_cost=1 - c) / trivial)
    return [average_precision_score(test, p), log_loss(test, p.clip(CLIP, 1 - CLIP)), *costs]


def sets(given):
    """A table for each measure, a row for each set, and their means."""
    names = given.sets or ([*REAL] if quality_data.folder() else []) + [*SIMULATED]
    names = names[-4:-3] if given.quick else names
    heads = list(models())
    measures = ["average precision", "log loss × 1000", *(f"relative cost at c = {c}" for c in COSTS)]
    values = np.empty((len(names), len(heads), len(measures)))
    labels = []
    for i, name in enumerate(names):
        X, y = load(name)
        labels.append(f"{name} ({len(y):,} rows, {100 * np.mean(y):.2g} %)")
        for j, model in enumerate(models().values()):
            began = time.process_time()
            splits = SPLITS if len(y) <= FEW else 1
            values[i, j] = np.mean([judge(model, X, y, seed) for seed in range(splits)], axis=0)
            seconds = time.process_time() - began
            print(name, heads[j], values[i, j].round(4), f"{seconds:.1f} s", file=sys.stderr, flush=True)
    values[..., 1] *= 1000
    halves = {"chosen on": [name in CHOSEN_ON for name in names]}
    halves["kept apart"] = [not known for known in halves["chosen on"]]
    means = {words: values[half].mean(axis=0).T for words, half in halves.items() if any(half)}
    for m, (measure, unit) in enumerate(zip(measures, ["", *["loss"] * 5], strict=True)):
        columns = ["set", *(Column(head, unit, ".3f") for head in heads)]
        rows = [[label, *row] for label, row in zip(labels, values[..., m], strict=True)]
        rows += [[f"mean of those {words}", *of_half[m]] for words, of_half in means.items()]
        yield Table(measure, measure, columns, rows)
    columns = ["measure, mean over the sets", *(Column(head, format=".3f") for head in heads)]
    rows = [
        [f"{measure}, {words}", *of_half[m]]
        for m, measure in enumerate(measures)
        for words, of_half in means.items()
    ]
    yield Table("means", "Means over the sets", columns, rows)


def arguments(parser):
    parser.add_argument("--sets", nargs="+", help=f"some of: {', '.join([*REAL, *SIMULATED])}")


PART = Part(__doc__, {"sets": sets}, arguments=arguments)

if __name__ == "__main__":
    PART.main()
