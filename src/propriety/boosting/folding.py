"""Rounds by folds: as many as the pooled loss of rows that were not learned from says.

One model a fold grows in lockstep with the others over the same bins, its own fold having weight 0 (over bins
of its own where many categories are merged by their labels); the scores of that fold's rows follow along.
After each round they make one loss over all rows. Where it has turned, the number of rounds is that of its
least value, and models are fitted once more, to all rows: three, where rows or features are drawn, each with
draws of its own. Their mean is one model of three times the learners.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.boosting import curves
from propriety.boosting.calibration import recalibrated
from propriety.boosting.compatibility import check_spread
from propriety.boosting.learning import Lesson, shifted, start_of
from propriety.boosting.rounds import Booster
from propriety.boosting.settings import N_FOLDS, ROUNDS, TOLERANCE, BoostingSettings
from propriety.data.folds import read_folds, with_folds
from propriety.data.training import Training
from propriety.model.base import squeezed
from propriety.trees.binned import CELLS, Binned
from propriety.trees.binning import Binner
from propriety.trees.fixed_point import row_weights, weighted_sum
from propriety.trees.gradient_grower import TASK_CELLS
from propriety.weights import Weights

Floats = NDArray[np.float64]
_MEMORY = 1 << 27  # bytes of the rooms of models that grow at the same time


@dataclass(frozen=True, eq=False)
class FoldedRounds:
    """What folds say of the number of rounds.

    Attributes
    ----------
    rounds : int
    scores : ndarray of shape (n, K)
        Scores after so many rounds, of models that have not learned from the row's fold; NaN for rows that
        are never held out.
    curve : ndarray
        Mean loss of the held-out rows after 0, 1, 2, … rounds.
    """

    rounds: int
    scores: Floats
    curve: Floats


class FoldModel:
    """The model without one fold, and the scores of that fold's rows."""

    def __init__(self, lesson: Lesson, rows: NDArray[np.intp]) -> None:
        weights = lesson.weights.without(rows)
        offset = lesson.training.offset
        start = shifted(start_of(lesson.settings, lesson.objective, weights, offset), offset)
        every = np.broadcast_to(start, (lesson.training.n_rows, lesson.n_scores))
        self.rows, self.scores = rows, every[rows].astype(np.float64)
        self._lesson = lesson
        self._binner, binned = _bins_without(lesson, weights)
        self._booster = Booster(
            binned, self._binner, lesson.objective, weights, lesson.settings, start, every_row=True
        )
        if not self._booster.scores_every_row:
            columns = np.ascontiguousarray(binned.columns[:, rows])
            self._held = binned._replace(rows=binned.rows[rows], columns=columns)

    def share_buffers(self, other: FoldModel) -> None:
        """Work in the room of another fold's model, if it has the same bins; the two take turns."""
        if self._binner is other._binner:
            self._booster.share_buffers(other._booster)

    def advance(self, number: int) -> None:
        """Fit one more round and let the held-out scores follow."""
        learners = self._booster.advance(number)
        if self._booster.scores_every_row:
            self.scores = self._booster.scores[self.rows]
            return
        ensemble = curves.join(learners, self._lesson.n_scores, self._binner)
        ensemble.add_binned_scores(self._held, self.scores, self._lesson.settings.n_jobs)


def _bins_without(lesson: Lesson, weights: Weights) -> tuple[Binner, Binned]:
    """The bins of a fold's model: those of all rows, unless categories were merged by their labels.

    Then a bin would tell the labels of the rows that are held out.
    """
    training, settings = lesson.training, lesson.settings
    counts = training.schema.n_categories
    if max(counts) <= settings.max_bins:
        return lesson.binner, lesson.binned
    binner = Binner.fit(training.table, weights, training.target, counts, settings.max_bins, settings.n_jobs)
    return binner, binner.transform(training.table, settings.n_jobs)


