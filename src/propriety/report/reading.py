"""What a report can read off a fitted classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from propriety.data import uncertain
from propriety.data.costs import TERMS, Costs, stated_costs
from propriety.data.table import is_frame, is_sparse
from propriety.evaluation.importance import importance
from propriety.evaluation.scores import class_index
from propriety.linear import LinearClassifier
from propriety.model.base import ProperClassifier
from propriety.model.seen import rows_seen
from propriety.report.close import close_flips
from propriety.report.contents import Effects, Flipped, Report
from propriety.report.numbers import percent

#: What the page calls the offset without a model.
OFFSET_ALONE = "the offset alone"
_SAMPLE = 1000  # rows that effects are worked out for


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


def inside(estimator: Any, X: Any) -> Inside:
    """What a search has chosen, what a pipeline ends with, what a calibration or a threshold is put upon."""
    found = Inside(estimator, X)
    while True:
        model = found.model
        if isinstance(model, MetaEstimatorMixin) and "best_estimator_" in vars(model):
            found = replace(found, model=model.best_estimator_)
        elif isinstance(model, Pipeline):
            rows = model[:-1].transform(found.X) if len(model) > 1 else found.X
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


def warned_of_predict(report: Report, estimator: Any, X: Any) -> Report:
    """The report, with a warning if the classifier's own ``predict`` decides otherwise, without the costs."""
    decided_by = inside(estimator, X).decided_by
    if not decided_by:
        return report
    labels = list(report.of_model)  # in the order of the classes
    codes = class_index(estimator.predict(X), np.asarray(estimator.classes_)).astype(np.intp)
    own = codes if report.p.ndim == 2 else (codes == labels.index(report.positive)).astype(np.intp)
    share = report.weights.mean(own != report.decided)
    if share == 0:
        return report
    warning = (
        f"predict of {decided_by} knows nothing of the costs, and decides otherwise on {percent(share)} of "
        "the rows than this page: decide by the costs, as evaluation.decide does with its probabilities"
    )
    return replace(report, remarks=(*report.remarks, warning))


def facts_of(
    estimator: Any,
    X: Any,
    y: Any,
    rivals: Mapping[str, Any],
    positive: Any,
    names: Mapping[Any, str],
    offset: Any = None,
) -> dict[str, Any]:
    """Parameters of a `Report` of a fitted classifier.

    A model of this library says what it was fitted to, what its decisions cost and how it comes to them, also
    as the best of a search; at the end of a pipeline only the first two, since it reads other columns, and
    under a calibration only what decisions cost. What columns count for is measured, for any classifier.
    """
    check_is_fitted(estimator)
    classes = np.asarray(estimator.classes_)
    within = inside(estimator, X)
    owner = within.model if isinstance(within.model, ProperClassifier) else None
    side = _side(classes, positive, owner)
    labels = [str(names.get(label, label)) for label in classes.tolist()]
    true = class_index(y, classes)
    features = columns_of(X)
    facts: dict[str, Any] = {
        "y": true if side is None else (true == side).astype(int),
        "p": _probabilities(estimator, X, side, offset),
        "name": type(estimator).__name__,
        "rivals": {name: _probabilities(rival, X, side, offset, classes) for name, rival in rivals.items()},
        "model": within.model if within.same_rows and within.same_p else None,
        "of_model": labels,
        "features": features,
        "offset": offset,
    }
    seen = rows_seen(within.model, within.X)
    facts |= (
        {"judged_by": "", "remarks": []}
        if seen is None
        else {"judged_by": seen.judged_by, "remarks": [seen.warning] if seen.warning else []}
    )
    if side is None:
        facts["classes"] = labels
    else:
        facts |= {"negative": labels[1 - side], "positive": labels[side]}
    if owner is not None:
        facts |= costs_of(owner, within.X, side)
    if owner is not None and offset is not None:
        facts["rivals"] = {OFFSET_ALONE: offset_alone(owner.loss_, offset, side)} | facts["rivals"]
    if owner is not None and within.same_p:
        facts |= {"loss": owner.loss_, "chosen": _chosen(estimator, owner)}
    if owner is not None and within.same_rows and within.same_p:
        rows = sample(len(true))
        few = nw.from_native(X)[rows].to_native() if is_frame(X) else np.asarray(X)[rows]
        parts = owner.contributions(few)
        facts["effects"] = Effects(rows, parts[:, :-1]) if parts.ndim == 2 else None
    if isinstance(owner, LinearClassifier) and within.same_rows and within.same_p:
        facts["text"] = owner.export_text(class_names=labels)
    if side is not None and offset is None:
        facts["flips"] = _flips(estimator, X, features, facts, side)
    if offset is None:
        facts["importances"] = importance(estimator, X, y).estimates
    elif owner is not None and within.same_rows and within.same_p:
        facts["importances"] = dict(zip(features, owner.importances().tolist(), strict=True))
    return facts


