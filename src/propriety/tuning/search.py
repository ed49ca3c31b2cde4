"""LossSearchCV: the loss, chosen by what its user cares about, and what that was worth."""

from __future__ import annotations

import numbers
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, column_or_1d

from propriety.aliases import CostTerm, Folds, Label, MatrixLike
from propriety.boosting import BoostingClassifier
from propriety.data.costs import OF_ROWS, Costs, read_costs, stated_costs
from propriety.data.labels import as_labels, warn_of_side
from propriety.data.parameters import choice
from propriety.data.table import refuse_query
from propriety.data.training import encode_labels
from propriety.evaluation.scores import class_index
from propriety.model.fit_context import in_context
from propriety.model.pages import Documented
from propriety.parallel import n_threads
from propriety.progress import is_heard, part
from propriety.separators.bags import first_of_least
from propriety.tuning import candidates, choosing, criteria, folds
from propriety.tuning.verdict import Verdict
from propriety.weights import check

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from propriety.data.costs import CostsLike

Floats = NDArray[np.float64]
Split = tuple[NDArray[np.intp], NDArray[np.intp]]
VERDICTS = ("cross", "nested")
#: Rows up to which a boosted fit is left to one core.
_FEW = 20_000


def _delegates(name: str) -> Any:
    """Whether the best estimator, or before the fit the given one, has the method."""

    def check(self: LossSearchCV) -> bool:
        getattr(getattr(self, "best_estimator_", self.estimator), name)
        return True

    return available_if(check)


def _choose_empirical(task: folds.Task, empirical: Floats) -> int:
    """F*: the candidate of least risk on the rows that it was fitted to. [N8 §6]"""
    return first_of_least(empirical.tolist(), [candidate.loss for candidate in task.candidates])


