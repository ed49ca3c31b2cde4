"""The parameters of BoostingClassifier, checked, and what depends on the data resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.boosting.algorithm import Algorithm, WeakLearner, algorithm_of
from propriety.boosting.compatibility import allows_folds, check_learner, is_asked
from propriety.boosting.constraints import interaction_groups, signs_by_score
from propriety.data.parameters import Parameters, choice, number
from propriety.data.training import Training, n_scores_of

if TYPE_CHECKING:
    from propriety.boosting.classifier import BoostingClassifier
    from propriety.trees.split_score import Penalty

#: The number of folds, and the most rounds where held-out rows find their number.
N_FOLDS, MOST_ROUNDS = 4, 500
#: Of ``max_iter="auto"``: the total weight times scores up to which folds find the rounds, above it a part
#: of the rows; and the rounds where neither can.
FEW_ROWS, ROUNDS = 20_000.0, 100
#: The most leaves of a tree, and rounds that may pass without a gain.
_LEAVES, _PATIENCE = 31, 10
#: What "auto" is where rounds are found by folds: trees that are small, shrunken and differ. Leaves of one
#: row do no harm where leaves are shrunk by ten; others, and the bins of histogram learners, hold more.
_LEAVES_BY_FOLDS = 16
#: How much longer we wait for a lesser loss with every round that has brought one.
_PATIENCE_GROWTH = 0.25
_LEAF_IF_SHRUNKEN, _LEAF_BY_FOLDS = 1.0, 5.0
_L2_BY_FOLDS, _ROWS_BY_FOLDS, _FEATURES_BY_FOLDS = 10.0, 0.7, 0.3
_FEWEST_FEATURES = 3  # that a split looks at then: with fewer, features that matter together are not found
#: The learning rate, and that of rounds by folds of at most so much weight, where half the rounds do as well
#: and trees of fewer leaves do better.
_RATE, _RATE_OF_FEW, _LEAVES_OF_FEW, _FEW = 0.1, 0.2, 8, 2_000.0
#: Models whose mean is the one that is kept, where folds find the rounds and each model draws by itself.
_MODELS_BY_FOLDS = 3
#: A class of two is rare if more rows than this make up the curvature 1 of the log loss, 1/(pq): p < 5 %. A
#: leaf must then hold as many rows and is shrunk by as many, but by no more than a share of all rows.
_RARE, _SHARE_OF_RARE = 20.0, 0.2
_LEAST_CURVATURE = 1e-3
#: The most that a round may move the log-odds of a row, before the learning rate.
_MAX_STEP = 1.5
#: Bins; [M] gives no number for its histograms, and ten come near its tables.
_BINS, _BINS_OF_PAPERS = 255, 10
_NO_LIMIT = 2**30  # of depth
#: A score must be larger by this part of the first one to be a new best one.
TOLERANCE = 1e-7
#: Kinds of calibration for two classes, and for any number.
_OF_TWO, _OF_CLASSES = ("platt", "beta", "isotonic"), ("platt", "beta")


@dataclass(frozen=True)
class BoostingSettings:
    """The parameters of a fit, checked and resolved."""

    algorithm: Algorithm
    max_iter: int
    rounds_by_folds: bool
    n_models: int
    calibrate: str | None
    learning_rate: float
    max_step: float | None
    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: float
    min_weight_leaf: float
    l2_regularization: float
    min_gain: float
    subsample: float
    split_features: int
    random_cuts: bool
    max_bins: int
    monotone: NDArray[np.int8]
    groups: NDArray[np.uint8]
    early_stopping: bool
    stopping_is_asked: bool
    validation_fraction: float
    n_iter_no_change: int
    patience_growth: float
    verbose: int
    seed: int
    n_jobs: int
    deadline: float | None

    def draws(self, n_features: int) -> bool:
        """Whether rows, features or cuts are drawn, so that another seed makes another model."""
        return self.random_cuts or self.subsample < 1.0 or self.split_features < n_features

    def penalty(self, curvature: float) -> Penalty:
        """What the values of leaves are penalized by, where a row has this curvature."""
        from propriety.trees.split_score import Penalty

        return Penalty(l2=self.l2_regularization * curvature)

    def of_splits(self, curvature: float, gain: float) -> dict[str, Any]:
        """Those of a split, by their names in ``SplitParameters``, for rows of this curvature and gain."""
        return self.penalty(curvature)._asdict() | {
            "max_depth": _NO_LIMIT if self.max_depth is None else self.max_depth,
            "min_curvature": self.min_weight_leaf * curvature,
            "min_gain": self.min_gain * gain,
            "split_features": self.split_features,
            "random_cuts": self.random_cuts,
        }

    @property
    def asks_folds(self) -> bool:
        """Whether something is to be learned from folds before the fit."""
        return self.rounds_by_folds or self.calibrate is not None

    @property
    def may_be_additive(self) -> bool:
        """Whether the learners look at one feature, or at few."""
        return (
            self.algorithm.learner.additive
            or self.max_leaf_nodes == 2
            or self.max_depth == 1
            or len(self.groups) > 0
        )


def settings_of(model: BoostingClassifier, training: Training, seed: int) -> BoostingSettings:
    """Check the parameters of a BoostingClassifier against its training data."""
    given, d, total = Parameters(model), training.n_features, training.weights.total
    algorithm = algorithm_of(model.algorithm)
    learner, free = algorithm.learner, algorithm.regularized
    by_folds, early = _who_counts_rounds(model, algorithm, total * n_scores_of(training.n_classes))
    max_step = _max_step(model, given, algorithm)
    rare = _rows_if_rare(max_step, training)
    l2 = given.number_or_auto("l2_regularization", max(rare, _L2_BY_FOLDS if by_folds and free else 0.0), 0)
    least = given.least_weight("min_samples_leaf", total)
    if isinstance(model.min_samples_leaf, str) and not free:
        least = 1.0
    elif by_folds and isinstance(model.min_samples_leaf, str):
        shrunken = learner.grows_trees and l2 >= _L2_BY_FOLDS
        least = min(least, _LEAF_IF_SHRUNKEN if shrunken else _LEAF_BY_FOLDS)
    most_leaves, rate = _size_and_rate(by_folds, total)
    rate = given.number_or_auto("learning_rate", rate if free else 1.0, 0, above=True)
    leaves = given.number_or_auto("max_leaf_nodes", most_leaves, 2, whole=True)
    drawn = by_folds and not learner.additive
    subsample = given.number_or_auto("subsample", _ROWS_BY_FOLDS if drawn else 1.0, 0, 1, above=True)
    stopped = early and isinstance(model.max_iter, str) and training.n_classes > 2
    random_cuts = _random_cuts(model, drawn or (stopped and not learner.additive))
    drawn_share = min(1.0, max(_FEATURES_BY_FOLDS, _FEWEST_FEATURES / d))
    some = drawn and not random_cuts
    features = given.number_or_auto("max_features", drawn_share if some else 1.0, 0, 1, above=True)
    bins = given.number_or_auto("max_bins", _bins_of(algorithm), 2, 255, whole=True)
    given.choice("multiclass", ("auto", "ovr", "ordinal"))
    check_learner(model, algorithm, rate, max_step)
    return BoostingSettings(
        algorithm=algorithm,
        max_iter=_rounds(model, by_folds or early),
        rounds_by_folds=by_folds,
        n_models=_MODELS_BY_FOLDS if by_folds and algorithm.coefficient != "corrective" else 1,
        calibrate=_calibration(model, training, by_folds),
        learning_rate=rate,
        max_step=max_step,
        max_leaf_nodes=learner.max_leaf_nodes or leaves,
        max_depth=given.number_or_none("max_depth", 1, whole=True),
        min_samples_leaf=least,
        min_weight_leaf=given.number_or_auto(
            "min_weight_leaf", max(rare, _LEAST_CURVATURE) if free else 0.0, 0
        ),
        l2_regularization=l2,
        min_gain=given.number("min_split_gain", 0),
        subsample=subsample,
        split_features=max(1, round(features * d)),
        random_cuts=random_cuts,
        max_bins=_bins(bins, learner, least, total),
        monotone=signs_by_score(model.monotonic_cst, training.schema, training.classes),
        groups=interaction_groups(model.interaction_cst, training.schema),
        early_stopping=early,
        stopping_is_asked=is_asked(model.early_stopping),
        validation_fraction=given.number("validation_fraction", 0, 1, above=True),
        n_iter_no_change=given.number_or_auto("n_iter_no_change", _PATIENCE, 1, whole=True),
        patience_growth=_patience_growth(model, by_folds or early),
        verbose=model.verbose,
        seed=seed,
        n_jobs=parallel.n_threads(model.n_jobs),
        deadline=model._fit_context.deadline,
    )


def _who_counts_rounds(model: Any, algorithm: Algorithm, size: float) -> tuple[bool, bool]:
    """Whether folds find the number of rounds, and whether rows that are held out stop them.

    If asked to; and by "auto" folds where rows are few, and a part of the rows where they are many.
    """
    asked = is_asked(model.early_stopping)
    if not isinstance(model.max_iter, str):
        return False, asked
    if choice("max_iter", model.max_iter, ("auto", "cv")) == "cv":
        return True, False
    if asked or not algorithm.regularized or not allows_folds(model, algorithm):
        return False, asked
    few = size <= FEW_ROWS
    # Folds that calibrate have the rounds of the model, so these must be known.
    free = isinstance(model.early_stopping, str) and not _asks_calibration(model)
    return few, free and not few


def _asks_calibration(model: Any) -> bool:
    """Whether a user wants probabilities to be calibrated, rather than leave that to us."""
    return model.calibrate is not None and not (
        isinstance(model.calibrate, str) and model.calibrate == "auto"
    )


def _patience_growth(model: Any, by_held_out: bool) -> float:
    """How much the patience grows with each round, unless it is given."""
    return _PATIENCE_GROWTH if by_held_out and isinstance(model.n_iter_no_change, str) else 0.0


def _size_and_rate(by_folds: bool, total: float) -> tuple[int, float]:
    """The most leaves of a tree and the learning rate, if they are left to us."""
    if not by_folds:
        return _LEAVES, _RATE
    return (_LEAVES_OF_FEW, _RATE_OF_FEW) if total <= _FEW else (_LEAVES_BY_FOLDS, _RATE)


def _max_step(model: Any, given: Parameters, algorithm: Algorithm) -> float | None:
    """The bound of a round's step, if there is one."""
    if isinstance(model.max_step, str) and model.max_step == "auto":
        return _MAX_STEP if algorithm.regularized else None
    step: float | None = given.number_or_none("max_step", 0, above=True)
    return step


