"""BoostingClassifier: histogram gradient boosting for any proper loss."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from propriety.aliases import CostTerm, Label, MatrixLike, RandomState
from propriety.boosting.algorithm import algorithm_of
from propriety.boosting.remarks import of_rounds
from propriety.boosting.settings import settings_of
from propriety.communicator import Disconnected
from propriety.data.parameters import seed_of
from propriety.data.table import Table
from propriety.data.training import Training
from propriety.distributed.dispatch import distributed_fit
from propriety.export.formula import Formula, readout_of
from propriety.losses.simplex import OrderedLoss
from propriety.model import contract
from propriety.model.base import Capabilities, shares, squeezed_stages
from propriety.model.fitted_loss import fitted_loss
from propriety.model.following import CallbackSupportMixin, with_callbacks
from propriety.model.offsets import OffsetClassifier
from propriety.storage.checks import Arrays

if TYPE_CHECKING:  # what imports Numba is imported when it is used
    from propriety.boosting.learning import HeldOut, Lesson
    from propriety.boosting.settings import BoostingSettings
    from propriety.boosting.shapes import ShapeFunctions
    from propriety.data.costs import CostsLike
    from propriety.losses.registry import LinkLike, LossLike

Floats = NDArray[np.float64]


class BoostingClassifier(CallbackSupportMixin, OffsetClassifier):
    """Boosting of any proper loss, with its own probabilities and decisions.

    The score starts at the link of the weighted base rate, or at the best constant on top of an ``offset``;
    each round adds a tree (or another weak learner) fitted to the loss's gradient and curvature; the loss's
    link turns the score into a probability; ``fp_cost`` and ``fn_cost`` turn that into a decision, class 1
    iff p ≥ fp_cost / (fp_cost + fn_cost).

    Parameters
    ----------
    loss : loss, composite or str, default="auto"
        What is minimized; "auto" is the log loss, or the loss of a published algorithm. With three classes or
        more the loss on the simplex (log, squared, density power), or one class against the rest. A gain σ is
        part of it: ``Log().composite().shrunk(8)``, see :func:`gain_path`.
    link : link or str, default=None
        Link of the score; None: the loss's own.
    costs : Costs, default=None
        What mistakes cost and right decisions bring: a `propriety.Costs`.
    fp_cost, fn_cost : float, pair, distribution, str or callable, default=1.0
        The short form of it: cost of a false alarm and of a miss; they decide ``predict``.
    pos_label : label, default=None
        The class whose miss costs ``fn_cost``; None is ``classes_[1]``, the last in sorted order.
    algorithm : str or Algorithm, default="gradient"
        How a round is taken: "gradient" adds a tree of Fisher steps, "additive" a function of one feature,
        see :meth:`shape_functions`. Published algorithms go by their names, such as "logitboost", "boostlr"
        or "adaboost_mh": those of ``propriety.algorithms.names("BoostingClassifier")``, which start at a
        score of 0 and shrink nothing unless other parameters say so. Any other is an :class:`Algorithm`.
    max_iter : int, "cv" or "auto", default="auto"
        Rounds. "auto" is "cv" for a total weight of up to 20,000 rows, or 20,000/K for K > 2 classes, and for
        more as many as ``early_stopping`` finds, at most 500. Where neither may be (``early_stopping=False``,
        ``warm_start``, a published algorithm, corrective coefficients, ``calibrate`` of a given kind, less
        than some 500 different rows outside of the largest class), it is 100.
        "cv" takes the number of least loss on held-out rows: four models, each without a quarter of the
        rows, grow side by side until the loss over all of their held-out rows has not fallen for
        ``n_iter_no_change`` rounds, at most 500; then one is fitted to all rows, or the mean of three if
        rows or features are drawn. The folds depend on what the rows hold, not on order or ``random_state``.
    calibrate : {"auto", "platt", "beta", "isotonic"} or None, default="auto"
        Bend the link a little so that it reads the right probabilities from scores of rows that were held
        out by the same folds; "auto" is "platt" for two classes where folds find the rounds, else None.
        For two classes by one slope and a shift of the log-odds; by two slopes, at
        small and at large probabilities; or by any increasing function. For several classes "platt" is one
        slope of the log-probabilities and a shift for each class, "beta" a slope for each class too, and the
        loss must have the softmax link. A prior about no change keeps few rows from bending it much.
        ``loss_`` has the bent link; scores and contributions do not change.
    learning_rate : float or "auto", default="auto"
        "auto" is 0.2 where rounds are found by folds for a total weight of up to 2,000 rows, else 0.1; 1 for
        a published algorithm.
    max_step : float, None or "auto", default="auto"
        The most that a round may move the log-odds of a row it is fitted to, before the learning rate; None
        is any distance. "auto" is 1.5, or None for a published algorithm. Without a bound, leaves of a rare
        class take a probability of 0.002 to 1 in one step.
    max_leaf_nodes : int or "auto", default="auto"
        The most leaves of a tree. "auto" is 31; where folds find the rounds 16, or 8 up to a weight of 2,000.
    max_depth : int, default=None
    min_samples_leaf : float or "auto", default="auto"
        Least weight of a leaf; a row of weight k counts as k rows. "auto" is 20; where rounds are found by
        folds 1 if leaves are shrunk by 10 or more, else 5; or a third of the total weight if that is less.
        Histogram learners get as many bins as hold that weight (5 by folds) on average. 1 for a published
        algorithm, whose leaves nothing shrinks or bounds.
    min_weight_leaf : float or "auto", default="auto"
        Least curvature of a leaf, in average rows at the start; "auto" is 1e-3, or 1/(p(1 − p)) for p < 5 %.
    l2_regularization : float or "auto", default="auto"
        Shrinks leaf values as if a leaf held this many more average rows with gradient 0. "auto" is 10
        where rounds are found by folds, else 0; or 1/(p(1 − p)) for a rare class of two, p < 5 %.
    min_split_gain : float, default=0.0
        Least gain of a split, in units of what a perfect first step would gain a row (½ for the log loss).
    subsample : float or "auto", default="auto"
        Share of the rows by which each round finds its splits, or its feature; values are those of all rows.
        "auto" is 0.7 for trees counted by folds, else 1. "filter", for a weak learner of your own: boosting
        by filtering [C §1]. A round accepts each row with the probability of its weight |g|, which the loss
        must bound, and gives the learner those rows without weights, so that any learner will do.
    max_features : float or "auto", default="auto"
        Share of the features that each split looks at. "auto" is 1, or for trees counted by folds whose cuts
        are all looked at 0.3, or as much as makes three features.
    splitter : {"auto", "best", "random"}, default="auto"
        Whether a split looks at every cut of a feature or at one that is drawn at random, as extra trees do.
        "auto" is "random" for trees counted by folds, and for those of more than two classes that held-out
        rows count, else "best".
    max_bins : int or "auto", default="auto"
        Bins per feature, 2 to 255, besides one for missing values. "auto" is 255, or 10 for BoostLR.
    categorical_features : "from_dtype", None, mask or list of columns, default="from_dtype"
    monotonic_cst : list or dict, default=None
        Per column −1, 0 or 1; for more than two classes a dict from class to such a list or dict.
    interaction_cst : "pairwise", "no_interactions" or list of groups of columns, default=None
    multiclass : {"auto", "ovr", "ordinal"}, default="auto"
        With "ovr" every loss is taken one class against the rest. "ordinal", for classes whose sorted order
        means something: at each threshold between two neighbours, by one model in which the probability of
        being above it can only fall from each to the next. Costs are then |i − j| if none are stated.
    early_stopping : bool or "auto", default="auto"
        Stop when the validation score has not risen for ``n_iter_no_change`` rounds, and keep the best.
        "auto" does so where ``max_iter="auto"`` is left with more rows than folds are for; the rows held out
        then depend on what they hold alone, not on ``random_state``.
    validation_fraction : float, default=0.1
        Share of the rows held out for it, unless ``fit`` is given ``X_val``.
    n_iter_no_change : int or "auto", default="auto"
        "auto" is 10 rounds, plus a quarter of those up to the best one if held-out rows find the number.
    warm_start : bool, default=False
        Go on from the rounds already fitted.
    n_jobs : int, default=None
        Threads; None means all cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Of the rows, columns and cuts that are drawn; draws of rows follow what they hold. None is 0, so that
        two fits to the same rows give the same model.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    n_iter_ : int
        Rounds kept; of a mean of three models, those of all three, which take turns.
    train_score_, validation_score_ : ndarray
        Minus the loss after each round, when early stopping is on or ``X_val`` is
        given; else, where folds find the rounds, minus the loss of the held-out rows of all folds. All of
        them before calibration.
    oof_decision_function_ : ndarray of shape (n,) or (n, K)
        With ``max_iter="cv"``, the score of each training row by the model that was fitted to the other
        folds; NaN for rows in no fold. A model file does not keep it.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from propriety import BoostingClassifier
    >>> X, y = make_classification(300, random_state=0)
    >>> model = BoostingClassifier(loss="Tailored(0.1, 20)", fp_cost=1, fn_cost=9, max_iter=20).fit(X, y)
    >>> model.predict_proba(X[:2]).round(3)
    array([[0.356, 0.644],
           [0.062, 0.938]])
    >>> model.loss_
    Tailored(0.1, 20).with_link(Logit())
    """

    capabilities: ClassVar[Capabilities] = Capabilities(scans=True, soft_labels=True, groups=True)

    def __init__(
        self,
        loss: LossLike = "auto",
        *,
        link: LinkLike | None = None,
        costs: CostsLike | None = None,
        fp_cost: CostTerm = 1.0,
        fn_cost: CostTerm = 1.0,
        pos_label: Label | None = None,
        algorithm: str = "gradient",
        max_iter: int | str = "auto",
        calibrate: str | None = "auto",
        learning_rate: float | str = "auto",
        max_step: float | str = "auto",
        max_leaf_nodes: int | str = "auto",
        max_depth: int | None = None,
        min_samples_leaf: float | str = "auto",
        min_weight_leaf: float | str = "auto",
        l2_regularization: float | str = "auto",
        min_split_gain: float = 0.0,
        subsample: float | str = "auto",
        max_features: float | str = "auto",
        splitter: str = "auto",
        max_bins: int | str = "auto",
        categorical_features: ArrayLike | None = "from_dtype",
        monotonic_cst: ArrayLike | Mapping[str, int] | None = None,
        interaction_cst: str | Sequence[Collection[int | str]] | None = None,
        multiclass: str = "auto",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | str = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.link = link
        self.costs = costs
        self.fp_cost, self.fn_cost = fp_cost, fn_cost
        self.pos_label = pos_label
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.calibrate = calibrate
        self.learning_rate = learning_rate
        self.max_step = max_step
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_leaf = min_weight_leaf
        self.l2_regularization, self.min_split_gain = l2_regularization, min_split_gain
        self.subsample, self.max_features = subsample, max_features
        self.splitter = splitter
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.multiclass = multiclass
        self.early_stopping, self.validation_fraction = early_stopping, validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # --- fitting ----------------------------------------------------------------------------------

    @distributed_fit
    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: MatrixLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        offset_val: ArrayLike | None = None,
        costs: CostsLike | None = None,
        fp_cost: CostTerm | None = None,
        fn_cost: CostTerm | None = None,
        offset: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        folds: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Dask collection or `propriety.scan` of shape (n, d)
            NaN is missing; an infinite value is an ordinary extreme one.
        y : array of shape (n,)
            Labels of any type; left out for a scan, which has a target.
            Soft labels are probabilities of class 1, K columns of probabilities, or a tuple (successes,
            trials): each row is then fitted as one weighted row of each class.
        sample_weight : array of shape (n,), optional
            A row of weight k counts as k rows if all weights are whole numbers; other weights are taken
            relative to their mean. Rows of weight 0 take no part.
        X_val, y_val, sample_weight_val, offset_val : optional
            Rows for early stopping; without that, ``validation_score_`` is theirs after each round.
        costs : Costs, data frame or array of shape (n, K, K), optional
            Costs of each row, in the place of those of the constructor; a data frame has columns such as
            ``fp`` and ``fn``. ``predict`` then takes them as well.
        fp_cost, fn_cost : array of shape (n,), optional
            The short form of it.
        offset : array of shape (n,), or (n, K) for more than two classes, optional
            The score of each row before the first round: an exposure, or the score of a model to improve
            upon, as ``decision_function`` has it: of ``classes_[1]``, whichever class is positive, and
            through the link, so log-odds for the log loss. ``predict`` and its kin then take it as well.
        groups : array of shape (n,), optional
            Rows that belong together, such as those of a customer: where the fit holds rows out, by folds or
            for early stopping, no group is parted.
        folds : array of shape (n,), optional
            The fold of each row, for ``max_iter="cv"`` and ``calibrate``: whole numbers from 0 on, −1 for a
            row that is never held out. By default four that follow the content of the rows.

        Returns
        -------
        self
        """
        from propriety.boosting.folding import folds_for, from_folds
        from propriety.boosting.learning import read_held_out

        training = self._read(
            X,
            y,
            sample_weight,
            costs=costs,
            fp_cost=fp_cost,
            fn_cost=fn_cost,
            offset=offset,
            groups=groups,
        )
        if algorithm_of(self.algorithm).has_own_learner:
            return self._fit_own(training, X_val=X_val, folds=folds)
        loss = fitted_loss(self.stated_loss, self.link, training.n_classes, multiclass=self.multiclass)
        if isinstance(loss, OrderedLoss):
            from propriety.boosting.ordinal import boost_ordinal

            loss, learned = boost_ordinal(
                self, training, loss, {"folds": folds}, (X_val, y_val, sample_weight_val)
            )
            self.__dict__.pop("oof_decision_function_", None)  # of an earlier fit
            return self._keep(training, loss, **learned)
        again = bool(self.warm_start) and hasattr(self, "_forest")
        if again:
            self._check_same(X, training)
        held_out = read_held_out(training, X_val, y_val, sample_weight_val, offset_val)
        settings = settings_of(self, training, self._new_seed(again))
        training, numbers = folds_for(training, settings, folds)
        lesson = self._prepare(training, settings, held_out, again)
        lesson, loss, learned = from_folds(lesson, numbers)
        self.__dict__.pop("oof_decision_function_", None)  # of an earlier fit
        self._boost(lesson, loss, self._forest if again else None, X, y, learned)
        return self

    def _fit_own(self, training: Training, **unused: Any) -> Self:
        """Fit with a weak learner of the user's own."""
        from propriety.boosting.own_learners import boost_own

        wrong = [name for name, value in unused.items() if value is not None]
        if wrong:
            raise ValueError(
                f"{wrong[0]} is for the library's own weak learners, and the algorithm's is one of your own: "
                "leave it out, and search for max_iter with GridSearchCV"
            )
        loss = fitted_loss(self.stated_loss, self.link, training.n_classes, multiclass=self.multiclass)
        learned = boost_own(self, training, loss, self._new_seed(False))
        self.__dict__.pop("oof_decision_function_", None)  # of an earlier fit
        return self._keep(training, loss, **learned)

    def _prepare(
        self, training: Training, settings: BoostingSettings, held_out: HeldOut | None, again: bool
    ) -> Lesson:
        """What the rounds need."""
        from propriety.boosting.learning import Continued, prepare

        return prepare(
            training,
            settings,
            fitted_loss(self.stated_loss, self.link, training.n_classes, multiclass=self.multiclass),
            held_out=held_out,
            continued=Continued(self._start_score, self._binner, self.n_iter_) if again else None,
            shared_bins=self._fit_context.shared,
        )

    def _boost(
        self,
        lesson: Lesson,
        loss: Any,
        earlier: Any,
        X: Any,
        y: Any,
        learned: dict[str, Any],
    ) -> None:
        """Run the rounds and keep them, those of an interrupted fit too."""
        from propriety.boosting.fitting import BoostingFit

        fit = BoostingFit(self, lesson, earlier, X, y, self._fit_context.known_rounds)
        try:
            fit.run()
        except (KeyboardInterrupt, Disconnected) as error:
            if isinstance(error, KeyboardInterrupt) and not fit.has_begun:
                raise  # an earlier fit stays
            self._keep(lesson.training, loss, **(fit.attributes() | learned))
            raise
        self._keep(lesson.training, loss, **(fit.attributes() | learned))
        fit.end()

    @staticmethod
    def _value_of(parameter: str, text: str) -> Any:
        return algorithm_of(text) if parameter == "algorithm" else OffsetClassifier._value_of(parameter, text)

    @property
    def stated_loss(self) -> Any:
        """The parameter ``loss``, or the algorithm's where it is "auto"."""
        automatic = isinstance(self.loss, str) and self.loss == "auto"
        return algorithm_of(self.algorithm).loss if automatic else self.loss

    @property
    def unfit_for_parts(self) -> str | None:
        """What needs all rows in memory, whatever their number; None if nothing does."""
        algorithm = algorithm_of(self.algorithm)
        if algorithm.has_own_learner:
            return "a weak learner of your own"
        return "an algorithm with coefficient='corrective'" if algorithm.coefficient == "corrective" else None

    @property
    def regularizes(self) -> bool:
        """Whether "auto" shrinks and bounds the steps, and has held-out rows count the rounds."""
        return algorithm_of(self.algorithm).regularized

    def _new_seed(self, again: bool) -> int:
        return self._seed if again else seed_of(self.random_state)

    def _check_same(self, X: Any, training: Training) -> None:
        """A warm start needs the data of the first fit, or more of the kind."""
        _check_feature_names(self, X, reset=False)
        _check_n_features(self, training.table, reset=False)
        same = training.schema.n_categories == self._schema.n_categories
        if not same or not np.array_equal(training.classes, self.classes_):
            raise ValueError("warm_start needs the columns, categories and classes of the first fit")

    # --- using the model --------------------------------------------------------------------------

    def _scores(self, table: Table) -> Floats:
        scores = np.tile(self._start_score, (table.n_rows, 1))
        for start, stop, values in table.chunks(self._encoders):
            self._forest.add_scores(values, scores[start:stop], self._threads)
        return scores

    @property
    def _encoders(self) -> list[Any]:
        """What turns the categories of each column into numbers; none with a learner of the user's own."""
        return [None] * self.n_features_in_ if self._binner is None else self._binner.encoders()

    def _refuse_own(self, what: str, error: type[Exception] = NotImplementedError) -> None:
        """Refuse what needs trees or curves, if the weak learner was the user's own."""
        if self._binner is None:
            raise error(
                f"a model whose weak learner is {self._forest.learner!r} has no {what}, which the library "
                "knows of its own learners alone; evaluation.importance asks any model what it relies on"
            )

    def _formula(self) -> Formula:
        self._refuse_own("formula")
        return Formula(
            self._forest.formula(self._start_score, self._binner),
            readout_of(self.loss_, len(self.classes_)),
        )

    def staged_decision_function(self, X: MatrixLike, *, offset: ArrayLike | None = None) -> Iterator[Floats]:
        """Yield the score after each round, from that of the offset on."""
        return squeezed_stages(self._staged_scores(X, offset))

    def staged_predict_proba(self, X: MatrixLike, *, offset: ArrayLike | None = None) -> Iterator[Floats]:
        """Yield the probabilities after each round."""
        for scores in self._staged_scores(X, offset):
            yield self._probabilities(scores)

    def staged_predict(self, X: MatrixLike, *, offset: ArrayLike | None = None) -> Iterator[NDArray[Any]]:
        """Yield the decisions after each round."""
        costs = self.costs_for(X)
        for probabilities in self.staged_predict_proba(X, offset=offset):
            yield self.decide(probabilities, costs)

    def _contributions(self, table: Table) -> Floats:
        """Exact Shapley values."""
        self._refuse_own("contributions")
        from propriety.boosting.shapes import contributions_of
        from propriety.trees.shap import contributions, mean_values

        if self._is_curves():
            return contributions_of(self, table)
        result = np.empty((table.n_rows, self._forest.n_scores, self.n_features_in_ + 1))
        for start, stop, values in table.chunks(self._binner.encoders()):
            result[start:stop, :, :-1] = contributions(self._forest, values, self._threads)
        result[:, :, -1] = self._start_score + mean_values(self._forest)
        return result

    def predict_interactions(self, X: MatrixLike) -> Floats:
        """Shapley interaction values: what pairs of features add to the score beyond what each adds alone.

        Of shape (n, d, d) for two classes, (n, K, d, d) for more; symmetric, and each row sums to the
        feature's part of `predict_contributions`.
        """
        table = self._table(X)
        self._refuse_own("interactions")
        shape = table.n_rows, self._forest.n_scores, self.n_features_in_, self.n_features_in_
        result, every = np.zeros(shape), np.arange(self.n_features_in_)
        if self._is_curves():
            result[..., every, every] = self._contributions(table)[:, :, :-1]
        else:
            from propriety.trees.shap import interactions

            for start, stop, values in table.chunks(self._binner.encoders()):
                result[start:stop] = interactions(self._forest, values, self._threads)
        return result[:, 0] if shape[1] == 1 else result

    def importances(self, kind: str = "split_gain") -> Floats:
        """Importance of each feature: total gain of its splits ("split_gain"), or their "count".

        The sum is 1; without any split all are 0.
        """
        check_is_fitted(self, "_forest")
        self._refuse_own("importances", AttributeError)  # so that `hasattr` of feature_importances_ is False
        if kind not in ("split_gain", "count"):
            raise ValueError(f"kind must be 'split_gain' or 'count', got {kind!r}")
        if self._is_curves():
            return shares(self._forest.importances(kind))
        nodes = self._forest.nodes[self._forest.nodes["feature"] >= 0]
        amounts = nodes["gain"] if kind == "split_gain" else np.ones(len(nodes))
        return shares(np.bincount(nodes["feature"], weights=amounts, minlength=self.n_features_in_))

    @property
    def view(self) -> str:
        """Curves, if the model is additive."""
        from propriety.boosting.shapes import shapes_of

        check_is_fitted(self, "_forest")
        if self._binner is None:
            return contract.EFFECTS
        try:
            shapes_of(self)
        except ValueError:
            return contract.EFFECTS
        return contract.CURVES

    remarks = property(of_rounds)

    def shape_functions(self) -> ShapeFunctions:
        """The additive model's curves, and surfaces where pairs of features meet: a :class:`ShapeFunctions`.

        The score is the intercept and the sum of the curves, exactly. It needs learners that look at one
        feature, or two: ``algorithm="additive"``, stumps, or trees with
        ``interaction_cst="no_interactions"`` or ``"pairwise"``.
        """
        from propriety.boosting.shapes import shapes_of

        check_is_fitted(self, "_forest")
        self._refuse_own("shape functions")
        return shapes_of(self)

    def _is_curves(self) -> bool:
        return self._binner is not None and not hasattr(self._forest, "nodes")

    def _staged_scores(self, X: Any, offset: Any) -> Iterator[Floats]:
        table, forest, n_jobs = self._table(X), self._forest, self._threads
        scores, k = np.tile(self._start_score, (table.n_rows, 1)), forest.n_scores
        scores = self._shifted(scores, offset)
        chunks = list(table.chunks(self._encoders))
        if self._is_curves():
            chunks = [(start, stop, forest.columns(values, n_jobs)) for start, stop, values in chunks]
        for first in range(0, self.n_iter_ * k, k):
            for start, stop, values in chunks:
                if self._is_curves():
                    forest.add_columns(values, scores[start:stop], first, first + k)
                else:
                    forest.add_scores(values, scores[start:stop], n_jobs, first, first + k)
            yield scores

    # --- keeping it -------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        from propriety.boosting.state import write_state

        if self._binner is None:
            raise ValueError(
                "a model file holds values and arrays, no code, and the weak learners are "
                f"{self._forest.learner!r}: keep the model by pickle, and load only what you trust"
            )
        return write_state(self)

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        from propriety.boosting.state import read_state

        read_state(self, state, arrays)
