"""Any proper loss as a metric and as a scorer, for any classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from propriety import losses
from propriety.aliases import Label
from propriety.data.lazy import is_dask
from propriety.data.soft import soft_labels, soft_rows
from propriety.evaluation import inputs
from propriety.evaluation.condensing import condensed, refuse_collections
from propriety.evaluation.routing import Scorer
from propriety.losses import simplex
from propriety.losses.value import number

if TYPE_CHECKING:
    from propriety.losses.registry import LossLike


def as_loss(loss: LossLike) -> losses.Loss | simplex.SimplexLoss:
    """The loss meant by a loss, a composite, a loss for several classes, or a string."""
    if isinstance(loss, str):
        loss = losses.parse(loss)
    if isinstance(loss, losses.Composite):
        return loss.loss
    return loss if isinstance(loss, simplex.SimplexLoss) else losses.as_loss(loss)


def losses_of(
    y: ArrayLike, p: ArrayLike, loss: LossLike = "Log()", *, clip: float = 0.0, pos_label: Label | None = None
) -> np.ndarray:
    """The loss of every row; see `mean_loss` for the arguments.

    >>> losses_of([1, 0], [0.75, 0.5], "Squared")
    array([0.0625, 0.25  ])
    """
    refuse_collections(y=y, p=p)
    loss = as_loss(loss)
    clip = number("clip", clip, 0, 0.5, closed="left")
    P = np.asarray(p, dtype=np.float64)
    if P.ndim == 2 and (P.shape[1] > 2 or isinstance(loss, simplex.SimplexLoss)):
        return _losses_of_classes(y, P, loss, clip)
    p = inputs.probabilities(p, column=inputs.column_of(y, pos_label))
    y = inputs.outcomes(y, pos_label)
    inputs.same_length(y=y, p=p)
    if isinstance(loss, simplex.SimplexLoss):
        loss = loss.binary.loss
    return np.asarray(loss.loss(y, np.clip(p, clip, 1 - clip)))


def mean_loss(
    y: ArrayLike,
    p: ArrayLike,
    loss: LossLike = "Log()",
    *,
    sample_weight: ArrayLike | None = None,
    clip: float = 0.0,
    pos_label: Label | None = None,
) -> float:
    """Mean loss of probabilities p for labels y, by any proper loss; smaller is better.

    Rows may be in Dask collections with the same partitions.

    Parameters
    ----------
    y : array of labels
        0 and 1, or any two labels, of which the last in sorted order is class 1. Of several classes, labels
        0 … K−1 or any labels whose sorted order is that of the columns of p. Soft labels, which are
        probabilities or (successes, trials) as in ``fit``, are the weighted rows that they stand for.
    p : array of shape (n,), (n, 2) or (n, K)
        Probabilities of class 1, or ``predict_proba``.
    loss : loss, composite, loss for several classes or str
        What to judge by. A composite is judged as the loss of its probability.
    sample_weight : array of shape (n,), optional
        A row of weight k counts as k rows.
    clip : float
        Probabilities are first kept within [clip, 1 − clip]. By default they are taken at their word: a model
        that was sure and wrong has an infinite log loss.
    pos_label : label, optional
        The label of class 1.

    Examples
    --------
    >>> mean_loss([0, 1, 1], [0.2, 0.6, 0.9], "Squared")
    0.07
    >>> mean_loss([0, 1, 1], [0.2, 0.6, 0.0], "CostWeighted(0.1)")
    0.3333333333333333
    >>> mean_loss([0.5, 0.0], [0.5, 0.2], "Squared"), mean_loss(([1, 0], [2, 2]), [0.5, 0.2], "Squared")
    (0.14500000000000002, 0.14500000000000002)
    """
    if soft_labels(y) is not None:
        p = np.asarray(p)
        rows, y, sample_weight = soft_rows(y, len(p), sample_weight)
        p = p[rows]
    y, p, sample_weight = condensed(y=y, p=p, sample_weight=sample_weight).values()
    values = losses_of(y, p, loss, clip=clip, pos_label=pos_label)
    weight = inputs.weights(sample_weight, len(values))
    kept = weight > 0
    return inputs.mean(values[kept], weight[kept])


def scorer(loss: LossLike = "Log()", *, clip: float = 0.0) -> LossScorer:
    """A scorer for scikit-learn's ``scoring=``: minus the mean loss of ``predict_proba``.

    It works for any classifier with ``predict_proba``, with weights, and for more than two classes.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> scores = cross_val_score(LogisticRegression(C=1e-6), X, y, scoring=scorer("Squared"))
    >>> scores.shape, bool((scores < 0).all())
    ((5,), True)
    """
    return LossScorer(as_loss(loss), number("clip", clip, 0, 0.5, closed="left"))


class LossScorer(Scorer):
    """What `scorer` returns: minus the mean loss of an estimator's probabilities."""

    def __init__(self, loss: LossLike, clip: float = 0.0):
        super().__init__()
        self.loss = loss
        self.clip = clip

    def _score(self, estimator: Any, X: Any, y: Any, sample_weight: Any, **of_rows: Any) -> float:
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"{type(estimator).__name__} has no predict_proba, so a loss cannot judge it; wrap it in "
                "sklearn.calibration.CalibratedClassifierCV"
            )
        P = estimator.predict_proba(X)
        index = class_index(y, estimator.classes_)
        if P.shape[1] == 1 and not is_dask(P):  # a model that has seen one class only
            P = np.column_stack([1 - P, P]) if index.max(initial=0) else np.column_stack([P, 1 - P])
        return -mean_loss(index, P, self.loss, sample_weight=sample_weight, clip=self.clip)

    def __repr__(self) -> str:
        clip = f", clip={self.clip!r}" if self.clip else ""
        return f"scorer({self.loss!r}{clip})"


def class_index(y: ArrayLike, classes: ArrayLike) -> np.ndarray:
    """Position of every label among the classes of a fitted model; lazily, of a Dask collection."""
    if is_dask(y):
        labels: Any = y
        blocks = labels if hasattr(labels, "chunks") else labels.to_dask_array()
        return blocks.map_blocks(class_index, np.asarray(classes), dtype=np.intp)
    classes, y = np.asarray(classes), np.asarray(y)
    index = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    if not np.all(classes[index] == y):
        unknown = np.unique(y[classes[index] != y])[:5].tolist()
        raise ValueError(f"y has labels {unknown} that the model was not trained on")
    return index


def _losses_of_classes(y: ArrayLike, P: np.ndarray, loss: Any, clip: float) -> np.ndarray:
    loss = simplex.of(loss)
    n_classes = P.shape[1]
    labels = np.asarray(y)
    if labels.dtype.kind not in "biu" or labels.min() < 0 or labels.max() >= n_classes:
        labels = np.unique(labels, return_inverse=True)[1]
        if labels.max() != n_classes - 1:
            raise ValueError(
                f"p has {n_classes} columns but y has {labels.max() + 1} classes; give y as class indices "
                f"0 to {n_classes - 1}"
            )
    inputs.same_length(y=labels, p=P)
    if clip:
        P = np.clip(P, clip, 1 - clip)
        P = P / P.sum(axis=1, keepdims=True)
    return np.asarray(loss.loss(labels.astype(np.intp), P))
