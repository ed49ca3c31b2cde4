"""The model within a fitted classifier: what it was fitted to, what it costs, and how it reads the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sklearn.base import MetaEstimatorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline

from propriety.aliases import Label, MatrixLike
from propriety.data.costs import Costs, stated_costs
from propriety.model.base import ProperClassifier

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


@dataclass(frozen=True)
class Inside:
    """The model within a classifier: what it decides by, and the rows as it reads them.

    ``same_rows`` says whether it reads the rows as they are given, ``same_p`` whether its probabilities are
    those of the classifier, and ``decided_by`` names what it is wrapped in that decides without its costs.
    """

    model: Any
    X: Any
    same_rows: bool = True
    same_p: bool = True
    decided_by: str = ""


def inside(estimator: BaseEstimator, X: Any) -> Inside:
    """What a search has chosen, what a pipeline ends with, what a calibration or a threshold is put upon."""
    found = Inside(estimator, X)
    while True:
        model = found.model
        if isinstance(model, MetaEstimatorMixin) and "best_estimator_" in vars(model):
            found = replace(found, model=model.best_estimator_)
        elif isinstance(model, Pipeline):
            rows = model[:-1].transform(found.X) if len(model) > 1 and found.X is not None else found.X
            found = replace(found, model=model[-1], X=rows, same_rows=found.same_rows and len(model) == 1)
        elif isinstance(model, CalibratedClassifierCV):
            # The parts are fitted to other rows each, and alike in what they cost.
            fitted = model.calibrated_classifiers_[0].estimator
            found = replace(found, model=fitted, same_p=False, decided_by=found.decided_by or _kind(model))
        elif isinstance(model, FixedThresholdClassifier | TunedThresholdClassifierCV):
            found = replace(found, model=model.estimator_, decided_by=found.decided_by or _kind(model))
        elif isinstance(model, FrozenEstimator):
            found = replace(found, model=model.estimator)
        else:
            return found


def _kind(estimator: Any) -> str:
    return type(estimator).__name__


def costs_within(estimator: BaseEstimator, X: MatrixLike, positive: Label) -> tuple[Costs, Costs]:
    """What the decisions of the model within a fitted classifier cost: as stated, and as numbers for rows.

    Seen from the other class than the model's own, a miss is a false alarm. Other classifiers state nothing.
    """
    within = inside(estimator, X)
    model = within.model
    if not isinstance(model, ProperClassifier):
        return (Costs(pos_label=positive),) * 2
    stated, classes = stated_costs(model), model.classes_.tolist()
    own = classes[-1] if stated.pos_label is None else stated.pos_label
    if len(classes) > 2:
        return (stated.replace(pos_label=positive),) * 2
    stated = stated.replace(pos_label=own)
    numbers = _of_rows(stated, model.costs_for(within.X)) if stated.by_row else stated
    positive = own if positive is None else positive
    return turned(stated, positive), turned(numbers, positive)


def _of_rows(stated: Costs, costs: Any) -> Costs:
    """The same with numbers for the terms that the model makes of its own columns."""
    matrix, hit = costs.matrix, costs.positive
    miss = 1 - hit
    if stated.matrix is not None:
        return stated.replace(matrix=matrix)
    numbers = {
        "fp": matrix[..., miss, hit],
        "fn": matrix[..., hit, miss],
        "tp_benefit": 0.0 - matrix[..., hit, hit],
        "tn_benefit": 0.0 - matrix[..., miss, miss],
    }
    made = {
        name: v for name, v in numbers.items() if isinstance(t := getattr(stated, name), str) or callable(t)
    }
    return stated.replace(**made)


def turned(stated: Costs, positive: Label) -> Costs:
    """The same costs of two classes with the other one called positive.

    >>> turned(Costs(1, 9, pos_label="bad"), "good")
    Costs(fp=9, pos_label='good')
    """
    if positive == stated.pos_label:
        return stated
    sides = {"fp": "fn", "fn": "fp", "tp_benefit": "tn_benefit", "tn_benefit": "tp_benefit"}
    return stated.replace(
        pos_label=positive, **{name: getattr(stated, other) for name, other in sides.items()}
    )
