"""``propriety fit --report``: the report of a study, with the rivals it is held against."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from propriety import losses
from propriety.cli.judging import judge
from propriety.cli.output import UsageError
from propriety.cli.recipes import RECIPES
from propriety.report import ColumnFacts, Effects, Report
from propriety.report.reading import loss_of, sample
from propriety.tables import reading

if TYPE_CHECKING:
    from propriety.cli.fit import Study

_LOG_BOOSTING = "log-loss boosting"
_BY_DEFAULT = {
    "linear": "It is the default of linear models at these costs: a small model cannot be right everywhere, "
    "so its loss looks where the decision is made.",
    "other": "It is the default of this kind of model, whose decisions are cheap when its probabilities are "
    "right everywhere; the costs come in by the threshold.",
}


def check_can_report() -> None:
    """Refuse before anything is fitted, if the figures could not be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("--report needs matplotlib: pip install 'propriety[plot]'")


def report_of(
    study: Study, describe: Callable[[Any], str], step: Callable[[str], None] = lambda _: None
) -> Report:
    """The report of a study; `describe` says what a column holds, `step` is called after each rival."""
    data, found, judged = study.data, study.data.findings, study.judgement
    estimator, loss = study.model.estimator, loss_of(study.model.estimator)
    rivals, same = _rivals(study, loss, step)
    rows = study.split.rows
    frame = data.frame.take(pa.array(rows))
    few = sample(len(rows))
    X = frame.take(pa.array(few))
    numbers = study.model.numbers
    parts, _ = reading.contributions(
        estimator, X if numbers is None else numbers(X), numbers, frame.num_columns
    )
    features = {name: _values(frame.column(name)) for name in frame.column_names}
    columns = [
        ColumnFacts(
            c.name,
            c.kind,
            found.missing_cells.get(c.name, 0) / len(data.y),
            _range(features[c.name]) if c.kind == "number" else describe(c),
        )
        for c in found.columns.columns
    ]
    positives = f"{int(data.y.sum()):,} ({data.y.mean():.1%}) are {found.target.positive!r}"
    weighted = {} if data.weight is None else {"weights": "given by a column"}
    return Report(
        judged.y,
        judged.p,
        fp_cost=study.order.fp_cost,
        fn_cost=study.order.fn_cost,
        sample_weight=judged.weight,
        name=study.recipe.title,
        target=found.target.name,
        positive=found.target.positive,
        negative=found.target.negative,
        rivals=rivals,
        same=same,
        judged_by=study.split.text,
        parts=np.repeat(np.arange(len(study.split.pairs)), [len(test) for _, test in study.split.pairs]),
        order=rows,
        loss=loss,
        chosen=_chosen(study, loss),
        model=estimator,
        importances=dict(zip(study.model.columns.names, study.model.importances().tolist(), strict=True)),
        features=features,
        effects=Effects(few, parts),
        columns=columns,
        left_out=found.left_out,
        notes=found.notes,
        warnings=found.warnings,
        about={
            "table": data.source.name,
            "rows": f"{len(data.y):,}, of which {positives}",
            "positive class": f"{found.target.positive!r}: {found.target.because}",
            **weighted,
        },
        command=study.model.summary["command"],
    )


def _rivals(study: Study, loss: Any, step: Callable[[str], None]) -> tuple[dict[str, Any], str]:
    """Probabilities of logistic regression and of log-loss boosting, and which of them is the model."""
    plain = replace(study.order, loss=losses.Log(), search=False, settings={})
    data, rivals, same = study.data, {}, ""
    wanted = {"logistic regression": "logistic", _LOG_BOOSTING: "boosting"}
    if study.recipe.name == "boosting" and loss == losses.Log().composite() and not study.order.settings:
        del wanted[_LOG_BOOSTING]
        same = _LOG_BOOSTING
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, recipe in wanted.items():
            args = data.frame, data.y, data.weight, study.split, step
            rivals[name] = judge(RECIPES[recipe], plain, *args)[0].p
    return rivals, same


def _chosen(study: Study, loss: Any) -> str:
    if study.verdict:
        return f"It was chosen by cross-validated cost. {study.verdict}"
    if study.order.loss is not None:
        return "It was asked for by name."
    tailored = study.recipe.name == "linear" and study.order.fp_cost != study.order.fn_cost
    return _BY_DEFAULT["linear" if tailored else "other"]


def _values(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        return np.array(pc.fill_null(pc.cast(column, pa.string()), "missing").to_pylist(), dtype=str)
    return column.to_numpy().astype(float)


def _range(values: Any) -> str:
    known = values[np.isfinite(values)]
    return f"{known.min():.4g} to {known.max():.4g}" if len(known) else ""
