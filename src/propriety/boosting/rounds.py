"""Boosting itself: a round computes gradients, grows one tree per score and adds its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.boosting.leaves import Leaves
from propriety.boosting.objective import Objective, derivatives
from propriety.engine.binning import Binner
from propriety.engine.grower import Grower
from propriety.engine.layout import Binned, Rules
from propriety.engine.predictor import Forest, Tree, finish_tree
from propriety.engine.quantize import Quantizer

_NO_LIMIT = 2**30
_SET_SMOOTHING = 10.0  # average rows added to each category when categories are put in order


@dataclass(frozen=True)
class Settings:
    """The parameters of a fit, checked and resolved."""

    step: str
    learning_rate: float
    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: float
    min_weight_leaf: float
    l2_regularization: float
    min_gain: float
    subsample: float
    tree_features: int
    split_features: int
    monotone: NDArray[np.int8]
    groups: NDArray[np.uint8]
    seed: int
    n_jobs: int


class Booster:
    """Scores of the training rows and the means to improve them by one round.

    Parameters
    ----------
    binned, binner : the table in bins
    objective : Objective
    weight : ndarray or None
        Row weights; rows of weight 0 take no part.
    settings : Settings
    start : ndarray of shape (K,)
        The score before the first tree.
    """

    def __init__(
        self,
        binned: Binned,
        binner: Binner,
        objective: Objective,
        weight: Any,
        settings: Settings,
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
        self._quantizer = Quantizer(n, self.weight)
        self._grower = Grower(binned, settings.max_leaf_nodes, len(settings.groups), settings.n_jobs)
        d = binned.rows.shape[1]
        self._random = settings.subsample < 1.0 or min(settings.tree_features, settings.split_features) < d
        self._fixed_rules: dict[int, Rules] = {}
        self._measure()

    def _measure(self) -> None:
        """The loss's own units at the start: mean curvature, and what a perfect first step would gain a row.

        Regularizers are multiples of these, so that they mean the same for every loss.
        """
        self._gradients()
        self.curvature = np.array([np.average(h, weights=self.weight) for h in self._H])
        square = np.array([np.average(g * g, weights=self.weight) for g in self._G])
        self.gain = np.divide(
            0.5 * square, self.curvature, out=np.zeros_like(square), where=self.curvature > 0
        )

    def _gradients(self) -> None:
        derivatives(self.objective, self.scores, self.settings.step, self._G, self._H, self.settings.n_jobs)
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

    def advance(self, number: int) -> list[Tree]:
        """Fit round ``number`` and return its trees, one per score."""
        settings = self.settings
        self._gradients()
        rng = np.random.default_rng([settings.seed, number]) if self._random else None
        rows = self._sample(rng)
        trees = []
        for k in range(self.objective.n_scores):
            g, h = self._G[k], self._H[k]
            signal = self._quantizer(g, h, settings.n_jobs)
            rules = self._rules(k, rng, signal.weight_unit)
            nodes = self._grower.grow(signal, rules, rows)
            leaves = Leaves(
                nodes,
                self._grower.work.rows,
                self.weight,
                self._quantizer.copies,
                self.total,
                settings.n_jobs,
            )
            found = settings.learning_rate * self._values(leaves, k, g, h)
            sets, unit = self._grower.work.sets, signal.weight_unit
            tree = finish_tree(nodes, sets, self.binner, leaves.ids, found, unit)
            trees.append(tree)
            if settings.subsample < 1.0:
                Forest.join([tree], 1).add_binned_scores(
                    self.binned, self.scores[:, k : k + 1], settings.n_jobs
                )
            else:
                leaves.add(found, self.scores[:, k])
        return trees

    def _sample(self, rng: np.random.Generator | None) -> NDArray[np.uint32] | None:
        if rng is None or self.settings.subsample >= 1.0:
            return self._rows
        n = len(self.binned.rows)
        rows = self._rows if self._rows is not None else np.arange(n, dtype=np.uint32)
        chosen = rows[rng.random(len(rows)) < self.settings.subsample]
        return chosen if len(chosen) else rows[rng.integers(len(rows), size=1)]

    def _rules(self, k: int, rng: np.random.Generator | None, weight_unit: float) -> Rules:
        """The rules of a tree; they stay the same when nothing is drawn at random."""
        if rng is None and k in self._fixed_rules:
            return self._fixed_rules[k]
        settings, unit = self.settings, float(self.curvature[k])
        d = self.binned.rows.shape[1]
        features = np.ones(d, dtype=np.uint8)
        if rng is not None and settings.tree_features < d:
            features[:] = 0
            features[rng.permutation(d)[: settings.tree_features]] = 1
        monotone = settings.monotone[k]
        rules = Rules(
            max_leaves=settings.max_leaf_nodes,
            max_depth=_NO_LIMIT if settings.max_depth is None else settings.max_depth,
            min_weight=int(np.ceil(settings.min_samples_leaf / weight_unit * (1 - 1e-12))),
            min_curvature=settings.min_weight_leaf * unit,
            min_gain=settings.min_gain * float(self.gain[k]),
            l2=settings.l2_regularization * unit,
            set_smoothing=_SET_SMOOTHING * unit,
            monotone=monotone,
            any_monotone=bool(monotone.any()),
            groups=settings.groups,
            features=features,
            split_features=settings.split_features,
            seed=np.uint64(0 if rng is None else rng.integers(2**63)),
        )
        if rng is None:
            self._fixed_rules[k] = rules
        return rules

    def _values(self, leaves: Leaves, k: int, g: Any, h: Any) -> NDArray[np.float64]:
        l2 = self.settings.l2_regularization * float(self.curvature[k])
        if self.settings.step != "exact":
            return leaves.step(g, h, self._quantizer.tops, l2)
        trial, G, H = self.scores.copy(), np.empty_like(self._G), np.empty_like(self._H)

        def after(values: NDArray[np.float64]) -> tuple[Any, Any]:
            trial[:, k] = self.scores[:, k]
            leaves.add(values, trial[:, k])
            derivatives(self.objective, trial, "fisher", G, H, self.settings.n_jobs)
            self._leave_out(G, H)
            return G[k], H[k]

        return leaves.line_search(after, g, h, l2, self.objective.span(0.5 / (self.total + 1.0)))