class LossSearchCV(Documented, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Choose the loss of a classifier by cross-validation, and say what that gained over the log loss.

    Every candidate is fitted to the same training rows and judged on the same held-out rows by `criterion`.
    The log loss is always among them. Of the candidates within one standard error of the best the first is
    taken: the log loss, then in the order given. One that the verdict does not support, by a gain of two
    standard errors on rows that took no part in choosing, is not taken: the log loss is kept.

    Parameters
    ----------
    estimator : classifier of this library, or a pipeline with one
    losses : str, list or dict, default="tailored"
        - "tailored": ``Tailored(c, focus)`` at the threshold c of the costs;
        - "gain": ``GLog(gain)``; "alpha": ``AlphaTunable(1, alpha)``; "power": ``DensityPower(gamma)``;
        - "permissible": the logistic, Matsushita's, two more and the squared loss of [N8 §6];
        - "F*": the log loss and the others of ``RuleClassifier(choose="once")``, chosen by the criterion on
          the rows that were fitted, without held-out rows; of equals the log loss, then the first [N8 §6];
        - a list of losses, composites, their names and grids;
        - a grid as in ``GridSearchCV`` of ``loss``, ``link`` and their parameters, such as
          ``{"loss__focus": [2, 8]}``.
    criterion : "cost", range, distribution, loss or str, default="cost"
        What counts. "cost": the cost of decisions by `fp_cost` and `fn_cost`. A pair (low, high) or a frozen
        SciPy distribution: the mean cost over thresholds c = fp/(fp + fn) spread like that, with fp + fn = 1.
        A loss, its name or what `recommend` returns: the mean loss. Probabilities are kept 2e-16 away from
        0 and 1.
    costs : Costs, optional
        As the estimators take them; the estimator's own if not given.
    fp_cost, fn_cost, pos_label : optional
        The short form of it.
        Tailored losses aim at the threshold of the mean costs where these differ by row.
    rule : {"supported", "one_se", "best"}, default="supported"
        Take the first candidate within one standard error of the best if the verdict supports it, and the log
        loss if not; the same whatever the verdict; or the best.
    cv : int, splitter or iterable, default=5
        At least two splits.
    verdict : {"cross", "nested"}, default="cross"
        How the gain is kept free of having chosen the best: in "cross" the loss that judges a fold is
        chosen by the other folds, which needs no more fits; in "nested" by a whole search within the
        training rows of the fold.
    refit : bool, default=True
        Fit the chosen loss to all rows.
    n_jobs : int, optional
        Splits that are worked on at a time. By default one, or for boosting on few rows, where a fit keeps
        one core busy, as many as there are cores; the result does not depend on it.
    error_score : "raise" or nan, default=nan
        What to do when a candidate other than the log loss cannot be fitted: raise, or warn and leave it out.
    verbose : int, default=0
        1 prints each fit.

    Attributes
    ----------
    best_loss_ : the chosen loss or composite
    best_estimator_ : the estimator with it, fitted to all rows
    best_score_ : float
        Minus its criterion, mean over held-out rows; it has been chosen by this number, `verdict_` has not.
    best_index_, best_params_ : its place in `cv_results_`, its parameters
    cv_results_ : dict of arrays
        As in ``GridSearchCV``, means being taken over rows; ``gain`` and ``gain_se``: what each candidate
        saves against the log loss on held-out rows, and the standard error of that.
    verdict_ : Verdict
        What choosing gained, with its standard error; prints as a sentence.
    loss_ : what the best estimator was fitted to, gain and link included
    criterion_ : what was judged by
    n_splits_, refit_time_ : as in ``GridSearchCV``

    References
    ----------
    Nock & Nielsen (2008), section 6. Masnadi-Shirazi & Vasconcelos (2015), section 7.1. Buja, Stuetzle & Shen
    (2005), sections 14 and 15.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from propriety import LinearClassifier, LossSearchCV
    >>> X, y = make_classification(300, 4, n_redundant=0, flip_y=0.3, random_state=0)
    >>> search = LossSearchCV(LinearClassifier(alpha=0.01), "tailored", fp_cost=1, fn_cost=4).fit(X, y)
    >>> search.best_loss_
    Log()
    >>> print(search.verdict_)  # doctest: +NORMALIZE_WHITESPACE
    Nothing was gained: the log loss, decided at 0.2, was kept. Its cost of 1,000 decisions (false alarm 1,
    miss 4) is 520. Choosing cost 10 (standard error 14), which is chance.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        losses: Any = "tailored",
        *,
        criterion: Any = "cost",
        costs: CostsLike | None = None,
        fp_cost: CostTerm | None = None,
        fn_cost: CostTerm | None = None,
        pos_label: Label | None = None,
        rule: str = "supported",
        cv: Folds = 5,
        verdict: str = "cross",
        refit: bool = True,
        n_jobs: int | None = None,
        error_score: float | str = np.nan,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.losses = losses
        self.criterion = criterion
        self.costs = costs
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost
        self.pos_label = pos_label
        self.rule = rule
        self.cv = cv
        self.verdict = verdict
        self.refit = refit
        self.n_jobs = n_jobs
        self.error_score = error_score
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags

    # -- fitting --------------------------------------------------------------------------------------

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        costs: CostsLike | None = None,
        fp_cost: CostTerm | None = None,
        fn_cost: CostTerm | None = None,
    ) -> Self:
        """Search, and fit the chosen loss to all rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of shape (n,)
            Labels of any type.
        sample_weight : array of shape (n,), optional
            A row of weight k counts as k rows, in the fits and in the criterion.
        groups : array of shape (n,), optional
            Groups of rows for `cv`, and for the folds that the classifier makes itself (in a pipeline under
            metadata routing, if it requests them); standard errors then take a group as one observation.
        costs : Costs, data frame or array of shape (n, K, K), optional
            Costs of each row, in the place of those stated.
        fp_cost, fn_cost : array of shape (n,), optional
            The short form of it.

        Returns
        -------
        self
        """
        given = zip(OF_ROWS, (costs, fp_cost, fn_cost), strict=True)
        of_rows = {name: value for name, value in given if value is not None}
        if costs is not None:
            of_rows["costs"] = read_costs(costs)
        task, groups = self._task(X, y, sample_weight, groups, of_rows)
        splits = self._splits(task, groups)
        results = self._run(task, splits)
        empirical = self._empirical(task) if task.empirical else None
        best = (
            choosing.choose(results, task.observations, self.rule)
            if empirical is None
            else _choose_empirical(task, empirical)
        )
        choices = self._choices(task, groups, splits, results)
        verdict = self._verdict(task, results, best, choices)
        if self.rule == "supported" and empirical is None and best != 0 and not verdict.gained:
            best = 0  # the log loss: what is chosen and what is said of it agree
            verdict = replace(verdict, chosen=task.candidates[best].loss)
        fitted = self._refit(task, best) if self.refit else None
        self._keep(task, results, empirical, best)
        self.verdict_ = verdict
        if fitted is not None:
            self.best_estimator_, self.refit_time_ = fitted
        return self

    def _task(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, of_rows: dict[str, Any]
    ) -> tuple[folds.Task, Any]:
        """Check everything that was given."""
        refuse_query(X)
        if y is None:
            raise ValueError("LossSearchCV requires y to be passed, but the target y is None.")
        for name, allowed in (("rule", choosing.RULES), ("verdict", VERDICTS)):
            choice(name, getattr(self, name), allowed)
        place = candidates.Place.find(self.estimator)
        owner = place.owner(self.estimator)
        X, y, groups = indexable(X, y, groups)
        labels = as_labels(y)
        check_classification_targets(labels)
        observations = choosing.Observations.read(len(labels), sample_weight, groups)
        classes, codes = encode_labels(labels, observations.weights)
        stated = self._stated(owner)
        costs = stated.with_rows(**of_rows).resolve(classes, X)
        warn_of_side(classes, costs, stated.pos_label)
        criterion = criteria.read(self.criterion, costs, observations.weights.array)
        task = folds.Task(
            estimator=self.estimator,
            place=place,
            candidates=candidates.read(self.losses, owner, criterion.cost),
            criterion=criterion,
            costs=stated,
            of_rows=of_rows,
            X=X,
            y=labels,
            codes=codes,
            classes=classes,
            weight=check(sample_weight, len(labels)),
            observations=observations,
            error_score=self.error_score,
            empirical=isinstance(self.losses, str) and self.losses == candidates.EMPIRICAL,
            verbose=self.verbose,
        )
        return task, groups

    def _stated(self, owner: Any) -> Costs:
        """The search's costs or, where it states none, those of the classifier."""
        short = {"fp": self.fp_cost, "fn": self.fn_cost, "pos_label": self.pos_label}
        short = {name: value for name, value in short.items() if value is not None}
        if self.costs is not None and short:
            raise ValueError("give costs or its short form fp_cost, fn_cost and pos_label, not both")
        stated = stated_costs(owner).replace(**short) if self.costs is None else read_costs(self.costs)
        stated.refuse_arrays()
        return stated

    def _splits(self, task: folds.Task, groups: Any) -> list[Split]:
        """Splits whose held-out rows have some weight."""
        every = check_cv(self.cv, task.y, classifier=True).split(task.X, task.y, groups)
        splits = [(train, test) for train, test in every if task.weight is None or task.weight[test].any()]
        if len(splits) < 2:
            raise ValueError(
                f"cv={self.cv!r} gives {len(splits)} split(s) with weight; a search needs at least two, so "
                "that what was chosen can be judged on rows that did not choose it"
            )
        return splits

    def _run(self, task: folds.Task, splits: list[Split], name: str = "split") -> list[choosing.Fold]:
        parallel = Parallel(n_jobs=self._at_a_time(task), prefer="threads")
        results: list[choosing.Fold] = parallel(
            delayed(self._run_one)(task, split, name, k, len(splits)) for k, split in enumerate(splits)
        )
        return results

    def _at_a_time(self, task: folds.Task) -> int | None:
        """Splits worked on at a time: as many as there are cores where the fits themselves use but one.

        One after the other if somebody listens, who is told how far the work is in the order of the splits.
        """
        model = self.estimator
        alone = isinstance(model, BoostingClassifier) and model.n_jobs is None and len(task.y) <= _FEW
        return n_threads(None) if self.n_jobs is None and alone and not is_heard() else self.n_jobs

    @staticmethod
    def _run_one(task: folds.Task, split: Split, name: str, k: int, n: int) -> choosing.Fold:
        with part(f"{name} {k + 1} of {n}", k, n + 1):  # one more is the fit to all rows
            return folds.run(task, *split, f"{name} {k + 1}/{n}")

    def _empirical(self, task: folds.Task) -> Floats:
        """The criterion of each candidate on the rows that it was fitted to: all of them."""
        everything = np.arange(len(task.y))
        return folds.run(task, everything, everything, "all rows").empirical

    def _choices(
        self, task: folds.Task, groups: Any, splits: list[Split], results: list[choosing.Fold]
    ) -> list[int]:
        """For each fold a candidate, chosen without its held-out rows."""
        if task.empirical:
            return [_choose_empirical(task, fold.empirical) for fold in results]
        if self.verdict == "cross":
            return choosing.choices_without(results, task.observations, self.rule)
        if not (isinstance(self.cv, numbers.Integral) or self.cv is None or hasattr(self.cv, "split")):
            raise ValueError("verdict='nested' needs cv as a number or a splitter, not as given splits")
        return [self._nested(task, groups, train, f"within {k}") for k, (train, _) in enumerate(splits, 1)]

    def _nested(self, task: folds.Task, groups: Any, train: NDArray[np.intp], name: str) -> int:
        """What a search within the training rows would choose."""
        groups = None if groups is None else np.asarray(groups)[train]
        inner = task.within(train, groups)
        results = self._run(inner, self._splits(inner, groups), name)
        return choosing.choose(results, inner.observations, self.rule)

    def _refit(self, task: folds.Task, best: int) -> tuple[Any, float]:
        started = time.perf_counter()
        model = task.fit(task.model(best), task.X, slice(None))
        in_context(task.place.owner(model), known_classes=None)  # the model knows them itself now
        return model, time.perf_counter() - started

    def _keep(
        self, task: folds.Task, results: list[choosing.Fold], empirical: Floats | None, best: int
    ) -> None:
        """The attributes, as in GridSearchCV."""
        observations = task.observations
        held_out, values = choosing.pool(results)
        means = -observations.mean(held_out, values)
        by_split = -np.array([observations.mean(fold.rows, fold.values) for fold in results])
        params = [task.place.parameters(self.estimator, c) for c in task.candidates]
        table = {f"split{k}_test_score": scores for k, scores in enumerate(by_split)}
        table |= {
            "mean_test_score": means,
            "std_test_score": by_split.std(axis=0),
            "rank_test_score": stats.rankdata(-np.nan_to_num(means, nan=-np.inf), method="min").astype(int),
            "gain": observations.mean(held_out, values[0] - values),
            "gain_se": np.array([observations.standard_error(held_out, values[0] - v) for v in values]),
            "mean_fit_time": np.mean([fold.seconds for fold in results], axis=0),
            "param_" + task.place.prefix + "loss": np.ma.array(
                [c.loss for c in task.candidates], dtype=object
            ),
            "params": params,
        }
        if empirical is not None:
            table["empirical_risk"] = empirical
        self.cv_results_, self.n_splits_ = table, len(results)
        self.best_index_, self.best_params_ = best, params[best]
        self.best_loss_, self.best_score_ = task.candidates[best].loss, float(means[best])
        self.criterion_, self._classes, self._costs = task.criterion, task.classes, task.costs

    def _verdict(
        self, task: folds.Task, results: list[choosing.Fold], best: int, choices: list[int]
    ) -> Verdict:
        gain, error = choosing.gain(results, task.observations, choices)
        held_out, values = choosing.pool(results)
        scale = task.criterion.scale
        return Verdict(
            chosen=task.candidates[best].loss,
            gain=scale * gain,
            standard_error=scale * error,
            baseline=scale * float(task.observations.mean(held_out, values[0])),
            unit=task.criterion.unit,
            decided=task.criterion.decided,
            method="empirical" if task.empirical else self.verdict,
            same=bool(np.all([fold.same for fold in results])),
        )

    # -- using the model ------------------------------------------------------------------------------

    def _best(self) -> Any:
        check_is_fitted(self, "cv_results_")
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("refit=False: no model was fitted to all rows; set refit=True to predict")
        return self.best_estimator_

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return self._best().classes_

    @property
    def loss_(self) -> Any:
        """What the best estimator was fitted to, gain and link included."""
        model = self._best()
        return candidates.Place.find(model).owner(model).loss_

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return self._fitted_attribute("n_features_in_")

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns, if the table had them."""
        return self._fitted_attribute("feature_names_in_")

    def _fitted_attribute(self, name: str) -> Any:
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted with refit=True")
        return getattr(self.best_estimator_, name)

    @_delegates("predict")
    def predict(
        self,
        X: MatrixLike,
        *,
        costs: CostsLike | None = None,
        fp_cost: CostTerm | None = None,
        fn_cost: CostTerm | None = None,
        budget: float | None = None,
    ) -> NDArray[Any]:
        """Decisions of the best estimator, by the costs; those of rows may be given, and a budget."""
        given = (costs, fp_cost, fn_cost, budget)
        of_rows = {n: v for n, v in zip((*OF_ROWS, "budget"), given, strict=True) if v is not None}
        return self._best().predict(X, **of_rows)

    @_delegates("predict_proba")
    def predict_proba(self, X: MatrixLike) -> Floats:
        """Probabilities of the best estimator."""
        return self._best().predict_proba(X)

    @_delegates("decision_function")
    def decision_function(self, X: MatrixLike) -> Floats:
        """Scores of the best estimator."""
        return self._best().decision_function(X)

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        costs: CostsLike | None = None,
        fp_cost: CostTerm | None = None,
        fn_cost: CostTerm | None = None,
    ) -> float:
        """Minus the criterion on other rows: larger is better."""
        model, criterion = self._best(), self.criterion_
        codes = class_index(column_or_1d(y), model.classes_)
        if criterion.costs is not None:
            stated = self._costs.with_rows(costs, fp_cost, fn_cost)
            resolved = stated.resolve(model.classes_, X, self._classes)
            criterion = replace(criterion, costs=resolved)
        return -criterion.mean(codes, np.asarray(model.predict_proba(X)), sample_weight)
