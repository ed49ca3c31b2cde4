"""Weak learners: what a round fits to gradient and curvature of one score.

Both kinds answer the same questions: ``fit`` finds the cells on which the learner is constant, ``finish``
keeps the cells with their values, and ``follow`` takes note of what became part of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from propriety.boosting.draws import Draws
from propriety.boosting.leaves import Cells, Leaves
from propriety.communicator import SINGLE, Communicator
from propriety.trees.binned import Binned
from propriety.trees.fixed_point import RowWeights
from propriety.trees.gradient_growth import GradientGrower
from propriety.trees.gradients import Quantizer
from propriety.trees.predictor import TreeNodes, finish_tree, unseen_drift
from propriety.trees.split_score import SplitParameters

if TYPE_CHECKING:
    from propriety.boosting.settings import BoostingSettings
    from propriety.trees.binning import Binner

_ROUNDING = 1e-7  # of a leaf's weight, relative; a leaf that holds just enough rows must not miss by it
_MOST = 2.0**62  # units of weight: more than rows of a fold have together, where one row outweighs all others
_SET_SMOOTHING = 10.0  # average rows added to each category when categories are put in order
_NO_SALT = np.uint64(0)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """The loss's own units at the start: mean curvature and perfect gain of a row, per score.

    Regularizers are multiples of these, so that they mean the same for every loss.
    """

    curvature: Floats
    gain: Floats


class Learner(Protocol):
    """A kind of weak learner."""

    def fit(
        self,
        k: int,
        g: Floats,
        h: Floats,
        tops: tuple[float, float],
        draws: Draws | None,
        rows: Any,
        units: Units,
    ) -> Cells:
        """Fit score ``k`` on the given rows (None: all); ``tops`` are the largest |g| and h."""
        ...

    def finish(self, cells: Any, values: Floats) -> Any:
        """What is kept of it."""
        ...

    def follow(self, k: int, item: Any) -> None:
        """Take note that the model has this learner for score ``k``."""
        ...

    def share_buffers(self, other: Any) -> None:
        """Use the buffers of another learner over the same bins; the two must take turns."""
        ...


class TreeLearner:
    """Trees of the histogram grower."""

    def __init__(
        self,
        binned: Binned,
        binner: Binner,
        weights: RowWeights,
        settings: BoostingSettings,
        communicator: Communicator = SINGLE,
        rows: NDArray[np.uint32] | None = None,
        *,
        every_row: bool = False,
    ) -> None:
        self.binned, self.binner, self.weights, self.settings = binned, binner, weights, settings
        self._communicator = communicator
        self._others = binned if every_row or settings.subsample < 1.0 else None
        self._quantizer = Quantizer(
            len(binned.rows), weights, communicator, disperse=bool(binned.categorical.any())
        )
        self._max_leaves = _most_leaves(settings, weights.total)
        self._grower = GradientGrower(
            binned,
            self._max_leaves,
            len(settings.groups),
            settings.n_jobs,
            communicator,
            drawn=settings.subsample < 1.0,
        )
        self._fixed: dict[int, SplitParameters] = {}
        self._unit = 1.0
        self._drift = np.zeros(settings.monotone.shape)
        # A missing value goes where the rows with missing values want it, if there are any.
        columns = binned.columns if rows is None else binned.columns[:, rows]
        seen = np.array(
            communicator.max(tuple((columns.max(axis=1, initial=0) == binned.n_bins).astype(float)))
        )
        self._adrift = (binned.categorical != 0) & (seen == 0)
        self._any_adrift = bool(self._adrift.any())

    def fit(
        self,
        k: int,
        g: Floats,
        h: Floats,
        tops: tuple[float, float],
        draws: Draws | None,
        rows: Any,
        units: Units,
    ) -> Leaves:
        """Grow a tree for score ``k``."""
        gradients = self._quantizer(g, h, self.settings.n_jobs, tops)
        self._unit = gradients.weight_unit
        nodes = self._grower.grow(gradients, self._parameters(k, draws, units), rows)
        index, sets = self._grower.index, self._grower.tree.sets
        return Leaves(
            nodes, index, sets, self.weights, self.settings.n_jobs, self._communicator, self._others
        )

    def finish(self, cells: Leaves, values: Floats) -> TreeNodes:
        """The tree with the values of its leaves; before the next tree is grown."""
        return finish_tree(cells.nodes, self._grower.tree.sets, self.binner, cells.ids, values, self._unit)

    def follow(self, k: int, item: TreeNodes) -> None:
        """Add up what the trees of score ``k`` do to categories that were not seen."""
        if self._any_adrift:
            self._drift[k] += np.where(self._adrift, unseen_drift(item, len(self._adrift)), 0.0)

    def share_buffers(self, other: TreeLearner) -> None:
        """Grow trees in the buffers of another learner over the same bins; the two must take turns.

        The smaller ones are given up: histograms of wide tables are large.
        """
        if other._max_leaves >= self._max_leaves:
            self._grower = other._grower
        else:
            other._grower = self._grower

    def _parameters(self, k: int, draws: Draws | None, units: Units) -> SplitParameters:
        """Those of a tree; but for what is drawn and what categories drift, they stay the same."""
        if k not in self._fixed:
            self._fixed[k] = self._first_parameters(k, units)
        parameters = self._fixed[k]
        if draws is not None:
            parameters = parameters._replace(features=draws.features[k], seed=draws.seeds[k])
        if self._any_adrift:
            drift = self._drift[k] / (self.settings.learning_rate * self._unit)
            parameters = parameters._replace(drift=drift)
        return parameters

    def _first_parameters(self, k: int, units: Units) -> SplitParameters:
        settings, unit, weight_unit = self.settings, float(units.curvature[k]), self._unit
        monotone, d = settings.monotone[k], self.binned.rows.shape[1]
        return SplitParameters(
            max_leaves=self._max_leaves,
            min_weight=int(min(np.ceil(settings.min_samples_leaf / weight_unit * (1 - _ROUNDING)), _MOST)),
            set_smoothing=_SET_SMOOTHING * unit,
            monotone=monotone,
            groups=settings.groups,
            features=np.ones(d, dtype=np.uint8),
            seed=_NO_SALT,
            drift=np.zeros(d),
            **settings.of_splits(unit, float(units.gain[k])),
        )


def _most_leaves(settings: BoostingSettings, total: float) -> int:
    """The stated number of leaves, or that for which the rows suffice if it is less."""
    least = settings.min_samples_leaf
    if least * settings.max_leaf_nodes <= total:
        return settings.max_leaf_nodes
    return max(2, int(total / least * (1 + 2 * _ROUNDING)) + 1)


def learner_of(
    binned: Binned,
    binner: Binner,
    weights: RowWeights,
    settings: BoostingSettings,
    communicator: Communicator = SINGLE,
    rows: NDArray[np.uint32] | None = None,
    *,
    every_row: bool = False,
) -> Learner:
    """The weak learner that the settings name.

    ``rows`` are those that have a weight; None: all. With ``every_row`` the others get values too.
    """
    kind = settings.algorithm.learner
    learner = getattr(import_module(kind.module), kind.name)
    return learner(binned, binner, weights, settings, communicator, rows, every_row=every_row)
