"""The parameters of AutoClassifier, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.utils import check_random_state

from propriety import parallel
from propriety.data.parameters import Parameters


@dataclass(frozen=True)
class AutoSettings:
    """The parameters of a fit, checked and resolved."""

    time_budget: float | None
    interpretable: bool
    n_folds: int
    verbose: int
    seed: int
    n_jobs: int


def settings_of(model: Any) -> AutoSettings:
    """Check the parameters of an AutoClassifier."""
    given = Parameters(model)
    return AutoSettings(
        time_budget=given.number_or_none("time_budget", 0, above=True),
        interpretable=bool(model.interpretable),
        n_folds=given.number("n_folds", 2, whole=True),
        verbose=model.verbose,
        seed=int(check_random_state(model.random_state).randint(2**31)),
        n_jobs=parallel.n_threads(model.n_jobs),
    )
