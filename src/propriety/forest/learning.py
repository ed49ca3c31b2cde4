"""From training data and settings to a forest: bins and an order of rows for all, then tree after tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from propriety.communicator import Communicator
from propriety.data.training import Training
from propriety.forest.settings import ForestSettings
from propriety.forest.votes import GrownForest

if TYPE_CHECKING:
    from propriety.trees.layout import GrownTree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Learned:
    """A forest, with what it says of its training rows out of bag if that was asked for."""

    grown: GrownForest
    out_of_bag: Floats | None
    loss: float | None


def learn(training: Training, settings: ForestSettings) -> Learned:
    """Grow a forest."""
    from propriety.forest.sample import ordered_sample
    from propriety.forest.spread import check_spread
    from propriety.trees.binning import Binner

    check_spread(training, settings)
    schema, jobs = training.schema, settings.n_jobs
    binner = Binner.fit(
        training.table, training.weights, training.target, schema.n_categories, settings.max_bins, jobs
    )
    binned = binner.transform(training.table, jobs, by_rows=False)
    ordered = ordered_sample(training, binner, binned.columns, n_jobs=jobs)
    base_rates = training.class_weights / training.weights.total
    overdispersion = training.weights.overdispersion
    growth = _Growth(ordered, settings, binner, base_rates, overdispersion, training.communicator)
    grown = growth.grow()
    if not settings.out_of_bag:
        return Learned(grown, None, None)
    votes, voters = growth.votes()
    probabilities = grown.smoothed(votes, voters[:, None])[ordered.places]
    loss = training.weights.mean(settings.measure.loss(training.codes, probabilities))
    return Learned(grown, probabilities, float(loss))


class _Growth:
    """The trees of a forest; each thread has its own arrays, and no tree knows of another."""

    def __init__(
        self,
        ordered: Any,
        settings: ForestSettings,
        binner: Any,
        base_rates: Floats,
        overdispersion: float,
        communicator: Communicator,
    ) -> None:
        from propriety.trees.criteria import entropy_table
        from propriety.trees.layout import LINE, PARAMS

        self.ordered, self.settings, self.binner, self.base_rates = ordered, settings, binner, base_rates
        self.sample, self.n_classes, self.communicator = ordered.sample, len(base_rates), communicator
        n, d = len(self.sample.labels), len(self.sample.columns)
        self.table = entropy_table(settings.measure)
        self.poisson = _poisson() if settings.bootstrap else np.empty(0, dtype=np.uint64)
        max_depth = min(settings.max_depth or n, n)
        self.params = np.zeros(1, dtype=PARAMS)
        params = self.params[0]
        params["n_classes"], params["max_depth"], params["line"] = self.n_classes, max_depth, LINE
        params["max_leaves"], params["best_first"] = settings.max_leaves or 0, settings.max_leaves is not None
        params["min_weight"] = max(1, math.ceil(settings.min_weight / ordered.unit))
        params["split_features"] = settings.split_features(d)
        params["random_cuts"], params["random_unseen"] = settings.random_cuts, True
        # Drawing the rows varies their number as much as their classes do.
        params["dispersion"] = overdispersion * (2.0 if settings.bootstrap else 1.0)
        params["unit"], params["loss_unit"] = ordered.unit, self.table.unit
        leaves = min(n, settings.max_leaves or n, 2 ** min(max_depth, 40))
        self.max_nodes = 2 * leaves - 1
        self.works: list[Any] = []
        self.idle: list[Any] = []
        self.idle_trees: list[Any] = []
        self.seeds = np.random.SeedSequence(settings.seed).generate_state(settings.n_estimators, np.uint64)

    def grow(self) -> GrownForest:
        """All trees, joined; features and thresholds are those of the table."""
        from propriety.forest.joining import Joined, Translation
        from propriety.forest.spread import grow_together

        settings, rates = self.settings, self.base_rates
        sample = self.sample
        # Poisson numbers of 32 bits are 12 at most.
        counts = len(sample.weights) == 0 and int(sample.copies.sum()) < 2**32 // 12
        given = Translation(self.ordered.columns, self.binner.edges, self.ordered.unit, rates, counts)
        joined = Joined(settings.n_estimators, given)
        grow_together(settings.n_estimators, self._grow, joined, settings.n_jobs, self.communicator)
        return GrownForest(joined.trees(), rates, self.binner, settings.smoothing)

    def _grow(self, t: int) -> tuple[GrownTree, Callable[[], object]]:
        """Tree number t, and what gives back the arrays that it is in."""
        from propriety.forest.growing import grow_tree, vote_out_of_bag
        from propriety.trees.layout import make_tree

        seed = self.seeds[t]
        try:
            tree = self.idle_trees.pop()
        except IndexError:
            tree = make_tree(self.sample, self.n_classes, self.max_nodes)
        arrays = self._idle_arrays()
        work, found, scratch = arrays
        with np.errstate(over="ignore"):  # hashes overflow; only kernels that are not compiled would say so
            grow_tree(self.sample, self.params, self.poisson, self.table, seed, work, tree, found, scratch)
            if self.settings.out_of_bag:
                vote_out_of_bag(self.sample, self.poisson, seed, self.base_rates, work, tree)
        n_nodes, n_sets = int(work.state["n_nodes"][0]), int(work.state["n_sets"][0])
        self.idle.append(arrays)
        grown = type(tree)(tree.nodes[:n_nodes], tree.sums[:n_nodes], tree.sets[:n_sets])
        return grown, partial(self.idle_trees.append, tree)

    def _idle_arrays(self) -> Any:
        """Arrays to grow a tree that no thread is using."""
        from propriety.trees.layout import make_found, make_scratch, make_work, most_waiting

        try:
            return self.idle.pop()
        except IndexError:
            votes, near = self.settings.out_of_bag, self.settings.max_leaves is None
            work = make_work(
                self.sample, self.n_classes, self.max_nodes, 0, near=near, made=False, votes=votes
            )
            self.works.append(work)
            found = make_found(self.n_classes, most_waiting(self.max_nodes, 0))
            return work, found, make_scratch(self.sample, self.n_classes)

    def votes(self) -> tuple[Floats, NDArray[np.int64]]:
        """Sums of the shares out of bag, and how many trees gave them, for each row of the sample."""
        from propriety.forest.growing import VOTE

        votes, voters = (
            np.sum([getattr(work, name) for work in self.works], axis=0) for name in ("votes", "voters")
        )
        return votes * VOTE, voters


def _poisson() -> NDArray[np.uint64]:
    """P(count ≤ c) · 2³² of a Poisson number with mean 1; the last is never exceeded."""
    below = np.rint(stats.poisson(1.0).cdf(np.arange(13)) * 2.0**32)
    below[-1] = 2.0**32
    return below.astype(np.uint64)
