"""Parameters of BoostingClassifier that do not go together, refused with what to do instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.boosting.algorithm import Algorithm
from propriety.boosting.objective import Objective
from propriety.communicator import refuse_if_spread
from propriety.data.streamed import StreamedTable
from propriety.data.training import Training
from propriety.losses import simplex

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


def check_learner(
    estimator: BaseEstimator, algorithm: Algorithm, learning_rate: float, max_step: float | None
) -> None:
    """Refuse what does not go together, before anything is fitted."""
    if algorithm.has_own_learner:
        raise ValueError(
            "folds, gains and workers are for the library's own weak learners, got "
            f"{algorithm.weak_learner!r}"
        )
    _check_folds(estimator, algorithm)
    if not algorithm.learner.grows_trees:
        if estimator.splitter == "random":
            raise ValueError(
                f"splitter='random' is for trees, and the weak_learner {algorithm.weak_learner!r} of the "
                "algorithm has no cuts; leave it out, or use algorithm__weak_learner='stump'"
            )
        for name in ("monotonic_cst", "interaction_cst"):
            if getattr(estimator, name) is not None:
                raise ValueError(
                    f"{name} is for trees, and the weak_learner of the algorithm is "
                    f"{algorithm.weak_learner!r}; use "
                    "algorithm='gradient' with interaction_cst='no_interactions', an additive model too"
                )
    if algorithm.coefficient == "corrective":
        unfit = {
            "early_stopping": is_asked(estimator.early_stopping),
            "warm_start": bool(estimator.warm_start),
            "monotonic_cst": estimator.monotonic_cst is not None,
            "learning_rate": learning_rate != 1,
            "max_step": max_step is not None,
        }
        remedies = {"learning_rate": "set it to 1", "max_step": "set it to None"}
        wrong = [name for name, given in unfit.items() if given]
        if wrong:
            raise ValueError(
                f"an algorithm with coefficient='corrective' changes the coefficients of all learners in "
                f"every round, which does not go with {wrong[0]}={getattr(estimator, wrong[0])!r}; "
                f"{remedies.get(wrong[0], 'leave it out')}, or use algorithm__coefficient='line'"
            )


def is_asked(early_stopping: Any) -> bool:
    """Whether a user wants the rounds to be stopped, rather than leave that to us ("auto")."""
    if isinstance(early_stopping, (bool, np.bool_)):
        return bool(early_stopping)
    if isinstance(early_stopping, str) and early_stopping == "auto":
        return False
    raise ValueError(f"early_stopping must be True, False or 'auto', got {early_stopping!r}")


def _unfit_for_folds(estimator: Any, algorithm: Algorithm) -> list[str]:
    unfit = {
        f"early_stopping={estimator.early_stopping!r}": is_asked(estimator.early_stopping),
        f"warm_start={estimator.warm_start!r}": estimator.warm_start,
        "an algorithm of coefficient='corrective'": algorithm.coefficient == "corrective",
    }
    return [name for name, given in unfit.items() if given]


def allows_folds(estimator: BaseEstimator, algorithm: Algorithm) -> bool:
    """Whether the other parameters leave room for rounds that are found by folds, and nobody has asked."""
    return not _unfit_for_folds(estimator, algorithm)


def _check_folds(estimator: Any, algorithm: Algorithm) -> None:
    """Refuse what does not go with folds that are learned from before the fit."""
    asked = [name for name in ("max_iter", "calibrate") if isinstance(getattr(estimator, name), str)]
    asked = [name for name in asked if getattr(estimator, name) != "auto"]
    wrong = _unfit_for_folds(estimator, algorithm)
    if asked and wrong:
        raise ValueError(
            f"{asked[0]}={getattr(estimator, asked[0])!r} learns from folds before the fit, which does not "
            f"go with {wrong[0]}; leave one of them out"
        )


def check_spread(settings: Any, training: Training) -> None:
    """Refuse what needs all rows in one place, if they are spread over processes."""
    streamed = isinstance(training.table, StreamedTable)
    unfit = {
        "max_iter='cv', as 'auto' is for few rows": settings.rounds_by_folds,
        f"calibrate={settings.calibrate!r}": settings.calibrate is not None,
        "an algorithm with coefficient='corrective'": settings.algorithm.coefficient == "corrective",
        "groups": training.groups is not None,
    }
    refuse_if_spread(training.communicator, unfit, parts=streamed)


def check_coefficient(settings: Any, objective: Objective) -> None:
    """Refuse a rule for the coefficient that the loss does not allow."""
    if settings.algorithm.coefficient == "corrective" and objective.n_scores > 1:
        raise ValueError(
            f"coefficient='corrective' is for two classes, got {objective.n_scores}; use 'line' or 'bregman'"
        )
    if settings.algorithm.coefficient == "bregman" and not objective.grows_slowly():
        raise ValueError(
            f"coefficient='bregman' needs a convex margin loss with -phi'' / phi' at most 1, such as Log(), "
            f"Exponential(), simplex.Log(), simplex.PairwiseExponential() or simplex.MH(), and the loss is "
            f"{objective.loss!r}; use coefficient='line'"
        )


def check_calibration(settings: Any, objective: Objective) -> None:
    """Refuse a loss for several classes whose probabilities cannot be calibrated."""
    if settings.calibrate is None or objective.n_scores == 1:
        return
    try:
        simplex.Recalibrated(objective.loss, (1.0,), (0.0,))
    except TypeError:
        raise ValueError(
            f"calibrate={settings.calibrate!r} for {objective.n_scores} classes needs a loss with the "
            f"softmax link, such as Log(), Squared() or DensityPower(gamma), and the loss is "
            f"{objective.loss!r}; take one of these, or leave calibrate out"
        ) from None
