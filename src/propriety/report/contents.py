"""What a report is written from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.costs import Costs
from propriety.evaluation import inputs
from propriety.report import checks
from propriety.report.lines import Line, compare
from propriety.storage.atomic import atomically
from propriety.weights import Weights

Floats = NDArray[np.float64]


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


@dataclass(frozen=True, eq=False)
class Report:
    """A page about a model for the people who decide: what it was asked, what it costs, what it goes by.

    It needs the labels and the probabilities of rows that the model had not seen; everything else adds to the
    page. The page is one HTML file that loads nothing, and the same for the same contents.

    Parameters
    ----------
    y : array of shape (n,)
        Whether each judging row is of the positive class: 0 or 1.
    p : array of shape (n,)
        Probabilities of the positive class.
    fp_cost, fn_cost : float
        What a false alarm and a miss cost.
    sample_weight : array of shape (n,), optional
    name : str
        Of the model.
    target, positive, negative : str
        Names of what is predicted and of its two classes.
    rivals : mapping of names to probabilities
        Of other models, for the same rows.
    same : str
        Which of the usual rivals is this model itself, if one is.
    judged_by : str
        How the judging rows were kept from the model.
    parts : array of shape (n,), optional
        The part (fold) that each row was judged in.
    order : array of shape (n,), optional
        The place of each row in the table; by default as they come.
    loss : loss or composite, optional
        What was fitted.
    chosen : str
        How the loss was chosen.
    model : fitted estimator, optional
        A tree is drawn, rules are told, an additive model has its curves.
    importances : mapping of names to shares
    features : mapping of names to arrays of shape (n,)
        Columns of the judging rows: floats, or text for categories.
    effects : Effects, optional
        What they add to the score.
    columns, left_out, notes, warnings : what is known of the table
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
    fp_cost: float = 1.0
    fn_cost: float = 1.0
    sample_weight: Any = None
    name: str = "the model"
    target: str = "class"
    positive: str = "1"
    negative: str = "0"
    rivals: Mapping[str, Any] = field(default_factory=dict)
    same: str = ""
    judged_by: str = "rows that the model has not seen"
    parts: Any = None
    order: Any = None
    loss: Any = None
    chosen: str = ""
    model: Any = None
    importances: Mapping[str, float] = field(default_factory=dict)
    features: Mapping[str, Any] = field(default_factory=dict)
    effects: Effects | None = None
    columns: Sequence[ColumnFacts] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    command: str = ""

    def __post_init__(self) -> None:
        y, p = inputs.outcomes(np.asarray(self.y, dtype=float), 1), inputs.probabilities(self.p)
        inputs.same_length(y=y, p=p)
        n = len(y)
        for attribute, value in (
            ("y", y),
            ("p", p),
            ("sample_weight", inputs.weights(self.sample_weight, n)),
        ):
            object.__setattr__(self, attribute, value)
        taken = (self.name, *self._without_model())
        for name, p in self.rivals.items():
            if name in taken:
                raise ValueError(f"rivals[{name!r}] has the name of another way to decide; rename it")
            if np.shape(p) != (n,):
                raise ValueError(
                    f"rivals[{name!r}] must have a probability for each of {n} rows, got {np.shape(p)}"
                )
        for name, values in self.features.items():
            if np.shape(values) != (n,):
                raise ValueError(
                    f"features[{name!r}] must have a value for each of {n} rows, got {np.shape(values)}"
                )
        for what in ("parts", "order"):
            values = getattr(self, what)
            if values is not None and np.shape(values) != (n,):
                raise ValueError(f"{what} must have an entry for each of {n} rows, got {np.shape(values)}")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, rivals: Mapping[str, Any] | None = None, **facts: Any
    ) -> Report:
        """The report of a fitted classifier of two classes, judged on rows it has not seen.

        Parameters
        ----------
        estimator : fitted classifier
            Costs are those it has; `fp_cost` and `fn_cost` say others.
        X, y : the judging rows
        rivals : mapping of names to fitted classifiers
        **facts
            Other parameters of `Report`.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from propriety import LinearClassifier
        >>> from propriety.report import Report
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> X = X.iloc[:, :4]
        >>> model = LinearClassifier(fp_cost=9, fn_cost=1, alpha=0.01).fit(X[::2], y[::2])
        >>> report = Report.from_estimator(model, X[1::2], y[1::2], positive="benign")
        >>> report.lines[0].name, len(report.html()) > 10_000
        ('LinearClassifier', True)
        """
        from propriety.report.reading import facts_of

        known = facts_of(estimator, X, y, rivals or {})
        return cls(**(known | facts))

    @property
    def costs(self) -> Costs:
        """The costs of the two mistakes."""
        return Costs.of_mistakes(self.fp_cost, self.fn_cost)

    @property
    def weights(self) -> Weights:
        """The weights of the judging rows: a row of weight k is k rows."""
        return Weights.read(self.sample_weight, len(self.y))

    @property
    def labels(self) -> tuple[str, str]:
        """Negative and positive."""
        return self.negative, self.positive

    @property
    def lines(self) -> list[Line]:
        """The costs of 1,000 cases decided by the model, by neither looking, and by the rivals."""
        costs, n = self.costs, len(self.y)
        ways = {self.name: costs.decide(self.p)}
        never, always = self._without_model()
        ways |= {never: np.zeros(n, dtype=np.intp), always: np.ones(n, dtype=np.intp)}
        ways |= {name: costs.decide(p) for name, p in self.rivals.items()}
        return compare(self.y, ways, self.weights, costs)

    def _without_model(self) -> tuple[str, str]:
        return f"never {self.positive!r}", f"always {self.positive!r}"

    @property
    def findings(self) -> list[str]:
        """All warnings: those given, and those of the checks of the judging rows."""
        order = np.arange(len(self.y)) if self.order is None else np.asarray(self.order)
        warnings = [*self.warnings, *checks.rare_classes(self.y, self.labels)]
        warnings += checks.few_mistakes(self.y, self.p, self.costs)
        if self.parts is not None:
            rows = self.costs.of_rows(self.y, self.costs.decide(self.p))
            warnings += checks.parts_differ(np.asarray(self.parts), rows, self.weights)
        warnings += checks.share_drifts(self.y, order, self.positive)
        warnings += checks.columns_drift(dict(self.features), order)
        return warnings

    def html(self) -> str:
        """The page."""
        from propriety.report.page import page

        return page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all."""
        text = self.html()
        with atomically(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
