"""[N8], [N9] Nock & Nielsen: the domains, their folds, and universal linear separators of monomials."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from propriety.rules import RuleClassifier
from reproductions.coding import indicators, labelled
from reproductions.data import Data, MissingData
from reproductions.experiment import Setting

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
FOLDS, BINS, LEAST_ROWS, MOST_ROWS = 10, 32, 100, 1000
#: Sets of the catalogue that are other forms of one in it.
DUPLICATES = frozenset({"australian", "german-numeric", "soybean-large", "horse-colic", "bridges-v2"})
SAMPLE_DOMAINS = ("heart-cleveland", "glass", "haberman", "iris", "pima", "hepatitis", "wine", "tic-tac-toe")

PROTOCOL = (
    Setting("true risk", "stratified 10-fold cross-validation", "paper"),
    Setting(
        "features", "if monomial then ±1 else ∓1, grown greedily by the entropy of the loss at hand", "paper"
    ),
    Setting("constant feature", "none: fit_intercept=False", "paper"),
    Setting("coefficients", "exact to 10⁻¹⁰ or better", "paper"),
    Setting(
        "domains",
        f"every set at hand with {LEAST_ROWS} to {MOST_ROWS:,} rows, other forms of the same rows left "
        "out; the papers do not list theirs",
        "ours",
    ),
    Setting("class 1", "against all others; the first label in sorted order that has ten rows", "ours"),
    Setting("literals", f"categories one by one, numbers at {BINS - 1} thresholds at most", "ours"),
)


def domains(data: Data) -> list[str]:
    """The sets that are used."""
    names = [name for name in data.available(LEAST_ROWS, MOST_ROWS) if name not in DUPLICATES]
    if not names:
        looked = ", ".join(str(folder) for folder in data.folders) or "no folder"
        raise MissingData(f"no file of the UCI repository was found in {looked}; give a folder with --data")
    return names


@lru_cache(maxsize=4)
def load(data: Data, name: str) -> tuple[Floats, Integers]:
    """Rows with a label, and whether they are of class 1."""
    rows = data.load(name)
    known = labelled(rows)
    labels, counts = np.unique(rows.labels[known], return_counts=True)
    first = labels[counts >= FOLDS][0]
    return indicators(rows)[known], rows.is_one_of((str(first),))[known]


@lru_cache(maxsize=4)
def folds(data: Data, name: str) -> list[tuple[Integers, Integers]]:
    """Rows to fit and to test."""
    X, y = load(data, name)
    return list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))


def separator(literals: int, rounds: int, **flavour: Any) -> RuleClassifier:
    """ULS of `rounds` monomials with `literals` at most."""
    return RuleClassifier(
        max_literals=literals, n_rules=rounds, fit_intercept=False, max_bins=BINS, n_jobs=1, **flavour
    )
