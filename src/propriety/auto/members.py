"""The members of the stack: how each is fitted, what it says of rows out of fold, and how it is read."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from propriety.auto.stacking import on_scale
from propriety.boosting import BoostingClassifier
from propriety.data.identifiers import IdentifierWarning
from propriety.data.numbers import Numbers
from propriety.data.table import Schema, Table
from propriety.data.training import Training
from propriety.forest import ForestClassifier
from propriety.kernel import KernelClassifier
from propriety.linear import LinearClassifier
from propriety.model.base import ProperClassifier, shares
from propriety.model.fit_context import in_context
from propriety.rules import RuleClassifier
from propriety.scorecard import ScorecardClassifier
from propriety.tree import TreeClassifier

if TYPE_CHECKING:
    from propriety.losses import Composite
    from propriety.losses.simplex import SimplexLoss

Floats = NDArray[np.float64]


#: Rows of a class that a trial takes at least, for each fold.
_EACH = 4


# --- a fitted member ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Member:
    """A fitted model in the stack.

    Attributes
    ----------
    name : str
        What the catalogue calls it.
    model : ProperClassifier
    numbers : Numbers or None
        Made of the table before the model sees it, for one that takes numbers only.
    """

    name: str
    model: ProperClassifier
    numbers: Numbers | None = None

    def _read(self, table: Table, schema: Schema) -> Table:
        if self.numbers is None:
            return table
        return Schema.fit(self.numbers.of(table, schema), None)[1]

    def probabilities(self, table: Table, schema: Schema) -> Floats:
        """Of the classes."""
        model = self.model
        return model._probabilities(model._scores(self._read(table, schema)))

    def contributions(self, table: Table, schema: Schema, loss: Composite | SimplexLoss) -> Floats:
        """What each feature adds to this member's scores on the scale of a loss: (n, S, d + 1).

        The member's own contributions are on the scale of its own loss. They are stretched by what lies
        between the score of no feature and the score on the one scale and on the other.
        """
        own = self.model._contributions(self._read(table, schema))
        start = on_scale(self.model._probabilities(own[:, :, -1]), loss)
        end = on_scale(self.model._probabilities(own.sum(axis=2)), loss)
        # What the scores of several classes have in common says nothing, and may differ between the scales.
        shift = end.mean(axis=1, keepdims=True) if end.shape[1] > 1 else 0.0
        parts = own - own.mean(axis=1, keepdims=True) if end.shape[1] > 1 else own
        if self.numbers is not None:
            parts = _owned(parts, self.numbers.owners, table.n_features)
        if end.shape[1] > 1:
            start, end = start - start.mean(axis=1, keepdims=True), end - shift
        way = parts[:, :, :-1].sum(axis=2)
        stretch = np.divide(end - start, way, out=np.zeros_like(way), where=np.abs(way) > 1e-9)
        base = start + shift
        return np.concatenate([parts[:, :, :-1] * stretch[:, :, None], base[:, :, None]], axis=2)

    def importances(self, n_features: int) -> Floats:
        """How much each feature counts."""
        each = self.model.importances()
        if self.numbers is None:
            return each
        return shares(self.numbers.combined(each, n_features))


def _owned(parts: Floats, owners: tuple[int, ...], n_features: int) -> Floats:
    """Contributions of numbers, summed to the features that they are made of."""
    result = np.zeros((*parts.shape[:2], n_features + 1))
    for number, feature in enumerate(owners):
        result[:, :, feature] += parts[:, :, number]
    result[:, :, -1] = parts[:, :, -1]
    return result


# --- fitting --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Task:
    """The rows to learn from and their folds.

    Attributes
    ----------
    training : Training
    folds : ndarray of shape (n,)
        −1 for rows that are never held out.
    together : bool
        Whether rows of a fold belong together, as groups, as copies or because bins know the labels of all
        rows: then a row out of bag need not be a row unseen.
    n_estimators, seed, n_jobs : int
    deadline : float or None
        When the time is over, by `time.perf_counter`.
    """

    training: Training
    folds: NDArray[np.intp]
    together: bool
    n_estimators: int
    seed: int
    n_jobs: int
    deadline: float | None = None

    def fit(self, model: ProperClassifier, table: Table, rows: Any = None, **given: Any) -> Any:
        """Fit a model to all rows of a table, or to some of them."""
        training = self.training
        labels, weight = training.classes[training.codes], training.weights.values
        if training.groups is not None and model.capabilities.groups and "folds" not in given:
            given["groups"] = training.groups if rows is None else training.groups[rows]
        if rows is not None:
            table, labels = table.take(rows), labels[rows]
            weight = None if weight is None else weight[rows]
        with warnings.catch_warnings():
            # The folds have chosen: what a member has to say of its own fit says nothing of the stack.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", IdentifierWarning)  # the stack says it once
            return model.fit(table.native, labels, weight, **given)

    def refitted(self, model: ProperClassifier) -> Floats:
        """What copies of a model say of each fold that are fitted to the others; NaN of rows in no fold."""
        table, P = self.training.table, np.full((self.training.n_rows, self.training.n_classes), np.nan)
        for fold in np.unique(self.folds[self.folds >= 0]):
            rows = np.flatnonzero(self.folds == fold)
            copy = type(model)(**model.get_params(deep=False))
            self.fit(copy, table, np.flatnonzero(self.folds != fold))
            P[rows] = copy.predict_proba(table.take(rows).native)
        return P

    def some(self, n_rows: int) -> Task:
        """The same task with about so many of the rows, of each class and each fold in proportion.

        A rare class keeps some rows in each fold.
        """
        training = self.training
        counts = np.bincount(training.codes, minlength=training.n_classes)
        least = _EACH * (int(self.folds.max()) + 1)
        wanted = np.minimum(counts, np.maximum(np.ceil(counts * n_rows / training.n_rows), least)).astype(int)
        order = np.lexsort((self.folds, training.codes))  # class by class, fold by fold
        ends = np.cumsum(counts)
        spread = [
            order[np.linspace(end - count, end - 1, some).astype(np.intp)]
            for end, count, some in zip(ends, counts, wanted, strict=True)
        ]
        rows = np.sort(np.concatenate(spread))
        return replace(self, training=training.take(rows), folds=self.folds[rows])


@dataclass(frozen=True, eq=False)
class Fitted:
    """A member, and its probabilities of the training rows by models that were not fitted to them."""

    member: Member
    P: Floats

    def __post_init__(self) -> None:
        """The member itself keeps nothing of the training rows."""
        for name in (
            "oof_decision_function_",
            "oob_decision_function_",
            "oob_score_",
            "_training",
            "_fit_context",
        ):
            self.member.model.__dict__.pop(name, None)


def fit_linear(task: Task) -> Fitted:
    """Ridge logistic regression over standardized numbers, its strength chosen by the folds."""
    training = task.training
    numbers = Numbers.learn(training.table, training.schema, training.weights)
    table = Schema.fit(numbers.of(training.table, training.schema), None)[1]
    model = task.fit(LinearClassifier("Log", alpha="cv", n_jobs=task.n_jobs), table, folds=task.folds)
    scores = model.oof_decision_function_.reshape(training.n_rows, -1)
    return Fitted(Member("linear", model, numbers), model._probabilities(scores))


def fit_shrunken(training: Training, n_jobs: int) -> Member:
    """Ridge logistic regression where no folds can choose its strength: that of one row."""
    numbers = Numbers.learn(training.table, training.schema, training.weights)
    model = LinearClassifier("Log", alpha=1 / training.weights.total, n_jobs=n_jobs)
    X = numbers.of(training.table, training.schema)
    return Member("linear", model.fit(X, training.classes[training.codes], training.weights.values), numbers)


def fit_kernel(task: Task) -> Fitted:
    """A kernel machine, its width and its ridge chosen by the folds."""
    training = task.training
    model = KernelClassifier(
        "Log", categorical_features=_categorical(task), random_state=task.seed, n_jobs=task.n_jobs
    )
    task.fit(model, training.table, folds=task.folds)
    scores = model.oof_decision_function_.reshape(training.n_rows, -1)
    return Fitted(Member("kernel", model), model._probabilities(scores))


def fit_forest(task: Task) -> Fitted:
    """Extra trees on drawn rows; what they say out of bag stands for the folds, if rows stand alone."""
    model = ForestClassifier(
        "Log",
        n_estimators=task.n_estimators,
        splitter="random",
        oob_score=not task.together,
        categorical_features=_categorical(task),
        random_state=task.seed,
        n_jobs=task.n_jobs,
    )
    P = task.refitted(model) if task.together else None
    task.fit(model, task.training.table)
    return Fitted(Member("forest", model), model.oob_decision_function_ if P is None else P)


def fit_boosting(task: Task) -> Fitted:
    """Boosting with its defaults, the number of rounds chosen by the folds."""
    model = BoostingClassifier(
        "Log",
        max_iter="cv",
        calibrate=None,  # which the weights of the stack do
        categorical_features=_categorical(task),
        random_state=task.seed,
        n_jobs=task.n_jobs,
    )
    in_context(model, deadline=task.deadline)
    task.fit(model, task.training.table, folds=task.folds)
    scores = model.oof_decision_function_.reshape(task.training.n_rows, -1)
    return Fitted(Member("boosting", model), model._probabilities(scores))


def fit_tree(task: Task) -> Fitted:
    """One tree, pruned by cross-validation."""
    return _refitted(
        task,
        "tree",
        TreeClassifier(
            "Log",
            ccp_alpha="one_se",
            categorical_features=_categorical(task),
            random_state=task.seed,
            n_jobs=task.n_jobs,
        ),
    )


def fit_rules(task: Task) -> Fitted:
    """A few rules."""
    return _refitted(
        task, "rules", RuleClassifier("Log", categorical_features=_categorical(task), n_jobs=task.n_jobs)
    )


def fit_scorecard(task: Task) -> Fitted:
    """A scorecard."""
    model = ScorecardClassifier("Log", categorical_features=_categorical(task), n_jobs=task.n_jobs)
    return _refitted(task, "scorecard", model)


def _refitted(task: Task, name: str, model: ProperClassifier) -> Fitted:
    P = task.refitted(model)
    return Fitted(Member(name, task.fit(model, task.training.table)), P)


def _categorical(task: Task) -> list[int] | None:
    columns = [f for f, values in enumerate(task.training.schema.categories) if values is not None]
    return columns or None


#: How each is fitted.
MEMBERS: dict[str, Callable[[Task], Fitted]] = {
    "linear": fit_linear,
    "kernel": fit_kernel,
    "tree": fit_tree,
    "rules": fit_rules,
    "scorecard": fit_scorecard,
    "forest": fit_forest,
    "boosting": fit_boosting,
}
#: Those that can be read.
READABLE = ("linear", "tree", "rules", "scorecard")
