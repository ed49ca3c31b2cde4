"""A study: a model judged on rows that it has not seen, with everything that is known of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator

from propriety.aliases import ClassNames, CostTerm, Folds, Label, MatrixLike, Shares
from propriety.cached_properties import cached_property
from propriety.data.costs import Costs, stated_costs
from propriety.data.table import refuse_query
from propriety.errors import ArgumentError
from propriety.evaluation.judging import (
    RIVAL,
)
from propriety.model.base import ProperClassifier
from propriety.storage.atomic import atomically
from propriety.study.candidates import Candidate, candidate_of, rivals_of, scores_of, stacked_of
from propriety.study.columns import (
    TableFacts,
    with_categories,
)
from propriety.study.findings import Finding, findings_of
from propriety.study.inside import costs_within
from propriety.study.judged import seen_rows
from propriety.study.models import (
    AUTO,
    FitRequest,
    within,
)
from propriety.study.numbers import Scale
from propriety.study.pieces import StudyPieces
from propriety.study.question import Question, read_question_costs
from propriety.study.reference import Reference
from propriety.study.splitting import Split, split_rows
from propriety.study.streamed import Streamed, is_streamed
from propriety.study.summary import document, judgements_frame, predictions_frame, text
from propriety.study.verdict import headline, of_models

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from propriety.data.costs import CostsLike


class Study(StudyPieces):
    """A model judged by what its decisions cost on rows that it has not seen.

    A study splits the rows, fits the model and its rivals to the training parts, judges their decisions on
    the judging parts beside deciding without a model, and has everything that is said of them: intervals,
    warnings, what the model relies on, subgroups, counterfactuals and a page. What judges a row, and what is
    said of that row, is the same fitted model.

    Parameters
    ----------
    model : str or classifier, default="auto"
        A name ("auto", "boosting", "forest", "linear", "tree", "rules", "scorecard", "logistic", "hist",
        "lightgbm", "xgboost") or a classifier with the interface of scikit-learn, which is cloned and fitted.
        One that must not be fitted is a `sklearn.frozen.FrozenEstimator`, or comes by `from_estimator`.
    X : array or data frame of shape (n, d), `propriety.scan` or Dask collection
        Of the latter two, rows chosen by a hash, at most 500,000, come to this process to judge, and
        boosting, forests and trees are fitted to the others where they are.
    y : array of shape (n,), or name of a column of X
        None for a scan, which has its target.
    costs : Costs, optional
        What mistakes cost; of the model if it states its own. `fp_cost`, `fn_cost` and `pos_label` are the
        short form.
    budget : int, or float in (0, 1), optional
        How many test rows may be acted on, or which share of them.
    prevalence : float, or dictionary or array of K shares, optional
        Shares of the classes, of two that of the positive one, in the population that rows drawn by class
        stand for. Judging rows are weighted to it, and models that the study fits are adapted to it; fitted
        models and ready scores are taken as they are.
    sample_weight, offset, groups, time : array of shape (n,), or name of a column of X, optional
        Weights of the rows; where scores start; what is never on both sides of a split; and what splits
        earlier rows from later ones. Columns that are named are no features.
    gap : float, default=0.0
        How much earlier than the test rows the training rows are, in units of `time` or in days, where
        labels come late.
    cv : int or splitter, optional
        Folds of cross-validation. By default 5 below 5,000 rows, else a quarter is held out.
    holdout : float, optional
        The share that is held out.
    test : tuple (X, y) or (X, y, sample_weight), optional
        Evaluation in the place of a split.
    rivals : mapping of names to classifiers, or sequence of names, optional
        Other models, fitted to the same rows and judged on the same rows.
    name : str, optional
        Of the model.
    class_names : mapping or sequence, optional
        What classes are called.
    unit : str, default=""
        Of the costs, such as "€".
    cases : tuple (period, n), optional
        For how many cases numbers are told, such as ``("year", 120_000)``; by default for 1,000.
    capacity : float, optional
        How many of those cases can be checked; the page says what that finds.
    by : sequence of names of columns, or mapping of names to arrays, optional
        What parts the rows into subgroups on the page; by default two columns that count.
    actionable : names of columns, optional
        Those that may change in counterfactuals; by default all.
    refit : bool, default=True
        Fit the model to all rows after it was judged by folds.
    n_jobs : int, optional
    random_state : int, default=0

    Attributes
    ----------
    question : Question
        All that was asked, read and checked.
    split : Split
        Which rows train and which judge.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> study = Study("linear", X.iloc[:, :5], y, costs=Costs(1, 9, pos_label=0), cv=3,
    ...               class_names=["malignant", "benign"])
    >>> [judgement.name for judgement in study.judgements]
    ['propriety linear', "never 'malignant'", "always 'malignant'"]
    >>> study.judgement.cost.high < study.best_constant.cost.low
    True
    """

    def __init__(
        self,
        model: BaseEstimator = AUTO,
        X: Any = None,
        y: Any = None,
        *,
        costs: CostsLike | None = None,
        fp_cost: CostTerm = 1.0,
        fn_cost: CostTerm = 1.0,
        pos_label: Label | None = None,
        budget: float | None = None,
        prevalence: Shares | None = None,
        sample_weight: Any = None,
        offset: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
        gap: float = 0.0,
        cv: Folds | None = None,
        holdout: float | None = None,
        test: Any = None,
        rivals: Any = None,
        name: str | None = None,
        class_names: ClassNames | None = None,
        unit: str = "",
        cases: tuple[str, float] | None = None,
        capacity: float | None = None,
        by: Any = (),
        actionable: Collection[str] | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        streamed = None
        if is_streamed(X):
            _check_streamed(model, cv=cv, test=test, groups=groups, time=time, offset=offset)
            model = "boosting" if isinstance(model, str) and model == AUTO else model
            streamed = Streamed.of(X, y, sample_weight, holdout, random_state)
            X, y, sample_weight = streamed.X, streamed.y, streamed.weight
        if X is None or y is None:
            raise ArgumentError("X", "and y are needed: the rows that a model is fitted to and judged on")
        refuse_query(X)
        fixed = isinstance(model, FrozenEstimator)
        if fixed and (cv is not None or holdout is not None or test is not None):
            raise ArgumentError("cv", "splits rows, and a model that is fitted is judged on all rows given")
        n_train = None
        if test is not None:
            if cv is not None or holdout is not None:
                raise ArgumentError("test", "has the rows that judge: leave cv and holdout out")
            X, y, sample_weight, n_train = stacked_of(X, y, sample_weight, test)
        target = _target(y)
        stated = read_question_costs(costs, fp_cost, fn_cost, pos_label)
        stated, numbers = _costs_asked(model, X, stated, pos_label)
        question = Question.read(
            X if fixed or not isinstance(model, str) else with_categories(X),
            y,
            costs=numbers,
            stated=stated,
            class_names=class_names,
            classes=np.asarray(model.classes_) if fixed else None,
            sample_weight=sample_weight,
            offset=offset,
            groups=groups,
            time=time,
            by=by,
            budget=budget,
            prevalence=prevalence,
            keep_columns=fixed,
        )
        request = FitRequest(seed=random_state, jobs=n_jobs)
        candidates = [candidate_of(model, question, request, name)]
        others = rivals_of(rivals)
        if fixed and not all(isinstance(other, FrozenEstimator) for _, other in others):
            raise ArgumentError(
                "rivals", "must be fitted and frozen, as the model is: no row is there to fit to"
            )
        candidates += [candidate_of(other, question, request, title, RIVAL) for title, other in others]
        if streamed is not None:
            split, refit = judged_as_given(None, streamed.text), False
        elif fixed:
            split = judged_as_given(seen_rows(model, question.X))
        elif n_train is not None:
            rows = np.arange(question.n_rows)
            split = Split([(rows[:n_train], rows[n_train:])], f"{len(rows) - n_train:,} rows given to judge")
        else:
            split = split_rows(
                question.codes,
                cv,
                holdout,
                random_state,
                groups=question.groups,
                time=question.time,
                gap=gap,
            )
        facts = TableFacts(target=target)
        scale = Scale.read(unit, cases)
        told = facts, scale, capacity, actionable, streamed
        self._set(question, candidates, split, *told, refit=refit)

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, X: MatrixLike, y: ArrayLike, **given: Any) -> Self:
        """The study of a fitted classifier, judged on rows that it should not have seen.

        The same as ``Study(FrozenEstimator(estimator), X, y, ...)``. Costs are those of the model, also
        within a search, a pipeline or a calibration, if none are given. A model of this library knows its
        training rows again: it is warned of if it is judged by them.

        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = np.arange(20.0).reshape(-1, 1), np.arange(20) % 3 == 0
        >>> study = Study.from_estimator(LogisticRegression().fit(X, y), X, y, fn_cost=2, name="mine")
        >>> study.judgement.name, len(study.predictions["p"])
        ('mine', 20)
        """
        rivals = {
            name: FrozenEstimator(rival) for name, rival in dict(given.pop("rivals", None) or {}).items()
        }
        given.setdefault("name", type(estimator).__name__)
        return cls(FrozenEstimator(estimator), X, y, rivals=rivals, **given)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        X: MatrixLike | None = None,
        *,
        scale: str = "probability",
        costs: CostsLike | None = None,
        fp_cost: CostTerm = 1.0,
        fn_cost: CostTerm = 1.0,
        pos_label: Label | None = None,
        rivals: Mapping[str, Any] | None = None,
        name: str = "the model",
        unit: str = "",
        cases: tuple[str, float] | None = None,
        capacity: float | None = None,
        **given: Any,
    ) -> Self:
        """The study of ready scores, whatever made them.

        Parameters
        ----------
        y : array of labels of shape (n,)
        p : array of shape (n,) or (n, K)
            Of the positive class, or of every class in sorted order.
        X : array or data frame, optional
            Columns of the rows, for subgroups and drift.
        scale : str, default="probability"
            What `p` is: "probability", "log-odds", or "points" of a scorecard, 600 at the odds 50 against the
            positive class and 20 more for twice these odds; "points:600,50,20" has other numbers.
        rivals : mapping of names to scores
        **given
            ``budget``, ``prevalence``, ``sample_weight``, ``groups``, ``time``, ``class_names`` and the
            others of `Study`.

        >>> y, p = np.array([0, 0, 1, 1] * 20), np.array([0.1, 0.4, 0.3, 0.9] * 20)
        >>> Study.from_predictions(y, p, fn_cost=4).judgement.cost.value
        250.0
        """
        stated = read_question_costs(costs, fp_cost, fn_cost, pos_label)
        question = Question.read(
            X, y, costs=Costs(pos_label=pos_label) if stated is None else stated, **given
        )
        candidates = [Candidate(name, p=scores_of("p", p, question, scale))]
        for other, q in (rivals or {}).items():
            candidates.append(Candidate(other, RIVAL, p=scores_of("rivals", q, question, scale, other)))
        facts, told = TableFacts(target=_target(y)), Scale.read(unit, cases)
        return cls.of(question, candidates, judged_as_given(""), facts, told, capacity)

    # --- telling ---------------------------------------------------------------------------------------

    @property
    def headline(self) -> str:
        """What the model saves against the better of deciding without one."""
        return headline(self)

    @property
    def verdict(self) -> str:
        """The same, and whether one of several models is the cheapest."""
        return " ".join(filter(None, (self.headline, of_models(self.differences))))

    @cached_property
    def warnings(self) -> list[Finding]:
        """What may mislead, what matters most first."""
        self.run()
        return findings_of(self)

    @property
    def predictions(self) -> Any:
        """A data frame of the test rows: row, part, class, probability, decision and cost; of X's kind."""
        return predictions_frame(self)

    @property
    def reference(self) -> Reference:
        """What new rows can be held against, as a model file keeps it; see `monitor.Monitor`."""
        return Reference.of(self)

    def summary(self) -> str:
        """What decisions cost, as the table that ``propriety fit`` prints."""
        return text(self)

    def __str__(self) -> str:
        return self.summary()

    def to_frame(self) -> Any:
        """The judgements as a data frame: of the kind of X, or of pandas."""
        return judgements_frame(self)

    def to_dict(self) -> dict[str, Any]:
        """The numbers for machines."""
        return document(self)

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page for those who decide, one HTML file that loads nothing; written to `path` if given."""
        page: str = import_module("propriety.report").html(self)
        if path is not None:
            with atomically(path) as temporary:
                temporary.write_text(page, encoding="utf-8", newline="\n")
        return page


def _costs_asked(model: Any, X: Any, stated: Costs | None, pos_label: Any) -> tuple[Costs, Costs]:
    """The costs of the study, as stated and for rows: those given, or those of our model within the model."""
    if stated is None and isinstance(model, FrozenEstimator):
        return costs_within(model, X, pos_label)
    costs = _costs_to_fit(model, stated, pos_label)
    return costs, costs


def _costs_to_fit(model: Any, stated: Costs | None, pos_label: Any) -> Costs:
    if stated is not None and isinstance(model, FrozenEstimator):
        return stated
    owner = None if isinstance(model, str) else within(model)
    if not isinstance(owner, ProperClassifier):
        return Costs(pos_label=pos_label) if stated is None else stated
    own = stated_costs(owner)
    if stated is None:
        return own if pos_label is None else own.replace(pos_label=pos_label)
    if own not in (Costs(), Costs(pos_label=stated.pos_label), stated):
        raise ArgumentError("costs", f"are {stated}, and those of the model are {own}: give one")
    return stated


def _target(y: Any) -> str:
    """What is predicted: the name of the column, if it has one."""
    name = y if isinstance(y, str) else getattr(y, "name", None)
    return name if isinstance(name, str) else "class"


def _check_streamed(model: Any, **given: Any) -> None:
    """Refuse what asks for all rows in memory."""
    if isinstance(model, FrozenEstimator):
        raise ArgumentError("X", "of a model that is fitted must be rows in memory")
    for argument, value in given.items():
        if value is not None:
            raise ArgumentError(argument, "needs rows in memory, and these are read in parts: give holdout")


def judged_as_given(seen: Any, told: str = "") -> Split:
    """All rows judge; what is fitted is fitted to others."""
    told = told or getattr(seen, "judged_by", "")
    return Split([(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))], told)
