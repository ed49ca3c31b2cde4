"""What a study is asked: rows, classes, what decisions cost, and how rows count and belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.aliases import ClassNames, CostTerm, Label, MatrixLike, Shares
from propriety.costs import ResolvedCosts
from propriety.data.costs import DISTANCE, TERMS, Costs, matrix_for, parameters_of, read_terms
from propriety.data.labels import warn_of_side
from propriety.data.table import Rows, is_frame, is_sparse, named_column, take_rows
from propriety.data.training import n_scores_of, read_groups, read_offset
from propriety.data.uncertain import is_uncertain
from propriety.errors import ArgumentError
from propriety.evaluation import inputs
from propriety.evaluation.judging import JudgedRows
from propriety.model.adapt import read_shares
from propriety.study.columns import as_column
from propriety.study.splitting import Role
from propriety.weights import Weights

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StudyCosts:
    """What decisions about the rows cost, in the three forms in which it is needed.

    Attributes
    ----------
    resolved : ResolvedCosts
        For the rows, the positive one of two classes last.
    parameters : dict
        Of our estimators, to state them; empty if the estimators state their own.
    of_rows, of_columns : dict
        Terms with an entry for each row: as they were given, which go to the fit, and as they are made of
        columns or by a function.
    terms : dict
        As they were stated: numbers, ranges, arrays where they differ by row, or a matrix.
    texts : dict
        How terms were stated, in words.
    """

    resolved: ResolvedCosts
    parameters: dict[str, Any] = field(default_factory=dict)
    of_rows: dict[str, Any] = field(default_factory=dict)
    of_columns: dict[str, Any] = field(default_factory=dict)
    terms: dict[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(
        cls, stated: Costs, classes: NDArray[Any], X: MatrixLike | None, n: int, words: Costs | None = None
    ) -> StudyCosts:
        """From what was stated, and as `words` say it; `classes` are in the order of the study."""
        resolved = stated.resolve(classes, None if X is None else X, known=np.sort(classes))
        resolved.check_rows(n)
        if isinstance(stated.matrix, str) and stated.matrix == DISTANCE:
            own = None if len(classes) == 2 else stated.resolve(np.sort(classes)).matrix
            stated = words = stated.replace(matrix=own)
        terms, of_rows, of_columns, plain = {}, {}, {}, {}
        for name, known in TERMS.items():
            value = getattr(stated, name)
            by_row = isinstance(value, np.ndarray) and value.ndim == (3 if name == "matrix" else 1)
            if by_row:
                of_rows[known], plain[name] = value, getattr(Costs, name)
            if isinstance(value, str):
                value = of_columns[known] = named_column(X, value, known)
            elif callable(value) and not is_uncertain(value):
                value = of_columns[known] = np.asarray(value(X))
            terms[known] = value
        if terms["cost_matrix"] is not None:
            terms["cost_matrix"] = matrix_for(terms["cost_matrix"], classes, np.sort(classes))
        else:
            del terms["cost_matrix"]
        words = stated if words is None else words
        texts = {known: v for name, known in TERMS.items() if isinstance(v := getattr(words, name), str)}
        parameters = parameters_of(stated.replace(**plain) if plain else stated)
        return cls(resolved, parameters, of_rows, of_columns, terms, texts)

    def take(self, rows: NDArray[np.intp]) -> StudyCosts:
        """Of some rows."""
        n_rows = len(self.resolved.matrix) if self.resolved.by_row else -1

        def taken(name: str, value: Any) -> Any:
            deep = 3 if name == "cost_matrix" else 1
            by_row = isinstance(value, np.ndarray) and value.ndim == deep and len(value) == n_rows
            return value[rows] if by_row else value

        return replace(
            self,
            resolved=self.resolved.take(rows),
            of_rows={name: value[rows] for name, value in self.of_rows.items()},
            of_columns={name: value[rows] for name, value in self.of_columns.items()},
            terms={name: taken(name, value) for name, value in self.terms.items()},
        )


@dataclass(frozen=True, eq=False)
class Question:
    """All that a study is asked, read and checked once.

    Attributes
    ----------
    X : table or None
        What models read; None for ready probabilities.
    y : array of shape (n,)
        What models are fitted to: labels as they were given.
    codes : array of shape (n,)
        The place of each row's label in `classes`: of two classes, 1 is the positive one.
    classes : array of shape (K,)
        The labels, the positive one of two last.
    labels : tuple of str
        What they are called.
    costs : StudyCosts
    weight, offset : arrays of shape (n,), or None
    groups, time : Role or None
        What is never on both sides of a split, and what splits before from after.
    shares : array of shape (K,), or None
        Of the classes in the population that rows drawn by class stand for.
    by : dict
        Columns besides those of X whose values part the rows into subgroups.
    budget : float or None
    """

    X: Any
    y: NDArray[Any]
    codes: NDArray[np.intp]
    classes: NDArray[Any]
    labels: tuple[str, ...]
    costs: StudyCosts
    weight: Floats | None = None
    offset: Floats | None = None
    groups: Role | None = None
    time: Role | None = None
    by: dict[str, NDArray[Any]] = field(default_factory=dict)
    budget: float | None = None
    shares: Floats | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.codes)

    @property
    def weights(self) -> Weights:
        """The weights of the rows, for means and their errors."""
        return Weights.read(self.weight, self.n_rows)

    @property
    def judged(self) -> JudgedRows:
        """The rows as rows that judge."""
        groups = None if self.groups is None else self.groups.values
        weights = drawn = self.weights
        if self.shares is not None:
            weights = inputs.at_prevalence(drawn, self.codes, self.shares)
        sampled = None if self.shares is None else drawn
        return JudgedRows(self.codes, self.labels, self.costs.resolved, weights, groups, self.budget, sampled)

    def take(self, rows: NDArray[np.intp]) -> Question:
        """Some of its rows; those of a data frame stay where they are."""
        X = self.X
        if X is not None:
            X = X[rows] if isinstance(X, Rows) else Rows(X, rows) if is_frame(X) else take_rows(X, rows)
        return replace(
            self,
            X=X,
            y=self.y[rows],
            codes=self.codes[rows],
            costs=self.costs.take(rows),
            weight=None if self.weight is None else self.weight[rows],
            offset=None if self.offset is None else self.offset[rows],
            groups=None if self.groups is None else self.groups.take(rows),
            time=None if self.time is None else self.time.take(rows),
            by={name: values[rows] for name, values in self.by.items()},
        )

    @classmethod
    def read(
        cls,
        X: MatrixLike | None,
        y: ArrayLike,
        *,
        costs: Costs,
        stated: Costs | None = None,
        class_names: ClassNames | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
        by: Any = (),
        budget: float | None = None,
        prevalence: Shares | None = None,
        keep_columns: bool = False,
    ) -> Question:
        """From arguments; columns that are named as weights, groups and so on are no features."""
        read = _Reader(X)
        labels = np.asarray(read("y", y))
        n = len(labels)
        if X is not None and not hasattr(X, "shape"):
            X = np.asarray(X)
        if labels.ndim != 1 or (X is not None and X.shape[0] != n):
            rows = "" if X is None else f" of {X.shape[0]} rows"
            raise ArgumentError("y", f"must have one label for each row{rows}, got shape {labels.shape}")
        known = np.unique(labels) if classes is None else np.asarray(classes)
        ordered = oriented(known, costs.pos_label)
        codes = _codes(labels, ordered)
        given = read("sample_weight", sample_weight)
        weight = None if given is None else inputs.weights(given, n)
        starts = read("offset", offset)
        if starts is not None:
            starts = read_offset(starts, n, n_scores_of(len(known)))
            starts = starts[:, 0] if starts.shape[1] == 1 else starts
        costs_of_rows = StudyCosts.read(costs, ordered, X, n, stated)
        if len(known) == 2:
            warn_of_side(known, costs_of_rows.resolved, costs.pos_label)
        role = groups if isinstance(groups, Role) else _groups(groups, read("groups", groups), n)
        when = time if isinstance(time, Role) else _time(time, read("time", time), n)
        return cls(
            X if keep_columns else read.rest(X),
            labels,
            codes,
            ordered,
            names_of(ordered, class_names),
            costs_of_rows,
            weight,
            starts,
            role,
            when,
            _by(by, X, n),
            budget,
            None if prevalence is None else shares_of(prevalence, ordered),
        )


class _Reader:
    """Arguments that may be names of columns, and the columns that are left as features."""

    def __init__(self, X: Any) -> None:
        self.frame = nw.from_native(X, eager_only=True) if X is not None and is_frame(X) else None
        self.used: list[str] = []

    def __call__(self, argument: str, given: object) -> Any:
        if not isinstance(given, str):
            return given
        if self.frame is None:
            raise ArgumentError(argument, f"names a column, {given!r}, and X is no data frame")
        if given not in self.frame.columns:
            names = list(self.frame.columns)
            raise ArgumentError(argument, f"is not a column of X, {given!r}; it has {names}")
        self.used.append(given)
        return self.frame[given].to_numpy()

    def rest(self, X: MatrixLike | None) -> Any:
        """X without the columns that were asked for by name."""
        if self.frame is None or not self.used:
            return X
        return self.frame.drop(list(dict.fromkeys(self.used))).to_native()


def _by(given: Any, X: Any, n: int) -> dict[str, NDArray[Any]]:
    """Columns whose values part the rows."""
    if not isinstance(given, Mapping):
        read = _Reader(X)
        given = {name: read("by", name) for name in ([given] if isinstance(given, str) else given)}
    found = {name: as_column(values) for name, values in given.items()}
    for name, values in found.items():
        if values.shape != (n,):
            raise ArgumentError("by", f"must have an entry for each of {n} rows, and {name!r} has not")
    return found


def _codes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """The place of each label in the classes."""
    if len(classes) < 2:
        raise ArgumentError("y", f"must have two classes or more, got {classes.tolist()}")
    places = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [label for label in np.unique(labels).tolist() if label not in places]
    if unknown:
        raise ArgumentError("y", f"has the label {unknown[0]!r}, which the model does not know")
    return np.array([places[label] for label in labels.tolist()], dtype=np.intp)


def oriented(classes: NDArray[Any], positive: Label) -> NDArray[Any]:
    """The classes in sorted order, but the positive one of two last.

    >>> oriented(np.array(["bad", "good"]), "bad")
    array(['good', 'bad'], dtype='<U4')
    """
    if positive is None:
        return classes
    labels = classes.tolist()
    if len(labels) > 2:
        raise ArgumentError("pos_label", f"is for two classes, and there are {len(labels)}: {labels[:10]}")
    if positive not in labels:
        raise ArgumentError(
            "pos_label",
            f"must be one of the classes {labels}, got {positive!r}; class_names={{{labels[1]!r}: "
            f"{positive!r}}} says what a class is called",
        )
    return classes if labels[1] == positive else classes[::-1]


def names_of(classes: NDArray[Any], given: object) -> tuple[str, ...]:
    """What the classes are called: by a mapping of labels, or in the sorted order of the labels."""
    labels = classes.tolist()
    if given is None:
        return tuple(map(str, labels))
    if isinstance(given, Mapping):
        return tuple(str(given.get(label, label)) for label in labels)
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != len(labels):
        raise ArgumentError("class_names", f"must name the {len(labels)} classes {labels}, got {given!r}")
    ranked = dict(zip(sorted(labels), given, strict=True))
    return tuple(str(ranked[label]) for label in labels)


def _groups(given: Any, values: Any, n: int) -> Role | None:
    if values is None:
        return None
    return Role(given if isinstance(given, str) else "group", read_groups(values, n))


def _time(given: Any, values: Any, n: int) -> Role | None:
    """When each row was, as a number that grows with time: of dates, in days."""
    if values is None:
        return None
    when = np.asarray(values)
    if when.shape != (n,):
        raise ArgumentError("time", f"must have one entry for each of {n} rows, got shape {when.shape}")
    if when.dtype.kind in "OU":
        try:
            when = when.astype("datetime64[us]")
        except (ValueError, TypeError):
            raise ArgumentError("time", f"must be numbers or dates, got {when[0]!r}") from None
    if when.dtype.kind == "M":
        when = np.where(np.isnat(when), np.nan, when.astype("datetime64[us]").astype(np.float64) / 86.4e9)
    when = when.astype(np.float64)
    if not np.all(np.isfinite(when)):
        raise ArgumentError("time", f"is missing in row {int(np.argmin(np.isfinite(when)))}")
    return Role(given if isinstance(given, str) else "time", when)


def read_question_costs(costs: Any, fp_cost: CostTerm, fn_cost: CostTerm, pos_label: Any) -> Costs | None:
    """The costs that were given, or None if none were."""
    stated = read_terms(costs, fp_cost, fn_cost, pos_label)
    return None if stated == Costs(pos_label=pos_label) and costs is None else stated


def shares_of(prevalence: Shares, classes: NDArray[Any]) -> Floats:
    """Shares in a population of the classes of a study; an array has them in sorted order.

    >>> shares_of(0.1, np.array(["good", "bad"])), shares_of([0.1, 0.9], np.array(["good", "bad"]))
    (array([0.9, 0.1]), array([0.9, 0.1]))
    """
    known = np.sort(classes)
    places = [known.tolist().index(label) for label in classes.tolist()]
    try:
        return read_shares(prevalence, known, places[-1])[places]
    except ValueError as error:
        raise ArgumentError("prevalence", str(error).removeprefix("prevalence ")) from None


def is_array(X: MatrixLike) -> bool:
    """Whether X is an array, whose columns have no names."""
    return not is_frame(X) and not is_sparse(X)
