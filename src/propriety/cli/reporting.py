"""``propriety fit --report``: the report of a study, with the rivals it is held against."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from propriety import losses
from propriety.cli.flipping import flips_of
from propriety.cli.judging import Step, out_of_sample
from propriety.cli.loading import details
from propriety.cli.options import Showing
from propriety.cli.output import Output, UsageError
from propriety.cli.recipes import RECIPES
from propriety.cli.study import Study
from propriety.evaluation.judging import OFFSET
from propriety.losses.links import Logit, Recalibrated
from propriety.report import ColumnFacts, Effects, Report, checks
from propriety.report.reading import sample
from propriety.tables.expressions import Expression

_LOG_BOOSTING = "log-loss boosting"
_BY_DEFAULT = (
    "It is the default for every kind of model, whose decisions are cheap when its probabilities are right "
    "everywhere; the costs come in when it decides."
)


def check_can_report() -> None:
    """Refuse before anything is fitted, if the figures could not be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("--report needs matplotlib: pip install 'propriety[plot]'")


def report_of(study: Study, showing: Showing | None = None, step: Step = lambda _: None) -> Report:
    """The report of a study; `step` is called after each rival."""
    rivals, same = _rivals(study, step)
    features = features_of(study, study.split.rows)
    columns = _columns(study, features)
    outline = replace(outline_of(study, showing), features=features, columns=columns)
    allowed = None if showing is None else showing.change
    flips = flips_of(study, outline, allowed)
    return replace(outline, rivals=rivals, same=same, flips=flips, effects=_effects(study))


def _effects(study: Study) -> Effects | None:
    """What the features add to the scores of some judging rows; of two classes."""
    if len(study.table.classes) != 2:
        return None
    rows = study.split.rows
    few = sample(len(rows))
    frame = study.table.take(rows[few]).frame.taken()
    return Effects(few, study.model.feature_contributions(frame)[:, :-1])


def show_findings(out: Output, study: Study, outline: Report) -> None:
    """The warnings of a report that the table alone did not bring about, on a terminal."""
    places = checks.in_order(outline.order)
    features = features_of(study, study.split.rows[places])
    for text in (*outline.found, *checks.columns_drift(features, np.arange(len(places)))):
        out.warn(text)


def outline_of(study: Study, showing: Showing | None = None) -> Report:
    """The report of a study without what takes long: columns, rivals, effects, what would turn a decision."""
    showing = Showing() if showing is None else showing
    time = study.sorted_by if study.table.time is None else study.table.time
    table, findings, judged = study.table, study.table.findings, study.judged.rows
    model, target = study.model, study.table.findings.target
    rows = study.split.rows
    sides = {"positive": target.positive, "negative": target.negative}
    return Report(
        judged.y,
        study.judged.model.p,
        **_costs(study),
        budget=judged.budget,
        sample_weight=judged.weights.values,
        offset=None if table.offset is None else table.offset[rows],
        groups=judged.groups,
        name=study.recipe.title,
        target=target.name,
        **({"classes": table.classes} if target.several else sides),
        judged_by=study.split.text,
        parts=np.repeat(np.arange(len(study.split.pairs)), [len(test) for _, test in study.split.pairs]),
        order=rows if time is None else time.values[rows],
        time="" if time is None else time.name,
        places=findings.rows[rows],
        by={name: values[rows] for name, values in table.by.items()},
        unit=showing.unit,
        per=showing.per,
        capacity=showing.capacity,
        loss=model.loss_,
        chosen=_chosen(study),
        model=model.estimator,
        of_model=table.classes,
        importances=study.importances,
        left_out=findings.left_out,
        notes=findings.notes,
        warnings=findings.warnings,
        remarks=study.remarks,
        text=model.export_text(),
        about=_about(study),
        command=model.summary["command"],
    )


def _costs(study: Study) -> dict[str, Any]:
    """The terms of the costs for the judging rows, and how they were stated."""
    table = study.table
    if not table.stated.by_row:
        return {**table.stated.terms_for(table.classes), "stated": table.stated.texts}
    rows = study.split.rows
    terms = {
        name: table.of_rows[name][rows] if isinstance(term, Expression) else term
        for name, term in table.stated.terms.items()
    }
    return {**terms, "stated": table.stated.texts}


