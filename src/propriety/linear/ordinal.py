"""Ordered classes: one linear score, and a threshold between each two neighbours.

Σ_k ℓ(1[y ≥ k], x·b − θ_k) over the rows is the loss of K − 1 rows of two classes for each, which have an
indicator of their threshold. For any slopes the best thresholds are in order, since the labels 1[y ≥ k] fall
with k; to put them in order never raises a proper loss. [Li & Lin (2007), theorem 2]
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from propriety.data.table import is_sparse
from propriety.linear.learning import LinearFit, learn
from propriety.linear.moments import Moments
from propriety.linear.rows import LinearRows
from propriety.linear.settings import LinearSettings
from propriety.losses.simplex import Cumulative, OrderedLoss


def learn_ordinal(
    rows: LinearRows, loss: OrderedLoss, settings: LinearSettings
) -> tuple[LinearRows, LinearFit, LinearFit]:
    """The rows of two classes that stand for these, their fit, and what it is of the classes."""
    if settings.chosen:
        raise ValueError("alpha='cv' is not for ordered classes; search for it with GridSearchCV")
    if not settings.intercept:
        raise ValueError("fit_intercept=False is not for ordered classes: thresholds are intercepts")
    if rows.offset is not None:
        raise ValueError("fit takes no offset for ordered classes")
    d, cuts = rows.X.shape[1], rows.n_classes - 1
    among = at_thresholds(rows)
    fit = learn(among, loss.threshold_loss, replace(settings, thresholds=cuts - 1))
    slopes, shifts = fit.coef[0, :d], np.append(0.0, fit.coef[0, d:])
    ordered = replace(
        fit,
        coef=np.vstack([np.zeros(d), np.tile(slopes, (cuts, 1))]),
        intercept=np.append(0.0, -np.sort(-(fit.intercept[0] + shifts))),
        # A flexible loss may have stopped at an earlier station.
        loss=loss if fit.loss == loss.threshold_loss else Cumulative(fit.loss),
        columns=Moments(fit.columns.mean[:d], fit.columns.spread[:d]),
    )
    return among, fit, ordered


def at_thresholds(rows: LinearRows) -> LinearRows:
    """K − 1 rows for each, threshold by threshold: whether its class is above, and which threshold it is.

    >>> rows = LinearRows(np.array([[5.0], [6.0]]), np.array([0, 2]), np.ones(2), np.arange(3))
    >>> at_thresholds(rows).X.tolist(), at_thresholds(rows).codes.tolist()
    ([[5.0, 0.0], [6.0, 0.0], [5.0, 1.0], [6.0, 1.0]], [0, 1, 0, 1])
    """
    n, cuts = len(rows.codes), rows.n_classes - 1
    which = np.repeat(np.arange(cuts), n)
    indicators = (which[:, None] == np.arange(1, cuts)).astype(rows.X.dtype)
    if is_sparse(rows.X):
        X = sparse.hstack([sparse.vstack([rows.X] * cuts), sparse.csr_array(indicators)], format="csr")
    else:
        X = np.column_stack([np.tile(rows.X, (cuts, 1)), indicators])
    return replace(
        rows,
        X=X,
        codes=(np.tile(rows.codes, cuts) > which).astype(np.intp),
        weight=np.tile(rows.weight, cuts),
        classes=np.arange(2),
        thresholds=None,
    )
