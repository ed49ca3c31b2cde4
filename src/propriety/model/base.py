"""The base class of every estimator: how it is fitted, what it decides, how it is kept.

``fit`` is read → settings → learn → keep. `_read` checks X, y and weights; the settings check the parameters;
learning sees neither the estimator nor the user's objects; `_keep` sets every attribute at once, so that a
fit which fails leaves the estimator as it was.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from propriety import losses, parallel
from propriety.aliases import CostTerm, MatrixLike, Shares
from propriety.costs import MissingCostsWarning, ResolvedCosts
from propriety.data.costs import SHORT, stated_costs
from propriety.data.identifiers import warn_of_identifiers
from propriety.data.labels import warn_of_side
from propriety.data.lazy import over_partitions, refuse_to_score
from propriety.data.matrix import as_numbers
from propriety.data.namespaces import as_numpy, in_kind
from propriety.data.seen import RowSketch
from propriety.data.soft import as_weighted_rows
from propriety.data.stream import Stream
from propriety.data.streamed import StreamedTable
from propriety.data.table import Schema, Table, as_array, is_frame, refuse_query
from propriety.data.training import NUMBERS, TABLE, Training
from propriety.losses.value import Value
from propriety.model import adapt, contract
from propriety.model.adapt import Adaptation
from propriety.model.fit_context import FitContext, end_context
from propriety.model.kept import KeptModel
from propriety.model.pages import Documented
from propriety.model.worth import worth

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from propriety.data.costs import CostsLike
    from propriety.losses.registry import LossLike

    pass

Floats = NDArray[np.float64]


class Capabilities(NamedTuple):
    """What the ``fit`` of an estimator takes besides X, y and weights in memory."""

    scans: bool = False  # a `propriety.scan`, whose rows are read in parts,
    in_turns: bool = True  # which can take turns, with the arrays of one in memory at a time
    soft_labels: bool = False  # probabilities, or (successes, trials)
    groups: bool = False  # which it does not part where it holds rows out


class ProperClassifier(KeptModel, Documented, ClassifierMixin, BaseEstimator):
    """A classifier with a proper loss and stated costs.

    Subclasses have the parameters ``loss``, ``link``, ``fp_cost`` and ``fn_cost``, and ``costs`` and
    ``pos_label`` if they like (`data.costs`), learn in ``fit``, and say how scores, contributions and
    importances come about. `contract.FittedModel` is what the others may rely on.
    """

    #: What it reads: tables with missing values and categories, or numbers in every cell.
    _reads: ClassVar[str] = TABLE
    #: What ``fit`` takes.
    capabilities: ClassVar[Capabilities] = Capabilities()

    loss: Any
    link: Any
    fp_cost: Any
    fn_cost: Any
    #: Whether ``fit`` was given costs of its rows, so that ``predict`` needs them as well.
    _needs_costs: bool = False
    #: What whoever runs the fit has told of it.
    _fit_context: FitContext = FitContext()
    #: Whether ``fit`` was given an offset, which scores then need as well.
    _needs_offset: bool = False
    #: What tells rows that ``fit`` was given from others; None where they were spread or read in parts.
    _training_rows: RowSketch | None = None
    #: Shares of the classes in the weighted rows of ``fit``; None in models of older files.
    _class_shares: Floats | None = None
    #: What `adapt` has made of the probabilities; None as they were fitted.
    adaptation_: Adaptation | None = None
    classes_: NDArray[Any]
    loss_: Any
    n_features_in_: int
    _schema: Schema

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._reads == TABLE
        tags.input_tags.categorical = self._reads == TABLE
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``loss__alpha`` and ``costs__fn`` replace one parameter of a value."""
        nested: dict[str, dict[str, Any]] = defaultdict(dict)
        plain: dict[str, Any] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if rest and name in ("loss", "link", "costs", "algorithm", "solver"):
                nested[name][rest] = value
            else:
                plain[key] = value
        super().set_params(**plain)
        for name, changes in nested.items():
            current = getattr(self, name)
            if name == "costs" and current is None:  # the short form becomes the value
                current = stated_costs(self)
                super().set_params(**{short: value for short, value in SHORT.items() if hasattr(self, short)})
            if isinstance(current, str) and current == "auto":
                raise ValueError(
                    f"loss='auto' has no parameters, so {', '.join(changes)} cannot be set; "
                    "give the loss first, for example loss=Tailored(0.1)"
                )
            if isinstance(current, str):
                current = self._value_of(name, current)
            if not isinstance(current, Value):
                raise ValueError(
                    f"{name}={current!r} has no parameters, so {', '.join(changes)} cannot be set"
                )
            setattr(self, name, current.replace(**changes))
        return self

    @staticmethod
    def _value_of(parameter: str, text: str) -> Any:
        """The value that a text stands for, as a parameter."""
        return losses.parse(text)

    @classmethod
    def table_settings(cls, n_rows: int) -> dict[str, Any]:
        """Parameters that suit a table of so many rows, when its user says nothing: the command line's."""
        return {}

    @property
    def reads_numbers(self) -> bool:
        """Whether it needs a number in every cell: no missing values, no categories."""
        return self._reads == NUMBERS

    # --- fitting ----------------------------------------------------------------------------------

    def _read(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        costs: Any = None,
        fp_cost: Any = None,
        fn_cost: Any = None,
        offset: Any = None,
        groups: Any = None,
    ) -> Training:
        """Check what ``fit`` was given, the costs included."""
        if self.capabilities.soft_labels:
            soft = X, y, sample_weight
            X, y, sample_weight, others = as_weighted_rows(*soft, offset=offset, groups=groups)
            offset, groups = others["offset"], others["groups"]
            if y is not soft[1] and not (costs is None and fp_cost is None and fn_cost is None):
                raise ValueError("fit takes no costs of rows beside soft labels; name a column of X")
        if isinstance(X, Stream) and not self.capabilities.scans:
            refuse_query(X)
        training = Training.read(
            type(self).__name__,
            X,
            y,
            sample_weight,
            reads=self._reads,
            categorical=getattr(self, "categorical_features", None),
            costs=stated_costs(self).with_rows(costs, fp_cost, fn_cost),
            known_classes=self._fit_context.known_classes,
            offset=offset,
            groups=groups,
            communicator=self._fit_context.communicator,
        )
        decision_labels(training.classes, training.costs, stated_costs(self).abstain_label)
        return training

    def _composite(self, default: losses.Loss | None = None) -> losses.Composite:
        """The composite of ``loss`` and ``link``; ``loss="auto"`` is `default`, or the log loss."""
        loss = self.loss
        if isinstance(loss, str) and loss == "auto":
            loss = losses.Log() if default is None else default
        return losses.as_composite(loss, self.link)

    def _keep(self, training: Training, loss: Any, **learned: Any) -> Self:
        """Set what was learned, all at once."""
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(shared_attributes(training, loss), **learned)
        self._needs_costs = training.costs.by_row and not self.has_row_costs
        self._needs_offset = training.offset is not None
        self._training_rows = RowSketch.of_training(training)
        self._class_shares = shares(training.class_weights)
        self.__dict__.pop("adaptation_", None)
        end_context(self)
        if self._fit_context.known_classes is None:
            warn_of_side(training.classes, training.costs, stated_costs(self).pos_label)
        warn_of_identifiers(training.schema, training.weights.total)
        return self

    # --- using the model --------------------------------------------------------------------------

    @property
    def costs_(self) -> ResolvedCosts:
        """What the decisions follow, as the parameters state it now; `costs_for` if they differ by row.

        A model whose costs differ by row has no such attribute.
        """
        check_is_fitted(self)
        return stated_costs(self).resolve(self.classes_, None, self._fit_context.known_classes)

    @property
    def has_row_costs(self) -> bool:
        """Whether the parameters state costs that differ by row: by a column, or by a function."""
        return stated_costs(self).by_row

    def costs_for(
        self,
        X: MatrixLike,
        *,
        costs: CostsLike | None = None,
        fp_cost: CostTerm | None = None,
        fn_cost: CostTerm | None = None,
    ) -> ResolvedCosts:
        """What the decisions about these rows follow; costs of rows as in :meth:`predict`.

        >>> from propriety import LinearClassifier
        >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
        >>> model = LinearClassifier(fn_cost=lambda X: 1 + X[:, 0]).fit(X, y)
        >>> model.has_row_costs, model.costs_for(X).threshold.round(2)
        (True, array([0.5 , 0.33, 0.25, 0.2 ]))
        """
        check_is_fitted(self)
        stated = stated_costs(self).with_rows(costs, fp_cost, fn_cost)
        return stated.resolve(self.classes_, X, self._fit_context.known_classes)

    @property
    def view(self) -> str:
        """How the model can be shown; see `propriety.model.contract`."""
        return contract.EFFECTS

    def _table(self, X: Any) -> Table:
        """A table with the columns of the fit."""
        check_is_fitted(self)
        if isinstance(X, Stream) and self.capabilities.scans:
            return StreamedTable.of(X, self._schema)
        X = as_numpy(X)
        if self._reads == NUMBERS:
            given, X = X, as_numbers(X)
        else:
            given = X = X if is_frame(X) else as_array(X)
        if "feature_names_in_" in vars(self) or not isinstance(given, np.ndarray):
            self._check_names(given)
        _check_n_features(self, X, reset=False)
        return self._schema.read(X)

    def _check_names(self, X: Any) -> None:
        """Refuse other columns than those of the fit, or another order of them, as scikit-learn does."""
        try:
            _check_feature_names(self, X, reset=False)
        except ValueError as error:
            if is_frame(X) and set(nw.from_native(X).columns) == set(self.feature_names_in_):
                advice = "These are the same columns in another order: give X[model.feature_names_in_]."
                raise ValueError(f"{str(error).rstrip()}\n{advice}") from None
            raise

    @property
    def needs_offset(self) -> bool:
        """Whether ``fit`` was given an offset, which the scores of other rows then need as well."""
        return self._needs_offset

    @property
    def _threads(self) -> int:
        return parallel.n_threads(getattr(self, "n_jobs", None))

    @abstractmethod
    def _scores(self, table: Table) -> Floats:
        """Scores of shape (n, 1) for two classes, (n, K) for more."""

    def _probabilities(self, scores: Floats) -> Floats:
        """Probabilities of scores, as `adapt` has made them."""
        return self._adapted(self._fitted_probabilities(scores))

    def _adapted(self, P: Floats) -> Floats:
        return P if self.adaptation_ is None else self.adaptation_(P)

    def _fitted_probabilities(self, scores: Floats) -> Floats:
        if scores.shape[1] > 1:
            return np.asarray(self.loss_.inverse(scores))
        p = np.asarray(self.loss_.inverse(scores[:, 0]))
        return np.column_stack([1 - p, p])

    @over_partitions
    def decision_function(self, X: MatrixLike) -> Floats:
        """The score F: that of ``classes_[1]``, of shape (n,), for two classes, (n, K) for more."""
        return in_kind(squeezed(self._scores(self._table(X))), X)

    def __call__(self, X: MatrixLike) -> Floats:
        """The same as `decision_function`, for those who take a function, as ``shap.Explainer(model, X)``."""
        return self.decision_function(X)

    @over_partitions
    def predict_proba(self, X: MatrixLike) -> Floats:
        """Probabilities of the classes, of shape (n, K), through the link of the loss."""
        return in_kind(self._probabilities(self._scores(self._table(X))), X)

    @over_partitions
    def predict(
        self,
        X: MatrixLike,
        *,
        costs: CostsLike | None = None,
        fp_cost: CostTerm | None = None,
        fn_cost: CostTerm | None = None,
        budget: float | None = None,
    ) -> NDArray[Any]:
        """Decide by the stated costs: the class of least expected cost.

        Of two classes it is the positive one iff its probability is at least fp_cost/(fp_cost + fn_cost). The
        positive class, whose misses cost ``fn_cost``, is ``pos_label`` or, if that is None, ``classes_[1]``,
        the last label in sorted order. With more than two classes and no cost matrix, the class of largest
        probability is decided.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        costs : Costs, data frame or array of shape (n, K, K), optional
            Costs of these rows, in the place of those of the constructor: a data frame has columns such as
            ``fp`` and ``fn``.
        fp_cost, fn_cost : array of shape (n,), or number, optional
            The short form of it.
        budget : int, or float in (0, 1), optional
            Decide the positive class for at most so many of the rows, or for such a share of them: those of
            largest expected saving, and only where there is one.
        """
        resolved = self._costs_to_decide(X, costs, fp_cost, fn_cost)
        return in_kind(self._decided(as_numpy(self.predict_proba(X)), resolved, budget), X)

    def _costs_to_decide(self, X: Any, costs: Any, fp_cost: Any, fn_cost: Any) -> ResolvedCosts:
        """The costs that ``predict`` was given, or the stated ones; a warning if the fit had some of rows."""
        resolved = self.costs_for(X, costs=costs, fp_cost=fp_cost, fn_cost=fn_cost)
        if self._needs_costs and costs is None and fp_cost is None and fn_cost is None:
            warnings.warn(
                "fit was given costs of its rows, and predict was not: these decisions follow the costs of "
                "the constructor; give predict the costs of these rows",
                MissingCostsWarning,
                stacklevel=3,
            )
        return resolved

    def _decided(self, probabilities: Floats, costs: ResolvedCosts, budget: float | None) -> NDArray[Any]:
        if budget is not None:
            return self.classes_[costs.decide_within(probabilities, budget)]
        return self.decide(probabilities, costs)

    def decide(self, probabilities: Floats, costs: ResolvedCosts | None = None) -> NDArray[Any]:
        """The labels of least expected cost for rows of ``predict_proba``; by `costs`, or by the stated ones.

        >>> from propriety import LinearClassifier
        >>> model = LinearClassifier("Log", fn_cost=4).fit([[0], [1], [2], [3]], [0, 1, 0, 1])
        >>> model.decide([[0.7, 0.3], [0.9, 0.1]])
        array([1, 0])
        """
        costs = self.costs_ if costs is None else costs
        return self._decision_labels(costs)[costs.decide(probabilities)]

    def _decision_labels(self, costs: ResolvedCosts) -> NDArray[Any]:
        return decision_labels(self.classes_, costs, stated_costs(self).abstain_label)

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
        """1 less the share of the possible cost that the decisions incur: 1 is right throughout, 0 all wrong.

        Of rows with these labels it is 1 − (cost − least)/(most − least), least and most being what the
        cheapest and the dearest decisions would have cost: the accuracy in which each row counts by what a
        mistake on it costs. Where every mistake costs the same it is the accuracy. Larger is better: it is
        what ``GridSearchCV`` and ``cross_val_score`` maximize if they are given no ``scoring``, and on the
        same rows it ranks models as their mean cost does. ``evaluation.cost_scorer`` is the mean cost of any
        classifier's decisions; ``evaluation.scorer`` judges the probabilities, with less noise.

        >>> from propriety import LinearClassifier
        >>> X, y = [[0], [1], [2], [3]], [0, 1, 0, 1]
        >>> LinearClassifier().fit(X, y).score(X, y), LinearClassifier(fn_cost=9).fit(X, y).score(X, y)
        (0.5, 0.9)
        """
        refuse_to_score(X, y)
        resolved = self._costs_to_decide(X, costs, fp_cost, fn_cost)
        return worth(self.classes_, self.predict_proba(X), resolved, y, sample_weight)

    # --- other populations ------------------------------------------------------------------------

    def adapt(
        self,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        *,
        prevalence: Shares | None = None,
        reference: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """A copy of the model with probabilities for another population; this model stays as it is.

        Give one of these:

        - ``prevalence``, the known shares of the classes: p′ ∝ p · new share/share in training. For a model
          of a sample that was drawn by class, give the shares of the population.
        - ``X``, new rows without labels: the shares of greatest likelihood, with intervals.
        - ``X`` and ``y``, new rows with labels, few will do: p′ ∝ p^slope · exp(shift), with priors about no
          change.

        The first two are right where only the shares differ, not what rows of a class look like. Scores,
        contributions and importances stay those of the fit; probabilities, decisions, the model file and
        ONNX are adapted. An adapted model can be adapted again.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), optional
        y : array of shape (n,), optional
        prevalence : float, or dictionary or array of K shares, optional
            Of two classes the share of the positive one.
        reference : array or data frame, optional
            Rows of the old population that the model was not fitted to. With them it is tested whether shares
            alone explain the new rows: ``adaptation_.p_value``.
        sample_weight : array of shape (n,), optional
            Of the rows of X.

        Returns
        -------
        The adapted model; print its ``adaptation_``.

        Examples
        --------
        >>> from propriety import LinearClassifier
        >>> X, y = np.arange(100.0)[:, None], np.arange(100) % 40 < 20
        >>> model = LinearClassifier(alpha=1.0).fit(X, y)
        >>> adapted = model.adapt(prevalence=0.02)
        >>> print(adapted.adaptation_)
        shares of the classes 98% of False, 2% of True
        >>> bool(adapted.predict_proba(X)[:, 1].mean() < 0.03)
        True
        """
        check_is_fitted(self)
        return adapt.adapted(self, X, y, prevalence, reference, sample_weight, self.classes_.tolist())

    def _as_adapted(self, text: str, class_names: Sequence[str] | None = None) -> str:
        """A model's text, with what `adapt` has made of its probabilities."""
        if self.adaptation_ is None:
            return text
        told = self.adaptation_.in_words(names_of_classes(self.classes_, class_names))
        return f"{text}\n\nprobabilities adapted: {told}"

    # --- reading it -------------------------------------------------------------------------------

    @abstractmethod
    def _contributions(self, table: Table) -> Floats:
        """What each feature adds to each score, the score of no feature last: (n, n_scores, d + 1)."""

    @abstractmethod
    def importances(self) -> Floats:
        """How much each feature counts; the sum is 1, or 0 if none does."""

    def contributions(self, X: MatrixLike) -> Floats:
        """What each feature adds to the score of each row, the score of no feature last.

        Of shape (n, d + 1) for two classes and (n, K, d + 1) for more; they add up to the score. Of two
        classes it is the score of ``classes_[1]``, whichever of them is ``pos_label``. An offset is no part
        of it: of a model that was fitted with one, they add up to ``decision_function`` less the offset.
        """
        parts = self._contributions(self._table(X))
        return parts[:, 0] if parts.shape[1] == 1 else parts

    def predict_contributions(self, X: MatrixLike) -> Floats:
        """The same as `contributions`."""
        return self.contributions(X)

    def reasons(self, X: Any, n: int = 4, *, reference: MatrixLike | None = None) -> Any:
        """The columns that speak most for the decision on each row, as a data frame: reason codes.

        A line is one reason: the ``row`` by position, its ``rank``, the ``decision``, the ``column``, its
        ``value`` as text, and the ``points`` that it adds to the score of that decision, by `contributions`.
        Columns that speak against the decision are none.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        n : int, default=4
            Reasons of a row, at most.
        reference : array or data frame, optional
            Rows to compare with, such as those of the training: points are then against the mean of those
            that are decided otherwise, so that a refused row is held against the approved ones.

        Examples
        --------
        >>> from propriety import LinearClassifier
        >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]), [0, 0, 1, 1]
        >>> print(LinearClassifier(alpha=0.1).fit(X, y).reasons(X[3:], n=1).to_string(index=False))
        row  rank decision column value   points
          0     1        1     x0     3 ...
        """
        from propriety.model.reasons import reasons

        check_is_fitted(self)
        return reasons(self, X, n, reference, [str(label) for label in self._schema.labels])

    @property
    def feature_importances_(self) -> Floats:
        """How much each feature counts; see `importances`."""
        return self.importances()

    @property
    def verdict(self) -> str:
        """What the fit has to say of the model in plain words, if it has judged it; else nothing."""
        return ""

    @property
    def remarks(self) -> list[str]:
        """How the fit ended, in sentences, where that is worth a warning; else nothing."""
        return []

    def words(self, X: MatrixLike, class_names: Sequence[str] | None = None) -> list[list[str]]:
        """The rules that each row meets, in words; a model that is not made of rules has none.

        `class_names` are what they call the classes; by default the labels themselves.
        """
        return [[] for _ in range(self._table(X).n_rows)]


def shared_attributes(training: Training, loss: LossLike) -> dict[str, Any]:
    """What every fitted model keeps of its training."""
    names = training.feature_names
    return {
        "n_features_in_": training.n_features,
        "classes_": training.classes,
        "loss_": loss,
        "_schema": training.schema,
    } | ({} if names is None else {"feature_names_in_": np.array(names, dtype=object)})


def decision_labels(classes: NDArray[Any], costs: ResolvedCosts, label: Any) -> NDArray[Any]:
    """The classes and, if the costs allow to abstain, the label of that.

    They are of one type if they are of one kind: numbers, or text; else they are objects.
    """
    if not costs.abstains:
        return classes
    if label in classes.tolist():
        raise ValueError(f"abstain_label={label!r} is one of the classes; give another label")
    both_numbers = classes.dtype.kind in "iuf" and np.asarray(label).dtype.kind in "iuf"
    if both_numbers or (classes.dtype.kind == "U" and isinstance(label, str)):
        return np.append(classes, label)
    return np.array([*classes.tolist(), label], dtype=object)


def names_of_classes(classes: NDArray[Any], class_names: Sequence[str] | None) -> list[str]:
    """What texts call the classes: the names given, one for each, or the labels.

    >>> names_of_classes(np.array([0, 1]), None), names_of_classes(np.array([0, 1]), ["good", "bad"])
    (['0', '1'], ['good', 'bad'])
    """
    names = [str(name) for name in (classes if class_names is None else class_names)]
    if len(names) != len(classes):
        raise ValueError(f"class_names must have {len(classes)} entries, got {len(names)}")
    return names


def squeezed(scores: Floats) -> Floats:
    """Scores of shape (n,) for two classes."""
    return scores[:, 0] if scores.shape[1] == 1 else scores


def shares(amounts: NDArray[Any]) -> Floats:
    """Amounts divided by their sum; all 0 if that is.

    >>> shares(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    total = amounts.sum()
    return np.asarray(amounts / total if total > 0 else amounts, dtype=np.float64)


def squeezed_stages(stages: Iterator[Floats]) -> Iterator[Floats]:
    """Scores after each round, copied, of shape (n,) for two classes."""
    for scores in stages:
        yield squeezed(scores).copy()
