"""From binned columns to points: a linear model of few columns, as many as held-out rows ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from propriety.data.folds import with_folds
from propriety.data.parameters import Parameters, monotone_signs
from propriety.data.training import Training
from propriety.linear import solvers
from propriety.linear.learning import learn
from propriety.linear.rows import LinearRows
from propriety.linear.settings import LinearSettings
from propriety.losses import Composite
from propriety.scorecard.binning import BinRules
from propriety.scorecard.columns import BinnedColumn, Codes, Floats, columns_of

if TYPE_CHECKING:
    from propriety.scorecard.classifier import ScorecardClassifier

N_FOLDS = 5
_SHRINKAGE = 15.0  # of the coefficients: the evidence of a bin is that of the rows that it was cut by
_EQUAL = 1e-6  # relative: what differs by less is equal, and the order of rows does not decide


@dataclass(frozen=True)
class ScorecardSettings:
    """How a scorecard is made."""

    rules: BinRules
    composite: Composite
    max_columns: int
    signs: Codes
    alpha: float
    n_jobs: int | None

    @classmethod
    def of(cls, model: ScorecardClassifier, training: Training, composite: Composite) -> ScorecardSettings:
        """The parameters of a ScorecardClassifier, checked."""
        given = Parameters(model)
        return cls(
            BinRules(
                composite.loss.entropy_of_shares,
                given.number("max_bins", 2, 20, whole=True),
                given.number("min_bin_share", 0, 0.5),
            ),
            composite,
            given.number("max_columns", 1, whole=True),
            monotone_signs(model.monotonic_cst, training.schema).astype(np.intp),
            given.number_or_auto("alpha", _SHRINKAGE / training.weights.total, 0),
            model.n_jobs,
        )


@dataclass(frozen=True, eq=False)
class CardFit:
    """Binned columns, their coefficients, and the mean loss of held-out rows by the number of columns."""

    columns: tuple[BinnedColumn, ...]
    coef: Floats
    intercept: float
    cv_loss: Floats


def learn_cards(training: Training, settings: ScorecardSettings) -> list[CardFit]:
    """The fit for class 1 of two, or for each of more against the rest."""
    parted, folds = with_folds(training, N_FOLDS)
    held_out = [(parted.take(np.flatnonzero(folds != k)), parted.take(np.flatnonzero(folds == k)))
                for k in np.unique(folds[folds >= 0])]  # fmt: skip
    classes = [1] if training.n_classes == 2 else range(training.n_classes)
    return [_learn_card(training, held_out, k, settings) for k in classes]


def _learn_card(
    training: Training, held_out: list[tuple[Training, Training]], k: int, settings: ScorecardSettings
) -> CardFit:
    totals = np.zeros(settings.max_columns + 1)
    for rows, others in held_out:
        way = _Way.learn(rows, k, settings)
        totals += way.losses(others, k, settings.max_columns)
    curve = totals / max(sum(others.weights.total for _, others in held_out), 1e-300)
    way = _Way.learn(training, k, settings)
    kept, coef, intercept = way.at(int(np.flatnonzero(curve <= curve.min() + _EQUAL * abs(curve[0]))[0]))
    return CardFit(tuple(way.columns[j] for j in kept), coef, intercept, curve)


@dataclass(frozen=True, eq=False)
class _Way:
    """Linear models of ever fewer columns: which they are, their coefficients and the intercept."""

    columns: list[BinnedColumn]
    fits: dict[int, tuple[Codes, Floats, float]]
    composite: Composite

    @classmethod
    def learn(cls, training: Training, k: int, settings: ScorecardSettings) -> _Way:
        """Leave out the column of least coefficient, in standard deviations, one after the other.

        No column counts against its own evidence: models with a negative coefficient are passed over.
        """
        weight, labels = training.weights.array, (training.codes == k).astype(np.float64)
        composite, n_categories = settings.composite, training.schema.n_categories
        columns, values = [], []
        for f, column in enumerate(columns_of(training.table)):
            bins = settings.rules.bins_of(f, column, n_categories[f], int(settings.signs[f]), weight, labels)
            if bins is not None:
                columns.append(bins)
                values.append(bins.evidence(composite.link)[bins.place(column)])
        gains = np.array([settings.rules.gain(bins) for bins in columns])
        kept = np.sort(
            np.argsort(-np.round(gains / max(gains.max(initial=0.0), 1e-300), 6), kind="stable")[
                : 2 * settings.max_columns
            ]
        )
        base = float(weight @ labels / weight.sum())
        constant = float(composite.link.link(np.array(base), np.array(1 - base)))
        fits = {0: (np.empty(0, dtype=np.intp), np.empty(0), constant)}
        how = LinearSettings(
            solvers.named("fisher"), settings.alpha, 0.0, True, 1e-8, 100, None, settings.n_jobs,
            scaled=True,
        )  # fmt: skip
        start = None
        codes = labels.astype(np.intp)
        while len(kept):
            Z = np.column_stack([values[j] for j in kept])
            fit = learn(LinearRows(Z, codes, weight, np.arange(2)), composite, how, start)
            strength = fit.coef[0] * fit.columns.spread
            if len(kept) <= settings.max_columns and strength.min() > _EQUAL:
                fits[len(kept)] = kept, fit.coef[0], float(fit.intercept[0])
            weakest = int(np.flatnonzero(strength <= strength.min() + _EQUAL * np.abs(strength).max())[-1])
            kept = np.delete(kept, weakest)
            start = np.delete(fit.coef, weakest, axis=1), fit.intercept
        return cls(columns, fits, composite)

    def at(self, size: int) -> tuple[Codes, Floats, float]:
        """The model of at most so many columns."""
        return self.fits[max(m for m in self.fits if m <= size)]

    def losses(self, rows: Training, k: int, most: int) -> Floats:
        """Total loss of other rows with at most 0, 1, …, `most` columns."""
        labels, weight, columns = (
            (rows.codes == k).astype(np.float64),
            rows.weights.array,
            columns_of(rows.table),
        )
        values = [
            bins.evidence(self.composite.link)[bins.place(columns[bins.feature])] for bins in self.columns
        ]
        found = np.empty(len(self.fits))
        for place, (kept, coef, intercept) in enumerate(self.fits.values()):
            F = intercept + sum(
                (b * values[j] for j, b in zip(kept, coef, strict=True)), np.zeros(len(labels))
            )
            found[place] = float(weight @ self.composite.value(labels, F))
        sizes = np.array(list(self.fits))
        return np.array([found[np.argmax(np.where(sizes <= m, sizes, -1))] for m in range(most + 1)])