def features_of(study: Study, rows: NDArray[np.intp]) -> dict[str, Any]:
    """The features of some rows: floats, or text for categories."""
    frame = study.table.take(rows).frame.taken()
    return {name: _values(frame.column(name)) for name in frame.column_names}


def _columns(study: Study, features: dict[str, Any]) -> list[ColumnFacts]:
    findings = study.table.findings
    return [
        ColumnFacts(
            c.name,
            c.kind,
            findings.missing_cells.get(c.name, 0) / len(study.table.y),
            _range(features[c.name]) if c.kind == "number" else details(c),
        )
        for c in findings.columns.columns
    ]


def _about(study: Study) -> dict[str, str]:
    """Facts of the table."""
    table, target = study.table, study.table.findings.target
    counts = np.bincount(table.y, minlength=len(table.classes))
    shares = [f"{n:,} ({n / len(table.y):.1%}) are {c!r}" for n, c in zip(counts, table.classes, strict=True)]
    facts = {"table": table.source.name, "rows": f"{len(table.y):,}, of which "}
    if target.several:
        facts["rows"] += ", ".join(shares)
    else:
        facts["rows"] += shares[1]
        facts["positive class"] = f"{target.positive!r}: {target.because}"
    facts["judged by"] = study.split.text
    if table.stated.by_row:
        facts["columns of the costs"] = ", ".join(map(repr, table.stated.columns))
    if table.stated_offset is not None:
        facts["offset"] = table.stated_offset.words
    if table.weight is not None:
        facts["weights"] = "given by a column"
    for what, role in (("groups", table.groups), ("time", table.time)):
        if role is not None:
            facts[what] = f"by {role.name!r}"
    return facts


def _rivals(study: Study, step: Step) -> tuple[dict[str, Any], str]:
    """Probabilities of logistic regression and of log-loss boosting, and which of them is the model."""
    # Without a name, the log loss of as many classes as there are is what boosting fits.
    log = None if study.table.findings.target.several else losses.Log()
    plain = replace(study.order, loss=log, search=False, settings={})
    rivals: dict[str, Any] = {}
    same = ""
    wanted = {"logistic regression": "logistic", _LOG_BOOSTING: "boosting"}
    if study.table.offset is not None:  # which others' models do not know
        del wanted["logistic regression"]
        rivals |= {rule.name: rule.p for rule in study.judged.rules if rule.kind == OFFSET}
    if study.recipe.name == "boosting" and is_log(study.model.loss_) and not study.order.settings:
        del wanted[_LOG_BOOSTING]
        same = _LOG_BOOSTING
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, recipe in wanted.items():
            rivals[name] = out_of_sample(RECIPES[recipe], plain, study.table, study.split, step)[0].p
    return rivals, same


def _chosen(study: Study) -> str:
    if study.order.search:
        return f"It was chosen by cross-validated cost.\n{study.by_own_folds}"
    if study.order.loss is not None or "loss" in study.order.settings:
        return "It was asked for by name."
    return f"{_BY_DEFAULT}\n{study.by_own_folds}".rstrip()


def is_log(loss: Any) -> bool:
    """Whether a loss that was fitted is the log loss, its link bent by a calibration or not.

    >>> is_log(losses.Log().with_link(Recalibrated(Logit(), 0.9, 0.9, 0.1)))
    True
    >>> is_log(losses.simplex.Recalibrated(losses.simplex.Log(), (0.8,), (0,)))
    True
    >>> is_log(losses.simplex.Brier()), is_log(losses.Squared().composite())
    (False, False)
    """
    if not isinstance(loss, losses.Composite):
        return bool(getattr(loss, "base", loss) == losses.simplex.Log())
    link = loss.link
    return loss.loss == losses.Log() and (link.base if isinstance(link, Recalibrated) else link) == Logit()


def _values(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        whole = column.combine_chunks()
        names = np.array([*whole.dictionary.to_pylist(), "missing"], dtype=str)
        return names[pc.fill_null(whole.indices, len(names) - 1).to_numpy()]
    return column.to_numpy().astype(float)


def _range(values: Any) -> str:
    known = values[np.isfinite(values)]
    return f"{known.min():.4g} to {known.max():.4g}" if len(known) else ""
