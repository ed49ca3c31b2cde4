"""What is seen of a fit while it runs: callbacks, the history of scores, a progress bar, early stopping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from propriety.aliases import MatrixLike
from propriety.distributed.progress import ProgressBar
from propriety.model.base import shared_attributes
from propriety.model.following import follower_of

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


class Progress:
    """Looks at the model after each round and says whether to stop."""

    def __init__(self, estimator: BaseEstimator, lesson: Any, fit: Any, X: MatrixLike, y: ArrayLike) -> None:
        self._lesson, self._fit = lesson, fit
        self._settings = lesson.settings
        self.train_score: list[float] = []
        self._bar = ProgressBar(bool(self._settings.verbose))
        self._follower = follower_of(estimator, X, y)
        if self._follower is not None:
            self._follower.begin(max(0, self._settings.max_iter - lesson.rounds_done))
        self._communicator = lesson.training.communicator
        (watched,) = self._communicator.max((float(self._follower is not None),))
        self._asked = bool(watched) and self._communicator.size > 1  # one process's callbacks stop all
        if self._settings.early_stopping:
            self.train_score.append(self._train_score())

    @property
    def is_watched(self) -> bool:
        """Whether callbacks or a progress bar follow the rounds."""
        return self._follower is not None or self._asked or bool(self._settings.verbose)

    def after_round(self, number: int, trees: list[Any], validation: Any) -> bool:
        """Note the scores after a round; True if it was the last."""
        settings = self._settings
        stop = self._tell_follower(number, trees)
        if self._asked:
            stop = bool(self._communicator.max((float(stop),))[0])
        if validation is not None:
            validation.add(trees[-self._lesson.n_scores :], settings.n_jobs)
        if settings.early_stopping:
            self.train_score.append(self._train_score())
            best = validation.best()
            waited = len(validation.history) - 1 - best
            stop = stop or waited >= settings.n_iter_no_change + settings.patience_growth * best
        score = None if validation is None else validation.history[-1]
        self._communicator.report(number + 1, settings.max_iter, score)
        last = stop or number + 1 == settings.max_iter
        self._bar.draw("round", number + 1, settings.max_iter, score, last=last)
        if last:
            self._bar.end()
        return stop

    def _train_score(self) -> float:
        booster = self._fit.booster
        return -booster.mean(booster.objective.values(booster.scores, booster.settings.n_jobs))

    def _tell_follower(self, number: int, trees: list[Any]) -> bool:
        if self._follower is None:
            return False
        lesson, booster = self._lesson, self._fit.booster  # a callback may ask when the fit has ended

        def so_far() -> dict[str, Any]:
            shared = shared_attributes(lesson.training, lesson.objective.loss)
            return shared | lesson.attributes(booster.finished(trees))

        return self._follower.after_round(number, so_far)

    def end(self) -> None:
        """Tell the callbacks that the fit is over."""
        if self._follower is not None:
            self._follower.end()
