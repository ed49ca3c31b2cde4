"""What a study judges: models fitted to training parts, decisions on the others, and what they cost."""

from __future__ import annotations

import time as clock
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from propriety import progress
from propriety.aliases import MatrixLike
from propriety.cached_properties import cached_property
from propriety.costs import ResolvedCosts
from propriety.data.costs import TERMS, Costs
from propriety.data.table import Rows
from propriety.errors import ArgumentError
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
from propriety.linear import LinearClassifier
from propriety.linear.text import scorecard
from propriety.model.base import ProperClassifier
from propriety.model.seen import rows_seen
from propriety.study.candidates import Candidate
from propriety.study.columns import (
    TableFacts,
)
from propriety.study.inside import Inside, inside
from propriety.study.models import (
    GIVEN,
    Arguments,
    FitRequest,
    Fitted,
    fit,
)
from propriety.study.numbers import Scale, percent
from propriety.study.ordering import LATEST, in_words, sorted_by
from propriety.study.question import Question
from propriety.study.splitting import FOLDS, Role, Split, split_rows
from propriety.study.streamed import Streamed
from propriety.weights import Weights

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Floats = NDArray[np.float64]
#: What the offset without a model is called.
OFFSET_ALONE = "the offset alone"
_DEFAULT_LOSS = (
    "It is the default: the costs enter by the decisions, which are cheap when probabilities are right "
    "everywhere."
)


@dataclass(frozen=True, eq=False)
class JudgedPart:
    """What one model said of one judging part; the model itself is kept of the first candidate."""

    decided: NDArray[np.intp] | None
    p: Floats | None
    seconds: float
    fitted: Fitted | None


class JudgedStudy:
    """Fits the candidates of a study, judges their decisions, and knows the model to use."""

    # --- running ---------------------------------------------------------------------------------------

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
        return fitted.adapted(shares, old / old.sum(), part.labels)

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
        later = type(self).of(question, [replace(self._first, request=request)], split, refit=False)
        return in_words(self.sorted_by.name, self.judgement, later.judgement)

    @cached_property
    def sorted_by(self) -> Role | None:
        """The column that the rows are sorted by, if there is one and no time was given."""
        found = None if self.question.X is None or self._first.spec is None else sorted_by(self.question.X)
        return None if found is None else Role(self.facts.owner(found.name), found.values)

    # --- what is judged --------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Of the model."""
        return self._first.name

    @cached_property
    def judging(self) -> Question:
        """The test rows."""
        return self.question.take(self.split.rows)

    @cached_property
    def rows(self) -> JudgedRows:
        """The test rows, as decisions on them are counted."""
        return self.judging.judged

    @cached_property
    def y(self) -> Floats:
        """The class of each test row as a number: of two classes 1 is the positive one."""
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
        """What decisions on the test rows cost."""
        return self.rows.costs

    @property
    def terms(self) -> dict[str, Any]:
        """The terms of the costs as they were stated, for the test rows."""
        return {known: getattr(Costs(), name) for name, known in TERMS.items()} | self.judging.costs.terms

    @property
    def stated(self) -> Mapping[str, str]:
        """How terms were stated, in words."""
        return self.judging.costs.texts

    @property
    def weights(self) -> Weights:
        """Of the test rows: a row of weight k is k rows."""
        return self.rows.weights

    @property
    def groups(self) -> NDArray[np.intp] | None:
        """Of the test rows: rows of a group are one observation in intervals."""
        return self.rows.groups

    @property
    def offset(self) -> Floats | None:
        """Where the scores of the test rows start."""
        return self.judging.offset

    @property
    def has_offset(self) -> bool:
        """Whether scores start from something."""
        return self.question.offset is not None

    @property
    def budget(self) -> float | None:
        """How many test rows may be acted on, or which share."""
        return self.question.budget

    @property
    def sided(self) -> bool:
        """Whether there are two classes and two decisions: false alarms and misses."""
        return self.rows.sided

    @cached_property
    def rules(self) -> tuple[DecisionRule, ...]:
        """What is decided on the test rows: by the model, the offset, no model, and the rivals."""
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
        """What the model decides for each test row."""
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
    def request(self) -> FitRequest:
        """What was asked of the model by name."""
        return self._first.request

    @cached_property
    def remarks(self) -> list[str]:
        """Warnings of the fit, of rows that were seen, and of a classifier that decides otherwise."""
        self.run()
        found = [self._by_time] if self._by_time else []
        fitted = self.fitted
        if fitted is None:
            return found
        seen = seen_rows(fitted.estimator, self.judging.X) if self._first.fitted is not None else None
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

    # --- the model -------------------------------------------------------------------------------------

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
            return "It was given by name."
        if fitted.spec.reads != GIVEN:
            return _DEFAULT_LOSS
        default = isinstance(owner.loss, str) and owner.loss == "auto"
        return "It is the default of this kind of model." if default else "It is a parameter of the model."

    @property
    def adapted(self) -> str:
        """For which population the probabilities of a model of this library are, if not for its training."""
        found = None if self._owner is None else self._owner.adaptation_
        return "" if found is None else found.in_words(self.of_model)

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


def taken(X: MatrixLike) -> Any:
    """The rows of a data frame that stays where it is, alone."""
    return X.taken() if isinstance(X, Rows) else X


def seen_rows(estimator: BaseEstimator, X: MatrixLike) -> Any:
    """What is known of whether a fitted classifier was fitted to these rows."""
    found = inside(estimator, taken(X))
    return rows_seen(found.model, found.X)
