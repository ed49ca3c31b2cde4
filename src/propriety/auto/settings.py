"""The parameters of AutoClassifier, checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from propriety import parallel
from propriety.auto.members import MEMBERS
from propriety.data.parameters import Parameters, seed_of

if TYPE_CHECKING:
    from propriety.auto.classifier import AutoClassifier


@dataclass(frozen=True)
class AutoSettings:
    """The parameters of a fit, checked and resolved."""

    time_budget: float | None
    interpretable: bool
    members: tuple[str, ...]
    n_estimators: int
    n_folds: int
    verbose: int
    seed: int
    n_jobs: int


def settings_of(model: AutoClassifier) -> AutoSettings:
    """Check the parameters of an AutoClassifier."""
    given = Parameters(model)
    return AutoSettings(
        time_budget=given.number_or_none("time_budget", 0, above=True),
        interpretable=bool(model.interpretable),
        members=_members(model.members),
        n_estimators=given.number("n_estimators", 1, whole=True),
        n_folds=given.number("n_folds", 2, whole=True),
        verbose=model.verbose,
        seed=seed_of(model.random_state),
        n_jobs=parallel.n_threads(model.n_jobs),
    )


def _members(given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    unknown = [name for name in names if name not in MEMBERS]
    if unknown or not names or len(set(names)) < len(names):
        raise ValueError(f"members must be different ones of {list(MEMBERS)}, got {given!r}")
    return names
