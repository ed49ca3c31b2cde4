"""One split: every candidate is fitted to its training rows and judged on the others.

Fits to the same rows share what does not depend on the loss: bins of boosted trees, the members of a stack,
and of linear models the coefficients to start from. These are those of another convex loss if the loss is
convex, and else of the losses of less focus that lie on its way.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.exceptions import FitFailedWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from propriety import losses
from propriety.aliases import MatrixLike
from propriety.auto import AutoClassifier
from propriety.boosting import BoostingClassifier
from propriety.data.costs import Costs
from propriety.linear import LinearClassifier
from propriety.linear.tailoring import is_convex
from propriety.model.fit_context import in_context
from propriety.progress import part
from propriety.tuning.candidates import Candidate, Place
from propriety.tuning.choosing import Fold, Observations
from propriety.tuning.criteria import Criterion

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Floats = NDArray[np.float64]
#: Probabilities that differ by less are the same model.
_SAME = 1e-6


@dataclass(frozen=True)
class Task:
    """What is to be searched: the data, checked, and how to make and judge a model.

    `weight` is as the user gave it, for fits; `observations` has the same for means and their errors.
    `of_rows` are costs that were given for each row.
    """

    estimator: Any
    place: Place
    candidates: list[Candidate]
    criterion: Criterion
    costs: Costs
    of_rows: dict[str, Any]
    X: Any
    y: NDArray[Any]
    codes: NDArray[np.intp]
    classes: NDArray[Any]
    weight: Floats | None
    observations: Observations
    error_score: Any
    empirical: bool
    verbose: int

    def within(self, rows: NDArray[np.intp], groups: ArrayLike) -> Task:
        """The same search of some rows alone."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(
            self,
            criterion=self.criterion.of(rows),
            of_rows={name: _taken(values, rows) for name, values in self.of_rows.items()},
            X=_safe_indexing(self.X, rows),
            y=self.y[rows],
            codes=self.codes[rows],
            weight=weight,
            observations=Observations.read(len(rows), weight, groups),
        )

    def model(self, index: int) -> Any:
        """The estimator with the loss of a candidate, not fitted."""
        return self.place.make(self.estimator, self.candidates[index], self.costs, self.classes)

    def fit(self, model: BaseEstimator, X: Any, rows: Any) -> Any:
        """Fit a model to rows, with their weights and costs."""
        given = self.of_rows if self.weight is None else {**self.of_rows, "sample_weight": self.weight}
        if self.observations.groups is not None and self._hands_on_groups(model):
            given = {**given, "groups": self.observations.groups}
        # Without routing of metadata, a pipeline is told which of its steps they are for.
        routed = get_config()["enable_metadata_routing"] or not isinstance(model, Pipeline)
        prefix = "" if routed else self.place.prefix
        return model.fit(
            X, self.y[rows], **{prefix + name: _taken(values, rows) for name, values in given.items()}
        )

    def _hands_on_groups(self, model: Any) -> bool:
        """Whether the classifier has folds of its own, and groups reach it: routing must be told to."""
        owner = self.place.owner(model)
        if not owner.capabilities.groups or model is owner or not get_config()["enable_metadata_routing"]:
            return bool(owner.capabilities.groups)
        return owner.get_metadata_routing().fit.requests.get("groups") is True

    def probabilities(self, model: BaseEstimator, X: MatrixLike) -> Floats:
        """Probabilities of all classes; one that the model has not seen has probability 0."""
        P = np.asarray(model.predict_proba(X))
        if len(model.classes_) == len(self.classes):
            return P
        full = np.zeros((len(P), len(self.classes)))
        full[:, np.searchsorted(self.classes, model.classes_)] = P
        return full


def _taken(values: Any, rows: Any) -> Any:
    """What is given by row, for some rows."""
    return values.take(rows) if isinstance(values, Costs) else _safe_indexing(values, rows)


def run(task: Task, train: NDArray[np.intp], test: NDArray[np.intp], name: str) -> Fold:
    """Fit all candidates to the training rows and judge them on the test rows."""
    X, X_test = (_safe_indexing(task.X, rows) for rows in (train, test))
    m = len(task.candidates)
    values, empirical = np.full((m, len(test)), np.nan), np.full(m, np.nan)
    seconds, same = np.full(m, np.nan), np.zeros(m, dtype=bool)
    sharing = Sharing(task)
    first: Floats | None = None
    for j, candidate in enumerate(task.candidates):
        started = time.perf_counter()
        model = sharing.prepared(task.model(j), candidate)
        try:
            with part(repr(candidate), j, m):
                task.fit(model, X, train)
        except Exception as error:
            # The log loss is what all others are compared with: without it there is no search.
            if j == 0 or (isinstance(task.error_score, str) and task.error_score == "raise"):
                raise
            warnings.warn(
                f"{candidate!r} could not be fitted and is left out: {error}", FitFailedWarning, stacklevel=2
            )
            continue
        seconds[j] = time.perf_counter() - started
        sharing.learn(model, candidate)
        P = task.probabilities(model, X_test)
        first = P if first is None else first
        values[j] = task.criterion.of(test).values(task.codes[test], P)
        same[j] = np.allclose(P, first, rtol=0, atol=_SAME)
        if task.empirical:
            weight = None if task.weight is None else task.weight[train]
            P = task.probabilities(model, X)
            empirical[j] = task.criterion.of(train).mean(task.codes[train], P, weight)
        _say(task, name, j, values[j], test, seconds[j])
    return Fold(test, values, empirical, seconds, same)


class Sharing:
    """What fits to the same rows have in common."""

    def __init__(self, task: Task) -> None:
        # Behind transformers the table could differ from fit to fit.
        self._linear = isinstance(task.estimator, LinearClassifier) and not task.estimator.warm_start
        self._start: tuple[Floats, Floats] | None = None
        self._shared: Any = {} if self._linear or isinstance(task.estimator, AutoClassifier) else None
        if isinstance(task.estimator, BoostingClassifier):
            self._shared = _shared_bins()

    def prepared(self, model: BaseEstimator, candidate: Candidate) -> Any:
        """The model, told what earlier ones have found."""
        if self._shared is not None:
            in_context(model, shared=self._shared)
        if self._linear and self._start is not None and _convex(model, candidate):
            # A convex loss has one minimum, so the start changes the time and nothing else.
            model.coef_, model.intercept_ = self._start
            model.set_params(warm_start=True)
        return model

    def learn(self, model: BaseEstimator, candidate: Candidate) -> None:
        """Keep what a fitted model found, for the next ones."""
        if self._linear and _convex(model, candidate):
            self._start = (model.coef_, model.intercept_)


def _shared_bins() -> Any:
    from propriety.trees.shared_bins import SharedBins  # brings in Numba

    return SharedBins()


def _convex(model: Any, candidate: Candidate) -> bool:
    loss = candidate.loss
    if isinstance(loss, losses.SmoothLoss):
        loss = losses.as_composite(loss, model.link)
    return isinstance(loss, losses.Composite) and is_convex(loss)


def _say(task: Task, name: str, j: int, values: Floats, test: Any, seconds: float) -> None:
    if task.verbose:
        mean = task.criterion.scale * task.observations.mean(test, values)
        candidate = task.candidates[j]
        print(f"[{name}] {candidate!r}: {task.criterion.unit} {mean:.5g}, {seconds:.2f} s", flush=True)