def _flips(
    estimator: Any, X: Any, features: dict[str, Any], facts: dict[str, Any], side: int
) -> list[Flipped]:
    """What would turn the decisions that were close."""
    costs = Costs.of_terms(facts).resolve(np.arange(2))
    if costs.abstains or is_sparse(X):
        return []
    thresholds = np.broadcast_to(costs.threshold, facts["p"].shape)

    def predict(rows: Mapping[str, Any]) -> Any:
        return np.asarray(estimator.predict_proba(_as_table(X, rows)))[:, side]

    return close_flips(predict, features, facts["p"], thresholds)


def _as_table(X: Any, rows: Mapping[str, Any]) -> Any:
    """Rows by column as a table of the kind of X."""
    if not is_frame(X):
        return np.column_stack([np.asarray(values, dtype=float) for values in rows.values()])
    frame = nw.from_native(X, eager_only=True)
    columns = []
    for name, values in rows.items():
        kind = frame.schema[name]
        plain = values.tolist()
        if not kind.is_numeric():
            plain = [None if value == "missing" else value for value in plain]
        made = nw.new_series(name, plain, backend=frame.implementation)
        columns.append(made if kind.is_temporal() else made.cast(kind))
    return nw.DataFrame.from_dict({s.name: s for s in columns}).to_native()


def costs_of(model: ProperClassifier, X: Any, side: int | None) -> dict[str, Any]:
    """What the decisions of a model about these rows cost: terms of a report whose positive class is `side`.

    Seen from the other class than the model's own, a miss is a false alarm.
    """
    stated, costs = stated_costs(model), model.costs_for(X)
    if side is None:
        return {} if costs.plain else {"cost_matrix": costs.matrix}
    order = [1 - side, side]
    matrix = costs.matrix[..., order, :][..., [*order, 2][: costs.matrix.shape[-1]]]
    if stated.matrix is not None:
        return {"cost_matrix": matrix}
    values: dict[str, Any] = {
        "fp_cost": matrix[..., 0, 1],
        "fn_cost": matrix[..., 1, 0],
        "tp_benefit": 0.0 - matrix[..., 1, 1],
        "tn_benefit": 0.0 - matrix[..., 0, 0],
    }
    values = {name: value if np.ndim(value) else float(value) for name, value in values.items()}
    seen = {
        "fp_cost": "fp_cost",
        "fn_cost": "fn_cost",
        "tp_benefit": "tp_benefit",
        "tn_benefit": "tn_benefit",
    }
    if costs.positive != side:
        seen = {
            "fp_cost": "fn_cost",
            "fn_cost": "fp_cost",
            "tp_benefit": "tn_benefit",
            "tn_benefit": "tp_benefit",
        }
    own = {known_as: getattr(stated, name) for name, known_as in TERMS.items()}
    said = {name: own[of_model] for name, of_model in seen.items()}
    values |= {name: term for name, term in said.items() if uncertain.is_uncertain(term)}
    return values | {"stated": {name: term for name, term in said.items() if isinstance(term, str)}}


