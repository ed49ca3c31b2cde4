"""Boosting itself: a round computes gradients, fits one weak learner per score and adds its values."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import memory, parallel
from propriety.boosting import curves
from propriety.boosting.draws import Draws, draws_of
from propriety.boosting.learners import Learner, Units, learner_of
from propriety.boosting.leaves import Cells
from propriety.boosting.objective import BinaryObjective, Objective, derivatives
from propriety.boosting.reach import Reach
from propriety.boosting.settings import BoostingSettings
from propriety.cached_properties import cached_property
from propriety.data.hashing import mixed
from propriety.losses.fused import Step
from propriety.trees.binned import Binned
from propriety.trees.binning import Binner
from propriety.trees.fixed_point import largest, largest_of, row_weights, weighted_sum
from propriety.trees.gradient_growth import histogram_bytes, n_threads
from propriety.trees.split_score import Penalty
from propriety.weights import Weights

_ROOM = 2**28  # bytes of histograms that learners side by side may have
_CELLS = 2**17  # that are hashed at once
_MOST = np.uint64(2**64 - 1)
Floats = NDArray[np.float64]


class Booster:
    """Scores of the training rows and the means to improve them by one round.

    Parameters
    ----------
    binned, binner : the table in bins
    objective : Objective
    weights : Weights
        Rows of weight 0 take no part; totals are those of all processes over which rows are spread.
    settings : BoostingSettings
    start : ndarray of shape (K,), or (n, K)
        The score before the first round, which rows may have of their own.
    every_row : bool
        Whether the scores of rows of weight 0 are asked for: see `scores_every_row`.
    """

    def __init__(
        self,
        binned: Binned,
        binner: Binner,
        objective: Objective,
        weights: Weights,
        settings: BoostingSettings,
        start: Floats,
        every_row: bool = False,
    ) -> None:
        n, d = binned.rows.shape
        self.binned, self.binner, self.objective, self.settings = binned, binner, objective, settings
        self.weights, self._communicator = weights, weights.communicator
        kept = weights.kept
        self._rows = None if kept is None else memory.kept(np.flatnonzero(kept).astype(np.uint32))
        self._out = None if kept is None else memory.kept(~kept)
        self._row_weights = row_weights(weights)
        self.scores = memory.empty((n, objective.n_scores))
        self.scores[...] = start
        self._G, self._H = memory.empty((objective.n_scores, n)), memory.empty((objective.n_scores, n))
        self._random = settings.draws(d)
        self._every_row = every_row
        crew = self._crew_size()
        hands = settings if crew == 1 else replace(settings, n_jobs=1)
        self._learners = [
            learner_of(
                binned,
                binner,
                self._row_weights,
                hands,
                self._communicator,
                self._rows,
                every_row=every_row,
            )
            for _ in range(crew)
        ]
        self._gradients()
        self._check_gradients()
        self._current = True  # whether the gradients are those of the scores
        self._units = self._measure()
        self._reach = self._how_far()
        self._corrective: Any = None

    def _crew_size(self) -> int:
        """How many learners fit the scores of a round side by side, one thread each; 1: in turns.

        A tree grown by one thread waits for nobody. But all scores of a round must be known to depend on the
        gradients alone, and no thread may be idle for long.
        """
        settings, n_scores = self.settings, self.objective.n_scores
        size = min(n_threads(self.binned, settings.n_jobs, n_scores), n_scores)
        plain = self._is_plain() and not self._random and not settings.algorithm.learner.additive
        even = n_scores % size == 0 or n_scores >= 4 * size
        room = size * histogram_bytes(self.binned, settings.max_leaf_nodes)
        return size if plain and even and self._communicator.size == 1 and room <= _ROOM else 1

    def _is_plain(self) -> bool:
        """Whether the values of a learner depend on the gradients by which it was found alone."""
        settings = self.settings
        adds = settings.algorithm.coefficient == "fixed" and not settings.algorithm.sequential
        return adds and settings.algorithm.step in (settings.algorithm.curvature, "sign")

    @property
    def scores_every_row(self) -> bool:
        """Whether rows of weight 0 have their scores too: where learners are looked up for all rows."""
        settings = self.settings
        adds = settings.algorithm.coefficient == "fixed" and not settings.algorithm.sequential
        learned = self._every_row or not settings.algorithm.learner.grows_trees
        return not adds or settings.subsample < 1.0 or learned

    def share_buffers(self, other: Booster) -> None:
        """Use the buffers of another booster over the same bins; the two must take turns."""
        for learner, its in zip(self._learners, other._learners, strict=False):
            learner.share_buffers(its)

    def resume(self, ensemble: curves.Ensemble) -> None:
        """Go on after the rounds of an ensemble; the units stay those of the start."""
        ensemble.add_binned_scores(self.binned, self.scores, self.settings.n_jobs)
        self._follow(ensemble.split())
        self._current = False

    def _follow(self, items: list[Any]) -> None:
        for t, item in enumerate(items):
            k = t % self.objective.n_scores
            self._learner(k).follow(k, item)

    def _learner(self, k: int) -> Learner:
        """The one that fits score ``k``."""
        return self._learners[k % len(self._learners)]

    def _measure(self) -> Units:
        """Mean curvature and perfect gain of a row."""
        total = self._row_weights.total
        curvature = np.array([self._sum(h) / total for h in self._H])
        square = np.array([self._sum(g, squared=True) / total for g in self._G])
        gain = np.divide(0.5 * square, curvature, out=np.zeros_like(square), where=curvature > 0)
        return Units(curvature, gain)

    def _sum(self, values: Floats, *, squared: bool = False) -> float:
        """Weighted sum over all rows; the values of those that take no part must be 0."""
        jobs = self.settings.n_jobs
        return weighted_sum(values, self._row_weights, jobs, self._communicator, squared=squared)

    def mean(self, values: Floats) -> float:
        """Weighted mean over all rows that take part."""
        values = values if self._out is None else np.where(self._out, 0.0, values)
        return self._sum(values) / self._row_weights.total

    def _gradients(self, add: Step | None = None) -> None:
        """Derivatives at the scores, or at those to which ``add(start, stop)`` adds those of a learner.

        And the scale of each score's fixed point, by which derivatives that are no numbers show as well.
        """
        jobs = self.settings.n_jobs
        if not self._by_blocks:
            self._derive(self.scores, self.settings.algorithm.curvature, self._G, self._H)
            pairs = zip(self._G, self._H, strict=True)
            self._tops = [largest(g, h, jobs, self._communicator) for g, h in pairs]
            return
        g, h, tops = self._G[0], self._H[0], []

        def measure(start: int, stop: int) -> None:
            tops.append(largest_of(g, h, start, stop))

        assert isinstance(self.objective, BinaryObjective)
        if self.objective.derivatives(self.scores, "fisher", self._G, self._H, jobs, add, measure):
            self._tops = [largest(g, h, jobs)]
        else:
            self._tops = [(max(a for a, _ in tops), max(b for _, b in tops))]

    @cached_property
    def _by_blocks(self) -> bool:
        """Whether a round ends, and the next one begins, with one pass over the rows, which are all here."""
        one = isinstance(self.objective, BinaryObjective) and self.settings.algorithm.curvature == "fisher"
        return one and self._out is None and self._communicator.size == 1

    def _check_gradients(self) -> None:
        if not all(isfinite(a) and isfinite(b) for a, b in self._tops):
            raise ValueError(
                "the loss has infinite or undefined derivatives at the current scores; try a smaller "
                "learning_rate, a larger l2_regularization or another link"
            )

    def _derive(self, scores: Floats, step: str, G: Floats, H: Floats) -> None:
        """Derivatives; those of rows of weight 0 must not even set the scale of the quantized gradients."""
        derivatives(self.objective, scores, step, G, H, self.settings.n_jobs, self._communicator)
        if self._out is not None:
            np.copyto(G, 0.0, where=self._out)
            np.copyto(H, 0.0, where=self._out)

    def advance(self, number: int) -> list[Any]:
        """Fit round ``number`` and return its weak learners, one per score."""
        if not self._current:
            self._gradients()
        self._check_gradients()
        self._current = False
        draws = self._draws(number) if self._random else None
        rows = self._sample(draws)
        if self.settings.algorithm.coefficient == "fixed" and not self.settings.algorithm.sequential:
            items = self._advance_all(draws, rows)
        else:
            items = self._choose(draws, rows)
        self._follow(items)
        return items

    def _draws(self, number: int) -> Draws:
        settings, d = self.settings, len(self.binned.n_bins)
        trees = settings.algorithm.learner.grows_trees
        count = d if trees else settings.split_features
        rows = settings.subsample < 1.0
        return draws_of(settings.seed, number, self.objective.n_scores, d, count, rows, trees)

    def _advance_all(self, draws: Draws | None, rows: Any) -> list[Any]:
        """Fit every score, each learner its own ones."""
        size = len(self._learners)
        if size == 1:
            return [self._advance(k, draws, rows) for k in range(self.objective.n_scores)]
        items: list[Any] = [None] * self.objective.n_scores

        def advance(first: int) -> None:
            for k in range(first, len(items), size):
                items[k] = self._advance(k, draws, rows)

        parallel.run([partial(advance, first) for first in range(size)], size)
        return items

    def _advance(self, k: int, draws: Draws | None, rows: Any) -> Any:
        """Fit score ``k`` and add the learner as it is."""
        learner = self._learner(k)
        cells = learner.fit(k, self._G[k], self._H[k], self._tops[k], draws, rows, self._units)
        values = self.settings.learning_rate * self._values(cells, k)
        item = learner.finish(cells, values)
        if self._by_blocks:
            self._gradients(cells.adding(values, self.scores[:, k]))
            self._current = True
        else:
            cells.add(values, self.scores[:, k])
        return item

    def _choose(self, draws: Draws | None, rows: Any) -> list[Any]:
        """Fit every score; with ``sequential``, only the learner of largest edge is kept. [C §8]"""
        candidates = []
        for k in range(self.objective.n_scores):
            learner = self._learner(k)
            cells = learner.fit(k, self._G[k], self._H[k], self._tops[k], draws, rows, self._units)
            item = learner.finish(cells, self._values(cells, k))
            h = np.zeros((len(self.scores), 1))
            curves.join([item], 1, self.binner).add_binned_scores(self.binned, h, self.settings.n_jobs)
            candidates.append((-self._sum(self._G[k] * h[:, 0]), item, h[:, 0]))
        if self.settings.algorithm.sequential:
            edges = np.abs([edge for edge, _, _ in candidates])
            moved = {int(np.argmax(edges >= edges.max() * (1 - 1e-9)))}
        else:
            moved = set(range(len(candidates)))
        return [
            self._with_coefficient(k, edge, item, h) if k in moved else curves.nothing(item)
            for k, (edge, item, h) in enumerate(candidates)
        ]

    def _with_coefficient(self, k: int, edge: float, item: Any, h: Floats) -> Any:
        from propriety.boosting import coefficients

        settings, span = self.settings, self._span
        losses = coefficients.Losses(
            self.objective, self._row_weights, self._out, settings.n_jobs, self._communicator
        )
        if settings.algorithm.coefficient == "corrective":
            if self._corrective is None:
                self._corrective = coefficients.Corrective(losses, self.scores.copy(), span)
            self.scores[:] = self._corrective.add(h)
            return item
        if settings.algorithm.coefficient == "line":
            delta = coefficients.line(losses, self.scores, k, h, span)
        elif settings.algorithm.coefficient == "bregman":
            total = coefficients.total_weight(self.objective, losses, self.scores)
            delta = coefficients.bregman(edge, total, span)
        else:
            delta = 1.0
        delta = self._shortened(delta, k, h) * settings.learning_rate
        self.scores[:, k] += delta * h
        return curves.scaled(item, delta)

    def finished(self, items: list[Any]) -> list[Any]:
        """The learners with their coefficients; those of a totally corrective fit change every round."""
        if self._corrective is None:
            return items
        # An interrupt may have come between a coefficient and its learner.
        pairs = zip(items, self._corrective.coefficients[: len(items)], strict=True)
        return [curves.scaled(item, float(c)) for item, c in pairs]

    def _sample(self, draws: Draws | None) -> NDArray[np.uint32] | None:
        if draws is None or self.settings.subsample >= 1.0:
            return self._rows
        n = len(self.binned.rows)
        rows = self._rows if self._rows is not None else np.arange(n, dtype=np.uint32)
        # A row's number belongs to what it holds: copies are drawn together, whatever their order.
        numbers = mixed(self._bin_hashes[rows] + draws.salt)
        chosen = rows[numbers < np.uint64(self.settings.subsample * 2.0**64)]
        if self._communicator.sum(np.array([len(chosen)]))[0]:
            return chosen
        lowest = min(self._communicator.gather(int(numbers.min(initial=_MOST))))
        return rows[numbers == np.uint64(lowest)]

    def _values(self, cells: Cells, k: int) -> Floats:
        """Values of the cells: the part of the step that counts, within reach.

        Splits are found without the bound: gains that know it were measured, and are no better.
        """
        values, reach = self._steps(cells, k), self._reach
        if cells.share != 1.0:
            values = cells.share * values
        if self.settings.algorithm.coefficient != "fixed" and self.settings.algorithm.step in (
            "gradient",
            "sign",
        ):
            return values  # these are at most 1, and what they are multiplied by is bounded
        if reach.constant is not None:
            return values.clip(-reach.constant, reach.constant)
        down, up = reach.within(*cells.ranges(self.scores[:, k], self._rows))
        if self.settings.monotone[k].any():
            down, up = down.min(), up.min()  # bounds of their own could put two leaves out of order
        return values.clip(-down, up)

    def _steps(self, cells: Cells, k: int) -> Floats:
        """The way that each cell goes by the step."""
        settings, g, h = self.settings, self._G[k], self._H[k]
        penalty = settings.penalty(float(self._units.curvature[k]))
        if settings.algorithm.step == "exact":
            return self._exact(cells, k, penalty)
        tops = self._tops[k]
        if settings.algorithm.step not in (settings.algorithm.curvature, "sign"):
            # The learner was found by another curvature than the one its values are taken from.
            G, H = np.empty_like(self._G), np.empty_like(self._H)
            self._derive(self.scores, settings.algorithm.step, G, H)
            g, h = G[k], H[k]
            tops = largest(g, h, settings.n_jobs, self._communicator)
        values = cells.step(g, h, tops, penalty)
        return np.sign(values) if settings.algorithm.step == "sign" else values

    def _exact(self, cells: Cells, k: int, penalty: Penalty) -> Floats:
        trial, G, H = self.scores.copy(), np.empty_like(self._G), np.empty_like(self._H)

        def after(values: Floats) -> tuple[Any, Any]:
            trial[:, k] = self.scores[:, k]
            cells.add(values, trial[:, k])
            self._derive(trial, "fisher", G, H)
            return G[k], H[k]

        return cells.line_search(after, self._G[k], self._H[k], penalty, self._span)

    def _how_far(self) -> Reach:
        """How far a round may move a score."""
        if self.settings.max_step is not None:
            return self.objective.reach(self.settings.max_step)
        # Where the curvature all but vanishes, a step is not longer than twice the way from end to end.
        return Reach.of_size(
            2.0 * self._span if self.settings.algorithm.step in ("fisher", "newton") else np.inf
        )

    def _shortened(self, delta: float, k: int, h: Floats) -> float:
        """The coefficient, or as much of it as no row's reach forbids."""
        if self.settings.max_step is None:
            return delta
        down, up = self._reach.at(self.scores[:, k])
        share = delta * h / np.where(delta * h > 0, up, -down)
        if self._out is not None:
            share[self._out] = 0.0
        (excess,) = self._communicator.max((float(share.max(initial=1.0)),))
        return delta / excess

    @cached_property
    def _bin_hashes(self) -> NDArray[np.uint64]:
        """A hash of the bins of each row."""
        rows, d = self.binned.rows, len(self.binned.n_bins)
        places, size = np.arange(d, dtype=np.uint64) * np.uint64(2**32), max(1, _CELLS // d)
        parts = [mixed(rows[i : i + size] + places).sum(axis=1) for i in range(0, len(rows), size)]
        return memory.kept(np.concatenate(parts))

    @cached_property
    def _span(self) -> float:
        """Scores no further apart than the probabilities ½/(n + 1) and 1 − ½/(n + 1)."""
        return self.objective.span(0.5 / (self._row_weights.total + 1.0))
