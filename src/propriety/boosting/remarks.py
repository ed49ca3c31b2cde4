"""What is to be said of the number of rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from propriety.boosting.settings import MOST_ROUNDS

if TYPE_CHECKING:
    from propriety.boosting.classifier import BoostingClassifier


def of_rounds(model: BoostingClassifier) -> list[str]:
    """Whether rounds that were chosen by held-out rows ended after one, or at their limit.

    A number of rounds that was given is as it was asked for.
    """
    scores = model.__dict__.get("validation_score_")
    if scores is None or len(scores) == 0:
        return []
    limit = model.max_iter if isinstance(model.max_iter, int) else MOST_ROUNDS
    # Where several models were averaged, the model has as many learners for each round that the folds count.
    rounds = model.n_iter_ if model.n_iter_ < len(scores) else int(np.argmax(scores))
    if rounds <= 1:
        many = "before the first round" if rounds == 0 else "after one round"
        return [f"boosting stopped {many}: on rows that were held out, more of them gained nothing"]
    if rounds >= limit:
        return [
            f"boosting stopped at its limit of {limit:,} rounds while the held-out loss still fell: allow "
            "more by max_iter, or raise learning_rate"
        ]
    return []