def _random_cuts(model: Any, drawn: bool) -> bool:
    """Whether a split looks at one cut of each feature; by "auto" where trees are drawn by themselves."""
    splitter = choice("splitter", model.splitter, ("auto", "best", "random"))
    return drawn if splitter == "auto" else splitter == "random"


def _rows_if_rare(max_step: float | None, training: Training) -> float:
    """How many rows a leaf is to hold and to be shrunk by, if one of two classes is rare; else 0.

    With fewer of them a leaf does not know whether it holds the rare class by chance. Steps of any length, as
    in the papers, are left as they are.
    """
    if training.n_classes != 2 or max_step is None:
        return 0.0
    total = training.weights.total
    p, q = training.class_weights / total
    return min(1 / (p * q), _SHARE_OF_RARE * total) if p * q * _RARE < 1 else 0.0


def _rounds(model: Any, by_held_out: bool) -> int:
    """The number of rounds, or the most of them."""
    if isinstance(model.max_iter, str):
        return MOST_ROUNDS if by_held_out else ROUNDS
    return int(number("max_iter", model.max_iter, 0, whole=True))


def _calibration(model: Any, training: Training, by_folds: bool) -> str | None:
    """How probabilities are calibrated; None: not at all."""
    if model.calibrate is None:
        return None
    kind = choice("calibrate", model.calibrate, ("auto", *_OF_TWO))
    if kind == "auto":
        return "platt" if by_folds and training.n_classes == 2 else None
    if training.n_classes > 2 and kind not in _OF_CLASSES:
        raise ValueError(
            f"calibrate={kind!r} is for two classes, got {training.n_classes}; several classes take "
            f"{' or '.join(map(repr, _OF_CLASSES))}"
        )
    return kind


def _bins_of(algorithm: Algorithm) -> int:
    """Bins per feature, if they are left to us."""
    of_papers = not algorithm.learner.grows_trees and not algorithm.regularized
    return _BINS_OF_PAPERS if of_papers else _BINS


def _bins(max_bins: int, learner: WeakLearner, least: float, total: float) -> int:
    """Bins per feature; a histogram learner's hold at least ``min_samples_leaf`` rows each on average."""
    if learner.grows_trees or least <= 1:
        return max_bins
    # Relative weights have a whole total but for a rounding error.
    return int(min(max_bins, max(2.0, total * (1 + 1e-9) // least)))
