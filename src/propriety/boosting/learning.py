"""The learning problem that training data and settings pose: weighed, held out and binned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import memory
from propriety.aliases import MatrixLike
from propriety.boosting.compatibility import check_calibration, check_coefficient, check_spread
from propriety.boosting.objective import Objective, objective_of
from propriety.boosting.settings import ROUNDS, BoostingSettings
from propriety.boosting.shapes import Marginals
from propriety.data.folds import fold_numbers
from propriety.data.hashing import mixed
from propriety.data.labels import as_labels
from propriety.data.table import Table
from propriety.data.training import Training, n_scores_of, read_offset
from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.boosting.validation import Validation
    from propriety.losses import Composite
    from propriety.losses.simplex import SimplexLoss
    from propriety.trees.binned import Binned
    from propriety.trees.binning import Binner
    from propriety.trees.shared_bins import SharedBins

Floats = NDArray[np.float64]
#: How many times a class may weigh more than another: the weights of rows are exact to 50 bits of their sum.
_PLACES = 2**16  # in which the rows of a class lie, in a random order
#: Unless early stopping is asked for, rows are held out if those of all classes but the largest lie in so
#: many places at least, and all are at most so many times the share that is meant to be. With 15 rows of a
#: rare class held out, 100 rounds were better in trials; with 37 the same, with 75 worse.
_LEAST_PLACES, _MOST_HELD = 50, 2.0


@dataclass(frozen=True)
class Continued:
    """The fit that a warm start goes on from."""

    start: Floats
    binner: Binner
    rounds: int


@dataclass(frozen=True)
class HeldOut:
    """Evaluation when to stop: a table of their own, or rows of the training table.

    ``rows`` are those of the table that was given which have a weight; None: all of them.
    """

    where: Table | NDArray[np.intp]
    codes: NDArray[np.intp]
    weights: Weights
    offset: Floats | None = None
    rows: NDArray[np.intp] | None = None


@dataclass(frozen=True)
class Lesson:
    """Everything that the rounds need, checked and binned.

    ``weights`` are those of the rows, times those of their classes, 0 for held-out rows. ``known`` are the
    learners of rounds that are made already.
    """

    training: Training
    settings: BoostingSettings
    objective: Objective
    weights: Weights
    held_out: HeldOut | None
    start: Floats
    binner: Binner
    binned: Binned
    rounds_done: int = 0
    known: tuple[Any, ...] = ()

    @property
    def n_scores(self) -> int:
        """Scores per row: 1 for two classes."""
        return self.objective.n_scores

    @property
    def start_scores(self) -> Floats:
        """The scores of the rows before the first round, of shape (n, K), or (K,) if all are the same."""
        return shifted(self.start, self.training.offset)

    @property
    def marginals(self) -> Marginals | None:
        """How the training rows lie in the bins, for models that may be additive; else None."""
        if not self.settings.may_be_additive:
            return None
        return Marginals.of(self.binned, self.weights, self.training.table)

    def attributes(self, learners: list[Any]) -> dict[str, Any]:
        """What a model of these weak learners keeps, besides what all estimators do."""
        from propriety.boosting import curves

        return {
            "_forest": curves.join(learners, self.n_scores, self.binner),
            "_marginals": self.marginals,
            "_binner": self.binner,
            "_start_score": self.start,
            "_seed": self.settings.seed,
            "n_iter_": len(learners) // self.n_scores,
        }

    def validation(self) -> Validation | None:
        """The held-out rows, ready to be scored."""
        if self.held_out is None:
            return None
        from propriety.boosting.validation import Validation

        where, codes = self.held_out.where, self.held_out.codes
        if isinstance(where, Table):
            binned = self.binner.transform(where, self.settings.n_jobs)
        else:
            rows = memory.kept(self.binned.rows[where])
            binned = self.binned._replace(rows=rows, columns=self.binned.columns[:, :0])
        return Validation(
            binned,
            self.binner,
            objective_of(self.objective.loss, codes, self.training.n_classes, self.training.communicator),
            self.held_out.weights,
            shifted(self.start, self.held_out.offset),
        )


def prepare(
    training: Training,
    settings: BoostingSettings,
    loss: Composite | SimplexLoss,
    *,
    held_out: HeldOut | None = None,
    continued: Continued | None = None,
    shared_bins: SharedBins | None = None,
) -> Lesson:
    """Hold rows out, and bin the table."""
    from propriety.trees.shared_bins import SharedBins

    check_spread(settings, training)
    weights = training.weights
    if held_out is None and settings.early_stopping:
        rows = _hold_out(settings, training, weights)
        if rows is None:
            settings = replace(settings, early_stopping=False, max_iter=ROUNDS)
        else:
            offset = None if training.offset is None else training.offset[rows]
            codes = memory.kept(training.codes[rows])
            held_out = HeldOut(memory.kept(rows), codes, weights.take(rows), offset)
            weights = weights.without(rows)
    objective = objective_of(loss, training.codes, training.n_classes, training.communicator)
    check_coefficient(settings, objective)
    check_calibration(settings, objective)
    if continued is not None:
        binned = continued.binner.transform(training.table, settings.n_jobs)
        start, binner, rounds = continued.start, continued.binner, continued.rounds
    else:
        start, rounds = start_of(settings, objective, weights, training.offset), 0
        # A search over losses gives its models the bins to share.
        binner, binned = (shared_bins or SharedBins()).bins(
            training.table,
            weights,
            training.target,
            training.schema.n_categories,
            settings.max_bins,
            settings.n_jobs,
        )
    training.table.release()
    return Lesson(training, settings, objective, weights, held_out, start, binner, binned, rounds)


def shifted(start: Floats, offset: Floats | None) -> Floats:
    """The start of the scores: the same for all rows, or on top of each row's offset."""
    return start if offset is None else start + offset


