"""TreeClassifier: one decision tree, grown and pruned by any proper loss."""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from propriety import frames
from propriety.estimator import ProperClassifier
from propriety.tree import parameters
from propriety.tree.conditions import Rule, Words
from propriety.tree.export import as_dot, as_text
from propriety.tree.linearize import LinearizedTree
from propriety.tree.problem import Grown, Problem, encoders
from propriety.tree.pruning import PruningPath, pruning_path

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
        do. With three classes or more the loss on the simplex, or one class against the rest.
    link : link or str, default=None
        Link of the leaf's score; None: the loss's own, or the logit.
    fp_cost, fn_cost : float, default=1.0
        Cost of a false alarm and of a miss; they decide ``predict``.
    splits : {"auto", "exact", "histogram"}, default="auto"
        Between any two values, or between at most ``max_bins`` bins; "auto" is exact up to 20,000 rows.
    growth : {"best", "depth"}, default="best"
        Which leaf is split next, if ``max_leaf_nodes`` is a limit: the one that gains most, or the leftmost.
    max_leaf_nodes : int or None, default=31
    max_depth : int or None, default=None
    min_samples_leaf : float or "auto", default="auto"
        Least weight of a leaf; a row of weight k counts as k rows. "auto" is 20, or a third of the total
        weight if that is less.
    min_gain : float, default=0.0
        Least gain of a split, as a share of the root's loss.
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
        Of the folds; nothing else is random.

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
    all rows ...
    """

    def __init__(
        self,
        loss="auto",
        *,
        link=None,
        fp_cost=1.0,
        fn_cost=1.0,
        splits="auto",
        growth="best",
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf="auto",
        min_gain=0.0,
        ccp_alpha=0.0,
        cv=10,
        smoothing=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        monotonic_cst=None,
        multiclass="auto",
        n_jobs=None,
        random_state=None,
    ):
        self.loss = loss
        self.link = link
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost
        self.splits = splits
        self.growth = growth
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_gain = min_gain
        self.ccp_alpha = ccp_alpha
        self.cv = cv
        self.smoothing = smoothing
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.multiclass = multiclass
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags

    # --- fitting ----------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Grow the tree, and prune it.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            NaN is missing; an infinite value is an ordinary extreme one.
        y : array of shape (n,)
            Labels of any type.
        sample_weight : array of shape (n,), optional
            A row of weight k counts as k rows if all weights are whole numbers; other weights are taken
            relative to their mean. Rows of weight 0 take no part.

        Returns
        -------
        self
        """
        problem = self._problem(X, y, sample_weight)
        grown = problem.grow()
        path = pruning_path(grown.tree)
        alpha = self.ccp_alpha
        if isinstance(alpha, str):
            path = problem.cross_validate(path, self._folds(problem))
            alpha = float(path.alphas[path.choose(alpha)])
        self._keep(X, problem, grown if alpha == 0 and self.ccp_alpha == 0 else grown.pruned(alpha))
        self.pruning_path_, self.ccp_alpha_ = path, float(alpha)
        return self

    def cost_complexity_pruning_path(self, X, y, sample_weight=None) -> PruningPath:
        """The subtrees of the fully grown tree, from price 0 up, without fitting anything."""
        return pruning_path(self._problem(X, y, sample_weight).grow().tree)

    def pruned(self, ccp_alpha: float) -> TreeClassifier:
        """A copy of this fitted model, pruned at a higher price of a leaf."""
        check_is_fitted(self, "tree_")
        model = copy(self).set_params(ccp_alpha=ccp_alpha)
        model.ccp_alpha_ = parameters.number("ccp_alpha", ccp_alpha, 0)
        grown = Grown(self.tree_, self.node_probabilities_, self._category_bins, self._missing_seen)
        model._set(grown.pruned(model.ccp_alpha_))
        return model

    def _problem(self, X, y, sample_weight) -> Problem:
        """Check everything that was given, and put it in the form that growing reads."""
        if y is None:
            raise ValueError("TreeClassifier requires y to be passed, but the target y is None.")
        if not frames.is_frame(X):
            X = frames.as_array(X)
        schema, table = frames.Schema.fit(X, self.categorical_features)
        classes, labels, weight = parameters.labels_and_weights("TreeClassifier", X, y, sample_weight)
        return Problem.make(self, schema, table, classes, labels, weight)

    def _folds(self, problem: Problem):
        if not isinstance(self.cv, int | np.integer):
            return list(check_cv(self.cv).split(np.zeros(len(problem.labels)), problem.labels))
        # Each class is dealt out in turn, so that folds differ by one row at most.
        rng = check_random_state(self.random_state)
        order = rng.permutation(len(problem.labels))
        order = order[np.argsort(problem.labels[order], kind="stable")]
        fold = np.empty(len(order), dtype=np.intp)
        fold[order] = np.arange(len(order)) % self.cv
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(self.cv)]

    def _keep(self, X, problem: Problem, grown: Grown) -> None:
        _check_feature_names(self, X, reset=True)
        _check_n_features(self, X, reset=True)
        self.classes_, self._schema, self._measure = problem.classes, problem.schema, problem.measure
        self._set(grown)

    def _set(self, grown: Grown) -> None:
        self.tree_, self.node_probabilities_ = grown.tree, grown.P
        self._category_bins, self._missing_seen = grown.category_bins, grown.missing_seen

    # --- using the model --------------------------------------------------------------------------

    def predict_proba(self, X) -> Floats:
        """Probabilities of the classes, of shape (n, K)."""
        leaf = self.apply(X)
        return self.node_probabilities_[leaf]

    def decision_function(self, X) -> Floats:
        """The score F of the leaf: of shape (n,) for two classes, (n, K) for more."""
        leaf = self.apply(X)
        scores = self._measure.score(self.node_probabilities_)[leaf]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Decisions: for two classes by the costs, for more the most probable class."""
        leaf = self.apply(X)
        return self._decide(self.node_probabilities_)[leaf]

    def apply(self, X) -> NDArray[np.intp]:
        """The leaf of each row, as a number of a node."""
        check_is_fitted(self, "tree_")
        table = self._table(X)
        return self.tree_.find(table.chunks(encoders(self._category_bins)), table.n_rows, self.n_jobs)

    def decision_path(self, X):
        """Nodes that each row passes: a sparse matrix of 0 and 1, of shape (n, nodes)."""
        leaf = self.apply(X)
        paths = [self.tree_.path(node) for node in range(len(self.tree_.nodes))]
        lengths = np.array([len(path) for path in paths])
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        shape = (len(paths), len(paths))
        every = sparse.csr_matrix((np.ones(indptr[-1], np.int8), np.concatenate(paths), indptr), shape=shape)
        return every[leaf]

    @property
    def feature_importances_(self) -> Floats:
        """Share of each feature in the total gain; without any split all are 0."""
        check_is_fitted(self, "tree_")
        split = self.tree_.nodes[self.tree_.feature >= 0]
        total = np.bincount(split["feature"], weights=split["gain"], minlength=self.n_features_in_)
        return total / total.sum() if total.sum() > 0 else total

    # --- reading it -------------------------------------------------------------------------------

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

    def to_linear(self) -> LinearizedTree:
        """Rules for all nodes, and coefficients whose sum over the rules that hold is the score. [N9 (50)]

        It is `decision_function`, but for two classes and a symmetric loss of bounded canonical link, such as
        2p − 1 of the squared loss: there it is the score of that link, finite at pure leaves.
        A link of your own is kept.
        """
        check_is_fitted(self, "tree_")
        measure = getattr(self._measure, "canonical", self._measure)
        scores = measure.score(self.node_probabilities_)
        coefficients = scores.copy()
        with np.errstate(invalid="ignore"):
            coefficients[1:] -= scores[self.tree_.parent[1:]]
        return LinearizedTree(
            self._rules(range(len(scores))), coefficients, self._schema, getattr(measure, "link", None)
        )

    def export_text(self, *, decimals: int = 3, max_depth: int | None = None) -> str:
        """The tree as text, a line for each node: test, weight, probabilities, and the decision at a leaf."""
        check_is_fitted(self, "tree_")
        return as_text(self, self._words(), decimals, max_depth)

    def export_dot(self, *, decimals: int = 3) -> str:
        """The tree in Graphviz's language, for ``dot -Tsvg``."""
        check_is_fitted(self, "tree_")
        return as_dot(self, self._words(), decimals)

    def _rules(self, nodes) -> list[Rule]:
        words, shares = self._words(), self.tree_.shares
        scores = self._measure.score(self.node_probabilities_)
        return [
            Rule(
                int(node),
                words.conditions(int(node)),
                float(self.tree_.weight[node]),
                tuple(shares[node].tolist()),
                tuple(self.node_probabilities_[node].tolist()),
                tuple(scores[node].tolist()),
            )
            for node in nodes
        ]

    def _words(self) -> Words:
        names = self._schema.names or tuple(f"x{f}" for f in range(self.n_features_in_))
        return Words(self.tree_, names, self._schema.categories, self._category_bins, self._missing_seen)

    def _table(self, X) -> frames.Table:
        if not frames.is_frame(X):
            X = frames.as_array(X)
        _check_feature_names(self, X, reset=False)
        _check_n_features(self, X, reset=False)
        return self._schema.read(X)

    def _decide(self, P: Floats):
        if P.shape[1] == 2:
            return self.classes_[(P[:, 1] >= self._threshold()).astype(np.intp)]
        return self.classes_[np.argmax(P, axis=1)]
