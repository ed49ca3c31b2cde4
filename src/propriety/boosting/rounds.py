"""Boosting itself: a round computes gradients, fits one weak learner per score and adds its values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.boosting import curves
from propriety.boosting.learners import Units, learner_of
from propriety.boosting.leaves import Cells
from propriety.boosting.objective import Objective, derivatives
from propriety.boosting.settings import BoostingSettings
from propriety.engine.binning import Binner
from propriety.engine.layout import Binned

Floats = NDArray[np.float64]


class Booster:
    """Scores of the training rows and the means to improve them by one round.

    Parameters
    ----------
    binned, binner : the table in bins
    objective : Objective
    weight : ndarray or None
        Row weights; rows of weight 0 take no part.
    settings : BoostingSettings
    start : ndarray of shape (K,)
        The score before the first round.
    """

    def __init__(
        self,
        binned: Binned,
        binner: Binner,
        objective: Objective,
        weight: Any,
        settings: BoostingSettings,
        start: Any,
    ) -> None:
        n = len(binned.rows)
        self.binned, self.binner, self.objective, self.settings = binned, binner, objective, settings
        kept = None if weight is None else weight > 0
        self._rows = None if kept is None or kept.all() else np.flatnonzero(kept).astype(np.uint32)
        self._out = None if self._rows is None else ~kept
        # Equal weights of one are no weights, so that the faster path is taken.
        self.weight = None if weight is None or (self._rows is None and np.all(weight == 1.0)) else weight
        self.total = float(n if self.weight is None else self.weight.sum())
        self.scores = np.tile(start, (n, 1)).astype(np.float64)
        self._G, self._H = np.empty((objective.n_scores, n)), np.empty((objective.n_scores, n))
        self._learner = learner_of(binned, binner, self.weight, self.total, settings)
        d = binned.rows.shape[1]
        self._random = settings.subsample < 1.0 or min(settings.tree_features, settings.split_features) < d
        self._units = self._measure()
        self._corrective: Any = None

    def _measure(self) -> Units:
        self._gradients()
        curvature = np.array([self._mean(h) for h in self._H])
        square = np.array([self._mean(g, g) for g in self._G])
        gain = np.divide(0.5 * square, curvature, out=np.zeros_like(square), where=curvature > 0)
        return Units(curvature, gain)

    def _mean(self, *factors: Floats) -> float:
        """Weighted mean of the product of some columns, without an array for it."""
        factors = factors if self.weight is None else (*factors, self.weight)
        return float(np.einsum(",".join("i" * len(factors)) + "->", *factors)) / self.total

    def _gradients(self) -> None:
        settings = self.settings
        derivatives(self.objective, self.scores, settings.criterion, self._G, self._H, settings.n_jobs)
        if not np.isfinite(self._G.sum() + self._H.sum()):
            raise ValueError(
                "the loss has infinite or undefined derivatives at the current scores; try a smaller "
                "learning_rate, a larger l2_regularization or another link"
            )
        self._leave_out(self._G, self._H)

    def _leave_out(self, G: Any, H: Any) -> None:
        """Rows of weight 0 must not even set the scale of the quantized gradients."""
        if self._out is not None:
            G[:, self._out] = 0.0
            H[:, self._out] = 0.0

    def advance(self, number: int) -> list[Any]:
        """Fit round ``number`` and return its weak learners, one per score."""
        self._gradients()
        rng = np.random.default_rng([self.settings.seed, number]) if self._random else None
        rows = self._sample(rng)
        if self.settings.coefficient == "fixed" and not self.settings.sequential:
            return [self._advance(k, rng, rows) for k in range(self.objective.n_scores)]
        return self._choose(rng, rows)

    def _advance(self, k: int, rng: np.random.Generator | None, rows: Any) -> Any:
        """Fit score ``k`` and add the learner as it is."""
        cells = self._learner.fit(k, self._G[k], self._H[k], rng, rows, self._units)
        values = self.settings.learning_rate * self._values(cells, k)
        item = self._learner.finish(cells, values)
        if self.settings.subsample < 1.0 and not cells.complete:
            ensemble = curves.join([item], 1, self.binner)
            ensemble.add_binned_scores(self.binned, self.scores[:, k : k + 1], self.settings.n_jobs)
        else:
            cells.add(values, self.scores[:, k])
        return item

    def _choose(self, rng: np.random.Generator | None, rows: Any) -> list[Any]:
        """Fit every score; with ``sequential``, only the learner of largest edge is kept. [C §8]"""
        found = []
        for k in range(self.objective.n_scores):
            cells = self._learner.fit(k, self._G[k], self._H[k], rng, rows, self._units)
            item = self._learner.finish(cells, self._values(cells, k))
            h = np.zeros((len(self.scores), 1))
            curves.join([item], 1, self.binner).add_binned_scores(self.binned, h, self.settings.n_jobs)
            gh = self._G[k] * h[:, 0]
            found.append((-float((gh if self.weight is None else gh * self.weight).sum()), item, h[:, 0]))
        if self.settings.sequential:
            edges = np.abs([edge for edge, _, _ in found])
            moved = {int(np.argmax(edges >= edges.max() * (1 - 1e-9)))}
        else:
            moved = set(range(len(found)))
        return [
            self._with_coefficient(k, *found[k]) if k in moved else curves.nothing(found[k][1])
            for k in range(len(found))
        ]

    def _with_coefficient(self, k: int, edge: float, item: Any, h: Floats) -> Any:
        from propriety.boosting import coefficients

        settings, span = self.settings, self.objective.span(0.5 / (self.total + 1.0))
        losses = coefficients.Losses(self.objective, self.weight, self._out, settings.n_jobs)
        if settings.coefficient == "corrective":
            if self._corrective is None:
                self._corrective = coefficients.Corrective(losses, self.scores.copy(), span)
            self.scores[:] = self._corrective.add(h)
            return item
        if settings.coefficient == "line":
            delta = coefficients.line(losses, self.scores, k, h, span)
        elif settings.coefficient == "bregman":
            total = coefficients.total_weight(self.objective, losses, self.scores)
            delta = coefficients.bregman(edge, total, span)
        else:
            delta = 1.0
        delta *= settings.learning_rate
        self.scores[:, k] += delta * h
        return curves.scaled(item, delta)

    def finished(self, items: list[Any]) -> list[Any]:
        """The learners with their coefficients; those of a totally corrective fit change every round."""
        if self._corrective is None:
            return items
        pairs = zip(items, self._corrective.coefficients, strict=True)
        return [curves.scaled(item, float(c)) for item, c in pairs]

    def _sample(self, rng: np.random.Generator | None) -> NDArray[np.uint32] | None:
        if rng is None or self.settings.subsample >= 1.0:
            return self._rows
        n = len(self.binned.rows)
        rows = self._rows if self._rows is not None else np.arange(n, dtype=np.uint32)
        chosen = rows[rng.random(len(rows)) < self.settings.subsample]
        return chosen if len(chosen) else rows[rng.integers(len(rows), size=1)]

    def _values(self, cells: Cells, k: int) -> Floats:
        """Values of the cells, by the step."""
        settings, g, h = self.settings, self._G[k], self._H[k]
        l2 = settings.l2_regularization * float(self._units.curvature[k])
        if settings.step == "exact":
            return self._exact(cells, k, l2)
        if settings.step in (settings.criterion, "sign"):
            values = cells.step(g, h, self._learner.tops, l2)
            return np.sign(values) if settings.step == "sign" else values
        # The learner was found by another curvature than the one its values are taken from.
        G, H = np.empty_like(self._G), np.empty_like(self._H)
        derivatives(self.objective, self.scores, settings.step, G, H, settings.n_jobs)
        self._leave_out(G, H)
        return cells.step(G[k], H[k], (self._learner.tops[0], float(H[k].max())), l2)

    def _exact(self, cells: Cells, k: int, l2: float) -> Floats:
        trial, G, H = self.scores.copy(), np.empty_like(self._G), np.empty_like(self._H)

        def after(values: Floats) -> tuple[Any, Any]:
            trial[:, k] = self.scores[:, k]
            cells.add(values, trial[:, k])
            derivatives(self.objective, trial, "fisher", G, H, self.settings.n_jobs)
            self._leave_out(G, H)
            return G[k], H[k]

        span = self.objective.span(0.5 / (self.total + 1.0))
        return cells.line_search(after, self._G[k], self._H[k], l2, span)
