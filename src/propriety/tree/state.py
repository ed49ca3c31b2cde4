"""TreeClassifier in a file: the nodes as arrays, with what pruning and reading need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.model.measure import measure_of
from propriety.storage.checks import Arrays, require, take
from propriety.storage.values import check_links
from propriety.tree.nodes import Tree
from propriety.tree.pruning import PruningPath
from propriety.trees.predictor import Forest
from propriety.trees.stored import category_arrays, forest_arrays, read_categories, read_forest

if TYPE_CHECKING:
    from propriety.tree.classifier import TreeClassifier

_PATH = {"alphas": "f8", "n_leaves": "i8", "losses": "f8", "cv_losses": "f8", "cv_errors": "f8"}


def write_state(model: TreeClassifier) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a tree has learned, as plain values and as arrays."""
    tree, path = model.tree_, model.pruning_path_
    roots = np.array([0, len(tree.nodes)], dtype=np.int64)
    path_arrays = {f"path.{name}": getattr(path, name) for name in _PATH}
    arrays = {
        **forest_arrays(Forest(tree.nodes, roots, tree.sets, 1)),
        **category_arrays(model._category_bins),
        **{name: v.astype(_PATH[name[5:]]) for name, v in path_arrays.items() if v is not None},
        "nodes.sums": tree.sums,
        "nodes.gap": tree.gap,
        "nodes.missing_seen": tree.missing_seen,
        "nodes.losses": tree.losses,
        "nodes.collapse": tree.collapse,
        "nodes.probabilities": model.node_probabilities_,
        "columns.missing_seen": model._missing_seen,
    }
    return {"ccp_alpha": float(model.ccp_alpha_)}, arrays


def read_state(model: TreeClassifier, state: dict[str, Any], arrays: Arrays) -> None:
    """Take that out of a file again, and check it."""
    k, d = len(model.classes_), model.n_features_in_
    # The measure follows from the parameters, as when the tree was grown.
    model._measure = measure_of(model.loss, model.link, k, model.multiclass)
    model.loss_ = model._measure.fitted
    check_links(model.loss_)
    model._category_bins = read_categories(arrays, model._schema.n_categories, None)
    forest = read_forest(arrays, 1, [c is not None for c in model._schema.categories])
    m = len(forest.nodes)
    require(len(forest.roots) == 2, "it is not one tree")
    sums = arrays.take("nodes.sums", "f8", (m, k), finite=True)
    require(np.all(sums >= 0) and np.all(sums.sum(axis=1) > 0), "a node has no rows")
    collapse = arrays.take("nodes.collapse", "f8", (m,))
    require(not np.any(np.isnan(collapse)), "a price is not a number")
    model.tree_ = Tree(
        forest.nodes,
        forest.sets,
        sums,
        arrays.take("nodes.gap", "f8", (m, 2)),
        arrays.take("nodes.missing_seen", "?", (m,)),
        arrays.take("nodes.losses", "f8", (m,), finite=True),
        collapse,
    )
    model.node_probabilities_ = _probabilities(arrays, m, k)
    model._missing_seen = arrays.take("columns.missing_seen", "?", (d,))
    model.pruning_path_ = _path(arrays)
    model.ccp_alpha_ = float(take(state, "ccp_alpha", (int, float)))


def _probabilities(arrays: Arrays, m: int, k: int) -> Any:
    P = arrays.take("nodes.probabilities", "f8", (m, k), finite=True)
    good = np.all((P >= 0) & (P <= 1)) and np.all(np.abs(P.sum(axis=1) - 1) < 1e-9)
    require(good, "probabilities do not add up to one")
    return P


def _path(arrays: Arrays) -> PruningPath:
    columns: dict[str, Any] = {}
    for name, kind in _PATH.items():
        stored = f"path.{name}" in arrays or not name.startswith("cv_")
        length = len(columns["alphas"]) if columns else None
        columns[name] = arrays.take(f"path.{name}", kind, (length,)) if stored else None
    return PruningPath(**columns)