def offset_alone(loss: Any, offset: Any, side: int | None = 1) -> Any:
    """Probabilities if nothing is added to the offset: of the class `side` of two, or of all.

    >>> from propriety import losses
    >>> log = losses.Log().composite()
    >>> offset_alone(log, [0.0]), offset_alone(log, [2.0], 0).round(2)
    (array([0.5]), array([0.12]))
    """
    P = np.asarray(loss.inverse(np.asarray(offset, dtype=np.float64)))
    if side is None:
        return P
    p = P.reshape(len(P))
    return p if side == 1 else 1 - p


def _chosen(estimator: Any, owner: ProperClassifier) -> str:
    """How the loss of a model came about."""
    if getattr(estimator, "verdict_", ""):
        return f"It was chosen by a search.\n{estimator.verdict_}"
    if isinstance(owner.loss, str) and owner.loss == "auto":
        return "It is the default of this kind of model."
    return "It is a parameter of the model."


def _side(classes: Any, positive: Any, owner: ProperClassifier | None) -> int | None:
    """Which of two classes is positive: as said, the model's, or the last; None for several classes."""
    if len(classes) != 2:
        if positive is not None:
            raise ValueError(
                f"positive is for two classes, and there are {len(classes)}: {classes.tolist()[:10]}"
            )
        return None
    if positive is None:
        pos_label = None if owner is None else stated_costs(owner).pos_label
        positive = classes.tolist()[1] if pos_label is None else pos_label
    if positive not in classes.tolist():
        raise ValueError(
            f"positive={positive!r} is not one of the classes {classes.tolist()}; "
            f"names={{{classes.tolist()[1]!r}: {positive!r}}} says what the page calls a class"
        )
    return int(classes.tolist().index(positive))


def _probabilities(estimator: Any, X: Any, side: int | None, offset: Any, classes: Any = None) -> Any:
    """Of the positive one of two classes, or of all; a model that was fitted with an offset needs one."""
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"{type(estimator).__name__} has no predict_proba; wrap it in "
            "sklearn.calibration.CalibratedClassifierCV"
        )
    if classes is not None and np.asarray(estimator.classes_).tolist() != classes.tolist():
        raise ValueError(
            f"a rival, {type(estimator).__name__}, has the classes "
            f"{np.asarray(estimator.classes_).tolist()}, and "
            f"the model {classes.tolist()}"
        )
    model = inside(estimator, X).model
    needed = isinstance(model, ProperClassifier) and model.needs_offset
    if needed and offset is None:
        raise ValueError(
            f"{type(estimator).__name__} was fitted with an offset, so that the scores of these rows need "
            "theirs: give offset=array"
        )
    if classes is None and offset is not None and not needed:
        raise ValueError(
            f"offset is given, and {type(estimator).__name__} was fitted without one; leave it out"
        )
    # A search hands nothing on to its best model.
    asked = estimator.best_estimator_ if needed and "best_estimator_" in vars(estimator) else estimator
    P = np.asarray(asked.predict_proba(X, **({"offset": offset} if needed else {})))
    return P if side is None else P[:, side]


def sample(n: int) -> Any:
    """Rows, evenly spaced, that stand for all of n."""
    return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))


def columns_of(X: Any) -> dict[str, Any]:
    """Columns by name: floats, or text for everything else."""
    if not is_frame(X):
        values = np.asarray(X)
        return {f"x{j}": as_column(values[:, j]) for j in range(values.shape[1])}
    frame = nw.from_native(X, eager_only=True)
    return {str(name): as_column(frame[name].to_numpy()) for name in frame.columns}


def as_column(values: Any) -> Any:
    """Numbers as floats, anything else as text."""
    values = np.asarray(values)
    if values.dtype.kind in "biuf":
        return values.astype(float)
    return np.array(
        ["missing" if v is None or isinstance(v, float) else str(v) for v in values.tolist()], dtype=str
    )
