"""Parameters of BoostingClassifier that do not go together, refused with what to do instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from propriety.boosting.objective import Objective


def check_learner(estimator: Any, weak_learner: str) -> None:
    """Refuse what does not go together, before anything is fitted."""
    if not isinstance(estimator.early_stopping, (bool, np.bool_)):
        raise ValueError(f"early_stopping must be True or False, got {estimator.early_stopping!r}")
    if isinstance(estimator.max_iter, str):
        for name in ("early_stopping", "warm_start"):
            if getattr(estimator, name):
                raise ValueError(
                    f"max_iter='cv' finds the number of rounds anew, which does not go with {name}=True; leave "
                    f"{name} out, or give a number of rounds"
                )
        if estimator.coefficient == "corrective":
            raise ValueError("max_iter='cv' does not go with coefficient='corrective'; give a number of rounds")
    if weak_learner == "histogram":
        for name in ("monotonic_cst", "interaction_cst"):
            if getattr(estimator, name) is not None:
                raise ValueError(
                    f"{name} is for trees, and weak_learner is 'histogram'; use weak_learner='tree' with "
                    "interaction_cst='no_interactions', which is an additive model too"
                )
    if estimator.coefficient == "corrective":
        unfit = {
            "early_stopping": bool(estimator.early_stopping),
            "warm_start": bool(estimator.warm_start),
            "monotonic_cst": estimator.monotonic_cst is not None,
            "learning_rate": estimator.learning_rate != 1,
            "max_step": estimator.max_step is not None,
        }
        remedies = {"learning_rate": "set it to 1", "max_step": "set it to None"}
        wrong = [name for name, given in unfit.items() if given]
        if wrong:
            raise ValueError(
                f"coefficient='corrective' changes the coefficients of all learners in every round, which "
                f"does not go with {wrong[0]}={getattr(estimator, wrong[0])!r}; "
                f"{remedies.get(wrong[0], 'leave it out')}, or use coefficient='line'"
            )


def check_coefficient(settings: Any, objective: Objective) -> None:
    """Refuse a rule for the coefficient that the loss does not allow."""
    if settings.coefficient == "corrective" and objective.n_scores > 1:
        raise ValueError(
            f"coefficient='corrective' is for two classes, got {objective.n_scores}; use 'line' or 'bregman'"
        )
    if settings.coefficient == "bregman" and not objective.grows_slowly():
        raise ValueError(
            f"coefficient='bregman' needs a convex margin loss with -phi'' / phi' at most 1, such as Log(), "
            f"Exponential(), simplex.Log(), simplex.PairwiseExponential() or simplex.MH(), and the loss is "
            f"{objective.loss!r}; use coefficient='line'"
        )
