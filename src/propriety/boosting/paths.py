"""Many gains and losses on the same bins and folds, and what the best gain says about the data. [M §7.1]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from propriety import losses as algebra
from propriety.aliases import Folds, MatrixLike
from propriety.boosting.algorithm import Algorithm, algorithm_of
from propriety.boosting.compatibility import is_asked
from propriety.boosting.objective import objective_of
from propriety.boosting.settings import ROUNDS, settings_of
from propriety.data.folds import splits_of
from propriety.data.training import Training
from propriety.losses.links import Logit
from propriety.losses.value import positive
from propriety.model.fitted_loss import fitted_loss
from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.boosting.classifier import BoostingClassifier
    from propriety.boosting.learning import Lesson

Floats = NDArray[np.float64]
#: A gain for each two thirds of an octave from ¼ to 256.
GAINS = tuple(float(x) for x in np.geomspace(0.25, 256, 17))


@dataclass(frozen=True, eq=False)
class GainPath:
    """Held-out scores of losses × gains × folds × rounds.

    Attributes
    ----------
    losses : tuple of composites
        The losses without gain.
    gains : ndarray
    values : ndarray of shape (losses, gains, folds, rounds)
        Mean held-out score, smaller is better.
    score : loss
        The proper loss that the held-out probabilities are scored by.
    n_rows : float
        Total weight of the training rows.
    held : tuple of ndarrays
        The held-out rows of each fold.
    probabilities : tuple of ndarrays of shape (losses, gains, held rows), or None
        Those of class 1 after the last round, fold by fold, if they were asked for.
    """

    losses: tuple[Any, ...]
    gains: Floats
    values: Floats
    score: Any
    n_rows: float
    held: tuple[NDArray[np.intp], ...] = ()
    probabilities: tuple[Floats, ...] | None = None

    @property
    def mean(self) -> Floats:
        """Mean over the folds after the last round, (losses, gains)."""
        return self.values[..., -1].mean(axis=2)

    @property
    def standard_error(self) -> Floats:
        """Standard error of that mean, from the spread of the folds."""
        folds = self.values.shape[2]
        return self.values[..., -1].std(axis=2, ddof=1) / np.sqrt(folds)

    @property
    def best_gain(self) -> float:
        """The gain of least held-out score."""
        return float(self.gains[self._best[1]])

    @property
    def best_loss(self) -> Any:
        """The loss of least held-out score, with its gain."""
        return self.losses[self._best[0]].shrunk(self.best_gain)

    @property
    def _best(self) -> tuple[int, int]:
        i, j = np.unravel_index(int(np.argmin(self.mean)), self.mean.shape)
        return int(i), int(j)

    @property
    def near_best(self) -> tuple[float, float]:
        """Smallest and largest gain within one standard error of the best, for the best loss."""
        i, j = self._best
        limit = self.mean[i, j] + self.standard_error[i, j]
        near = self.gains[self.mean[i] <= limit]
        return float(near.min()), float(near.max())

    def diagnosis(self) -> str:
        """What the best gain says about the amount of data. [M §7.1]

        The rounds being fixed, the best gain falls as rows are added: a large one says that more rows would
        help, a small one that they would not help much.
        """
        low, high = self.near_best
        if self.best_gain > 1 and low > 1:
            verdict = "data are scarce for this model: more rows are likely to help"
        elif self.best_gain < 1 and high < 1:
            verdict = "data are plentiful for this model: more rows are unlikely to help much"
        else:
            verdict = "no sign of scarcity or plenty"
        return (
            f"best gain {self.best_gain:.3g} (within one standard error: {low:.3g} to {high:.3g}) "
            f"for {self.n_rows:g} rows and {self.values.shape[-1]} rounds: {verdict}"
        )


def gain_path(
    model: BoostingClassifier,
    X: MatrixLike,
    y: ArrayLike,
    *,
    gains: Sequence[float] | None = None,
    losses: Sequence[Any] | None = None,
    cv: Folds = 5,
    sample_weight: ArrayLike | None = None,
    score: Any = "Log()",
    offset: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    probabilities: bool = False,
) -> GainPath:
    """Cross-validate many gains (and losses) at once, on the same bins and folds.

    The table is binned once. With histogram learners all rounds of a gain and fold are one compiled
    call, and threads share out the calls.

    Parameters
    ----------
    model : BoostingClassifier
        Everything but the gain; it is not fitted. The step of its algorithm must be "gradient" or "sign" and
        the coefficient "fixed", as "boostlr" has them: every other step undoes the gain. A path over losses
        alone, ``gains=[1]``, has no such limit.
    X, y, sample_weight : as in ``fit``
    gains : sequence of float, optional
        Gains σ; 17 from ¼ to 256 if not given.
    losses : sequence of losses, optional
        Losses without gain, such as ``[AlphaTunable(1, a) for a in (0, 0.25, 0.5)]``; the model's own if not
        given.
    cv : int or splitter, default=5
        Folds; a number makes that many, by the content of the rows and the model's ``random_state``.
    score : loss, default="Log()"
        How held-out probabilities are scored: any proper loss, ``Misclassification()`` for the error rate.
    offset, groups : array, optional
        As in ``fit``: no fold parts a group.
    probabilities : bool, default=False
        Whether to keep the held-out probabilities after the last round, for what is no mean of a loss; two
        classes only.

    Returns
    -------
    GainPath

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from propriety.boosting import BoostingClassifier, gain_path
    >>> X, y = make_classification(200, 5, flip_y=0.3, random_state=0)
    >>> model = BoostingClassifier(algorithm="boostlr", max_iter=20)
    >>> path = gain_path(model, X, y, gains=[1, 4, 16, 64])
    >>> model = model.set_params(loss=path.best_loss).fit(X, y)
    >>> path.values.shape, path.best_gain > 1
    ((1, 4, 5, 20), True)
    """
    training = model._read(X, y, sample_weight, offset=offset, groups=groups)
    return path_of(model, training, gains, losses, cv, score, probabilities)


def path_of(
    model: BoostingClassifier,
    training: Training,
    gains: Sequence[float] | None = None,
    losses: Sequence[Any] | None = None,
    cv: Folds = 5,
    score: Any = "Log()",
    probabilities: bool = False,
) -> GainPath:
    """`gain_path` of training data that are read."""
    from propriety.boosting.learning import prepare

    model, algorithm = clone(model), algorithm_of(model.algorithm)
    if isinstance(model.max_iter, str) and model.max_iter == "auto":
        model.set_params(max_iter=ROUNDS)  # every gain needs the same number
    given = GAINS if gains is None else [positive("gains", g) for g in gains]
    _check(model, algorithm, given)
    base = [_composite(model)] if losses is None else [algebra.as_composite(c) for c in losses]
    seed = model._new_seed(again=False)
    training, folds = splits_of(cv, training, seed)
    settings = settings_of(model, training, seed)
    loss = fitted_loss(model.stated_loss, model.link, training.n_classes, multiclass=model.multiclass)
    lesson = prepare(training, settings, loss)
    scores = algebra.parse(score) if isinstance(score, str) else score
    if probabilities and training.n_classes > 2:
        raise ValueError(f"probabilities=True needs two classes, and there are {training.n_classes}")
    path = _Path(lesson, model.multiclass, folds, scores)
    values, kept = path.cells(base, given, probabilities)
    held = tuple(training.places[test] for _, test in folds)
    return GainPath(
        tuple(base), np.array(given, np.float64), values, scores, lesson.weights.total, held, kept
    )


def _composite(model: BoostingClassifier) -> algebra.Composite:
    """The loss of the model, of two classes."""
    loss = model.stated_loss
    return algebra.as_composite(
        algebra.Log() if isinstance(loss, str) and loss == "auto" else loss, model.link
    )


def _check(model: Any, algorithm: Algorithm, gains: Sequence[float]) -> None:
    if isinstance(model.max_iter, str) or model.max_iter < 1:
        raise ValueError(f"a path needs a number max_iter of 1 or more, got {model.max_iter!r}")
    if is_asked(model.early_stopping):
        raise ValueError("a path of gains has a fixed number of rounds; leave early_stopping out")
    if list(gains) != [1.0] and (
        algorithm.step not in ("gradient", "sign") or algorithm.coefficient != "fixed"
    ):
        raise ValueError(
            f"an algorithm with step={algorithm.step!r} and coefficient={algorithm.coefficient!r} undoes the "
            "gain, so there is nothing to choose; use algorithm='boostlr', which has step='gradient' and "
            "coefficient='fixed', or tune learning_rate"
        )
    if algorithm.coefficient == "corrective":
        raise ValueError("coefficient='corrective' has no path; use 'fixed', 'line' or 'bregman'")


class _Path:
    """One lesson, its folds, and the means to score any loss and gain on them."""

    def __init__(self, lesson: Lesson, multiclass: str, folds: Any, score: Any) -> None:
        self.lesson, self.multiclass, self.folds, self.score = lesson, multiclass, folds, score
        self.labels = lesson.training.codes
        self.offset = lesson.training.offset

    def cells(
        self, base: Sequence[algebra.Composite], gains: Sequence[float], probabilities: bool
    ) -> tuple[Floats, tuple[Floats, ...] | None]:
        """Mean scores of losses × gains × folds × rounds, and the last probabilities if they are kept."""
        settings, shape = self.lesson.settings, (len(base), len(gains))
        values = np.empty((*shape, len(self.folds), settings.max_iter))
        kept = tuple(np.empty((*shape, len(test))) for _, test in self.folds) if probabilities else None

        for i, j, k in np.ndindex(*values.shape[:3]):
            F = self.staged_scores(base[i], gains[j], k)
            values[i, j, k] = self.means(base[i], gains[j], k, F)
            if kept is not None:
                kept[k][i, j] = base[i].inverse(F[-1] / gains[j])
        return values, kept

    def means(self, base: algebra.Composite, gain: float, fold: int, F: Floats) -> Floats:
        """How good these are, on average, after each round."""
        test = self.folds[fold][1]
        y = self.labels[test]
        if F.ndim == 2:
            values = self._score(np.broadcast_to(y, F.shape), base.link._log_odds(F / gain).t)
        else:
            values = np.array([self._score_classes(y, f) for f in F])
        return self.lesson.weights.take(test).mean(values)

    def _score(self, y: Any, t: Floats) -> Floats:
        if isinstance(self.score, algebra.SmoothLoss):
            composite = self.score.with_link(Logit())
            flat = composite.values(np.ascontiguousarray(y, dtype=np.float64).ravel(), t.ravel(), n_jobs=1)
            return flat.reshape(t.shape)
        p = Logit().inverse(t)
        return np.asarray(self.score.loss(y, p))

    def _score_classes(self, y: Any, P: Floats) -> Floats:
        return algebra.simplex.of(self.score).loss(y, P)

    def _weights(self, train: Any) -> Weights:
        """The weights of all rows, with 0 for those that a fold does not train on."""
        others = np.ones(len(self.labels), dtype=bool)
        others[train] = False
        return self.lesson.weights.without(others)

    def staged_scores(self, base: algebra.Composite, gain: float, fold: int) -> Floats:
        """Scores of the held-out rows after each round; for several classes, their probabilities."""
        from propriety.boosting import curves
        from propriety.boosting.learning import shifted, start_of
        from propriety.boosting.rounds import Booster

        lesson, settings, n_classes = self.lesson, self.lesson.settings, self.lesson.training.n_classes
        train, test = self.folds[fold]
        weights = self._weights(train)
        loss = fitted_loss(base.shrunk(gain), None, n_classes, multiclass=self.multiclass)
        objective = objective_of(loss, self.labels, n_classes)
        start = shifted(start_of(settings, objective, weights, self.offset), self.offset)
        booster = Booster(lesson.binned, lesson.binner, objective, weights, settings, start)
        held = lesson.binned._replace(
            rows=lesson.binned.rows[test], columns=np.ascontiguousarray(lesson.binned.columns[:, test])
        )
        own = start if start.ndim == 1 else start[test]
        scores, kept = np.array(np.broadcast_to(own, (len(test), lesson.n_scores)), dtype=np.float64), []
        for number in range(settings.max_iter):
            items = booster.advance(number)
            ensemble = curves.join(items, lesson.n_scores, lesson.binner)
            ensemble.add_binned_scores(held, scores, settings.n_jobs)
            kept.append(scores[:, 0].copy() if scores.shape[1] == 1 else objective.probabilities(scores))
        return np.array(kept)
