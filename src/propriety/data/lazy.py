"""Predictions for Dask collections: lazy, a partition at a time, where the rows are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import MatrixLike

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Method = TypeVar("Method", bound=Callable[..., Any])


def is_dask(X: MatrixLike | None) -> bool:
    """Whether something is a collection of Dask's: a DataFrame, a Series, an Array.

    >>> is_dask([[1.0, 2.0]])
    False
    """
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_ray(X: MatrixLike) -> bool:
    """Whether something is a dataset of Ray's.

    >>> is_ray([[1.0, 2.0]])
    False
    """
    return type(X).__module__.startswith("ray.data")


def over_partitions(method: Method) -> Method:
    """Let a prediction take Dask collections as well: lazily, a partition at a time, where these are."""

    @functools.wraps(method)
    def either(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *args, **kwargs)
        return predicted(self, method.__name__, X, args, kwargs)

    return cast(Method, either)


def predicted(
    model: BaseEstimator, method: str, X: MatrixLike, args: tuple[Any, ...], given: dict[str, Any]
) -> Any:
    """What a method of a model returns for a collection, as a Dask array."""
    import dask
    import dask.array as da
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    given = {name: value for name, value in given.items() if value is not None}
    if args or any(np.ndim(value) or is_dask(value) for value in given.values()) or "budget" in given:
        raise TypeError(
            f"{method} of a Dask collection takes nothing that is given by row, and no budget; apply it to "
            "each partition with map_partitions"
        )
    shared, call = dask.delayed(model, pure=True, traverse=False), dask.delayed(_call, pure=False)
    empty = _empty(model, method)
    arrays = [
        da.from_delayed(
            call(shared, method, part, given), shape=(size, *empty.shape[1:]), dtype=empty.dtype, meta=empty
        )
        for part, size in zip(partitions(X), sizes_of(X), strict=True)
    ]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)


def _empty(model: Any, method: str) -> Any:
    """What the method returns for no rows."""
    K = len(model.classes_)
    if method == "predict":
        return np.empty(0, dtype=model.classes_.dtype)
    return np.empty((0, K) if method == "predict_proba" or K > 2 else 0)


def _call(model: Any, method: str, X: Any, given: dict[str, Any]) -> Any:
    return getattr(model, method)(X, **given) if X.shape[0] else _empty(model, method)


def refuse_to_score(X: MatrixLike, y: ArrayLike) -> None:
    """Refuse Dask collections, and say what judges them."""
    if is_dask(X) or is_dask(y):
        raise TypeError(
            "score takes rows that are in memory; of Dask collections, evaluation.mean_cost(y, "
            "model.predict(X)) and evaluation.mean_loss(y, model.predict_proba(X)) judge a model"
        )


def partitions(X: Any) -> list[Any]:
    """The partitions of a collection as delayed objects, whole rows each.

    Those that the collection says it has: Dask would join small files while it optimizes, more of them for a
    column than for a table. Columns that are not asked for are not read.
    """
    if not hasattr(X, "chunks"):
        return list((X.simplify() if hasattr(X, "simplify") else X).to_delayed(optimize_graph=False))
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return list(X.to_delayed(optimize_graph=False).ravel())


def sizes_of(X: Any) -> list[float]:
    """Rows of each partition; NaN where they are not known."""
    if hasattr(X, "chunks"):
        return list(X.chunks[0])
    return [np.nan] * X.npartitions
