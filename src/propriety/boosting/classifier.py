"""BoostingClassifier: histogram gradient boosting for any proper loss."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
)

from propriety import frames, parallel
from propriety.boosting.parameters import Problem
from propriety.boosting.progress import CallbackSupportMixin, Progress, with_callbacks
from propriety.estimator import ProperClassifier
from propriety.losses.value import positive

Floats = NDArray[np.float64]


class BoostingClassifier(CallbackSupportMixin, ProperClassifier):
    """Boosting of any proper loss, with its own probabilities and decisions.

    The score starts at the link of the weighted base rate; each round adds a tree (or another weak learner)
    fitted to the loss's gradient and curvature; the loss's link turns the score into a probability;
    ``fp_cost`` and ``fn_cost`` turn that into a decision, class 1 iff p ≥ fp_cost / (fp_cost + fn_cost).

    Parameters
    ----------
    loss : loss, composite or str, default="auto"
        What is minimized; "auto" is the log loss. With three classes or more the loss on the simplex
        (log, squared, density power), or one class against the rest.
    link : link or str, default=None
        Link of the score; None: the loss's own.
    fp_cost, fn_cost : float, default=1.0
        Cost of a false alarm and of a miss; they decide ``predict``.
    gain : float or "cv", default=None
        Gain σ: fit σ φ(v/σ) in the place of the loss φ. "cv" chooses it by cross-validation, see
        :func:`gain_path`; the choice is ``gain_``. Only the steps "gradient" and "sign" feel a gain.
    weak_learner : {"tree", "stump", "histogram"}, default="tree"
        What a round adds: a tree, a tree of two leaves, or a function of one feature that is constant on its
        bins. The last two make an additive model, see :meth:`shape_functions`.
    step : {"fisher", "newton", "gradient", "exact", "sign"}, default="fisher"
        Value of a leaf or bin: −G/H with the Fisher curvature, with the Hessian (Fisher where it is not
        positive), the weighted mean of the labels ±1 (BoostLR), the exact minimum along the leaf, or ±1.
    criterion : {"auto", "fisher", "newton", "gradient"}, default="auto"
        The curvature that weak learners are found by; "auto": the step's own. "gradient" is Gini's index of
        the weighted labels.
    coefficient : {"fixed", "line", "bregman", "corrective"}, default="fixed"
        What a round's learner is multiplied by: nothing, the number of least loss along it, the rule of
        Collins, Schapire and Singer, or ("corrective") all learners so far by the numbers of least loss.
    init : {"base_rate", "zero"}, default="base_rate"
        The score before the first round: that of the base rate, or 0 as in the papers on boosting.
    max_iter : int, default=100
        Rounds.
    learning_rate : float, default=0.1
    max_leaf_nodes : int, default=31
    max_depth : int, default=None
    max_intervals : int, default=None
        Of a histogram learner: join its bins to at most so many intervals (or sets of categories), which
        makes smoother curves; None leaves each bin its own value.
    min_samples_leaf : float or "auto", default="auto"
        Least weight of a leaf; a row of weight k counts as k rows. "auto" is 20, or a third of the
        total weight if that is less. Histogram learners get as many bins as hold that weight on average.
    min_weight_leaf : float, default=1e-3
        Least curvature of a leaf, in units of an average row's at the start.
    l2_regularization : float, default=0.0
        Shrinks leaf values as if a leaf held this many more average rows with gradient 0.
    min_gain : float, default=0.0
        Least gain of a split, in units of what a perfect first step would gain a row (½ for the log loss).
    subsample : float, default=1.0
        Share of the rows that each round sees.
    max_features : float, default=1.0
        Share of the features that each split looks at.
    max_features_tree : float, default=1.0
        Share of the features that each tree looks at.
    max_bins : int, default=255
        Bins per feature, 2 to 255, besides one for missing values.
    categorical_features : "from_dtype", None, mask or list of columns, default="from_dtype"
    monotonic_cst : list or dict, default=None
        Per column −1, 0 or 1; for more than two classes a dict from class to such a list or dict.
    interaction_cst : "pairwise", "no_interactions" or list of groups of columns, default=None
    multiclass : {"auto", "ovr", "sequential"}, default="auto"
        With "ovr" every loss is taken one class against the rest. With "sequential" only the class whose
        learner has the largest edge moves in a round, as in AdaBoost.MH and its kin.
    class_weight : dict or "balanced", default=None
    correct_class_weight : bool, default=False
        Return probabilities of the unweighted classes: the factor of ``class_weight`` is divided out.
    early_stopping : bool, default=False
        Stop when the validation score has not risen for ``n_iter_no_change`` rounds, and keep the best.
    validation_fraction : float, default=0.1
        Share of the rows held out for it, unless ``fit`` is given ``X_val``.
    n_iter_no_change : int, default=10
    tol : float, default=1e-7
    scoring : "loss", scorer or its name, default="loss"
    warm_start : bool, default=False
        Go on from the rounds already fitted.
    n_jobs : int, default=None
        Threads; None means all cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    n_iter_ : int
        Rounds kept.
    train_score_, validation_score_ : ndarray
        Minus the loss (or the scorer's value) after each round, when early stopping is on.
    gain_, gain_path_ : float, GainPath
        The gain and how it was chosen, with ``gain="cv"``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from propriety import BoostingClassifier
    >>> X, y = make_classification(300, random_state=0)
    >>> model = BoostingClassifier(loss="Tailored(0.1, 20)", fp_cost=1, fn_cost=9, max_iter=20).fit(X, y)
    >>> model.predict_proba(X[:2]).round(1)
    array([[..., ...],
           [..., ...]])
    """

    def __init__(
        self,
        loss="auto",
        *,
        link=None,
        fp_cost=1.0,
        fn_cost=1.0,
        gain=None,
        weak_learner="tree",
        step="fisher",
        criterion="auto",
        coefficient="fixed",
        init="base_rate",
        max_iter=100,
        learning_rate=0.1,
        max_leaf_nodes=31,
        max_depth=None,
        max_intervals=None,
        min_samples_leaf="auto",
        min_weight_leaf=1e-3,
        l2_regularization=0.0,
        min_gain=0.0,
        subsample=1.0,
        max_features=1.0,
        max_features_tree=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        multiclass="auto",
        class_weight=None,
        correct_class_weight=False,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-7,
        scoring="loss",
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.loss = loss
        self.link = link
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost
        self.gain = gain
        self.weak_learner = weak_learner
        self.step = step
        self.criterion = criterion
        self.coefficient = coefficient
        self.init = init
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.max_intervals = max_intervals
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_leaf = min_weight_leaf
        self.l2_regularization = l2_regularization
        self.min_gain = min_gain
        self.subsample = subsample
        self.max_features = max_features
        self.max_features_tree = max_features_tree
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.correct_class_weight = correct_class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags

    # --- fitting ----------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None, sample_weight_val=None):
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            NaN is missing; an infinite value is an ordinary extreme one.
        y : array of shape (n,)
            Labels of any type.
        sample_weight : array of shape (n,), optional
            A row of weight k counts as k rows if all weights are whole numbers; other weights are taken
            relative to their mean. Rows of weight 0 take no part.
        X_val, y_val, sample_weight_val : optional
            Rows for early stopping.

        Returns
        -------
        self
        """
        if isinstance(self.gain, str):
            self._choose_gain(X, y, sample_weight)
        problem = self._problem(X, y, sample_weight, X_val, y_val, sample_weight_val)
        booster, validation, done = self._start(problem)
        trees = self._forest.split() if done else []
        progress = Progress(self, problem, booster, X, y)
        try:
            for number in range(done, self.max_iter):
                new = booster.advance(number)
                trees.extend(new)
                if progress.after_round(number, trees, validation):
                    break
        finally:
            # Ctrl-C in the middle of a round leaves the model of the rounds before it.
            self._finish(problem, booster.finished(trees), validation, progress)
        progress.end()
        return self

    def _choose_gain(self, X, y, sample_weight) -> None:
        from propriety.boosting.paths import gain_path

        if self.gain != "cv":
            raise ValueError(f"gain must be a number above 0, 'cv' or None, got {self.gain!r}")
        self.gain_path_ = gain_path(self, X, y, sample_weight=sample_weight)
        self.gain_ = self.gain_path_.best_gain

    def _gain(self) -> float:
        return self.gain_ if isinstance(self.gain, str) else positive("gain", self.gain)

    def _problem(self, X, y, sample_weight, X_val, y_val, sample_weight_val) -> Problem:
        """Check everything that was given, and put it in the form that the engine reads."""
        again = self.warm_start and hasattr(self, "_forest")
        if y is None:
            raise ValueError("BoostingClassifier requires y to be passed, but the target y is None.")
        frame = frames.is_frame(X)
        if not frame:
            X = frames.as_array(X)
        _check_feature_names(self, X, reset=not again)
        _check_n_features(self, X, reset=not again)
        schema, table = frames.Schema.fit(X, self.categorical_features)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_consistent_length(X, labels)
        check_classification_targets(labels)
        weight = (
            None
            if sample_weight is None
            else _check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
        )
        if weight is not None and not np.any(weight > 0):
            raise ValueError("sample_weight is zero everywhere: at least one row must have a positive weight")
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be given together")
        held_out = None
        if X_val is not None:
            held_out = (schema.read(X_val), column_or_1d(y_val, warn=True), sample_weight_val)
        return Problem.make(self, schema, table, labels, weight, held_out, again)

    def _start(self, problem: Problem):
        """A booster at the first round to fit, the validation rows, and the number of rounds there are."""
        from propriety.boosting.rounds import Booster

        done = problem.rounds_done
        booster = Booster(
            problem.binned,
            problem.binner,
            problem.objective,
            problem.weights,
            problem.settings,
            problem.start,
        )
        validation = problem.validation()
        if done:
            booster.resume(self._forest)
        if validation is not None:
            validation.add(self._forest.split() if done else [], problem.settings.n_jobs)
        return booster, validation, done

    def _finish(self, problem: Problem, trees, validation, progress: Progress) -> None:
        from propriety.boosting import curves

        k = problem.n_scores
        if validation is not None and self.early_stopping:
            kept = problem.rounds_done + validation.best(self.tol)
            trees = trees[: max(kept, problem.rounds_done) * k]
        self._forest = curves.join(trees, k, problem.binner)
        self._marginals = problem.marginals()
        self._schema, self._binner, self._objective = problem.schema, problem.binner, problem.objective.bare()
        self._start_score, self._seed = problem.start, problem.settings.seed
        self._class_factors = problem.class_factors
        self.classes_, self.n_iter_ = problem.classes, len(trees) // k
        self.train_score_ = np.array(progress.train_score)
        self.validation_score_ = np.array([] if validation is None else validation.history)

    # --- using the model --------------------------------------------------------------------------

    def decision_function(self, X) -> Floats:
        """The score F: of shape (n,) for two classes, (n, K) for more."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X) -> Floats:
        """Probabilities of the classes, of shape (n, K)."""
        return self._probabilities(self._scores(X))

    def predict(self, X):
        """Decisions: for two classes by the costs, for more the most probable class."""
        probabilities = self.predict_proba(X)
        return self.classes_[self._decide(probabilities)]

    def staged_decision_function(self, X):
        """Yield the score after each round."""
        for scores in self._staged_scores(X):
            yield (scores[:, 0] if scores.shape[1] == 1 else scores).copy()

    def staged_predict_proba(self, X):
        """Yield the probabilities after each round."""
        for scores in self._staged_scores(X):
            yield self._probabilities(scores)

    def staged_predict(self, X):
        """Yield the decisions after each round."""
        for probabilities in self.staged_predict_proba(X):
            yield self.classes_[self._decide(probabilities)]

    def predict_contributions(self, X) -> Floats:
        """What each feature added to the score: exact Shapley values, the score of no feature last.

        Of shape (n, d + 1) for two classes and (n, K, d + 1) for more; they add up to the score.
        """
        if self._is_curves():
            from propriety.boosting.shapes import contributions_of

            return contributions_of(self, X)
        from propriety.engine.contributions import contributions, mean_values

        table, forest = self._table(X), self._forest
        n_scores = forest.n_scores
        result = np.empty((table.n_rows, n_scores, self.n_features_in_ + 1))
        for start, stop, values in table.chunks(self._encoders()):
            result[start:stop, :, :-1] = contributions(forest, values, parallel.n_threads(self.n_jobs))
        result[:, :, -1] = self._start_score + mean_values(forest)
        return result[:, 0] if n_scores == 1 else result

    def importances(self, kind: str = "gain") -> Floats:
        """Importance of each feature: total "gain" of its splits, or their "count"; the sum is 1.

        Without any split all are 0.
        """
        check_is_fitted(self, "_forest")
        if kind not in ("gain", "count"):
            raise ValueError(f"kind must be 'gain' or 'count', got {kind!r}")
        if self._is_curves():
            total = self._forest.importances(kind)
        else:
            nodes = self._forest.nodes[self._forest.nodes["feature"] >= 0]
            amounts = nodes["gain"] if kind == "gain" else np.ones(len(nodes))
            total = np.bincount(nodes["feature"], weights=amounts, minlength=self.n_features_in_)
        return total / total.sum() if total.sum() > 0 else total

    @property
    def feature_importances_(self) -> Floats:
        """Share of each feature in the total gain."""
        return self.importances("gain")

    def shape_functions(self):
        """The additive model's curves, and surfaces where pairs of features meet: a :class:`ShapeFunctions`.

        The score is the intercept and the sum of the curves, exactly. It needs learners that look at one
        feature, or two: ``weak_learner="histogram"`` or ``"stump"``, or trees with
        ``interaction_cst="no_interactions"`` or ``"pairwise"``.
        """
        from propriety.boosting.shapes import shapes_of

        check_is_fitted(self, "_forest")
        return shapes_of(self)

    def _is_curves(self) -> bool:
        return not hasattr(self._forest, "nodes")

    def _table(self, X) -> frames.Table:
        check_is_fitted(self, "_forest")
        if not frames.is_frame(X):
            X = frames.as_array(X)
        if self._schema.names is not None or not isinstance(X, np.ndarray):
            _check_feature_names(self, X, reset=False)
        _check_n_features(self, X, reset=False)
        return self._schema.read(X)

    def _encoders(self):
        return [
            None if bins is None else partial(self._binner.codes_to_bins, f)
            for f, bins in enumerate(self._binner.category_bins)
        ]

    def _scores(self, X) -> Floats:
        table, forest = self._table(X), self._forest
        scores = np.tile(self._start_score, (table.n_rows, 1))
        for start, stop, values in table.chunks(self._encoders()):
            forest.add_scores(values, scores[start:stop], parallel.n_threads(self.n_jobs))
        return scores

    def _staged_scores(self, X):
        table, forest, n_jobs = self._table(X), self._forest, parallel.n_threads(self.n_jobs)
        scores, k = np.tile(self._start_score, (table.n_rows, 1)), forest.n_scores
        chunks = list(table.chunks(self._encoders()))
        if self._is_curves():
            chunks = [(start, stop, forest.columns(values, n_jobs)) for start, stop, values in chunks]
        for first in range(0, self.n_iter_ * k, k):
            for start, stop, values in chunks:
                if self._is_curves():
                    forest.add_columns(values, scores[start:stop], first, first + k)
                else:
                    forest.add_scores(values, scores[start:stop], n_jobs, first, first + k)
            yield scores

    def _probabilities(self, scores: Floats) -> Floats:
        probabilities = self._objective.probabilities(scores)
        if self.correct_class_weight and self._class_factors is not None:
            probabilities = probabilities / self._class_factors
            probabilities /= probabilities.sum(axis=1, keepdims=True)
        return probabilities

    def _decide(self, probabilities: Floats) -> NDArray[np.intp]:
        if probabilities.shape[1] == 2:
            return (probabilities[:, 1] >= self._threshold()).astype(np.intp)
        return np.argmax(probabilities, axis=1)
