"""Costs as a user states them: numbers, ranges, columns, functions of rows, a matrix; and for which class.

`Costs` holds the statement; with classes and rows it becomes `propriety.costs.ResolvedCosts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from propriety.aliases import CostTerm, Label, MatrixLike
from propriety.costs import CostsOfRowsError, ResolvedCosts
from propriety.data import uncertain
from propriety.data.stream import Stream
from propriety.data.table import Stacked, is_frame, named_column, refuse_query
from propriety.errors import ArgumentError
from propriety.losses.point import check_probability
from propriety.losses.value import Value, show

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

#: The terms that may differ by row, and what an estimator, which has a short form of two, calls them.
TERMS = {
    "fp": "fp_cost",
    "fn": "fn_cost",
    "tp_benefit": "tp_benefit",
    "tn_benefit": "tn_benefit",
    "matrix": "cost_matrix",
}
#: What ``fit``, ``predict`` and ``score`` take of rows.
OF_ROWS = ("costs", "fp_cost", "fn_cost")
#: The cost matrix |i − j| of classes in order.
DISTANCE = "distance"
#: Parameters of an estimator that are the short form of `Costs`, with their defaults.
SHORT = {"fp_cost": 1.0, "fn_cost": 1.0, "pos_label": None}


@dataclass(frozen=True, eq=False, repr=False)
class Costs(Value):
    """What mistakes cost, and what right decisions bring: the ``costs=`` of every estimator.

    A value: it never changes, compares by content, and has parameters, so that ``costs__fn`` works in
    ``set_params`` and in searches. Costs are facts and not hyperparameters: a search over them needs
    ``scoring=evaluation.cost_scorer(...)``, which judges every candidate by the same costs.

    Parameters
    ----------
    fp, fn : float, pair, distribution, str, callable or array, default=1.0
        Cost of a false alarm and of a miss. A pair (low, high) or a frozen SciPy distribution: known only
        roughly, and decided for the mean. Different for each row: the name of a column of X, or a function
        from X to one number for each row; in ``fit``, ``predict`` and ``score`` also an array.
    tp_benefit, tn_benefit : as the costs, default=0.0
        What a hit and a right negative bring.
    matrix : array of shape (K, K) or (K, K + 1), data frame, dict or callable, default=None
        ``matrix[true, decided]`` in the place of those, for any number of classes; of shape (n, K, K) with
        one for each row. One more column is what it costs to abstain, and then ``predict`` may return
        `abstain_label`. A frame with labels, or ``{true: {decided: cost}}``, serves rows that lack a class
        too, as those of a fold may. "distance" is |i − j|, of classes in order.
    pos_label : label, default=None
        The class whose miss costs `fn`; None: the last of two in sorted order.
    abstain_label : label, default="abstain"
        What a decision to abstain is called.
    weight_by_stakes : bool, default=False
        Weight each training row by what is at stake in it, fp + fn, where these differ by row.

    Examples
    --------
    >>> from propriety import Costs
    >>> Costs(1, 9).threshold, Costs(fp=1, fn=9, tp_benefit=1)
    (0.1, Costs(fn=9, tp_benefit=1))
    >>> import pandas as pd
    >>> costs = Costs(fn="amount", pos_label="bad")
    >>> resolved = costs.resolve(np.array(["bad", "good"]), pd.DataFrame({"amount": [3.0, 9.0]}))
    >>> resolved.threshold, resolved.positive
    (array([0.25, 0.1 ]), 0)
    """

    fp: Any = 1.0
    fn: Any = 1.0
    _: KW_ONLY
    tp_benefit: Any = 0.0
    tn_benefit: Any = 0.0
    matrix: Any = None
    pos_label: Any = None
    abstain_label: Any = "abstain"
    weight_by_stakes: bool = False

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            _same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)
        )

    def __hash__(self) -> int:
        return hash((type(self), self.pos_label, *(v for v in (self.fp, self.fn) if _is_plain(v))))

    def __repr__(self) -> str:
        stated = {f.name: getattr(self, f.name) for f in fields(self)}
        changed = {name: v for name, v in stated.items() if not _same(v, DEFAULTS[name])}
        return f"Costs({', '.join(f'{name}={show(value)}' for name, value in changed.items())})"

    @classmethod
    def of_terms(cls, terms: Mapping[str, Any], *, rows: bool = False, **rest: Any) -> Costs:
        """From terms by the names that estimators and functions give them, such as ``cost_matrix``.

        With `rows` they are those of rows that are there: a pair is no range, but the costs of two rows.

        >>> Costs.of_terms({"fp_cost": 1, "fn_cost": [5, 20]}, rows=True).resolve(np.array([0, 1])).fn_cost
        array([ 5., 20.])
        """
        given = {name: terms[known] for name, known in TERMS.items() if terms.get(known) is not None}
        if rows:
            given = {name: _as_rows(value) for name, value in given.items()}
        return cls(**given, **rest)

    @classmethod
    def from_frame(cls, frame: Any) -> Costs:
        """Of rows, by the columns fp, fn, tp_benefit and tn_benefit of a data frame; some may lack.

        >>> import pandas as pd
        >>> Costs.from_frame(pd.DataFrame({"fn": [5.0, 9.0]})).resolve(np.array([0, 1])).threshold.round(3)
        array([0.167, 0.1  ])
        """
        names = list(nw.from_native(frame, eager_only=True).columns)
        allowed = [name for name in TERMS if name != "matrix"]
        wrong = [name for name in names if name not in allowed]
        if wrong or not names:
            raise ValueError(
                f"costs as a data frame must have columns among {', '.join(allowed)}, got {names}; a cost "
                "matrix is Costs(matrix=frame)"
            )
        columns: dict[str, Any] = {name: named_column(frame, name, name) for name in names}
        return cls(**columns)

    def with_rows(
        self, costs: CostsLike | None = None, fp_cost: CostTerm | None = None, fn_cost: CostTerm | None = None
    ) -> Costs:
        """The same with the terms that ``fit`` or ``predict`` was given for its rows.

        `costs` is a value, a data frame of `from_frame`, or an array of shape (n, K, K); `fp_cost` and
        `fn_cost` are its short form.
        """
        short = {"fp": fp_cost, "fn": fn_cost}
        short = {name: _as_rows(value) for name, value in short.items() if value is not None}
        if costs is None:
            if short and self.matrix is not None:
                raise ValueError("give either a cost matrix or fp_cost and fn_cost, not both")
            return self.replace(**short) if short else self
        if short:
            raise ValueError(
                f"give costs, or its short form {', '.join(TERMS[name] for name in short)}, not both"
            )
        given = read_costs(costs)
        own = {name: getattr(given, name) for name in TERMS}
        if given.pos_label is not None:
            own["pos_label"] = given.pos_label
        if given.abstain_label != DEFAULTS["abstain_label"]:
            own["abstain_label"] = given.abstain_label
        if given.weight_by_stakes:
            own["weight_by_stakes"] = True
        return self.replace(**own)

    def take(self, rows: Any) -> Costs:
        """The same for some rows, where it has entries for each.

        >>> Costs(fn=np.array([5.0, 9.0])).take([1]).fn
        array([9.])
        """
        by_row = {
            name: np.asarray(value)[rows]
            for name, value in ((name, getattr(self, name)) for name in TERMS)
            if _is_by_row(name, value)
        }
        return self.replace(**by_row) if by_row else self

    @property
    def terms(self) -> dict[str, Any]:
        """The terms, by the names that estimators and functions give them."""
        return {known: getattr(self, name) for name, known in TERMS.items()}

    @property
    def threshold(self) -> Any:
        """The probability from which the positive class is the cheaper decision: fp/(fp + fn). [B §3]

        >>> Costs(fn=0, tp_benefit=4).threshold
        0.2
        """
        return self.replace(pos_label=None).of_columns.threshold

    def decide(self, p: ArrayLike) -> NDArray[np.intp]:
        """The class of least expected cost for every row, as the index of its column; K is to abstain.

        `p` are probabilities of the second of two classes, or of every class. Of equally cheap classes it is
        the positive one, or the last. `pos_label` is the index of a column.

        >>> Costs(1, 9).decide([0.05, 0.1, 0.8]), Costs(fn=9, pos_label=0).decide([[0.2, 0.8]])
        (array([0, 1, 1]), array([0]))
        >>> Costs(matrix=[[0, 1, 1], [1, 0, 1], [9, 9, 0]]).decide([[0.5, 0.3, 0.2]])
        array([2])
        """
        refuse_query(p)
        return self.of_columns.decide(check_probability("p", p))

    @property
    def of_columns(self) -> ResolvedCosts:
        """The costs for columns of probabilities, whose classes they name themselves, or by index."""
        return self.resolve(self.classes)

    @property
    def classes(self) -> NDArray[Any]:
        """The classes that costs which all rows share are for: by name, or as indices."""
        if self.labels is not None:
            return self.labels
        return np.arange(2 if self.matrix is None else ResolvedCosts.of_matrix(self.matrix).n_classes)

    @property
    def labels(self) -> NDArray[Any] | None:
        """The classes that the cost matrix names; None if it names none."""
        if not is_labelled(self.matrix):
            return None
        return np.array(_labelled_cells(self.matrix)[0])

    @property
    def by_row(self) -> bool:
        """Whether they cannot be known without the rows."""
        return any(_needs_rows(name, getattr(self, name)) for name in TERMS)

    def refuse_arrays(self) -> None:
        """Refuse terms with an entry for each row, which only those who have the rows may give."""
        for name, known in TERMS.items():
            value = getattr(self, name)
            if _is_by_row(name, value):
                raise ValueError(
                    f"{known} has an entry for each of {len(value)} rows: give those to fit and predict; "
                    "here name a column of X, or give a function that makes them of X"
                )

    def resolve(
        self, classes: NDArray[Any], X: MatrixLike | None = None, known: NDArray[Any] | None = None
    ) -> ResolvedCosts:
        """The costs for these classes and, where they depend on them, for these rows; checked.

        `known` are all classes, sorted, where these rows may lack some: those that a matrix is for.
        """
        positive = self.positive_of(classes)
        given = {known_as: self._resolved(name, known_as, X) for name, known_as in TERMS.items()}
        matrix = given["cost_matrix"]
        if isinstance(matrix, str):
            places = np.arange(float(len(classes if known is None else known)))
            matrix = given["cost_matrix"] = (
                None if len(classes) == 2 else np.abs(places[:, None] - places[None, :])
            )
        if len(classes) > 2 and matrix is None:
            if any(
                np.ndim(given[known_as]) or given[known_as] != DEFAULTS[name] for name, known_as in _SIDED
            ):
                raise ValueError(
                    f"benefits, fp_cost and fn_cost are for two classes, got {len(classes)} classes; give "
                    "a cost matrix, costs=Costs(matrix=cost[true, predicted])"
                )
            return ResolvedCosts.equal(len(classes))
        if matrix is not None:
            given["cost_matrix"] = matrix_for(matrix, classes, known)
        costs = ResolvedCosts.read(**given, positive=positive)
        if costs.n_classes != len(classes):
            raise ArgumentError(
                "cost_matrix",
                f"is for {costs.n_classes} classes, and there are {len(classes)}: "
                f"{classes.tolist()[:10]}; if some rows, as those of a fold, may lack a class, name the "
                "classes: give a data frame, or a dict {true: {decided: cost}}",
            )
        if X is not None:
            if not isinstance(X, Stream):
                refuse_query(X)
            costs.check_rows(len(X) if type(X) is np.ndarray and X.ndim else _num_samples(X))
        if costs.n_classes == 2:
            costs.threshold  # noqa: B018 (it refuses a matrix that makes no sense)
        return costs

    def positive_of(self, classes: NDArray[Any]) -> int:
        """The place of the positive class among two."""
        if self.pos_label is None:
            return 1
        if len(classes) > 2:
            raise ArgumentError("pos_label", f"is for two classes, got {len(classes)} classes")
        labels = classes.tolist()
        if self.pos_label not in labels:
            advice = _NUMBERED if isinstance(self.pos_label, str) and labels == [0, 1] else ""
            raise ArgumentError(
                "pos_label", f"={self.pos_label!r} is not one of the classes {labels}{advice}"
            )
        return int(labels.index(self.pos_label))

    def _resolved(self, name: str, known_as: str, X: Any) -> Any:
        """Numbers for a term."""
        value = getattr(self, name)
        if _is_plain(value):
            return value
        if _needs_rows(name, value):
            if X is None:
                raise CostsOfRowsError(
                    f"{known_as}={value!r} differs by row, so costs are known only for rows: see costs_for(X)"
                )
            if isinstance(value, str):
                return named_column(X, value, known_as)
            if isinstance(X, Stream):
                raise TypeError(
                    f"{known_as} is a function of rows, and these are read in parts: name a column of "
                    "the scan"
                )
            if isinstance(X, Stacked):
                return np.concatenate([np.asarray(value(part)) for part in X.parts])
            return np.asarray(value(X))
        if name != "matrix" and uncertain.is_uncertain(value):
            return uncertain.mean(known_as, value)
        return value


#: What is not stated.
DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(Costs)}
_SIDED = [(name, known_as) for name, known_as in TERMS.items() if name != "matrix"]


#: What to do where others number the labels before a classifier sees them.
_NUMBERED = (
    ": VotingClassifier, StackingClassifier and others number the labels in their sorted order before they "
    "fit their members, so give these pos_label=0 or 1, the place of the label"
)


#: What ``costs=`` takes: a value or, of rows, a data frame or an array of shape (n, K, K).
CostsLike: TypeAlias = Costs | MatrixLike


def read_costs(given: Any) -> Costs:
    """The ``costs=`` of ``fit`` or of a function: a value, a data frame, or an array of rows."""
    if isinstance(given, Costs):
        return given
    if is_frame(given):
        return Costs.from_frame(given)
    if not isinstance(given, str | Mapping) and np.ndim(given) == 3:
        return Costs(matrix=np.asarray(given))
    raise TypeError(
        "costs must be a propriety.Costs or, of rows, a data frame with columns such as fp and fn or an "
        f"array of shape (n, K, K), got {given!r:.80}; a cost matrix is Costs(matrix=...)"
    )


def read_terms(
    costs: CostsLike | None = None,
    fp_cost: CostTerm = 1.0,
    fn_cost: CostTerm = 1.0,
    pos_label: Label | None = None,
) -> Costs:
    """What a function was given: `costs`, or the short form of it, in which a list is one number a row.

    >>> read_terms(fn_cost=[5, 20]).fn, read_terms(Costs(fn=9), pos_label="bad")
    (array([ 5, 20]), Costs(fn=9, pos_label='bad'))
    """
    if costs is None:
        return Costs(_as_rows(fp_cost), _as_rows(fn_cost), pos_label=pos_label)
    if not (_same(fp_cost, SHORT["fp_cost"]) and _same(fn_cost, SHORT["fn_cost"])):
        raise ValueError("give costs, or its short form fp_cost and fn_cost, not both")
    stated = read_costs(costs)
    if pos_label is None or stated.pos_label == pos_label:
        return stated
    if stated.pos_label is not None:
        raise ValueError(f"pos_label={pos_label!r}, and costs have pos_label={stated.pos_label!r}; give one")
    return stated.replace(pos_label=pos_label)


def stated_costs(estimator: BaseEstimator) -> Costs:
    """What an estimator's parameters say: ``costs``, or the short form; those it has not have their defaults.

    >>> from propriety import LinearClassifier
    >>> stated_costs(LinearClassifier(fn_cost=9)) == stated_costs(LinearClassifier(costs=Costs(fn=9)))
    True
    """
    short = {name: getattr(estimator, name, default) for name, default in SHORT.items()}
    costs = getattr(estimator, "costs", None)
    if costs is None:
        terms = Costs(short["fp_cost"], short["fn_cost"], pos_label=short["pos_label"])
        if getattr(estimator, "multiclass", None) == "ordinal" and terms == Costs(pos_label=terms.pos_label):
            terms = terms.replace(matrix=DISTANCE)
    else:
        if not isinstance(costs, Costs):
            raise TypeError(f"costs must be a propriety.Costs or None, got {costs!r:.80}")
        both = [name for name, default in SHORT.items() if not _same(short[name], default)]
        if both:
            part = {"fp_cost": "fp", "fn_cost": "fn", "pos_label": "pos_label"}[both[0]]
            raise ValueError(
                f"give costs or {both[0]}, not both: {both[0]} is costs__{part} where costs is given"
            )
        terms = costs
    terms.refuse_arrays()
    return terms


def parameters_of(costs: Costs) -> dict[str, Any]:
    """The parameters of an estimator that state these costs: by the short form, where that says it all.

    >>> parameters_of(Costs(fn=9))
    {'costs': None, 'fp_cost': 1.0, 'fn_cost': 9, 'pos_label': None}
    >>> parameters_of(Costs(fn=9, tp_benefit=1))
    {'costs': Costs(fn=9, tp_benefit=1), 'fp_cost': 1.0, 'fn_cost': 1.0, 'pos_label': None}
    """
    short = Costs(costs.fp, costs.fn, pos_label=costs.pos_label) == costs
    own = {"fp_cost": costs.fp, "fn_cost": costs.fn, "pos_label": costs.pos_label}
    return {"costs": None, **own} if short else {"costs": costs, **SHORT}


def abstain_label_of(estimator: BaseEstimator) -> Any:
    """What an estimator, of this library or another, calls a decision to abstain."""
    costs = getattr(estimator, "costs", None)
    return costs.abstain_label if isinstance(costs, Costs) else DEFAULTS["abstain_label"]


def _as_rows(value: Any) -> Any:
    """A term of rows: a pair is no range but two rows."""
    return np.asarray(value) if isinstance(value, tuple | list) else value


def _is_by_row(name: str, value: Any) -> bool:
    """Whether a term has an entry for each row."""
    if _is_plain(value) or callable(value) or is_labelled(value):
        return False
    return (
        np.ndim(value) > 2 if name == "matrix" else not uncertain.is_uncertain(value) and np.ndim(value) > 0
    )


def _same(a: Any, b: Any) -> bool:
    """Whether two terms say the same."""
    if a is b:
        return True
    if hasattr(a, "__dask_graph__") or hasattr(b, "__dask_graph__"):
        return False
    if is_labelled(a) and is_labelled(b):
        return bool(as_dict(a) == as_dict(b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b)))
    try:
        return bool(a == b)
    except ValueError:  # lists of arrays, and the like
        return False


def as_dict(matrix: Any) -> Any:
    """A data frame of costs as ``{true: {decided: cost}}``, which means the same; others as they are.

    >>> import pandas as pd
    >>> as_dict(pd.DataFrame([[0, 2], [5, 0]], index=["a", "b"], columns=["a", "b"]))
    {'a': {'a': 0.0, 'b': 2.0}, 'b': {'a': 5.0, 'b': 0.0}}
    """
    if not is_labelled(matrix) or isinstance(matrix, Mapping):
        return matrix
    true, decided, values = _labelled_cells(matrix)
    rows = zip(true, values.tolist(), strict=True)
    return {label: dict(zip(decided, row, strict=True)) for label, row in rows}


def is_labelled(matrix: Any) -> bool:
    """Whether a cost matrix names its classes: a dict of dicts, or a data frame with an index."""
    return isinstance(matrix, Mapping) or (hasattr(matrix, "index") and hasattr(matrix, "columns"))


def matrix_for(matrix: Any, classes: NDArray[Any], known: NDArray[Any] | None = None) -> Any:
    """The rows and columns of a cost matrix for these classes; one column more is what abstaining costs.

    `known` are the classes, sorted, that a matrix without names is for.

    >>> costs = {"a": {"a": 0, "b": 1, "c": 4}, "b": {"a": 3, "b": 0, "c": 1}, "c": {"a": 9, "b": 9, "c": 0}}
    >>> matrix_for(costs, np.array(["a", "c"])).tolist()
    [[0.0, 4.0], [9.0, 0.0]]
    >>> matrix_for(1 - np.eye(3), np.array([0, 7]), known=np.array([0, 5, 7])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if is_labelled(matrix):
        true, decided, values = _labelled_cells(matrix)
        missing = [label for label in classes.tolist() if label not in true or label not in decided]
        if missing:
            raise ValueError(
                f"cost_matrix must have a row and a column for each class, and has none for {missing[:5]}"
            )
        others = [label for label in decided if label not in true]
    elif known is None:
        return matrix
    else:
        values = np.asarray(matrix)
        true = decided = known.tolist()
        if values.ndim < 2 or values.shape[-2] != len(true):
            return matrix
        others = ["abstain"] if values.shape[-1] > len(true) else []
        decided = [*decided, *others]
    rows = [true.index(label) for label in classes.tolist()]
    columns = [decided.index(label) for label in [*classes.tolist(), *others]]
    return values[..., rows, :][..., columns]


def _labelled_cells(matrix: Any) -> tuple[list[Any], list[Any], NDArray[np.float64]]:
    """Labels of rows and of columns, and the numbers."""
    if not isinstance(matrix, Mapping):
        return list(matrix.index), list(matrix.columns), np.asarray(matrix, dtype=np.float64)
    if not matrix or not all(isinstance(row, Mapping) and row for row in matrix.values()):
        raise ValueError("cost_matrix as a dict must be {true: {decided: cost}}, a dict for each true class")
    decided = list(next(iter(matrix.values())))
    for label, row in matrix.items():
        if set(row) != set(decided):
            raise ValueError(
                f"cost_matrix must have the same decisions for each class: {label!r} has {list(row)}, and "
                f"{next(iter(matrix))!r} has {decided}"
            )
    return (
        list(matrix),
        decided,
        np.array([[row[k] for k in decided] for row in matrix.values()], dtype=float),
    )


def _is_plain(value: Any) -> bool:
    """Whether a term is a number or is left out, so that nothing more need be asked of it."""
    return value is None or type(value) is float or type(value) is int


def _needs_rows(name: str, value: Any) -> bool:
    """Whether a term is a column or a function of the rows."""
    return (isinstance(value, str) and (name, value) != ("matrix", DISTANCE)) or callable(value)
