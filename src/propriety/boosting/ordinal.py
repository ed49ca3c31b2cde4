"""Boosting for ordered classes: one model of whether a class lies above a threshold, which is a column.

A row stands for K − 1 rows of two classes, one for each threshold k, with the label 1[y ≥ k] and k in one
more column, by which the score may only fall. So the probabilities of the classes are none below 0, whatever
the trees. The trees are then written out for each threshold, and the model is one of K scores like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from propriety.data.table import Stacked, is_frame, is_sparse, take_rows
from propriety.data.training import Training, encode_known
from propriety.losses.simplex import Cumulative, OrderedLoss
from propriety.trees.binning import Binner
from propriety.trees.predictor import Forest, TreeNodes, copy_of

if TYPE_CHECKING:
    from propriety.boosting.classifier import BoostingClassifier


def boost_ordinal(
    model: BoostingClassifier,
    training: Training,
    loss: OrderedLoss,
    given: dict[str, Any],
    validation: tuple[Any, Any, Any],
) -> tuple[OrderedLoss, dict[str, Any]]:
    """The loss that was fitted, and what the model keeps; `given` is for ``fit`` alone."""
    _check(model, training, given)
    cuts, d = training.n_classes - 1, training.n_features
    inner = type(model)(**{**model.get_params(deep=False), **_parameters(model, loss, d)})
    groups = np.arange(training.n_rows) if training.groups is None else training.groups
    X_val, y_val, weight_val = validation
    if X_val is not None:
        codes = encode_known(y_val, training.classes, X_val.shape[0])
        given["X_val"], given["y_val"] = at_thresholds(X_val, cuts), _labels(codes, cuts)
        given["sample_weight_val"] = None if weight_val is None else np.repeat(weight_val, cuts)
    inner.fit(
        at_thresholds(training.table.native, cuts),
        _labels(training.codes, cuts),
        np.repeat(training.weights.array, cuts),
        groups=np.repeat(groups, cuts),
        **given,
    )
    kept = {name: getattr(inner, name) for name in ("n_iter_", "train_score_", "validation_score_", "_seed")}
    if hasattr(inner, "oof_decision_function_"):
        each = inner.oof_decision_function_.reshape(training.n_rows, cuts)
        kept["oof_decision_function_"] = training.as_given(np.column_stack([np.zeros(len(each)), each]))
    binner = inner._binner
    kept |= {
        "_binner": Binner(binner.edges[:d], binner.n_bins[:d], binner.category_bins[:d], binner.noise[:d]),
        "_forest": written_out(inner._forest, d, cuts),
        "_start_score": np.append(0.0, np.repeat(inner._start_score, cuts)),
        "_marginals": None,
    }
    fitted = loss if inner.loss_ == loss.threshold_loss else Cumulative(inner.loss_)
    return fitted, kept


def _check(model: Any, training: Training, given: dict[str, Any]) -> None:
    """Refuse what has no form here."""
    unfit = {
        "algorithm='additive' (interaction_cst='no_interactions' has curves of each column as well)": (
            model.algorithm == "additive"
        ),
        "warm_start": model.warm_start,
        "folds": given.get("folds") is not None,
        "an offset": training.offset is not None,
        "rows that are spread over processes or read in parts": training.communicator.size > 1
        or not hasattr(training.table, "native")
        or isinstance(training.table.native, Stacked),
    }
    wrong = [name for name, is_given in unfit.items() if is_given]
    if wrong:
        raise ValueError(f"boosting of ordered classes does not take {wrong[0]}")


def _parameters(model: Any, loss: OrderedLoss, d: int) -> dict[str, Any]:
    """What differs for the model of the thresholds: the last column, and the question."""
    signs, categorical = model.monotonic_cst, model.categorical_features
    by_name = signs is None or isinstance(signs, dict)
    signs = {**(signs or {}), d: -1} if by_name else [*signs, -1]
    if categorical is not None and not isinstance(categorical, str):
        mask = np.asarray(categorical)
        categorical = np.append(mask, False) if mask.dtype.kind == "b" else categorical
    return {
        "loss": loss.threshold_loss,
        "link": None,
        "multiclass": "auto",
        "costs": None,
        "fp_cost": 1.0,
        "fn_cost": 1.0,
        "pos_label": None,
        "monotonic_cst": signs,
        "categorical_features": categorical,
    }


def _labels(codes: NDArray[np.intp], cuts: int) -> NDArray[np.intp]:
    """Whether each row's class is above each threshold, row by row."""
    return (codes[:, None] > np.arange(cuts)).astype(np.intp).ravel()


