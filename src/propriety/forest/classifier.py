"""ForestClassifier: many random trees, grown by any proper loss, and their mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from propriety.aliases import CostTerm, Label, MatrixLike, RandomState
from propriety.data.lazy import over_partitions
from propriety.data.namespaces import in_kind
from propriety.data.table import Table, take_rows
from propriety.distributed.dispatch import distributed_fit
from propriety.export.formula import Formula
from propriety.forest.settings import settings_of
from propriety.model.base import Capabilities, ProperClassifier, shares
from propriety.storage.checks import Arrays

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike
    from propriety.losses.registry import LinkLike, LossLike

Floats = NDArray[np.float64]


class ForestClassifier(ProperClassifier):
    """A random forest, or extra trees, whose splits follow the entropy of any proper loss.

    Each tree is grown on rows drawn with replacement, and each of its splits is the best one among some
    columns drawn at random: the one that most lowers Σ W·H(p), the loss of the rows at their class shares.
    Probabilities are the mean of the trees' leaves and of half a tree that says the base rates, so that none
    is 0 or 1. Extra trees, ``splitter="random", bootstrap=False``, draw one cut of each column at random too.

    The model depends on the rows, not on their order, and a row of weight k is k rows: copies are drawn one
    by one, by random numbers that belong to what a row holds. Columns may come in any order as well.

    Parameters
    ----------
    loss : loss, composite or str, default="auto"
        Whose entropy decides the splits; "auto" is the log loss. It needs no gradient: `CostWeighted` will
        do. With three classes or more the loss on the simplex, or one class against the rest.
    link : link or str, default=None
        Link of the score; None: the loss's own, or the logit.
    costs : Costs, default=None
        What mistakes cost and right decisions bring: a `propriety.Costs`.
    fp_cost, fn_cost : float, pair, distribution, str or callable, default=1.0
        The short form of it: cost of a false alarm and of a miss; they decide ``predict``.
    pos_label : label, default=None
        The class whose miss costs ``fn_cost``; None is ``classes_[1]``, the last in sorted order.
    n_estimators : int, default=100
        Number of trees.
    splitter : {"best", "random"}, default="best"
        The best cut of each drawn column, or one at random between its least and its largest bin in the node.
    bootstrap : bool, default=True
        Draw the rows of each tree: every copy of a row as often as a Poisson number with mean 1 says.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Columns that each split looks at: a function of their number, a number, a share, or all. Columns that
        are equal count once. More are drawn if none of these can be split.
    max_depth : int or None, default=None
    max_leaf_nodes : int or None, default=None
        With a limit, the leaf that gains most is split next.
    min_samples_leaf : float, default=1
        Least weight of a leaf in its tree's draw.
    smoothing : float, default=0.5
        How many trees that say the base rates are added to the others.
    max_bins : int, default=255
    oob_score : bool, default=False
        Whether to compute ``oob_decision_function_`` and ``oob_score_``.
    categorical_features : "from_dtype", None, mask or list of columns, default="from_dtype"
    multiclass : {"auto", "ovr"}, default="auto"
        With "ovr" every loss is taken one class against the rest.
    n_jobs : int, default=None
        Threads; None means all cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Of the draws, which follow what the rows hold. None is 0, so that two fits to the same rows give the
        same model.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    oob_decision_function_ : ndarray of shape (n, K)
        Probabilities of the training rows by the trees that were not grown on them, smoothed in the same way;
        as in scikit-learn, they have the name of a score. A row of several copies has the mean over copies.
    oob_score_ : float
        Mean loss of these: the smaller the better, unlike scikit-learn's.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from propriety import ForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> bool(model.oob_score_ < 0.15), model.oob_decision_function_.shape
    (True, (569, 2))
    """

    capabilities: ClassVar[Capabilities] = Capabilities(scans=True, in_turns=False)

    def __init__(
        self,
        loss: LossLike = "auto",
        *,
        link: LinkLike | None = None,
        costs: CostsLike | None = None,
        fp_cost: CostTerm = 1.0,
        fn_cost: CostTerm = 1.0,
        pos_label: Label | None = None,
        n_estimators: int = 100,
        splitter: str = "best",
        bootstrap: bool = True,
        max_features: float | str = "sqrt",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: float = 1,
        smoothing: float = 0.5,
        max_bins: int = 255,
        oob_score: bool = False,
        categorical_features: ArrayLike | None = "from_dtype",
        multiclass: str = "auto",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.loss = loss
        self.link = link
        self.costs = costs
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost
        self.pos_label = pos_label
        self.n_estimators = n_estimators
        self.splitter = splitter
        self.bootstrap = bootstrap
        self.max_features = max_features
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.smoothing = smoothing
        self.max_bins = max_bins
        self.oob_score = oob_score
        self.categorical_features = categorical_features
        self.multiclass = multiclass
        self.n_jobs = n_jobs
        self.random_state = random_state

    # --- fitting ----------------------------------------------------------------------------------

    @distributed_fit
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        costs: CostsLike | None = None,
        fp_cost: CostTerm | None = None,
        fn_cost: CostTerm | None = None,
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Dask collection or `propriety.scan` of shape (n, d)
            NaN is missing; an infinite value is an ordinary extreme one.
        y : array of shape (n,)
            Labels of any type; left out for a scan, which has a target.
        sample_weight : array of shape (n,), optional
            A row of weight k counts as k rows if all weights are whole numbers, with a mean of 64 at most;
            other weights are taken relative to their mean, and multiply the draws of their rows. Rows of
            weight 0 take no part.
        costs : Costs, data frame or array of shape (n, K, K), optional
            Costs of each row, in the place of those of the constructor; a data frame has columns such as
            ``fp`` and ``fn``. ``predict`` then takes them as well.
        fp_cost, fn_cost : array of shape (n,), optional
            The short form of it.

        Returns
        -------
        self
        """
        from propriety.forest.learning import learn

        training = self._read(
            X,
            y,
            sample_weight,
            costs=costs,
            fp_cost=fp_cost,
            fn_cost=fn_cost,
        )
        settings = settings_of(self, training)
        learned = learn(training, settings)
        for name in ("oob_decision_function_", "oob_score_"):
            self.__dict__.pop(name, None)
        attributes = {"_measure": settings.measure, "_grown": learned.grown}
        if learned.out_of_bag is not None:
            attributes |= {
                "oob_decision_function_": training.as_given(learned.out_of_bag),
                "oob_score_": learned.loss,
            }
        self._keep(training, settings.measure.fitted, **attributes)
        if learned.out_of_bag is not None and training.rows is not None:  # no tree knows of the others
            others = np.setdiff1d(np.arange(training.n_given), training.rows)
            self.oob_decision_function_[others] = self.predict_proba(take_rows(X, others))
        return self

    def _row_bytes(self, d: int, n_classes: int, n_rows: int) -> int:
        from propriety.forest.spread import row_bytes

        leaves = min(self.max_leaf_nodes or n_rows, 2 ** min(self.max_depth or 40, 40))
        return row_bytes(d, n_classes, self._threads, leaves / n_rows)

    # --- using the model --------------------------------------------------------------------------

    @over_partitions
    def predict_proba(self, X: MatrixLike) -> Floats:
        """Probabilities of the classes, of shape (n, K): the smoothed mean of the trees."""
        table = self._table(X)
        return in_kind(self._adapted(self._grown.probabilities(table, self._threads)), X)

    def _scores(self, table: Table) -> Floats:
        return self._measure.score(self._grown.probabilities(table, self._threads))

    def _formula(self) -> Formula:
        return self._grown.formula()

    # --- reading it -------------------------------------------------------------------------------

    def importances(self) -> Floats:
        """Share of each feature in the total gain of all splits; without any split all are 0.

        Trees grown to the last row gain by columns of many values even where these say nothing.
        """
        check_is_fitted(self, "_grown")
        nodes = self._grown.forest.nodes
        split = nodes[nodes["feature"] >= 0]
        return shares(np.bincount(split["feature"], weights=split["gain"], minlength=self.n_features_in_))

    def _contributions(self, table: Table) -> Floats:
        """What the splits change on the way to the leaves, on the scale of the score."""
        from propriety.forest.explaining import score_parts

        grown, jobs = self._grown, self._threads
        P = grown.probabilities(table, jobs)
        return score_parts(self._measure, grown.start, P, grown.parts(table, jobs))

    def predict_interactions(self, X: MatrixLike) -> Floats:
        """Shapley interaction values: what pairs of features add to the probability beyond each alone.

        Of shape (n, d, d) for two classes, those of ``classes_[1]``, and (n, K, d, d) for more; symmetric.
        Their sum is the probability less its mean over the training rows. They are on the scale of the
        probability, which is what trees add up to, and not on that of `predict_contributions`.
        """
        from propriety.trees.shap import interactions_of_votes

        table = self._table(X)
        return interactions_of_votes(self._formula(), table, self._grown.encoders(), self._threads)

    # --- keeping it -------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        from propriety.forest.state import write_state

        return write_state(self)

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        from propriety.forest.state import read_state

        read_state(self, state, arrays)
