"""What is judged in a study: models to fit, models that are fitted already, and ready scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator

from propriety.data.score_scales import POINTS, ScoreScale
from propriety.data.table import is_frame
from propriety.errors import ArgumentError
from propriety.evaluation.judging import MODEL
from propriety.study.models import SPECS, FitRequest, Fitted, ModelSpec, given_spec, named, within
from propriety.study.question import Question

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model that is judged: fitted on each training part, fitted already, or ready probabilities."""

    name: str
    kind: str = MODEL
    spec: ModelSpec | None = None
    fitted: Fitted | None = None
    p: Floats | None = None
    request: FitRequest = field(default_factory=FitRequest)


def candidate_of(
    model: BaseEstimator, question: Question, request: FitRequest, name: str | None, kind: str = MODEL
) -> Candidate:
    """A model by name or as a classifier; a frozen one is not fitted."""
    if isinstance(model, str):
        spec = named(model)
        return Candidate(name or spec.title, kind, spec, request=request)
    if isinstance(model, ModelSpec):
        return Candidate(name or model.title, kind, model, request=request)
    if isinstance(model, type) or not hasattr(model, "fit"):
        raise ArgumentError("model", f"must be one of {', '.join(SPECS)}, or a classifier, got {model!r:.60}")
    title = name or type(within(model)).__name__
    if not isinstance(model, FrozenEstimator):
        return Candidate(title, kind, given_spec(model, title), request=request)
    fitted = Fitted(model.estimator, given_spec(model, title), None, question.classes)
    if sorted(map(str, fitted.known)) != sorted(map(str, question.classes.tolist())):
        known = question.classes.tolist()
        raise ArgumentError("rivals", f"{title!r} has the classes {fitted.known}, and the model {known}")
    needed = fitted.takes_offset
    if needed and question.offset is None:
        raise ArgumentError(
            "offset", f"is needed: {title} was fitted with one, and the scores of these rows need theirs"
        )
    if kind == MODEL and question.offset is not None and not needed:
        raise ArgumentError("offset", f"is given, and {title} was fitted without one; leave it out")
    return Candidate(title, kind, fitted=fitted)


def rivals_of(given: Any) -> list[tuple[str | None, Any]]:
    """Names and models; of names alone the models that are called so."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return list(given.items())
    names = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise ArgumentError("rivals", "must be names, or a mapping of names to classifiers")
    return [(None, name) for name in names]


def scores_of(argument: str, given: object, question: Question, scale: str, name: str = "") -> Floats:
    """Probabilities, of the positive one of two classes or of every class."""
    values, whose = np.asarray(given, dtype=np.float64), f"of {name!r} " if name else ""
    k = len(question.classes)
    if values.shape not in ((question.n_rows,), (question.n_rows, k)) or (k > 2 and values.ndim == 1):
        each = "a score" if k == 2 else f"{k} probabilities"
        raise ArgumentError(
            argument, f"{whose}must have {each} for each of {question.n_rows} rows, got {values.shape}"
        )
    try:
        read = ScoreScale.read(scale)
    except ValueError as error:
        raise ArgumentError("scale", str(error)) from None
    if read.name == POINTS and k > 2:
        raise ArgumentError("scale", f"points are for two classes, and there are {k}")
    if values.ndim == 2:
        sorted_labels = np.sort(question.classes).tolist()
        values = values[:, [sorted_labels.index(label) for label in question.classes.tolist()]]
        values = values[:, 1] if k == 2 else values
    values = read.probability(values)
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        row = int(np.argmax(wrong.reshape(question.n_rows, -1).any(axis=1)))
        raise ArgumentError(
            argument,
            f"{whose}must be probabilities between 0 and 1, and is {values[row]} in row {row}; "
            "scale='log-odds' and 'points' read other scores",
        )
    return values


def stacked_of(X: Any, y: ArrayLike, weight: Any, test: Any) -> tuple[Any, Any, Any, int]:
    """Training and test rows in one table, and the number of the training rows."""
    if not isinstance(test, tuple) or not 2 <= len(test) <= 3:
        raise ArgumentError("test", "must be (X, y) or (X, y, sample_weight)")
    other, labels = test[0], test[1]
    if isinstance(y, str) or isinstance(weight, str):
        raise ArgumentError("test", "needs y and sample_weight as arrays, not as names of columns")
    if (weight is None) != (len(test) == 2):
        raise ArgumentError("test", "has weights if and only if the training rows have them")
    if is_frame(X):
        both = nw.concat([nw.from_native(part, eager_only=True) for part in (X, other)]).to_native()
    else:
        both = np.concatenate([np.asarray(X), np.asarray(other)])
    weights_ = None if weight is None else np.concatenate([np.asarray(weight), np.asarray(test[2])])
    return both, np.concatenate([np.asarray(y), np.asarray(labels)]), weights_, len(np.asarray(y))
