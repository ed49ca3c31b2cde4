"""What the models that judged rows say of them: importances, effects, subgroups and counterfactuals."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import evaluation
from propriety.cached_properties import cached_property
from propriety.data.table import is_sparse
from propriety.errors import ArgumentError
from propriety.evaluation.importance import Importance
from propriety.evaluation.subgroups import Subgroup
from propriety.study import parts as parting
from propriety.study.columns import (
    columns_of,
    facts_of_columns,
    names_of_columns,
    table_of,
    with_column,
    without_last,
)
from propriety.study.flips import FEW, Flipped, close_flips
from propriety.study.judged import JudgedStudy, taken
from propriety.study.models import (
    Fitted,
)
from propriety.study.splitting import Role
from propriety.weights import Estimate

Floats = NDArray[np.float64]
_COUNTED = 4000  # rows on which it is measured what columns count for
_SAMPLE = 1000  # rows that effects are worked out for


@dataclass(frozen=True)
class Effects:
    """What each feature adds to the score: ``parts[i, j]`` of feature j for the test row ``rows[i]``."""

    rows: NDArray[np.intp]
    parts: Floats


class StudyPieces(JudgedStudy):
    """The test rows by column, and the pieces of a report that are made of them."""

    # --- rows and columns ------------------------------------------------------------------------------

    @cached_property
    def features(self) -> dict[str, Any]:
        """Columns of the test rows: floats, or text for categories."""
        return self.features_of(np.arange(len(self.y)))

    def features_of(self, places: NDArray[np.intp]) -> dict[str, Any]:
        """The same of some of the test rows."""
        return self.columns_of_rows(self.split.rows[places])

    def columns_of_rows(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """The same of any rows of the table."""
        return {} if self.question.X is None else columns_of(self.question.take(rows).X)

    @cached_property
    def columns(self) -> Sequence[Any]:
        """What is known of the columns that a model may use."""
        return self.facts.columns or facts_of_columns(self.question.X, self.features)

    @property
    def order(self) -> NDArray[Any]:
        """The place of each test row in the table, or its time."""
        role = self._time
        return self.split.rows if role is None else role.values[self.split.rows]

    @property
    def time_name(self) -> str:
        """What the rows are in order of, if that is known to be a time."""
        return "" if self._time is None else self._time.name

    @property
    def _time(self) -> Role | None:
        return self.sorted_by if self.question.time is None else self.question.time

    @property
    def places(self) -> NDArray[np.intp]:
        """The number of each test row in its file, from 0."""
        rows = self.split.rows
        return rows if self.facts.places is None else self.facts.places[rows]

    # --- pieces ----------------------------------------------------------------------------------------

    @property
    def models_of_parts(self) -> list[Fitted]:
        """The model of each judging part; none of ready probabilities."""
        self._fit_models()
        found = (self._done[0, k].fitted or self._first.fitted for k in range(len(self.split.pairs)))
        return [fitted for fitted in found if fitted is not None]

    @cached_property
    def importance(self) -> dict[str, Estimate]:
        """How much the log loss rises if a column is shuffled, by the models that judged the rows."""
        models = self.models_of_parts
        if not models or self.p is None:
            return {}
        parts = zip(models, self.split.pairs, strict=True)
        return Importance.join([self._importance(fitted, test) for fitted, (_, test) in parts]).estimates

    def _importance(self, fitted: Fitted, test: NDArray[np.intp]) -> Importance:
        part = self.question.take(test)
        frame, names = part.X, names_of_columns(self.question.X)
        owners = self.facts.owners or {name: [name] for name in names}
        starts = part.offset if fitted.takes_offset else None
        if starts is not None:  # goes with its row, and is never dealt out
            frame = with_column(frame, "\0offset", starts)  # no column of a table is called so

        def predict(frame: Any) -> Any:
            return (
                fitted.probabilities(frame) if starts is None else fitted.probabilities(*without_last(frame))
            )

        return evaluation.importance(
            predict,
            frame,
            part.codes,
            sample_weight=part.weight if part.shares is None else part.judged.weights.array,
            groups=None if part.groups is None else part.groups.values,
            columns={name: [names.index(f) for f in features] for name, features in owners.items()},
            most=-(-_COUNTED // len(self.split.pairs)),
        )

    @cached_property
    def effects(self) -> Effects | None:
        """What the features add to the scores of some test rows, by the models that judged them."""
        if len(self.labels) != 2 or self.shown is None:
            return None
        few, part = sample(len(self.y)), self.split.parts
        found = np.empty((len(few), len(names_of_columns(self.question.X))))
        for k, fitted in enumerate(self.models_of_parts):
            mine = part[few] == k
            frame = taken(self.question.take(self.split.rows[few[mine]]).X)
            sign = 1.0 if self._places[1] == 1 else -1.0
            if mine.any():
                found[mine] = sign * fitted.contributions(frame)[:, :-1]
        return Effects(few, found)

    def subgroups(self, by: Any) -> list[Subgroup]:
        """Cost, calibration and rates of error for the values of a column, or of an array of them."""
        if isinstance(by, str):
            known = {**self.judging.by, **self.features}
            if by not in known:
                raise ArgumentError("by", f"names a column that X has not, {by!r}; it has {list(known)}")
            by = known[by]
        elif np.shape(by) == (self.question.n_rows,):
            by = np.asarray(by)[self.split.rows]
        names, order = parting.named_parts(parting.as_parts(by, len(self.y)))
        return self.by_names(names, order)

    def by_names(self, names: NDArray[Any], order: Sequence[str]) -> list[Subgroup]:
        """The same of parts of the test rows that have names."""
        if not self.sided:
            raise ArgumentError("by", "is for two classes and two decisions")
        found = evaluation.subgroups(
            self.y,
            self.p,
            names,
            costs=self.costs,
            decided=self.decided,
            sample_weight=self.judging.weight,
            groups=self.groups,
            pos_label=1,
            prevalence=None if self.question.shares is None else float(self.question.shares[1]),
        )
        known = {part.name: part for part in found}
        return [known[name] for name in order if name in known]

    def over_time(self, n: int = 6) -> list[Subgroup]:
        """The same over consecutive parts of the test rows, in the order of their time."""
        names, order = parting.in_time(self.order, n)
        return self.by_names(names, order)

    def counterfactuals(self, actionable: Collection[str] | None = None, n: int = FEW) -> list[Flipped]:
        """Least changes that reverse decisions on rows near their thresholds, by the model that decided.

        Parameters
        ----------
        actionable : names of columns, optional
            Those that may change; by default those of the study.
        n : int, default=6
            How many rows.
        """
        models = self.models_of_parts
        possible = self.sided and self.budget is None and not self.has_offset and self.p is not None
        if not models or not possible or is_sparse(self.question.X):
            return []
        X, part = self.question.X, self.split.parts
        # The parts of a date cannot change one without the other.
        free = [name for name in self.features if self.facts.owner(name) == name]
        actionable = self.actionable if actionable is None else actionable
        free = [name for name in free if actionable is None or name in actionable]
        if not free:
            return []

        def predictor(row: int) -> Any:
            fitted = models[part[row]]
            return lambda columns: fitted.probabilities(table_of(X, columns))

        thresholds = np.broadcast_to(self.costs.threshold, self.p.shape)
        return close_flips(predictor, self.features, self.p, thresholds, free, n)


def sample(n: int) -> Any:
    """Rows, evenly spaced, that stand for all of n."""
    return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))
