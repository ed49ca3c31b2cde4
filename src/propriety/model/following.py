"""Callbacks of scikit-learn: they are told how a fit goes, may look at the model so far, and may stop it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import ArrayLike

from propriety.aliases import MatrixLike

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin."""

    def with_callbacks(method: Any) -> Any:
        """Stands in for scikit-learn's decorator."""
        return method


__all__ = ["CallbackSupportMixin", "Callbacks", "Follower", "follower_of", "has_callbacks", "with_callbacks"]


class Follower(Protocol):
    """Somebody who follows the rounds of a fit."""

    def begin(self, rounds: int) -> None:
        """Learn that at most so many rounds follow."""
        ...

    def after_round(self, number: int, so_far: Callable[[], dict[str, Any]]) -> bool:
        """Learn that a round is done; True if it is to be the last. ``so_far`` are a model's attributes."""
        ...

    def end(self) -> None:
        """Learn that the fit is over."""
        ...


class Callbacks:
    """The callbacks of an estimator, with the data that they are shown.

    Rounds that come again, since a fit that was broken off has begun anew, are not told twice.
    """

    def __init__(self, estimator: BaseEstimator, X: MatrixLike, y: ArrayLike) -> None:
        self._estimator, self._data = estimator, {"X": X, "y": y}
        self._context: Any = None
        self._told = -1

    def begin(self, rounds: int) -> None:
        """Set the callbacks up."""
        if self._context is None:
            self._context = self._estimator._init_callback_context(max_subtasks=rounds)
            self._context.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def after_round(self, number: int, so_far: Callable[[], dict[str, Any]]) -> bool:
        """Show them the model after a round; the attributes are asked for if one of them looks at it."""
        if number <= self._told:
            return False
        self._told = number
        task = self._context.subcontext(task_name="round")
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        stop = task.call_on_fit_task_end(
            estimator=self._estimator, reconstruction_attributes=so_far, **self._data
        )
        return bool(stop)

    def end(self) -> None:
        """Tell them that the fit is over."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes={}, **self._data
            )


def has_callbacks(estimator: BaseEstimator) -> bool:
    """Whether an estimator has callbacks of its own, or is part of one that has."""
    return bool(getattr(estimator, "_skl_callbacks", None)) or hasattr(estimator, "_parent_callback_ctx")


def follower_of(estimator: BaseEstimator, X: MatrixLike, y: ArrayLike) -> Follower | None:
    """Who follows the fit of an estimator: who was set to, its callbacks, or nobody."""
    set_to: Follower | None = estimator._fit_context.follower
    if set_to is None and has_callbacks(estimator):
        return Callbacks(estimator, X, y)
    return set_to