def start_of(
    settings: BoostingSettings, objective: Objective, weights: Weights, offset: Floats | None = None
) -> Floats:
    """The score before the first round: that of the base rates, or 0 as in the papers on boosting.

    With an offset, the constant of least loss on top of it is what the base rates are without one.
    """
    if settings.algorithm.init == "zero":
        return np.zeros(objective.n_scores)
    if offset is None:
        return objective.start(weights)
    from propriety.boosting.constant import best_constant

    return best_constant(objective, weights, offset, settings.n_jobs)


def read_held_out(
    training: Training,
    X_val: MatrixLike | None,
    y_val: ArrayLike | None,
    sample_weight_val: ArrayLike | None,
    offset_val: ArrayLike | None,
) -> HeldOut | None:
    """Rows for early stopping that the user gives, or None."""
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val must be given together")
    if offset_val is not None and (X_val is None or training.offset is None):
        raise ValueError("offset_val is the offset of X_val, and goes with the offset of X: give both")
    if X_val is not None and training.offset is not None and offset_val is None:
        raise ValueError("offset is given and offset_val is not: X_val needs an offset as well")
    if X_val is None:
        return None
    table, labels = training.schema.read(X_val), as_labels(y_val)
    if table.n_features != training.n_features:
        raise ValueError(f"X_val has {table.n_features} features, and X has {training.n_features}")
    if table.n_rows != len(labels):
        raise ValueError(f"X_val has {table.n_rows} rows and y_val {len(labels)}")
    weights = Weights.read(
        sample_weight_val, len(labels), name="sample_weight_val", communicator=training.communicator
    )
    if offset_val is not None:
        offset_val = read_offset(offset_val, len(labels), n_scores_of(training.n_classes), "offset_val")
    weights, rows = weights.positive()
    if rows is not None:
        table, labels = table.take(rows), labels[rows]
        offset_val = None if offset_val is None else offset_val[rows]
    known = np.isin(labels, training.classes)
    if np.any(~known & (weights.array > 0)):
        raise ValueError(f"y_val holds labels that are not in y: {np.unique(labels[~known]).tolist()}")
    codes = np.where(known, np.searchsorted(training.classes, labels), 0).astype(np.intp)
    return HeldOut(table, codes, weights, offset_val, rows)


def _hold_out(settings: BoostingSettings, training: Training, weights: Weights) -> NDArray[np.intp] | None:
    """Rows for validation, each class in proportion; whole groups, if there are any.

    None if nobody has asked for it and they would not do: if they hold few rows of a rare class, or few
    different ones of many copies each, which the model would then not know.
    """
    asked = settings.stopping_is_asked
    if training.groups is not None:
        return _hold_out_groups(settings, training)
    if not asked and settings.validation_fraction * weights.total < _LEAST_PLACES:
        return None
    from propriety.trees.binning import content_hashes

    # A row's place belongs to what it holds, so that copies are held out together, in whatever process. A fit
    # that draws nothing else does not depend on the seed.
    seed = np.array([settings.seed if asked else 0], dtype=np.uint64)
    hashes = content_hashes(training.table, settings.n_jobs, training.communicator)
    places = (mixed(hashes + mixed(seed)) >> np.uint64(48)).astype(np.intp)
    shape = training.n_classes, _PLACES
    cells = np.ravel_multi_index((training.codes, places), shape)
    masses = weights.by_class(cells, _PLACES * training.n_classes).reshape(shape)
    limits = np.array([_limit(mass, settings.validation_fraction) for mass in masses])
    if not asked:
        held = [mass[:limit] for mass, limit in zip(masses, limits, strict=True)]
        share = sum(mass.sum() for mass in held) / masses.sum()
        enough = _are_enough(np.array([np.count_nonzero(mass) for mass in held]))
        if not enough or share > _MOST_HELD * settings.validation_fraction:
            return None
    if not limits.any():
        raise ValueError(
            "early_stopping holds out a part of each class, and no class has two different rows; give X_val "
            "and y_val, or leave early_stopping out"
        )
    return np.flatnonzero((places < limits[training.codes]) & (weights.array > 0))


def _are_enough(held: NDArray[np.intp]) -> bool:
    """Whether so many rows of each class say when to stop."""
    return bool(held.sum() - held.max() >= _LEAST_PLACES)


def _limit(mass: Floats, share: float) -> int:
    """The place below which a share of a class lies, or all but the last rows if it would be all; 0: none."""
    held = np.flatnonzero(mass)
    total = np.cumsum(mass[held])
    first = int(np.searchsorted(total, share * total[-1] * (1 - 1e-9)))
    return int(held[min(first, len(held) - 2)]) + 1 if len(held) > 1 else 0


def _hold_out_groups(settings: BoostingSettings, training: Training) -> NDArray[np.intp] | None:
    """One fold of groups, of as many as it takes for a fold to have the share that is to be held out."""
    asked, present = settings.stopping_is_asked, training.weights.array > 0
    assert training.groups is not None
    if not asked and len(np.unique(training.groups[present])) < 2:
        return None
    n_folds = max(2, round(1 / settings.validation_fraction))
    folds = fold_numbers(training, n_folds, seed=settings.seed if asked else 0)
    if not np.any(folds >= 0):
        if not asked:
            return None
        raise ValueError(
            "groups leave none to be held out for early stopping, since each class lies in one of them; give "
            "X_val and y_val, or leave early_stopping out"
        )
    rows = np.flatnonzero(folds == folds[folds >= 0].min())
    held = np.bincount(training.codes[rows], minlength=training.n_classes)
    return rows if asked or _are_enough(held) else None
