"""What a model relies on: how much its loss rises on rows whose values of a column were dealt out anew.

The same measure for every model, whatever it is made of, on the scale of the loss, with an interval. A column
that the model does not use has 0, up to chance. It says nothing of other models: where columns go together,
the loss may rise much with one of them dealt out, and a model fitted without it may be as good; see
`companions`.

Reference: Breiman (2001), Random forests, section 10; Fisher, Rudin & Dominici (2019), All models are wrong,
but many are useful.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.aliases import MatrixLike
from propriety.data.table import Rows, is_frame, is_sparse
from propriety.data.training import read_groups
from propriety.evaluation.condensing import refuse_collections
from propriety.evaluation.inputs import Array
from propriety.evaluation.scores import as_loss, class_index, losses_of
from propriety.weights import Estimate, Weights, check

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from propriety.losses.registry import LossLike

#: Probabilities are kept this far from 0 and 1, so that no row decides alone.
CLIP = 1e-6
_MOST = 4000  # rows that are judged
_PREDICTIONS = 2000  # about so many rows are judged anew for each column, if there are fewer by dealing again


@dataclass(frozen=True, eq=False)
class Importance:
    """How much the loss rises without each column; `importance` makes it, `Importance.join` of several parts.

    Attributes
    ----------
    names : tuple of str
    increases : array of shape (d, n)
        Loss of each row with a column dealt out anew, less the loss as it is.
    weights : Weights
    groups : array of shape (n,), or None
        Rows of a group are one observation.
    """

    names: tuple[str, ...]
    increases: Array
    weights: Weights
    groups: NDArray[np.intp] | None = None

    @classmethod
    def join(cls, parts: Sequence[Importance]) -> Importance:
        """The same of the rows of several parts, each judged by a model that has not seen them."""
        first = parts[0]
        values = np.concatenate([part.weights.array for part in parts])
        groups = None if first.groups is None else np.concatenate([part.groups for part in parts])
        increases = np.concatenate([part.increases for part in parts], axis=1)
        return cls(first.names, increases, Weights(len(values), values, copies=False), groups)

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Mean increase of the loss for each column, with its 95% CI."""
        rows = zip(self.names, self.increases, strict=True)
        return {name: self.weights.estimate(values, groups=self.groups) for name, values in rows}


def importance(
    model: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    loss: LossLike = "Log()",
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    columns: Mapping[str, Sequence[int]] | None = None,
    most: int = _MOST,
    random_state: int = 0,
) -> Importance:
    """How much a model's loss rises on rows whose values of a column are dealt out among them anew.

    Parameters
    ----------
    model : fitted classifier, or callable
        A function from X to probabilities: of class 1, or of every class.
    X : array or data frame of shape (n, d)
        Rows that the model has not seen: on its training rows even noise looks as if it counted.
    y : array of shape (n,)
        Classes as indices of the model's, 0 … K − 1; labels, if it is a classifier.
    loss : loss, composite or str
    sample_weight : array of shape (n,), optional
    groups : array of shape (n,), optional
        Rows of a group are one observation in the intervals.
    columns : mapping of names to places in X, optional
        Columns that are dealt out together, such as the parts of a date; by default each by itself.
    most : int
        Rows that are judged at most: of each class as many as of the other, weighted accordingly.
    random_state : int

    Examples
    --------
    >>> from propriety import LinearClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> y = X[:, 0] + rng.normal(size=600) > 0
    >>> model = LinearClassifier().fit(X[:300], y[:300])
    >>> first, second = importance(model, X[300:], y[300:]).estimates.values()
    >>> first.low > 0.1, abs(second.value) < 0.02
    (True, True)
    """
    refuse_collections(X=X, y=y)
    predict, codes = _read(model, y)
    n = len(codes)
    blocks = _blocks(X) if columns is None else {name: list(places) for name, places in columns.items()}
    rows, weight = _sample(codes, check(sample_weight, n), most)
    X, codes = _take(X, rows), codes[rows]
    loss = as_loss(loss)
    as_it_is = losses_of(codes, predict(X), loss, clip=CLIP)
    n_deals = max(1, round(_PREDICTIONS / len(rows)))
    deals = [_deal(weight, np.random.default_rng([random_state, k])) for k in range(n_deals)]
    increases = np.zeros((len(blocks), len(rows)))
    for j, places in enumerate(blocks.values()):
        for deal in deals:
            dealt = losses_of(codes, predict(_dealt(X, places, deal)), loss, clip=CLIP)
            increases[j] += (dealt - as_it_is) / n_deals
    taken = None if groups is None else read_groups(groups, n)[rows]
    return Importance(tuple(blocks), increases, Weights(len(rows), weight, copies=False), taken)


def _read(model: Any, y: ArrayLike) -> tuple[Callable[[Any], Any], NDArray[np.intp]]:
    """A function from rows to probabilities, and classes as numbers."""
    if not hasattr(model, "predict_proba"):
        return model, np.asarray(y).astype(np.intp)

    def predict(X: Any) -> Any:
        P = np.asarray(model.predict_proba(X))
        return P[:, 1] if P.shape[1] == 2 else P

    return predict, class_index(y, model.classes_).astype(np.intp)


def _blocks(X: Any) -> dict[str, list[int]]:
    names = nw.from_native(X).columns if is_frame(X) else [f"x{j}" for j in range(np.shape(X)[1])]
    return {str(name): [j] for j, name in enumerate(names)}


def _sample(codes: NDArray[np.intp], weight: Array | None, most: int) -> tuple[NDArray[np.intp], Array]:
    """Rows evenly spaced within each class, a rare class whole, and weights that make up for it."""
    weight = np.ones(len(codes)) if weight is None else weight
    kept = weight > 0
    classes = np.unique(codes[kept])
    rows, weights = [], []
    for code in classes:
        mine = np.flatnonzero((codes == code) & kept)
        few = mine[np.unique(np.linspace(0, len(mine) - 1, min(len(mine), most // len(classes))).astype(int))]
        rows.append(few)
        weights.append(weight[few] * (weight[mine].sum() / weight[few].sum()))
    chosen = np.concatenate(rows)
    order = np.argsort(chosen)
    return chosen[order], np.concatenate(weights)[order]


def _deal(weight: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """Whose value each row gets: another order of them, or drawn by weight where rows stand for many."""
    n = len(weight)
    if np.all(weight == weight[0]):
        return rng.permutation(n)
    return rng.choice(n, n, p=weight / weight.sum())


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    if isinstance(X, Rows):
        return X[rows].taken()
    return nw.from_native(X, eager_only=True)[rows].to_native() if is_frame(X) else X[rows]


def _dealt(X: Any, places: Sequence[int], deal: NDArray[np.intp]) -> Any:
    """The table with some columns in another order of the rows."""
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        names = [frame.columns[j] for j in places]
        shuffled = frame.select(names)[deal]
        return frame.with_columns(shuffled[name] for name in names).to_native()
    dealt: Any = X.tolil() if is_sparse(X) else np.array(X)
    dealt[:, places] = X[deal][:, places]
    return dealt.tocsr() if is_sparse(X) else dealt
