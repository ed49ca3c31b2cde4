"""What a fit is told by whoever runs it, beside its parameters and rows; gone when the fit is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from propriety.communicator import SINGLE, Communicator

if TYPE_CHECKING:
    from propriety.model.following import Follower

Model = TypeVar("Model")


@dataclass(frozen=True)
class FitContext:
    """The surroundings of a fit.

    Attributes
    ----------
    communicator : Communicator
        The processes over which the rows are spread.
    known_classes : array or None
        All classes, told by a search whose folds may lack some; it has warned of their sides as well.
        The model keeps them: costs may name a class that it has not seen.
    known_rounds : sequence of learners
        Rounds of a fit that was broken off, to be taken over again.
    deadline : float or None
        Of the folds that count rounds, by `time.perf_counter`.
    follower : Follower or None
        Who is told of each round, in place of the model's callbacks.
    shared : object
        What fits of other losses to the same rows have found, and what this one adds to: `SharedBins` of
        boosting, the members of a stack, the solutions of a linear model on its way to a loss that is not
        convex. All that are given it must have the same rows and weights, and the same parameters but for
        the loss.
    """

    communicator: Communicator = SINGLE
    known_classes: NDArray[Any] | None = None
    known_rounds: Sequence[Any] = ()
    deadline: float | None = None
    follower: Follower | None = None
    shared: Any = None


def end_context(model: Any) -> None:
    """Forget it when the fit is over, but for the classes that a search has told."""
    known_classes = model._fit_context.known_classes
    vars(model).pop(ATTRIBUTE, None)
    if known_classes is not None:
        setattr(model, ATTRIBUTE, FitContext(known_classes=known_classes))


#: The name of an estimator's attribute that holds its context.
ATTRIBUTE = "_fit_context"


def in_context(model: Model, **changes: Any) -> Model:
    """Tell a model something about its next fit, and return the model.

    >>> from propriety import BoostingClassifier
    >>> model = in_context(BoostingClassifier(max_iter=3), deadline=0.0)
    >>> model._fit_context.deadline, model.fit([[0], [1], [2]], [0, 1, 1])._fit_context.deadline
    (0.0, None)
    """
    setattr(model, ATTRIBUTE, replace(getattr(model, ATTRIBUTE, FitContext()), **changes))
    return model
