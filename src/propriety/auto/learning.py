"""From training data to a weighed and judged stack: members in the order of their price, one set of folds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety.auto.judgement import Judgement, Standing, judgement, standing
from propriety.auto.members import MEMBERS, READABLE, Fitted, Member, Task, fit_shrunken
from propriety.auto.settings import AutoSettings
from propriety.auto.stacking import Stack, cross_fitted, fit_stack, on_scale
from propriety.data.folds import fold_numbers, in_mixed_cells, row_hashes, with_folds
from propriety.data.training import Training
from propriety.evaluation.judging import JudgedRows
from propriety.progress import part
from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.losses import Composite
    from propriety.losses.simplex import SimplexLoss

Floats = NDArray[np.float64]
#: Rows of a first trial that tells how long a member will take, and of a second one, a share of all.
_FEW, _SHARE = 500, 0.1
#: The part of the time that is left that a second trial may take.
_TRIAL = 0.1
#: Share of rows that may be copies of others without a notice.
_COPIED = 0.05


@dataclass(frozen=True, eq=False)
class Learned:
    """What a fit has found."""

    members: tuple[Member, ...]
    stack: Stack
    judgement: Judgement


def learn(
    training: Training,
    settings: AutoSettings,
    loss: Composite | SimplexLoss,
    judging: Weights | None = None,
    shared: dict[str, Fitted] | None = None,
) -> Learned:
    """Fit the members as far as the time allows, weigh them, and judge the whole.

    `judging` are the weights by which decisions are counted, if rows are learned from by what is at stake;
    `shared` are members that fits to the same rows with other losses have made, and takes what this one does.
    """
    began = time.perf_counter()
    if judging is None:
        training, folds = with_folds(training, settings.n_folds, seed=settings.seed)
        judging = training.weights
    else:
        folds = fold_numbers(training, settings.n_folds, seed=settings.seed)
    groups = training.groups
    rows = np.flatnonzero(folds >= 0)
    if len(np.unique(training.codes[rows])) < 2 or len(np.unique(folds[rows])) < 2:
        return _without_folds(training, settings)
    judged = JudgedRows(
        training.codes[rows],
        training.classes.tolist(),
        training.costs.take(rows),
        judging.take(rows),
        None if groups is None else groups[rows],
    )
    task = Task(
        training,
        folds,
        groups is not None or _has_copies(training) or _merged(training),
        settings.n_estimators,
        settings.seed,
        settings.n_jobs,
        None if settings.time_budget is None else began + settings.time_budget,
    )
    ladder = Ladder(task, judged, loss, rows, settings, began, {} if shared is None else shared)
    ladder.climb(settings.members)
    return ladder.readable() if settings.interpretable else ladder.stacked()


@dataclass(eq=False)
class Ladder:
    """The members that are there so far, and the clock."""

    task: Task
    judged: JudgedRows
    loss: Any
    rows: NDArray[np.intp]
    settings: AutoSettings
    began: float
    shared: dict[str, Fitted] = field(default_factory=dict)
    fitted: dict[str, tuple[Fitted, float]] = field(default_factory=dict)
    last: float = 0.0  # seconds that the last member took
    weighing: float = 0.0  # seconds that each member costs when they are weighed
    left_out: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Since the fit began."""
        return time.perf_counter() - self.began

    def climb(self, names: tuple[str, ...]) -> None:
        """Fit one member after the other, the cheapest first, while there is time."""
        prices = self._prices([name for name in names if name not in self.fitted])
        for k, name in enumerate(sorted(prices, key=lambda name: prices[name] or 0.0)):
            if not self._affords(name, prices[name]):
                continue
            started = self.seconds
            if name not in self.shared:
                with part(name, k, len(names)):
                    self.shared[name] = MEMBERS[name](self.task)
            fitted = self.shared[name]
            self.fitted[name], self.last = (fitted, self.seconds), self.seconds - started
            if self.settings.verbose:
                alone = standing(self.judged, name, fitted.P[self.rows])
                cost = f"1,000 decisions cost {alone.cost.value:.4g}"
                print(f"{name}: {cost}, log loss {alone.log_loss:.4g}, {self._clock(names)}", flush=True)

    def _clock(self, names: tuple[str, ...]) -> str:
        """How long it took, how much is done, and the time that is left of a budget."""
        budget = self.settings.time_budget
        left = "" if budget is None else f", {max(budget - self.seconds, 0.0):.1f} s left"
        return f"{self.seconds:.1f} s, {len(self.fitted)} of {len(names)} members{left}"

    def _prices(self, names: list[str]) -> dict[str, float | None]:
        """Seconds that each member will take; None where nobody asks, or where rows are too few for a trial.

        What is dear depends on rows, columns and classes, so that each member is tried.
        """
        few = self.task.some(_FEW)
        if self.settings.time_budget is None or 2 * few.training.n_rows > self.task.training.n_rows:
            return dict.fromkeys(names)
        return {name: 0.0 if name in self.shared else self._price(name, few) for name in names}

    def _price(self, name: str, few: Task) -> float:
        """Seconds that a member will take, by a trial on few rows, and by one on more if that is cheap."""
        n, n_few = self.task.training.n_rows, few.training.n_rows
        fitted, took = _timed(lambda: MEMBERS[name](few))
        if self.weighing == 0.0:
            self.weighing = self._time_of_weighing(few, fitted) * n / n_few
        more = self.task.some(int(_SHARE * n))
        n_more = more.training.n_rows
        if 2 * n_few > n_more or took * n_more / n_few > _TRIAL * self._left:
            return took * n / n_few
        return _timed(lambda: MEMBERS[name](more))[1] * n / n_more

    def _time_of_weighing(self, few: Task, fitted: Fitted) -> float:
        """Seconds that weighing and judging one member takes."""
        held = np.flatnonzero(few.folds >= 0)
        scores, codes = on_scale(fitted.P[held], self.loss)[None], few.training.codes[held]
        weights = few.training.weights.take(held)
        return (2 + self.settings.n_folds) * _timed(
            lambda: fit_stack(scores, codes, weights, self.loss, self.settings.n_jobs)
        )[1]

    @property
    def _left(self) -> float:
        """Seconds that are left to fit members, when all that are there and one more are to be weighed."""
        budget = self.settings.time_budget
        return np.inf if budget is None else budget - self.seconds - self.weighing * (len(self.fitted) + 1)

    def _affords(self, name: str, price: float | None) -> bool:
        """Whether the time that is left will do; the first member is always there."""
        # So few rows that a trial says nothing take about as long as the last member did.
        needs = self.last if price is None else price
        if not self.fitted or name in self.shared or needs <= self._left:
            return True
        self.left_out.append(f"{name}, about {needs:.0f} s more" if needs >= 1 else name)
        return False

    def stacked(self) -> Learned:
        """All members together."""
        scores = self._scores(list(self.fitted))
        stack = fit_stack(scores, self.judged.y, self._weights, self.loss, self.settings.n_jobs)
        parts = {
            name: (fitted.P[self.rows], float(weight), seconds, adds)
            for (name, (fitted, seconds)), weight, adds in zip(
                self.fitted.items(), stack.weights, self._additions(scores, stack), strict=True
            )
        }
        judged = judgement(
            self.judged,
            parts,
            self._honest(scores),
            self.seconds,
            tuple(self.left_out),
            ladder=self._steps(scores),
        )
        members = tuple(fitted.member for fitted, _ in self.fitted.values())
        return Learned(members, stack, judged)

    def _additions(self, scores: Floats, stack: Stack) -> list[float]:
        """By how much the log loss is higher without each member, whose place the others then take."""
        if len(scores) == 1:
            return [np.nan]
        whole, losses = self.judged.log_loss(self._inverse(stack(scores))), []
        for k in range(len(scores)):
            others = np.delete(scores, k, axis=0)
            fitted = fit_stack(others, self.judged.y, self._weights, self.loss, self.settings.n_jobs)
            losses.append(self.judged.log_loss(self._inverse(fitted(others))) - whole)
        return losses

    def _inverse(self, F: Floats) -> Floats:
        """Probabilities of scores of the stack."""
        if F.shape[1] > 1:
            return np.asarray(self.loss.inverse(F))
        p = np.asarray(self.loss.inverse(F[:, 0]))
        return np.column_stack([1 - p, p])

    def _steps(self, scores: Floats) -> tuple[Standing, ...]:
        """What the first member, the first two together, and so on are worth; all together are not in it."""
        names, steps = list(self.fitted), []
        for count in range(1, len(names)):
            fitted, seconds = self.fitted[names[count - 1]]
            # One member needs no weights.
            P = fitted.P[self.rows] if count == 1 else self._honest(scores[:count])
            steps.append(standing(self.judged, " + ".join(names[:count]), P, seconds=seconds))
        return tuple(steps)

    def readable(self) -> Learned:
        """The best model that can be read, and what that costs."""
        whole = self._honest(self._scores(list(self.fitted)))
        self.climb(READABLE)
        if not any(name in self.fitted for name in READABLE):
            self.fitted[READABLE[0]] = MEMBERS[READABLE[0]](self.task), self.seconds
        names = [name for name in READABLE if name in self.fitted]
        best = min(names, key=lambda name: self.judged.log_loss(self.fitted[name][0].P[self.rows]))
        scores = self._scores([best])
        stack = fit_stack(scores, self.judged.y, self._weights, self.loss, self.settings.n_jobs)
        fitted, seconds = self.fitted[best]
        alone = {best: (fitted.P[self.rows], float(stack.weights[0]), seconds, np.nan)}
        honest = self._honest(scores)
        judged = judgement(self.judged, alone, whole, self.seconds, tuple(self.left_out), honest)
        return Learned((fitted.member,), stack, judged)

    @property
    def _weights(self) -> Weights:
        """Those that members are fitted and weighed by."""
        return self.task.training.weights.take(self.rows)

    def _scores(self, names: list[str]) -> Floats:
        return np.stack([on_scale(self.fitted[name][0].P[self.rows], self.loss) for name in names])

    def _honest(self, scores: Floats) -> Floats:
        """Probabilities by weights to which each row has not contributed."""
        folds = self.task.folds[self.rows]
        F = cross_fitted(scores, self.judged.y, self._weights, self.loss, folds, self.settings.n_jobs)
        return self._inverse(F)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and the seconds that it took."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def _without_folds(training: Training, settings: AutoSettings) -> Learned:
    """A linear model that nobody judges, where no rows of two classes can be held out."""
    member = fit_shrunken(training, settings.n_jobs)
    intercept = np.zeros(1 if training.n_classes == 2 else training.n_classes)
    return Learned((member,), Stack(np.ones(1), intercept), Judgement.none(member.name))


def _has_copies(training: Training) -> bool:
    """Whether more than a few rows may be copies of others: the same values, and never another class."""
    weights = training.weights
    rows = np.flatnonzero(weights.array > 0)
    hashes = row_hashes(training, rows)
    pure = ~in_mixed_cells(hashes, training.codes[rows])
    # A row of weight k is k of them.
    size = weights.array[rows] if weights.copies else np.ones(len(rows))
    _, place = np.unique(hashes, return_inverse=True)
    copied = pure & (np.bincount(place, weights=size)[place] > 1)
    return bool(size[copied].sum() > _COPIED * size.sum())


def _merged(training: Training) -> bool:
    """Whether a column has so many categories that bins merge them, by the labels of all rows."""
    from propriety.trees.binned import BINS

    return max(training.schema.n_categories) > BINS - 1
