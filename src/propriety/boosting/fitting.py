"""One fit: round after round, watched and judged, until it is enough."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import MatrixLike
from propriety.boosting import curves
from propriety.boosting.learning import Lesson
from propriety.boosting.progress import Progress
from propriety.boosting.rounds import Booster

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


class BoostingFit:
    """The rounds of a fit, the rows that judge when to stop, and those who watch.

    Parameters
    ----------
    estimator : BoostingClassifier
        For callbacks; nothing of it is read or changed.
    lesson : Lesson
    earlier : ensemble or None
        What a warm start goes on from.
    known : list of learners
        Rounds of this very fit that were made before it was broken off.
    X, y : as the user gave them, for callbacks
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        lesson: Lesson,
        earlier: curves.Ensemble | None,
        X: MatrixLike,
        y: ArrayLike,
        known: Sequence[Any] = (),
    ) -> None:
        self._known = lesson.known or known
        self._lesson, self._settings = lesson, lesson.settings
        self._booster: Booster | None = None
        self._learners: list[Any] = [] if earlier is None else earlier.split()
        self._validation = lesson.validation()
        if earlier is not None:
            self.booster.resume(earlier)
        if self._validation is not None:
            self._validation.add(self._learners, self._settings.n_jobs)
        # A proxy: in a cycle the arrays of the fit would stay until Python looks for garbage.
        self._progress = Progress(estimator, lesson, weakref.proxy(self), X, y)

    @property
    def booster(self) -> Booster:
        """The rounds; nobody needs it where all of them are known, and nobody watches.

        Not a `cached_property`: before Python 3.12 that has one lock for all fits, and fits that meet each
        other, as threads of one process, would wait for ever.
        """
        if self._booster is None:
            lesson = self._lesson
            parts = lesson.binned, lesson.binner, lesson.objective, lesson.weights, lesson.settings
            self._booster = Booster(*parts, lesson.start_scores)
        return self._booster

    @property
    def has_begun(self) -> bool:
        """Whether there is something to keep, be it the score before the first round."""
        return self._booster is not None or len(self._learners) > 0

    def run(self) -> None:
        """Boost until the rounds are done, or the held-out rows or a callback say so."""
        if self._lesson.known and self._validation is None and not self._progress.is_watched:
            self._learners.extend(self._lesson.known)  # nobody asks what the scores were on the way
            return
        for number in range(self._lesson.rounds_done, self._settings.max_iter):
            self._learners.extend(self._advance(number))
            if self._progress.after_round(number, self._learners, self._validation):
                break

    def _advance(self, number: int) -> list[Any]:
        first = (number - self._lesson.rounds_done) * self._lesson.n_scores
        items = list(self._known[first : first + self._lesson.n_scores])
        if len(items) < self._lesson.n_scores:
            return self.booster.advance(number)
        self.booster.resume(curves.join(items, self._lesson.n_scores, self._lesson.binner))
        return items

    def end(self) -> None:
        """Tell the callbacks that the fit is over."""
        self._progress.end()

    def attributes(self) -> dict[str, Any]:
        """What the model keeps of the rounds so far, or of the best ones."""
        booster = self._booster
        learners = self._learners if booster is None else booster.finished(self._learners)
        validation = self._validation
        if validation is not None and self._settings.early_stopping:
            rounds = self._lesson.rounds_done + validation.best()
            learners = learners[: rounds * self._lesson.n_scores]
        return self._lesson.attributes(learners) | {
            "train_score_": np.array(self._progress.train_score),
            "validation_score_": np.array([] if validation is None else validation.history),
        }
