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
from propriety.collective import Collective
from propriety.data.training import Training
from propriety.forest.settings import ForestSettings
from propriety.forest.shelf import Shelf
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
    from propriety.forest.spread import check_spread

    check_spread(training, settings)
    schema, jobs = training.schema, settings.n_jobs
    binner = Binner.fit(
        training.table, training.weights, training.target, schema.n_categories, settings.max_bins, jobs
    )
    binned = binner.transform(training.table, jobs, by_rows=False)
    ordered = ordered_sample(training, binner, binned.columns)
    base_rates = training.class_weights / training.weights.total
    overdispersion = training.weights.overdispersion
    growth = _Growth(ordered, settings, binner, base_rates, overdispersion, training.collective)
    grown = growth.grow()
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
        self,
        ordered: Any,
        settings: ForestSettings,
        binner: Any,
        base_rates: Floats,
        overdispersion: float,
        collective: Collective,
    ) -> None:
        from propriety.forest.entropy import entropy_table
        from propriety.forest.layout import RULES

        self.ordered, self.settings, self.binner, self.base_rates = ordered, settings, binner, base_rates
        self.sample, self.n_classes, self.collective = ordered.sample, len(base_rates), collective
        n, d = len(self.sample.labels), len(self.sample.columns)
        # What is None is left out by the compiler.
        self.levels = binner.levels[ordered.columns] if np.any(self.sample.columns["categorical"]) else None
        self.random = True if settings.random_cuts else None
        self.table = entropy_table(settings.measure, self.n_classes)
        self.poisson, self.rules = _poisson(), np.zeros(1, dtype=RULES)
        max_depth = min(settings.max_depth or n, n)
        self.rules[0] = (
            self.n_classes,
            settings.max_leaves or 0,
            max_depth,
            max(1, math.ceil(settings.min_weight / self.sample.unit)),
            settings.split_features(d),
            settings.bootstrap,
            # Drawing the rows varies their number as much as their classes do.
            overdispersion * (2.0 if settings.bootstrap else 1.0),
            self.sample.unit,
            self.table.unit,
        )
        leaves = min(n, settings.max_leaves or n, 2 ** min(max_depth, 40))
        self.max_nodes = 2 * leaves - 1
        self.rooms: list[Any] = []
        self.idle: list[Any] = []
        self.shelf = Shelf()
        self.trees: list[Any] = [None] * settings.n_estimators  # nodes, class sums and sets
        self.seeds = np.random.SeedSequence(settings.seed).generate_state(settings.n_estimators, np.uint64)

    def grow(self) -> GrownForest:
        """All trees, joined; features and thresholds are those of the table."""
        from propriety.engine.predictor import TREE_NODE, Forest
        from propriety.forest.growing import finish_tree
        from propriety.forest.spread import grow_together

        count, jobs = len(self.trees), self.settings.n_jobs
        grow_together(self.trees, self._grow, jobs, self.collective)
        roots, first_sets = (
            np.concatenate(([0], np.cumsum([len(parts[k]) for parts in self.trees]))) for k in (0, 2)
        )
        nodes = np.empty(roots[-1], dtype=TREE_NODE)
        shares = np.empty((roots[-1], self.n_classes) if self.n_classes > 2 else (0, 0))
        columns, unit, edges, rates = (
            self.ordered.columns,
            self.sample.unit,
            self.binner.edges,
            self.base_rates,
        )

        def finish(t: int) -> None:
            grown, sums, _ = self.trees[t]
            finish_tree(grown, sums, columns, edges, unit, rates, roots[t], first_sets[t], nodes, shares)

        parallel.run([partial(finish, t) for t in range(count)], jobs)
        forest = Forest(nodes, roots, np.concatenate([parts[2] for parts in self.trees]), 1)
        any_shares = shares if self.n_classes > 2 else None
        return GrownForest(forest, any_shares, rates, self.binner, self.settings.smoothing)

    def _grow(self, t: int) -> None:
        from propriety.forest.growing import grow_tree, vote_out_of_bag

        room = self._room()
        seed = self.seeds[t]
        with np.errstate(over="ignore"):  # hashes overflow; only kernels that are not compiled would say so
            n_nodes, n_sets = grow_tree(
                self.sample, self.levels, self.random, self.rules, self.poisson, self.table, seed, room
            )
            if self.settings.out_of_bag:
                vote_out_of_bag(self.sample, self.poisson, seed, self.base_rates, room)
        grown = room.nodes[:n_nodes], room.sums[:n_nodes], room.sets[:n_sets]
        self.trees[t] = tuple(self.shelf.keep(part) for part in grown)
        self.idle.append(room)

    def _room(self) -> Any:
        """A room that no thread is using."""
        from propriety.forest.layout import make_room

        try:
            return self.idle.pop()
        except IndexError:
            room = make_room(self.sample, self.n_classes, self.max_nodes, self.settings.out_of_bag)
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
