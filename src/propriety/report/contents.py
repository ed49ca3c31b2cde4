"""What a report is written from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.cached_properties import cached_property
from propriety.costs import ResolvedCosts
from propriety.data.costs import Costs
from propriety.data.training import n_scores_of, read_groups, read_offset
from propriety.evaluation import inputs
from propriety.evaluation.flips import Flip
from propriety.evaluation.judging import CONSTANT, RIVAL, JudgedRows, Judgement, judge
from propriety.losses.point import check_probability
from propriety.report import checks
from propriety.report.numbers import Scale
from propriety.storage.atomic import atomically
from propriety.weights import Estimate, Weights

Floats = NDArray[np.float64]
#: The terms of the costs of a report.
COSTS = ("fp_cost", "fn_cost", "tp_benefit", "tn_benefit", "cost_matrix")


@dataclass(frozen=True)
class ColumnFacts:
    """A column of the table: its kind, the share of missing values, and its values in a few words."""

    name: str
    kind: str
    missing: float = 0.0
    values: str = ""


@dataclass(frozen=True)
class Effects:
    """What each feature adds to the score: ``parts[i, j]`` of feature j for the judging row ``rows[i]``."""

    rows: NDArray[np.intp]
    parts: Floats


@dataclass(frozen=True)
class Flipped:
    """What would change the decision on the judging row ``row``; None if nothing was found that would."""

    row: int
    flip: Flip | None


@dataclass(frozen=True, eq=False)
class Report:
    """A page about a model for the people who decide: what it was asked, what it costs, what it goes by.

    It needs the labels and the probabilities of rows that the model had not seen; everything else adds to the
    page. The page is one HTML file that loads nothing, and the same for the same contents.

    Parameters
    ----------
    y : array of shape (n,)
        The class of each judging row: 1 for the positive class and 0, or 0 … K − 1.
    p : array of shape (n,) or (n, K)
        Probabilities of the positive class, or of every class.
    fp_cost, fn_cost : float, pair (low, high), or array of shape (n,)
        What a false alarm and a miss cost; a pair is a range in which the cost is known to lie.
    tp_benefit, tn_benefit : float, or array of shape (n,)
        What right decisions bring.
    cost_matrix : array of shape (K, K) or (n, K, K), optional
        ``cost_matrix[true, decided]`` instead of those; with one more column for abstaining.
    budget : int, or float in (0, 1), optional
        How many rows may be acted on, or which share of them.
    stated : mapping of names to text
        How those were stated, such as ``{"fn_cost": "amount"}``.
    sample_weight : array of shape (n,), optional
    offset : array of shape (n,), or (n, K), optional
        What the scores of the judging rows start from; `p` has it in already. The page says so.
    groups : array of shape (n,), optional
        Rows of a group count as one observation in intervals.
    name : str
        Of the model.
    target, positive, negative : str
        Names of what is predicted and of its two classes.
    classes : sequence of str
        Names of the classes, if they are more than two.
    rivals : mapping of names to probabilities
        Of other models, for the same rows.
    same : str
        Which of the usual rivals is this model itself, if one is.
    judged_by : str
        How the judging rows were kept from the model; if empty, the page says that this is not known.
    places : array of shape (n,), optional
        The number of each row in its table, from 0.
    parts : array of shape (n,), optional
        The part (fold) that each row was judged in.
    order : array of shape (n,), optional
        The place of each row in the table; by default as they come. Its time, if `time` names it.
    time : str
        What `order` is a time of, such as the name of a column; then the page shows the model over time.
    loss : loss or composite, optional
        What was fitted.
    chosen : str
        How the loss was chosen; each further line is a paragraph.
    model : fitted estimator, optional
        A tree is drawn, rules are told, an additive model has its curves.
    of_model : sequence of str
        Names of the classes in the order of the model; by default negative and positive.
    text : str
        The model in words, if it can be read: a scorecard, a tree or rules.
    importances : mapping of names to numbers, or to estimates
        How much the model relies on each column: shares, or how much the log loss rises when it is shuffled,
        with the interval.
    features : mapping of names to arrays of shape (n,)
        Columns of the judging rows: floats, or text for categories.
    by : mapping of names to arrays of shape (n,)
        Columns whose values part the rows into subgroups: text, or numbers that are taken in quarters.
    flips : sequence of Flipped
        What would change the decision on some of the rows.
    unit : str
        Of the costs, such as "€".
    per : pair (period, cases), optional
        For how many cases numbers are told, such as ``("year", 120_000)``; by default for 1,000.
    capacity : float, optional
        How many of those cases can be checked; the page says what that finds.
    effects : Effects, optional
        What they add to the score.
    columns, left_out, notes, warnings : what is known of the table
    remarks : sequence of str
        What else is to be warned of: how the fit ended, or what another way of judging says.
    about : mapping of names to text
        More facts of the data, such as the name of the table.
    command : str
        What makes the report again.

    Examples
    --------
    >>> import numpy as np
    >>> from propriety.report import Report
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=500)
    >>> report = Report(rng.uniform(size=500) < p, p, fp_cost=1, fn_cost=4, positive="fraud")
    >>> [line.name for line in report.lines]
    ['the model', "never 'fraud'", "always 'fraud'"]
    >>> report.lines[0].cost.value < min(line.cost.value for line in report.lines[1:])
    True
    """

    y: Any
    p: Any
    fp_cost: Any = 1.0
    fn_cost: Any = 1.0
    tp_benefit: Any = 0.0
    tn_benefit: Any = 0.0
    cost_matrix: Any = None
    budget: float | None = None
    stated: Mapping[str, str] = field(default_factory=dict)
    sample_weight: Any = None
    offset: Any = None
    groups: Any = None
    name: str = "the model"
    target: str = "class"
    positive: str = "1"
    negative: str = "0"
    classes: Sequence[str] = ()
    rivals: Mapping[str, Any] = field(default_factory=dict)
    same: str = ""
    judged_by: str = ""
    parts: Any = None
    order: Any = None
    loss: Any = None
    chosen: str = ""
    model: Any = None
    of_model: Sequence[str] = ()
    text: str = ""
    importances: Mapping[str, float | Estimate] = field(default_factory=dict)
    features: Mapping[str, Any] = field(default_factory=dict)
    effects: Effects | None = None
    by: Mapping[str, Any] = field(default_factory=dict)
    flips: Sequence[Flipped] = ()
    unit: str = ""
    per: tuple[str, float] | None = None
    capacity: float | None = None
    time: str = ""
    places: Any = None
    columns: Sequence[ColumnFacts] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    remarks: Sequence[str] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    command: str = ""

    def __post_init__(self) -> None:
        y, p = _read_rows(self.y, self.p, len(self.classes))
        n = len(y)
        classes = tuple(self.classes) or _numbered(p)
        labels = (self.negative, self.positive) if p.ndim == 1 else classes
        groups = None if self.groups is None else read_groups(self.groups, n)
        offset = None if self.offset is None else read_offset(self.offset, n, n_scores_of(len(labels)))
        for attribute, value in (
            ("y", y),
            ("p", p),
            ("sample_weight", inputs.weights(self.sample_weight, n)),
            ("classes", classes),
            ("of_model", tuple(self.of_model) or labels),
            ("groups", groups),
            ("offset", offset),
        ):
            object.__setattr__(self, attribute, value)
        taken = (self.name, *(rule.name for rule in self.rows.constants))
        if self.per is not None and not (len(self.per) == 2 and float(self.per[1]) > 0):
            raise ValueError(
                f"per must be a period and a number of cases, as ('year', 120_000), got {self.per!r}"
            )
        if self.capacity is not None and not 0 < self.capacity <= self.scale.cases:
            most = f"{self.scale.cases:,.0f}"
            raise ValueError(f"capacity must be above 0 and at most the {most} cases, got {self.capacity!r}")
        for name, rival in self.rivals.items():
            if name in taken:
                raise ValueError(f"rivals[{name!r}] has the name of another way to decide; rename it")
            if np.shape(rival) != p.shape:
                each = "a probability" if p.ndim == 1 else f"{p.shape[1]} probabilities"
                raise ValueError(
                    f"rivals[{name!r}] must have {each} for each of {n} rows, got {np.shape(rival)}"
                )
        of_rows = {f"features[{name!r}]": values for name, values in self.features.items()}
        of_rows |= {f"by[{name!r}]": values for name, values in self.by.items()}
        of_rows |= {what: getattr(self, what) for what in ("parts", "order")}
        for what, values in of_rows.items():
            if values is not None and np.shape(values) != (n,):
                raise ValueError(f"{what} must have an entry for each of {n} rows, got {np.shape(values)}")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        positive: Any = None,
        names: Mapping[Any, str] | None = None,
        rivals: Mapping[str, Any] | None = None,
        offset: Any = None,
        **facts: Any,
    ) -> Report:
        """The report of a fitted classifier, judged on rows that it should not have seen.

        A model of this library knows its training rows again: the page warns if it is judged by them, and
        says so if nothing is known.

        Parameters
        ----------
        estimator : fitted classifier
            Costs are those it has, or those of the model that a search, a pipeline or a calibration holds;
            `fp_cost`, `fn_cost` and the other terms say others.
        X, y : the judging rows
        positive : label, optional
            The one of two classes that can be missed: the model's ``pos_label`` or the last one if not given.
            Costs of the model stay those of its mistakes, whichever side they are seen from.
        names : mapping of labels to text, optional
            What the page calls the classes.
        rivals : mapping of names to fitted classifiers
        offset : array of shape (n,), or (n, K) for more than two classes, optional
            What the scores of these rows start from, of a model and of rivals that were fitted with one.
        **facts
            Other parameters of `Report`.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from propriety import LinearClassifier
        >>> from propriety.report import Report
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> X = X.iloc[:, :4]
        >>> model = LinearClassifier(fp_cost=1, fn_cost=9, pos_label=0, alpha=0.01).fit(X[::2], y[::2])
        >>> report = Report.from_estimator(model, X[1::2], y[1::2], names={0: "malignant", 1: "benign"})
        >>> report.lines[0].name, report.positive, len(report.html()) > 10_000
        ('LinearClassifier', 'malignant', True)
        """
        from propriety.report.reading import facts_of, warned_of_predict

        known = facts_of(estimator, X, y, rivals or {}, positive, names or {}, offset)
        if any(name in facts for name in COSTS):
            known = {name: value for name, value in known.items() if name not in (*COSTS, "stated", "flips")}
        known["remarks"] = (*known["remarks"], *facts.pop("remarks", ()))
        return warned_of_predict(cls(**(known | facts)), estimator, X)

    @cached_property
    def costs(self) -> ResolvedCosts:
        """What decisions cost."""
        stated = Costs.of_terms({name: getattr(self, name) for name in COSTS})
        return stated.resolve(np.arange(len(self.labels)))

    @property
    def scale(self) -> Scale:
        """For how many cases numbers are told, and in which unit."""
        return Scale(self.unit) if self.per is None else Scale(self.unit, self.per[0], float(self.per[1]))

    @property
    def sided(self) -> bool:
        """Whether there are two classes and two decisions: false alarms and misses."""
        return self.rows.sided

    @property
    def weights(self) -> Weights:
        """The weights of the judging rows: a row of weight k is k rows."""
        return Weights.read(self.sample_weight, len(self.y))

    @property
    def labels(self) -> tuple[str, ...]:
        """Negative and positive, or the classes."""
        return (self.negative, self.positive) if self.p.ndim == 1 else tuple(self.classes)

    @cached_property
    def rows(self) -> JudgedRows:
        """The judging rows."""
        y = self.y.astype(np.intp)
        return JudgedRows(y, self.labels, self.costs, self.weights, self.groups, self.budget)

    @cached_property
    def decided(self) -> NDArray[np.intp]:
        """What the model decides for each row."""
        return self.rows.decide(self.p)

    @cached_property
    def lines(self) -> tuple[Judgement, ...]:
        """The costs of 1,000 cases decided by the model, by neither looking, and by the rivals."""
        rules = [self.rows.rule(self.name, self.p), *self.rows.constants]
        rules += [self.rows.rule(name, p, RIVAL) for name, p in self.rivals.items()]
        return judge(self.rows, rules)

    @property
    def simplest(self) -> Judgement:
        """The cheapest decision for everyone."""
        return min((line for line in self.lines if line.kind == CONSTANT), key=lambda line: line.cost.value)

    @property
    def findings(self) -> list[str]:
        """All warnings, those that matter most first: those given, of the checks, and of the fit."""
        return [*self.warnings, *self.found]

    @property
    def found(self) -> list[str]:
        """The warnings of the checks and of the fit."""
        order = np.arange(len(self.y)) if self.order is None else np.asarray(self.order)
        two = self.p.ndim == 1
        warnings = checks.no_better(self.simplest)
        if two:
            warnings += checks.worse_than_base_rate(self.y, self.p, self.weights, self.groups)
        warnings += checks.rare_classes(self.y, self.labels) + checks.few_mistakes(self.y, self.decided)
        warnings += checks.miscalibrated(self.y, self.p, self.weights) if two else []
        warnings += self.remarks
        if self.parts is not None:
            row_costs = self.rows.row_costs(self.decided)
            warnings += checks.parts_differ(np.asarray(self.parts), row_costs, self.weights)
        for k, label in enumerate(self.labels):
            if k or not two:
                warnings += checks.share_drifts((self.y == k).astype(np.float64), order, label, self.time)
        return warnings + checks.columns_drift(dict(self.features), order)

    def html(self) -> str:
        """The page."""
        from propriety.report.page import page

        return page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all."""
        text = self.html()
        with atomically(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")


def _read_rows(y: Any, p: Any, n_classes: int) -> tuple[Floats, Floats]:
    """Classes as numbers and probabilities, of one column for two classes."""
    if np.ndim(p) != 2 or np.shape(p)[1] == 2:
        codes, p = inputs.outcomes(np.asarray(y, dtype=float), 1), inputs.probabilities(p)
    else:
        codes, p = np.asarray(y, dtype=np.float64), check_probability("p", p)
        k = p.shape[1]
        if n_classes not in (0, k):
            raise ValueError(f"classes must name the {k} columns of p, got {n_classes} names")
        if not np.all(np.isin(codes, np.arange(k))):
            raise ValueError(f"y must be classes from 0 to {k - 1}, the columns of p")
    inputs.same_length(y=codes, p=p)
    return codes, p


def _numbered(p: Floats) -> tuple[str, ...]:
    return () if p.ndim == 1 else tuple(str(k) for k in range(p.shape[1]))