def at_thresholds(X: Any, cuts: int) -> Any:
    """Each row as often as there are thresholds, with their numbers in a last column.

    >>> at_thresholds(np.array([[5.0], [6.0]]), 2).tolist()
    [[5.0, 0.0], [5.0, 1.0], [6.0, 0.0], [6.0, 1.0]]
    """
    n = X.shape[0]
    rows, which = np.repeat(np.arange(n), cuts), np.tile(np.arange(float(cuts)), n)
    taken = take_rows(X, rows)
    if is_frame(taken):
        frame, name = nw.from_native(taken, eager_only=True), "threshold"
        while name in frame.columns:
            name += "_"
        return frame.with_columns(nw.new_series(name, which, backend=frame.implementation)).to_native()
    if is_sparse(taken):
        return sparse.hstack([taken, sparse.csr_array(which[:, None])], format="csr")
    return np.column_stack([taken, which])


def written_out(forest: Forest, feature: int, cuts: int) -> Forest:
    """The trees of each round for each threshold, whose tests are gone; the first score has empty ones."""
    trees = []
    for tree in forest.split():
        nothing = copy_of(tree.nodes[:1])
        nothing["feature"], nothing["set"], nothing["left"], nothing["value"] = -1, -1, -1, 0.0
        trees.append(TreeNodes(nothing, tree.sets[:0]))
        trees += [_at_threshold(tree, feature, float(k), cuts) for k in range(cuts)]
    return Forest.join(trees, cuts + 1)


def _at_threshold(tree: TreeNodes, feature: int, threshold: float, cuts: int) -> TreeNodes:
    """A tree where one feature has this value; weights are those of the rows of one threshold."""
    old = tree.nodes
    kept = [_below(old, 0, feature, threshold, np.arange(float(cuts)))]
    lefts, depths, at = [], [0], 0
    while at < len(kept):
        node, reaching = old[kept[at][0]], kept[at][1]
        lefts.append(len(kept) if node["feature"] >= 0 else -1)
        if node["feature"] >= 0:
            left = int(node["left"])
            kept += [_below(old, left + side, feature, threshold, reaching) for side in (0, 1)]
            depths += [depths[at] + 1] * 2
        at += 1
    nodes = copy_of(old[np.array([place for place, _ in kept])])
    nodes["left"], nodes["depth"] = lefts, depths
    by_set = nodes["set"] >= 0
    sets, nodes["set"][by_set] = tree.sets[nodes["set"][by_set]], np.arange(np.count_nonzero(by_set))
    nodes["weight"] /= [len(reaching) for _, reaching in kept]
    for at in range(len(kept) - 1, -1, -1):
        if lefts[at] >= 0:
            nodes["weight"][at] = nodes["weight"][lefts[at]] + nodes["weight"][lefts[at] + 1]
    return TreeNodes(nodes, sets)


def _below(
    nodes: NDArray[np.void], at: int, feature: int, threshold: float, reaching: NDArray[np.float64]
) -> tuple[int, NDArray[np.float64]]:
    """The first node from here down that does not test the feature, and the thresholds that reach it."""
    while nodes["feature"][at] == feature:
        cut = nodes["threshold"][at]
        right = threshold > cut
        at, reaching = int(nodes["left"][at]) + int(right), reaching[(reaching > cut) == right]
    return at, reaching
