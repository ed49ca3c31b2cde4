"""From training data and settings to a forest: bins and an order of rows for all, then tree after tree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from propriety import parallel
from propriety.data.training import Training
from propriety.forest.settings import ForestSettings
from propriety.forest.votes import GrownForest

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Learned:
    """A forest, with what it says of its training rows out of bag if that was asked for."""

    grown: GrownForest
    out_of_bag: Floats | None
    loss: float | None


def learn(training: Training, settings: ForestSettings) -> Learned:
    """Grow a forest."""
    from propriety.engine.binning import Binner
    from propriety.forest.sample import ordered_sample

    schema, jobs = training.schema, settings.n_jobs
    binner = Binner.fit(
        training.table, training.weights, training.target, schema.n_categories, settings.max_bins, jobs
    )
    ordered = ordered_sample(training, binner, binner.transform(training.table, jobs).columns)
    base_rates = training.class_weights / training.weights.total
    growth = _Growth(ordered, settings, base_rates, training.weights.overdispersion)
    grown = growth.grow(binner)
    if not settings.out_of_bag:
        return Learned(grown, None, None)
    votes, voters = growth.votes()
    probabilities = grown.smoothed(votes, voters[:, None])[ordered.places]
    outside = np.flatnonzero(ordered.places < 0)  # rows without weight are in no bag
    if len(outside):
        probabilities[outside] = grown.probabilities(training.table, jobs)[outside]
    loss = training.weights.mean(settings.measure.loss(training.codes, probabilities))
    return Learned(grown, probabilities, float(loss))


class _Growth:
    """The trees of a forest; each thread has its own room, and no tree knows of another."""

    def __init__(
        self, ordered: Any, settings: ForestSettings, base_rates: Floats, overdispersion: float
    ) -> None:
        from propriety.forest.entropy import entropy_table
        from propriety.forest.layout import Rules

        self.ordered, self.settings, self.base_rates = ordered, settings, base_rates
        self.sample, self.n_classes = ordered.sample, len(base_rates)
        d, n = self.sample.codes.shape
        self.rules = Rules(
            n_classes=self.n_classes,
            max_leaves=settings.max_leaves or 0,
            max_depth=min(settings.max_depth or n, n),
            least=max(1, math.ceil(settings.min_weight / self.sample.unit)),
            split_features=settings.split_features(d),
            random_cuts=settings.random_cuts,
            bootstrap=settings.bootstrap,
            poisson=_poisson(),
            # Drawing the rows varies their number as much as their classes do.
            dispersion=overdispersion * (2.0 if settings.bootstrap else 1.0),
        )
        self.table = entropy_table(settings.measure, self.n_classes)
        leaves = min(n, settings.max_leaves or n, 2 ** min(self.rules.max_depth, 40))
        self.max_nodes = 2 * leaves - 1
        self.rooms: list[Any] = []
        self.idle: list[Any] = []
        self.trees: list[Any] = [None] * settings.n_estimators
        self.sums: list[Any] = [None] * settings.n_estimators
        self.seeds = np.random.SeedSequence(settings.seed).generate_state(settings.n_estimators, np.uint64)

    def grow(self, binner: Any) -> GrownForest:
        """All trees, joined; features and thresholds are those of the table."""
        from propriety.engine.predictor import Forest

        parallel.run([partial(self._grow, t) for t in range(len(self.trees))], self.settings.n_jobs)
        forest = Forest.join(self.trees, 1)
        nodes, split = forest.nodes, forest.nodes["feature"] >= 0
        nodes["feature"][split] = self.ordered.columns[nodes["feature"][split]]
        cut = split & (nodes["set"] < 0)
        nodes["threshold"][cut] = binner.edges[
            nodes["feature"][cut], np.minimum(nodes["bin"][cut], binner.edges.shape[1] - 1)
        ]
        shares = None
        if self.n_classes > 2:
            shares = np.concatenate(self.sums).astype(np.float64)
            shares /= shares.sum(axis=1, keepdims=True)
        # A tree without a split says the base rates, not those of its bag.
        stumps = forest.roots[:-1][~split[forest.roots[:-1]]]
        nodes["value"][stumps] = self.base_rates[1]
        if shares is not None:
            shares[stumps] = self.base_rates
        return GrownForest(forest, shares, self.base_rates, binner, self.settings.smoothing)

    def _grow(self, t: int) -> None:
        from propriety.engine.predictor import TreeNodes
        from propriety.forest.growing import grow_tree, vote_out_of_bag

        room = self._room()
        seed = self.seeds[t]
        with np.errstate(over="ignore"):  # hashes overflow; only kernels that are not compiled would say so
            n_nodes, n_sets = grow_tree(self.sample, self.rules, self.table, seed, room)
            if self.settings.out_of_bag:
                vote_out_of_bag(self.sample, self.rules, seed, self.base_rates, room)
        self.trees[t] = TreeNodes(room.nodes[:n_nodes].copy(), room.sets[:n_sets].copy())
        if self.n_classes > 2:
            self.sums[t] = room.sums[:n_nodes].copy()
        self.idle.append(room)

    def _room(self) -> Any:
        """A room that no thread is using."""
        from propriety.engine.predictor import TREE_NODE
        from propriety.forest.layout import make_room

        try:
            return self.idle.pop()
        except IndexError:
            room = make_room(self.sample, self.rules, self.max_nodes, TREE_NODE, self.settings.out_of_bag)
            self.rooms.append(room)
            return room

    def votes(self) -> tuple[Floats, NDArray[np.int64]]:
        """Sums of the shares out of bag, and how many trees gave them, for each row of the sample."""
        from propriety.forest.growing import VOTE

        votes, voters = (
            np.sum([getattr(r, name) for r in self.rooms], axis=0) for name in ("votes", "voters")
        )
        return votes * VOTE, voters


def _poisson() -> NDArray[np.uint64]:
    """P(count ≤ c) · 2³² of a Poisson number with mean 1; the last is never exceeded."""
    below = np.rint(stats.poisson(1.0).cdf(np.arange(13)) * 2.0**32)
    below[-1] = 2.0**32
    return below.astype(np.uint64)
