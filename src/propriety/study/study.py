"""A study: a model judged on rows that it has not seen, with everything that is known of it."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from propriety import evaluation, progress
from propriety.cached_properties import cached_property
from propriety.costs import ResolvedCosts
from propriety.data.costs import TERMS, Costs, stated_costs
from propriety.data.table import Rows, is_sparse, refuse_query
from propriety.errors import ArgumentError
from propriety.evaluation.importance import Importance
from propriety.evaluation.judging import (
    CONSTANT,
    MODEL,
    OFFSET,
    RIVAL,
    DecisionRule,
    Difference,
    JudgedRows,
    Judgement,
    differences,
    judge,
)
from propriety.evaluation.subgroups import Subgroup
from propriety.linear import LinearClassifier
from propriety.linear.text import scorecard
from propriety.model.base import ProperClassifier
from propriety.model.seen import rows_seen
from propriety.storage.atomic import atomically
from propriety.study import parts as parting
from propriety.study.candidates import Candidate, candidate_of, rivals_of, scores_of, stacked_of
from propriety.study.columns import (
    TableFacts,
    columns_of,
    facts_of_columns,
    names_of_columns,
    table_of,
    with_categories,
    with_column,
    without_last,
)
from propriety.study.findings import Finding, findings_of
from propriety.study.flips import FEW, Flipped, close_flips
from propriety.study.inside import Inside, costs_within, inside
from propriety.study.models import (
    AUTO,
    GIVEN,
    Arguments,
    FitRequest,
    Fitted,
    fit,
    within,
)
from propriety.study.numbers import Scale, percent
from propriety.study.ordering import LATEST, in_words, sorted_by
from propriety.study.question import Question, read_question_costs
from propriety.study.reference import Reference
from propriety.study.splitting import FOLDS, Role, Split, split_rows
from propriety.study.streamed import Streamed, is_streamed
from propriety.study.summary import document, judgements_frame, predictions_frame, text
from propriety.study.verdict import headline, of_models
from propriety.weights import Estimate, Weights

Floats = NDArray[np.float64]
#: What the offset without a model is called.
OFFSET_ALONE = "the offset alone"
_COUNTED = 4000  # rows on which it is measured what columns count for
_SAMPLE = 1000  # rows that effects are worked out for
_DEFAULT_LOSS = (
    "It is the default for every kind of model, whose decisions are cheap when its probabilities are right "
    "everywhere; the costs come in when it decides."
)


@dataclass(frozen=True, eq=False)
class JudgedPart:
    """What one model said of one judging part; the model itself is kept of the first candidate."""

    decided: NDArray[np.intp] | None
    p: Floats | None
    seconds: float
    fitted: Fitted | None


@dataclass(frozen=True)
class Effects:
    """What each feature adds to the score: ``parts[i, j]`` of feature j for the judging row ``rows[i]``."""

    rows: NDArray[np.intp]
    parts: Floats


class Study:
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
        How many judging rows may be acted on, or which share of them.
    prevalence : float, or dictionary or array of K shares, optional
        Shares of the classes, of two that of the positive one, in the population that rows drawn by class
        stand for. Judging rows are weighted to it, and models that the study fits are adapted to it; fitted
        models and ready scores are taken as they are.
    sample_weight, offset, groups, time : array of shape (n,), or name of a column of X, optional
        Weights of the rows; where scores start; what is never on both sides of a split; and what splits
        earlier rows from later ones. Columns that are named are no features.
    gap : float, default=0.0
        How much earlier than the judging rows the training rows are, in units of `time` or in days, where
        labels come late.
    cv : int or splitter, optional
        Folds of cross-validation. By default 5 below 5,000 rows, else a quarter is held out.
    holdout : float, optional
        The share that is held out.
    test : tuple (X, y) or (X, y, sample_weight), optional
        Rows that judge in the place of a split.
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
        model: Any = AUTO,
        X: Any = None,
        y: Any = None,
        *,
        costs: Any = None,
        fp_cost: Any = 1.0,
        fn_cost: Any = 1.0,
        pos_label: Any = None,
        budget: float | None = None,
        prevalence: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        groups: Any = None,
        time: Any = None,
        gap: float = 0.0,
        cv: Any = None,
        holdout: float | None = None,
        test: Any = None,
        rivals: Any = None,
        name: str | None = None,
        class_names: Any = None,
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
            split = judged_as_given(_seen(model, question.X))
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

    def _set(
        self,
        question: Question,
        candidates: Sequence[Candidate],
        split: Split,
        facts: TableFacts,
        scale: Scale,
        capacity: float | None = None,
        actionable: Collection[str] | None = None,
        streamed: Streamed | None = None,
        *,
        refit: bool = True,
    ) -> None:
        if capacity is not None and not 0 < capacity <= scale.cases:
            raise ArgumentError(
                "capacity", f"must be above 0 and at most the {scale.cases:,.0f} cases, got {capacity:g}"
            )
        if not split.pairs[0][1].size and not split.rows.size:
            split = replace(split, pairs=[(np.empty(0, np.intp), np.arange(question.n_rows))])
        if question.shares is not None:
            of = zip(question.shares, question.labels, strict=True)
            told = ", ".join(f"{100 * share:.3g}% {label!r}" for share, label in of)
            split = replace(split, text=f"{split.text or 'the rows given'}, weighted to {told}")
        self.question, self.split, self.facts, self.scale = question, split, facts, scale
        self.capacity, self.actionable = capacity, actionable
        self._refit, self._candidates = refit, tuple(candidates)
        names = [candidate.name for candidate in candidates]
        names += [rule.name for rule in self.rows.constants]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ArgumentError("rivals", f"{twice!r} has the name of another way to decide: rename it")
        if self.has_offset and not self._first.fitted and self._first.p is None:
            for candidate in self._candidates:
                if candidate.spec is not None and not candidate.spec.takes_offset(candidate.request):
                    raise ArgumentError("offset", f"cannot be the start of {candidate.name}: leave it out")
        self._streamed = streamed
        self._done: dict[tuple[int, int], JudgedPart] = {}
        self._final: Fitted | None = None
        self._by_time: str | None = None

    @classmethod
    def of(
        cls,
        question: Question,
        candidates: Sequence[Candidate],
        split: Split,
        facts: TableFacts | None = None,
        scale: Scale | None = None,
        capacity: float | None = None,
        actionable: Collection[str] | None = None,
        *,
        refit: bool = True,
    ) -> Self:
        """Of what was read and checked already: a table of the command line, or one that is read in parts."""
        study = cls.__new__(cls)
        facts, scale = facts or TableFacts(), scale or Scale()
        study._set(question, candidates, split, facts, scale, capacity, actionable, refit=refit)
        return study

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **given: Any) -> Self:
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
        y: Any,
        p: Any,
        X: Any = None,
        *,
        scale: str = "probability",
        costs: Any = None,
        fp_cost: Any = 1.0,
        fn_cost: Any = 1.0,
        pos_label: Any = None,
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

    # --- running ----------------------------------------------------------------------------------

    def run(self) -> Self:
        """Fit and judge all models; reading a result does it too. After an interruption it goes on."""
        self._fit_models()
        if self._by_time is None:
            with progress.part("judged by time", 1, 2):
                self._by_time = self._judged_by_time()
        return self

    def _fit_models(self) -> None:
        """Fit and judge what is not there yet, and fit the model to keep."""
        split, total = self.split, len(self._candidates) * len(self.split.pairs) + 2
        for c, candidate in enumerate(self._candidates):
            for k in range(len(split.pairs)):
                if (c, k) not in self._done:
                    done = c * len(split.pairs) + k
                    with progress.part(f"{candidate.name}, part {k + 1} of {len(split.pairs)}", done, total):
                        self._done[c, k] = self._judge(candidate, k, keep=c == 0)
        if self._final is None and self._first.spec is not None:
            if split.is_holdout or not self._refit:
                self._final = self._done[0, 0].fitted
            else:
                with progress.part(f"{self.name}, all rows", total - 2, total):
                    self._final = self._fit(self._first, np.arange(self.question.n_rows))

    @property
    def _first(self) -> Candidate:
        return self._candidates[0]

    def _judge(self, candidate: Candidate, k: int, *, keep: bool) -> JudgedPart:
        train, test = self.split.pairs[k]
        if candidate.p is not None:
            return JudgedPart(None, candidate.p[test], 0.0, None)
        began = clock.perf_counter()
        fitted = candidate.fitted or self._fit(candidate, train)
        part = self.question.take(test)
        decided = p = None
        if hasattr(fitted.estimator, "predict_proba"):
            p = fitted.probabilities(part.X, part.offset if fitted.takes_offset else None)
        else:
            decided = fitted.decisions(part.X)
        return JudgedPart(decided, p, clock.perf_counter() - began, fitted if keep else None)

    def _fit(self, candidate: Candidate, rows: NDArray[np.intp]) -> Fitted:
        assert candidate.spec is not None
        part, shares = self.question.take(rows), self.question.shares
        if self._streamed is not None:
            parameters, part = part.costs.parameters, self.question
            fitted = self._streamed.fit(candidate.spec, candidate.request, parameters, part.classes)
        else:
            fitted = self._fit_rows(candidate, part)
        if shares is None:
            return fitted
        old = part.weights.by_class(part.codes, len(shares))
        return fitted.adapted(shares, old / old.sum())

    def _fit_rows(self, candidate: Candidate, part: Question) -> Fitted:
        assert candidate.spec is not None
        request = candidate.request
        inner: Any = FOLDS
        if request.search and (part.groups is not None or part.time is not None):
            inner = split_rows(
                part.codes, FOLDS, None, request.seed, groups=part.groups, time=part.time
            ).pairs
        groups = None if part.groups is None else part.groups.values
        costs = part.costs
        given = Arguments(
            part.weight, costs.parameters, costs.of_rows, groups, inner, part.offset, costs.of_columns
        )
        return fit(candidate.spec, request, part.X, part.y, given, self.question.classes)

    def _judged_by_time(self) -> str:
        """What judging by time says, where rows are sorted by a column and were judged at random."""
        spec, question = self._first.spec, self.question
        if spec is None or not self._refit or question.time is not None or self.sorted_by is None:
            return ""
        try:
            split = split_rows(
                question.codes, None, LATEST, self._first.request.seed, groups=question.groups,
                time=self.sorted_by,
            )  # fmt: skip
        except ArgumentError:
            return ""
        request = self._first.request
        if request.search and self._final is not None:
            request = replace(request, loss=self._final.estimator.best_loss_, search=False)
        later = Study.of(question, [replace(self._first, request=request)], split, refit=False)
        return in_words(self.sorted_by.name, self.judgement, later.judgement)

    @cached_property
    def sorted_by(self) -> Role | None:
        """The column that the rows are sorted by, if there is one and no time was given."""
        found = None if self.question.X is None or self._first.spec is None else sorted_by(self.question.X)
        return None if found is None else Role(self.facts.owner(found.name), found.values)

    # --- what is judged ---------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Of the model."""
        return self._first.name

    @cached_property
    def judging(self) -> Question:
        """The judging rows."""
        return self.question.take(self.split.rows)

    @cached_property
    def rows(self) -> JudgedRows:
        """The judging rows, as decisions on them are counted."""
        return self.judging.judged

    @cached_property
    def y(self) -> Floats:
        """The class of each judging row as a number: of two classes 1 is the positive one."""
        return self.rows.y.astype(np.float64)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the classes are called, the positive one of two last."""
        return self.question.labels

    @property
    def positive(self) -> str:
        """What the positive class is called; of several classes the last."""
        return self.labels[-1]

    @property
    def negative(self) -> str:
        """What the other class is called."""
        return self.labels[0]

    @property
    def costs(self) -> ResolvedCosts:
        """What decisions on the judging rows cost."""
        return self.rows.costs

    @property
    def terms(self) -> dict[str, Any]:
        """The terms of the costs as they were stated, for the judging rows."""
        return {known: getattr(Costs(), name) for name, known in TERMS.items()} | self.judging.costs.terms

    @property
    def stated(self) -> Mapping[str, str]:
        """How terms were stated, in words."""
        return self.judging.costs.texts

    @property
    def weights(self) -> Weights:
        """Of the judging rows: a row of weight k is k rows."""
        return self.rows.weights

    @property
    def groups(self) -> NDArray[np.intp] | None:
        """Of the judging rows: rows of a group are one observation in intervals."""
        return self.rows.groups

    @property
    def offset(self) -> Floats | None:
        """Where the scores of the judging rows start."""
        return self.judging.offset

    @property
    def has_offset(self) -> bool:
        """Whether scores start from something."""
        return self.question.offset is not None

    @property
    def budget(self) -> float | None:
        """How many judging rows may be acted on, or which share."""
        return self.question.budget

    @property
    def sided(self) -> bool:
        """Whether there are two classes and two decisions: false alarms and misses."""
        return self.rows.sided

    @cached_property
    def rules(self) -> tuple[DecisionRule, ...]:
        """What is decided on the judging rows: by the model, the offset, no model, and the rivals."""
        self._fit_models()
        model, *rivals = (self._rule(c) for c in range(len(self._candidates)))
        started = []
        if self.has_offset and self._owner is not None:
            alone = offset_alone(self.loss, self.offset, self._places)
            started = [self.rows.rule(OFFSET_ALONE, alone, OFFSET)]
        return (model, *started, *self.rows.constants, *rivals)

    def _rule(self, c: int) -> DecisionRule:
        candidate, parts = self._candidates[c], [self._done[c, k] for k in range(len(self.split.pairs))]
        seconds = sum(part.seconds for part in parts)
        if parts[0].p is not None:
            return self.rows.rule(
                candidate.name, np.concatenate([part.p for part in parts]), candidate.kind, seconds
            )
        decided = np.concatenate([part.decided for part in parts])
        return DecisionRule(candidate.name, candidate.kind, decided, None, seconds)

    @property
    def p(self) -> Any:
        """Probabilities of the positive one of two classes, or of every class; None without any."""
        return self.rules[0].p

    @property
    def decided(self) -> NDArray[np.intp]:
        """What the model decides for each judging row."""
        return self.rules[0].decided

    @cached_property
    def judgements(self) -> tuple[Judgement, ...]:
        """Of the model, of deciding without one, and of the rivals; compared with the model's."""
        return judge(self.rows, self.rules)

    @property
    def judgement(self) -> Judgement:
        """Of the model."""
        return self.judgements[0]

    @property
    def rivals(self) -> dict[str, Any]:
        """Probabilities of the rivals and of the offset alone, by name."""
        found = (rule for rule in self.rules if rule.kind in (RIVAL, OFFSET))
        return {rule.name: rule.p for rule in found if rule.p is not None}

    @property
    def best_constant(self) -> Judgement:
        """Of the cheapest decision for everyone."""
        constants = (judgement for judgement in self.judgements if judgement.kind == CONSTANT)
        return min(constants, key=lambda judgement: judgement.cost.value)

    @property
    def models(self) -> list[DecisionRule]:
        """What the models decide, the cheapest first."""
        found = [rule for rule in self.rules if rule.kind in (MODEL, RIVAL)]
        return sorted(found, key=lambda rule: self.weights.mean(self.rows.row_costs(rule.decided)))

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """Of each model from the cheapest, with p-values corrected by Holm's method."""
        return differences(self.rows, self.models)

    @property
    def headline(self) -> str:
        """What the model saves against the better of deciding without one."""
        return headline(self)

    @property
    def verdict(self) -> str:
        """The same, and whether one of several models is the cheapest."""
        return " ".join(filter(None, (self.headline, of_models(self.differences))))

    @property
    def request(self) -> FitRequest:
        """What was asked of the model by name."""
        return self._first.request

    @cached_property
    def warnings(self) -> list[Finding]:
        """What may mislead, what matters most first."""
        self.run()
        return findings_of(self)

    @cached_property
    def remarks(self) -> list[str]:
        """Warnings of the fit, of rows that were seen, and of a classifier that decides otherwise."""
        self.run()
        found = [self._by_time] if self._by_time else []
        fitted = self.fitted
        if fitted is None:
            return found
        seen = _seen(fitted.estimator, self.judging.X) if self._first.fitted is not None else None
        found += [seen.warning] if seen is not None and seen.warning else []
        if fitted.factors is not None:
            found.append(
                f"probabilities of {self.name} are adapted to the prevalence on this page; its own "
                "predict_proba knows only the training sample"
            )
        if isinstance(fitted.model, ProperClassifier):
            found += fitted.model.remarks
        return found + self._decides_otherwise(fitted)

    def _decides_otherwise(self, fitted: Fitted) -> list[str]:
        """A warning if the classifier's own ``predict`` decides otherwise, without the costs."""
        by = self._inside.decided_by if self._inside is not None and self._first.fitted is not None else ""
        if not by:
            return []
        share = self.weights.mean(fitted.decisions(self.judging.X) != self.decided)
        if share == 0:
            return []
        return [
            f"predict of {by} knows nothing of the costs, and decides otherwise on {percent(share)} of "
            "the rows than this page: decide by the costs, as costs.decide(p) does with its probabilities"
        ]

    # --- the model --------------------------------------------------------------------------------

    @property
    def model(self) -> Any:
        """The fitted model to use: fitted to all rows, or to the training part where one was held out."""
        fitted = self.fitted
        return None if fitted is None else fitted.prepared

    @property
    def fitted(self) -> Fitted | None:
        """The same, and how it reads a table."""
        self._fit_models()
        return self._first.fitted or self._final

    @cached_property
    def _inside(self) -> Inside | None:
        """The model within the one to use."""
        return None if self.fitted is None else inside(self.fitted.model, None)

    @property
    def _owner(self) -> ProperClassifier | None:
        """A model of this library within it, whose probabilities are those of the whole."""
        found = self._inside
        return found.model if found is not None and isinstance(found.model, ProperClassifier) else None

    @property
    def shown(self) -> Any:
        """A model of this library that reads the rows as they are, and can be drawn or told; or None."""
        found = self._inside
        return self._owner if found is not None and found.same_rows and found.same_p else None

    @property
    def loss(self) -> Any:
        """What was fitted, of a model of this library."""
        found = self._inside
        return self._owner.loss_ if self._owner is not None and found is not None and found.same_p else None

    @property
    def chosen(self) -> str:
        """How the loss came about."""
        request, fitted, owner = self._first.request, self.fitted, self._owner
        if fitted is None or owner is None:
            return ""
        if request.search:
            return "It was chosen by cross-validated cost."
        if getattr(fitted.estimator, "verdict_", ""):
            return "It was chosen by a search."
        if request.loss is not None or "loss" in request.settings:
            return "It was asked for by name."
        if fitted.spec.reads != GIVEN:
            return _DEFAULT_LOSS
        default = isinstance(owner.loss, str) and owner.loss == "auto"
        return "It is the default of this kind of model." if default else "It is a parameter of the model."

    @property
    def of_model(self) -> tuple[str, ...]:
        """What the classes are called, in the order of the model."""
        if self.fitted is None:
            return self.labels
        return tuple(self.labels[self.question.classes.tolist().index(c)] for c in self.fitted.known)

    @property
    def text(self) -> str:
        """The scorecard of a linear model, in words; or nothing."""
        model, fitted = self.shown, self.fitted
        if not isinstance(model, LinearClassifier) or fitted is None:
            return ""
        if fitted.reader is None:
            return model.export_text(class_names=self.of_model)
        return scorecard(model, fitted.reader.schema, fitted.numbers, class_names=self.of_model)

    @property
    def _places(self) -> list[int]:
        """The place of each class of the study in the classes of the model."""
        assert self.fitted is not None
        return [self.fitted.known.index(label) for label in self.question.classes.tolist()]

    # --- rows and columns -------------------------------------------------------------------------

    @cached_property
    def features(self) -> dict[str, Any]:
        """Columns of the judging rows: floats, or text for categories."""
        return self.features_of(np.arange(len(self.y)))

    def features_of(self, places: NDArray[np.intp]) -> dict[str, Any]:
        """The same of some of the judging rows."""
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
        """The place of each judging row in the table, or its time."""
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
        """The number of each judging row in its file, from 0."""
        rows = self.split.rows
        return rows if self.facts.places is None else self.facts.places[rows]

    @property
    def predictions(self) -> Any:
        """A data frame of the judging rows: row, part, class, probability, decision and cost; of X's kind."""
        return predictions_frame(self)

    @property
    def reference(self) -> Reference:
        """What new rows can be held against, as a model file keeps it; see `monitor.Monitor`."""
        return Reference.of(self)

    # --- pieces -----------------------------------------------------------------------------------

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
        """What the features add to the scores of some judging rows, by the models that judged them."""
        if len(self.labels) != 2 or self.shown is None:
            return None
        few, part = sample(len(self.y)), self.split.parts
        found = np.empty((len(few), len(names_of_columns(self.question.X))))
        for k, fitted in enumerate(self.models_of_parts):
            mine = part[few] == k
            frame = _taken(self.question.take(self.split.rows[few[mine]]).X)
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
        """The same of parts of the judging rows that have names."""
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
        """The same over consecutive parts of the judging rows, in the order of their time."""
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

    # --- telling ----------------------------------------------------------------------------------

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


def offset_alone(loss: Any, offset: Any, places: Sequence[int] = (0, 1)) -> Any:
    """Probabilities if nothing is added to the offset: of the second of two classes, or of all.

    ``places`` are those of the classes in the order of the model.

    >>> from propriety import losses
    >>> log = losses.Log().composite()
    >>> offset_alone(log, [0.0]), offset_alone(log, [2.0], [1, 0]).round(2)
    (array([0.5]), array([0.12]))
    """
    P = np.asarray(loss.inverse(np.asarray(offset, dtype=np.float64)))
    if len(places) > 2:
        return P[:, list(places)]
    p = P.reshape(len(P))
    return p if places[1] == 1 else 1 - p


def sample(n: int) -> Any:
    """Rows, evenly spaced, that stand for all of n."""
    return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))


def _taken(X: Any) -> Any:
    return X.taken() if isinstance(X, Rows) else X


def _seen(estimator: Any, X: Any) -> Any:
    """What is known of whether a fitted classifier was fitted to these rows."""
    found = inside(estimator, _taken(X))
    return rows_seen(found.model, found.X)
