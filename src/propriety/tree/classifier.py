"""TreeClassifier: one decision tree, grown and pruned by any proper loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from propriety.aliases import CostTerm, Folds, Label, MatrixLike, RandomState
from propriety.data.lazy import over_partitions
from propriety.data.namespaces import in_kind
from propriety.data.parameters import number
from propriety.data.table import Table, encoders
from propriety.distributed.dispatch import distributed_fit
from propriety.export.formula import Formula, Trees, Votes
from propriety.model import contract
from propriety.model.base import Capabilities, ProperClassifier, shares
from propriety.storage.checks import Arrays
from propriety.tree.conditions import Rule, Words
from propriety.tree.export import as_dot, as_text
from propriety.tree.learning import GrownTree, grow, learn
from propriety.tree.linearize import LinearizedTree
from propriety.tree.pruning import PruningPath, pruning_path
from propriety.tree.settings import settings_of
from propriety.tree.unseen import Reached, reach, unseen_left

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike
    from propriety.losses.registry import LinkLike, LossLike

Floats = NDArray[np.float64]


class TreeClassifier(ProperClassifier):
    """A decision tree that splits by the entropy of any proper loss.

    A leaf is split by the test that most lowers Σ W·H(p), the loss of its rows at their class shares; with
    the squared loss that is the Gini index, with the log loss the information gain, with `Matsushita` the
    criterion of Kearns and Mansour; `CascadeUp` and `CascadeDown` peel off the leaves of highest or lowest
    probability one by one. [N9 §4.2] [B §17]

    Parameters
    ----------
    loss : loss, composite or str, default="auto"
        Whose entropy decides the splits; "auto" is the log loss. It needs no gradient: `CostWeighted` will
        do. With three classes or more the loss on the simplex, or one class against the rest; splits also
        where its entropy is no sum over classes (`simplex.PairwiseExponential`).
    link : link or str, default=None
        Link of the leaf's score; None: the loss's own, or the logit.
    costs : Costs, default=None
        What mistakes cost and right decisions bring: a `propriety.Costs`.
    fp_cost, fn_cost : float, pair, distribution, str or callable, default=1.0
        The short form of it: cost of a false alarm and of a miss; they decide ``predict``.
    pos_label : label, default=None
        The class whose miss costs ``fn_cost``; None is ``classes_[1]``, the last in sorted order.
    criterion : {"entropy", "highest", "lowest"}, default="entropy"
        What a test is chosen by: the entropy of the loss, or, for two classes, one end of the probabilities:
        the larger share of ``classes_[1]`` in its two sides is to be as large as possible, or the smaller one
        as small, which peels off leaves as the cascades do but lowers no loss [B §18, of Buja and Lee].
    splits : {"auto", "exact", "histogram"}, default="auto"
        Between any two values, or between at most ``max_bins`` bins; "auto" is exact up to 20,000 rows.
    growth : {"best", "depth"}, default="best"
        Which leaf is split next, if ``max_leaf_nodes`` is a limit: the one that gains most, or the leftmost.
    max_leaf_nodes : int or None, default=31
    max_depth : int or None, default=None
    min_samples_leaf : float or "auto", default="auto"
        Least weight of a leaf; a row of weight k counts as k rows. "auto" is 20, or a third of the total
        weight if that is less.
    min_split_gain : float, default=0.0
        Least gain of a split, as a share of the root's loss; by how much a probability must rise or fall, for
        the other criteria.
    ccp_alpha : float, "one_se" or "min", default=0.0
        Price of a leaf, as a share of the root's loss: the tree is pruned to the subtree of least loss plus
        price. "min" takes the price of least cross-validated loss, "one_se" the highest one within a standard
        error of it. 0 does not prune.
    cv : int or cross-validation splitter, default=10
        Folds for that.
    smoothing : float, "laplace" or None, default=1.0
        Leaf probabilities: as if a node held this many more rows with its parent's probabilities; one more
        row of each class; or None or 0 for the shares themselves.
    max_bins : int, default=255
    categorical_features : "from_dtype", None, mask or list of columns, default="from_dtype"
    monotonic_cst : list or dict, default=None
        Per column −1, 0 or 1: whether the probability of class 1 must fall or rise. For two classes.
    multiclass : {"auto", "ovr"}, default="auto"
        With "ovr" every loss is taken one class against the rest.
    n_jobs : int, default=None
        Threads; None means all cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Of the folds; nothing else is random. None is 0.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    tree_ : Tree
        The nodes.
    node_probabilities_ : ndarray of shape (nodes, K)
    pruning_path_ : PruningPath
        Subtrees of the tree before pruning, with held-out losses if these decided.
    ccp_alpha_ : float
        The price that was used.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from propriety import TreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = TreeClassifier("CascadeDown(8)", max_leaf_nodes=4).fit(X, y)
    >>> print(model.export_text(decimals=2))
    all rows                             n = 569  p = 0.63
    ├─ worst perimeter ≤ 117.5           n = 402  p = 0.88
    │  ├─ worst concave points ≤ 0.1603  n = 379  p = 0.93  → 1
    │  └─ worst concave points > 0.1603  n = 23  p = 0.12  → 0
    └─ worst perimeter > 117.5           n = 167  p = 0.02
       ├─ mean smoothness ≤ 0.0886       n = 20  p = 0.10  → 0
       └─ mean smoothness > 0.0886       n = 147  p = 0.00  → 0
    """

    capabilities: ClassVar[Capabilities] = Capabilities(scans=True, groups=True)

    def __init__(
        self,
        loss: LossLike = "auto",
        *,
        link: LinkLike | None = None,
        costs: CostsLike | None = None,
        fp_cost: CostTerm = 1.0,
        fn_cost: CostTerm = 1.0,
        pos_label: Label | None = None,
        criterion: str = "entropy",
        splits: str = "auto",
        growth: str = "best",
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: float | str = "auto",
        min_split_gain: float = 0.0,
        ccp_alpha: float | str = 0.0,
        cv: Folds = 10,
        smoothing: float | str | None = 1.0,
        max_bins: int = 255,
        categorical_features: ArrayLike | None = "from_dtype",
        monotonic_cst: ArrayLike | Mapping[str, int] | None = None,
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
        self.criterion = criterion
        self.splits = splits
        self.growth = growth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_split_gain = min_split_gain
        self.ccp_alpha = ccp_alpha
        self.cv = cv
        self.smoothing = smoothing
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.multiclass = multiclass
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def table_settings(cls, n_rows: int) -> dict[str, Any]:
        """Pruned by cross-validation."""
        return {"ccp_alpha": "one_se"}

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
        groups: ArrayLike | None = None,
    ) -> Self:
        """Grow the tree, and prune it.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Dask collection or `propriety.scan` of shape (n, d)
            NaN is missing; an infinite value is an ordinary extreme one.
        y : array of shape (n,)
            Labels of any type; left out for a scan, which has a target.
        sample_weight : array of shape (n,), optional
            A row of weight k counts as k rows if all weights are whole numbers; other weights are taken
            relative to their mean. Rows of weight 0 take no part.
        costs : Costs, data frame or array of shape (n, K, K), optional
            Costs of each row, in the place of those of the constructor; a data frame has columns such as
            ``fp`` and ``fn``. ``predict`` then takes them as well.
        fp_cost, fn_cost : array of shape (n,), optional
            The short form of it.
        groups : array of shape (n,), optional
            Rows that belong together, such as those of a customer: the folds by which ``ccp_alpha`` is chosen
            part no group.

        Returns
        -------
        self
        """
        training = self._read(
            X,
            y,
            sample_weight,
            costs=costs,
            fp_cost=fp_cost,
            fn_cost=fn_cost,
            groups=groups,
        )
        settings = settings_of(self, training)
        grown, path, alpha = learn(training, settings, self.random_state)
        return self._keep(
            training,
            settings.measure.fitted,
            _measure=settings.measure,
            pruning_path_=path,
            ccp_alpha_=alpha,
            **_attributes(grown),
        )

    def _row_bytes(self, d: int, n_classes: int, n_rows: int) -> int:
        # Bins; weights, and these in units, rows in the order of nodes and to change it, classes.
        return 2 * d + 8 + 8 + 8 + 8 + 2

    def cost_complexity_pruning_path(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PruningPath:
        """The subtrees of the fully grown tree, from price 0 up, without fitting anything."""
        training = self._read(X, y, sample_weight)
        return pruning_path(grow(training, settings_of(self, training)).tree)

    def pruned(self, ccp_alpha: float) -> TreeClassifier:
        """A copy of this fitted model, pruned at a higher price of a leaf."""
        check_is_fitted(self, "tree_")
        model = copy(self).set_params(ccp_alpha=ccp_alpha)
        model.ccp_alpha_ = number("ccp_alpha", ccp_alpha, 0)
        grown = GrownTree(self.tree_, self.node_probabilities_, self._category_bins, self._missing_seen)
        model.__dict__.update(_attributes(grown.pruned(model.ccp_alpha_)))
        return model

    # --- using the model --------------------------------------------------------------------------

    def _scores(self, table: Table) -> Floats:
        return self._reached(table).scores(self.node_probabilities_, self._measure.score)

    @property
    def _node_scores(self) -> Floats:
        return self._measure.score(self.node_probabilities_)

    @over_partitions
    def predict_proba(self, X: MatrixLike) -> Floats:
        """Probabilities of the classes, of shape (n, K)."""
        P = self._reached(self._table(X)).probabilities(self.node_probabilities_)
        return in_kind(self._adapted(P), X)

    def _formula(self) -> Formula:
        k, tree = len(self.classes_), self.tree_
        roots, none = np.array([0, len(tree.nodes)]), np.zeros(1, dtype=np.int64)
        P = np.asarray(self.node_probabilities_, dtype=np.float64)
        both = unseen_left(tree)
        trees = Trees(tree.nodes, roots, tree.sets, P, none, np.zeros(k), self._category_bins, both)
        return Formula(trees, Votes.plain(k))

    def apply(self, X: MatrixLike) -> NDArray[np.intp]:
        """The leaf of each row, as a number of a node.

        A row whose category was not in training is in several leaves, and its probabilities are their mean;
        here it has the one that it reaches with the larger children.
        """
        return self._reached(self._table(X)).leaf

    def _reached(self, table: Table) -> Reached:
        chunks = table.chunks(encoders(self._category_bins))
        return reach(self.tree_, chunks, table.n_rows, self.n_jobs)

    def decision_path(self, X: MatrixLike) -> Any:
        """Nodes that each row passes: a sparse matrix of 0 and 1, of shape (n, nodes)."""
        leaf = self.apply(X)
        paths = [self.tree_.path(node) for node in range(len(self.tree_.nodes))]
        lengths = np.array([len(path) for path in paths])
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        shape = (len(paths), len(paths))
        every = sparse.csr_matrix((np.ones(indptr[-1], np.int8), np.concatenate(paths), indptr), shape=shape)
        return every[leaf]

    # --- reading it -------------------------------------------------------------------------------

    @property
    def view(self) -> str:
        """It can be drawn."""
        return contract.TREE

    def importances(self) -> Floats:
        """Share of each feature in the total gain; without any split all are 0."""
        check_is_fitted(self, "tree_")
        split = self.tree_.nodes[self.tree_.feature >= 0]
        return shares(np.bincount(split["feature"], weights=split["gain"], minlength=self.n_features_in_))

    def _contributions(self, table: Table) -> Floats:
        """What each split changes on the way to the leaf; the root's score last."""
        scores = self._node_scores
        each = np.zeros((len(scores), scores.shape[1], self.n_features_in_ + 1))
        each[0, :, -1] = scores[0]
        for level in self.tree_.levels[1:]:
            parent = self.tree_.parent[level]
            each[level] = each[parent]
            with np.errstate(invalid="ignore"):
                each[level, :, self.tree_.feature[parent]] += scores[level] - scores[parent]
        reached = self._reached(table)
        parts = each[reached.leaf]
        parts[reached.rows] = reached.contributions(
            self.node_probabilities_, self._measure.score, self.n_features_in_
        )
        return parts

    def words(self, X: MatrixLike, class_names: Sequence[str] | None = None) -> list[list[str]]:
        """The rule of each row's leaf, which names no class; of all its leaves, if its category is new."""
        rules = {rule.node: str(rule) for rule in self.rules()}
        return [[rules[leaf] for leaf in leaves] for leaves in self._reached(self._table(X)).leaves()]

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self, "tree_")
        return len(self.tree_.leaves)

    def get_depth(self) -> int:
        """Number of tests on the longest path."""
        check_is_fitted(self, "tree_")
        return int(self.tree_.nodes["depth"].max())

    def rules(self) -> list[Rule]:
        """A rule for each leaf, from left to right, with repeated tests of a column merged to one.

        >>> X, y = [[1], [2], [3], [4]], [0, 1, 1, 0]
        >>> model = TreeClassifier(max_leaf_nodes=3, min_samples_leaf=1).fit(X, y)
        >>> [str(rule) for rule in model.rules()]
        ['x0 ≤ 1.5', '1.5 < x0 ≤ 3.5', 'x0 > 3.5']
        """
        check_is_fitted(self, "tree_")
        return self._rules(self.tree_.leaves)

    def test_of(self, node: int) -> str:
        """The test that rows pass from its parent to a node, in words."""
        check_is_fitted(self, "tree_")
        return str(self._words().test(node))

    def to_linear(self) -> LinearizedTree:
        """Rules for all nodes, and coefficients whose sum over the rules that hold is the score. [N9 (50)]

        It is `decision_function`, but for two classes and a symmetric loss of bounded canonical link, such as
        2p − 1 of the squared loss: there it is the score of that link, finite at pure leaves.
        A link of your own is kept. A category that was not in training takes one way in it, that of the
        larger child.
        """
        check_is_fitted(self, "tree_")
        measure = self._measure.canonical
        scores = measure.score(self.node_probabilities_)
        coefficients = scores.copy()
        with np.errstate(invalid="ignore"):
            coefficients[1:] -= scores[self.tree_.parent[1:]]
        return LinearizedTree(
            self._rules(range(len(scores))), coefficients, self._schema, getattr(measure, "link", None)
        )

    def export_text(
        self,
        *,
        decimals: int = 3,
        max_depth: int | None = None,
        class_names: Sequence[str] | None = None,
    ) -> str:
        """The tree as text, a line for each node: test, weight, probabilities, and the decision at a leaf.

        `class_names` are what it calls the classes; by default the labels themselves.
        """
        check_is_fitted(self, "tree_")
        return self._as_adapted(as_text(self, self._words(), decimals, max_depth, class_names), class_names)

    def export_dot(self, *, decimals: int = 3, class_names: Sequence[str] | None = None) -> str:
        """The tree in Graphviz's language, for ``dot -Tsvg``."""
        check_is_fitted(self, "tree_")
        return as_dot(self, self._words(), decimals, class_names)

    def _rules(self, nodes: Iterable[int]) -> list[Rule]:
        words, class_shares, scores = self._words(), self.tree_.shares, self._node_scores
        return [
            Rule(
                int(node),
                words.conditions(int(node)),
                float(self.tree_.weight[node]),
                tuple(class_shares[node].tolist()),
                tuple(self.node_probabilities_[node].tolist()),
                tuple(scores[node].tolist()),
            )
            for node in nodes
        ]

    def _words(self) -> Words:
        return Words(
            self.tree_, self._schema.labels, self._schema.categories, self._category_bins, self._missing_seen
        )

    def predict_interactions(self, X: MatrixLike) -> Floats:
        """Shapley interaction values: what pairs of features add to the probability beyond each alone.

        Of shape (n, d, d) for two classes, those of ``classes_[1]``, and (n, K, d, d) for more; symmetric.
        Their sum is the probability less its mean over the training rows. They are on the scale of the
        probability, which is what the leaves hold, and not on that of `predict_contributions`.
        """
        from propriety.trees.shap import interactions_of_votes

        table = self._table(X)
        return interactions_of_votes(self._formula(), table, encoders(self._category_bins), self._threads)

    # --- keeping it -------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        from propriety.tree.state import write_state

        return write_state(self)

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        from propriety.tree.state import read_state

        read_state(self, state, arrays)


def _attributes(grown: GrownTree) -> dict[str, Any]:
    return {
        "tree_": grown.tree,
        "node_probabilities_": grown.P,
        "_category_bins": grown.category_bins,
        "_missing_seen": grown.missing_seen,
    }