def rounds_by_folds(lesson: Lesson, folds: NDArray[np.intp], *, stop: bool = True) -> FoldedRounds:
    """The number of rounds, at most ``settings.max_iter``, of least loss on rows that were held out.

    Parameters
    ----------
    lesson : Lesson
        Its ``settings.n_iter_no_change`` is how many rounds may pass without a new least loss, and
        ``patience_growth`` how many more for each round before; a new one is less by TOLERANCE, in parts of
        the loss before the first round.
    folds : ndarray of shape (n,)
        The fold of each row, as `fold_numbers` gives it; a negative one is never held out.
    stop : bool
        Whether to stop when the loss has turned; if not, ``max_iter`` is the number of rounds.
    """
    settings, numbers = lesson.settings, np.unique(folds[folds >= 0])
    at_once = _at_once(lesson, len(numbers))
    n_jobs = max(1, settings.n_jobs // at_once)
    apart = replace(lesson, settings=replace(settings, n_jobs=n_jobs))
    models = [FoldModel(apart, np.flatnonzero(folds == k)) for k in numbers]
    for i in range(at_once, len(models)):
        models[i].share_buffers(models[i % at_once])
    scores = np.full((len(folds), lesson.n_scores), np.nan)
    losses = PooledLoss(lesson, folds)
    for model in models:
        scores[model.rows] = model.scores
    curve, best, rounds = [losses(scores)], scores.copy(), 0
    tol = TOLERANCE * abs(curve[0])
    began = time.perf_counter()
    for number in range(settings.max_iter if models else 0):
        if stop and _is_late(settings, len(models), began):
            break
        turns = [partial(_advance, models[i::at_once], number) for i in range(at_once)]
        parallel.run(turns, at_once)
        for model in models:
            scores[model.rows] = model.scores
        curve.append(losses(scores))
        if not stop or curve[-1] < curve[rounds] - tol:
            rounds = number + 1
            best[:] = scores
        elif number + 1 - rounds >= settings.n_iter_no_change + settings.patience_growth * rounds:
            break
    return FoldedRounds(rounds, best, np.array(curve))


def _is_late(settings: BoostingSettings, n_folds: int, began: float) -> bool:
    """Whether models of all rows with the rounds so far would take all the time that is left."""
    if settings.deadline is None:
        return False
    now = time.perf_counter()
    return now + (now - began) * settings.n_models / max(1, n_folds - 1) > settings.deadline


def _advance(models: list[FoldModel], number: int) -> None:
    """Models that share a room take turns."""
    for model in models:
        model.advance(number)


def mean_of_models(lesson: Lesson) -> Lesson:
    """The lesson with all rounds known: those of several models in turn, each a part of their mean."""
    settings, count = lesson.settings, lesson.settings.n_models
    if count == 1 or not settings.draws(lesson.training.n_features):
        return lesson
    at_once = _at_once(lesson, count)
    own = replace(settings, n_jobs=max(1, settings.n_jobs // at_once))
    models = [
        Booster(
            lesson.binned,
            lesson.binner,
            lesson.objective,
            lesson.weights,
            replace(own, seed=settings.seed + k),
            lesson.start_scores,
        )
        for k in range(count)
    ]
    for i in range(at_once, count):
        models[i].share_buffers(models[i % at_once])
    grown: list[list[list[Any]]] = [[] for _ in models]
    turns = [partial(_grow, models[i::at_once], grown[i::at_once], settings.max_iter) for i in range(at_once)]
    parallel.run(turns, at_once)
    rounds = [items for together in zip(*grown, strict=True) for items in together]
    known = tuple(curves.scaled(item, 1 / count) for items in rounds for item in items)
    return replace(lesson, settings=replace(settings, max_iter=len(rounds)), known=known)


def _grow(models: list[Booster], grown: list[list[list[Any]]], rounds: int) -> None:
    """Models that share a room are grown one after the other."""
    for model, own in zip(models, grown, strict=True):
        own.extend(model.advance(number) for number in range(rounds))


def _at_once(lesson: Lesson, n_models: int) -> int:
    """How many models grow at the same time, each in a room of its own.

    A tree of few rows is too little to share among threads, and a whole model is not; the rooms of wide
    tables take much memory. Of the smallest tables even models are grown one after the other: most of their
    time is Python's, and threads that wait for each other's Python took 1.2 to 2.3 times as long as one.
    """
    settings, training = lesson.settings, lesson.training
    if training.n_rows * training.n_features < TASK_CELLS:
        return 1
    room = settings.max_leaf_nodes * training.n_features * CELLS * 8
    return max(1, min(settings.n_jobs, n_models, _MEMORY // room))


class PooledLoss:
    """Mean loss of the rows that are held out, the same in any order of the rows."""

    def __init__(self, lesson: Lesson, folds: NDArray[np.intp]) -> None:
        self._objective, self._n_jobs = lesson.objective, lesson.settings.n_jobs
        weights = lesson.weights.without(folds < 0)
        out = ~(weights.array > 0)
        self._out = out if out.any() else None
        self._weights = row_weights(weights)

    def __call__(self, scores: Floats) -> float:
        """Of these scores."""
        known = scores if self._out is None else np.where(self._out[:, None], 0.0, scores)
        values = self._objective.values(known, self._n_jobs)
        if self._out is not None:
            values = np.where(self._out, 0.0, values)
        return weighted_sum(values, self._weights, self._n_jobs) / max(self._weights.total, 1.0)


def folds_for(
    training: Training, settings: BoostingSettings, folds: Any
) -> tuple[Training, NDArray[np.intp] | None]:
    """The training and its folds, if any are asked for: those given, or those by the content of the rows.

    The latter part no group; copies of a row may lie in several, and are rows of their own then.
    """
    if not settings.asks_folds:
        if folds is not None:
            raise ValueError(
                "folds are for max_iter='cv' and calibrate, which nobody asks for; leave them out"
            )
        return training, None
    check_spread(settings, training)
    if folds is None:
        return with_folds(training, N_FOLDS)
    if training.groups is not None:
        raise ValueError("give groups or folds, not both")
    return training, read_folds(folds, training)


def learn_from_folds(lesson: Lesson, numbers: NDArray[np.intp]) -> tuple[Lesson, Any, FoldedRounds]:
    """The lesson with its number of rounds, the loss with the link that reads probabilities, and the rest."""
    settings, training, loss = lesson.settings, lesson.training, lesson.objective.loss
    held = numbers >= 0
    if not held.any():
        # Classes that are one row each cannot be held out.
        rounds = min(settings.max_iter, ROUNDS) if settings.rounds_by_folds else settings.max_iter
        scores = np.full((training.n_rows, lesson.n_scores), np.nan)
        folded = FoldedRounds(rounds, scores, np.empty(0))
        return replace(lesson, settings=replace(settings, max_iter=rounds)), loss, folded
    folded = rounds_by_folds(lesson, numbers, stop=settings.rounds_by_folds)
    # Without a split the folds know nothing but their base rates, which are those of the other folds.
    parts = [folded.scores[numbers == k] for k in np.unique(numbers[held])]
    learned = any(np.any(np.ptp(part, axis=0) > 0) or len(part) == 1 for part in parts)
    if settings.calibrate is not None and learned:
        codes, weights = training.codes[held], lesson.weights.take(held)
        loss = recalibrated(loss, codes, folded.scores[held], weights, settings.calibrate)
    return replace(lesson, settings=replace(settings, max_iter=folded.rounds)), loss, folded


def from_folds(lesson: Lesson, folds: NDArray[np.intp] | None) -> tuple[Lesson, Any, dict[str, Any]]:
    """The lesson with what folds have to say, the loss with its link, and what the model keeps of that.

    The scores of rows that a user holds out stay `validation_score_`; without these, it is the folds' curve.
    """
    if folds is None:
        return lesson, lesson.objective.loss, {}
    lesson, loss, folded = learn_from_folds(lesson, folds)
    kept = {"oof_decision_function_": squeezed(lesson.training.as_given(folded.scores))}
    if lesson.held_out is None:
        kept["validation_score_"] = -folded.curve
    return mean_of_models(lesson), loss, kept
