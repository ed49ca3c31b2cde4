"""A study of a table, on a terminal, for machines, and in a model file."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from propriety import memory
from propriety.auto import AutoClassifier
from propriety.cli.options import Showing
from propriety.cli.output import Output, UsageError, shown
from propriety.cli.training import TrainingTable
from propriety.cli.words import deciding
from propriety.evaluation.companions import companions
from propriety.evaluation.judging import MODEL, RIVAL, Judgement
from propriety.evaluation.subgroups import Subgroup
from propriety.formatting import intervals, loss_text
from propriety.study import Study
from propriety.study.candidates import Candidate
from propriety.study.models import FitRequest, ModelSpec
from propriety.study.splitting import Split, split_rows
from propriety.study.summary import difference_document, rows_of, threshold_of, title_of
from propriety.study.verdict import of_intervals, of_models
from propriety.tables import TableModel
from propriety.version import __version__
from propriety.weights import Estimate

_LISTED = 5  # columns without an effect that are named
_COUNTED = 4000  # rows on which it is looked which columns go together


def split_of(table: TrainingTable, asking: Any, seed: int) -> Split:
    """Which rows train and which judge."""
    split = split_rows(
        table.y,
        asking.folds,
        asking.holdout,
        seed,
        groups=table.groups,
        time=table.time,
        gap=asking.gap or 0.0,
    )
    memory.trim()  # of many rows the split leaves much behind
    return split


def study_of(
    table: TrainingTable,
    request: FitRequest,
    specs: Sequence[ModelSpec],
    split: Split,
    *,
    budget: float | None = None,
    showing: Showing | None = None,
    refit: bool = True,
) -> Study:
    """The study of a table by models, the first of which is the one to keep; rivals have their defaults."""
    showing = Showing() if showing is None else showing
    plain = FitRequest(seed=request.seed, jobs=request.jobs)
    first, *others = specs
    candidates = [Candidate(first.title, MODEL, first, request=request)]
    candidates += [Candidate(spec.title, RIVAL, spec, request=plain if refit else request) for spec in others]
    return Study.of(
        table.question(budget),
        candidates,
        split,
        table.facts,
        showing.scale,
        showing.capacity,
        showing.actionable,
        refit=refit,
    )


def run(out: Output, study: Study) -> Study:
    """Run it, with a bar, and say what the fits warn of."""
    with out.progress("fitting", 1), out.collected_warnings():
        return study.run()


def check_can_report() -> None:
    """Refuse before anything is fitted, if the figures could not be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("--report needs matplotlib: pip install 'propriety[plot]'")


def table_model(study: Study, table: TrainingTable, **facts: Any) -> TableModel:
    """The model that is kept, with the columns of its table."""
    fitted, findings = study.fitted, table.findings
    assert fitted is not None
    return TableModel(
        fitted.model,
        findings.columns,
        findings.target,
        fitted.numbers,
        _summary(study, table) | facts,
        row_costs=table.stated if table.stated.by_row else None,
        offset=table.stated_offset,
    )


def _summary(study: Study, table: TrainingTable) -> dict[str, Any]:
    """What the model file keeps of the training."""
    n, fitted = len(table.y), study.fitted
    assert fitted is not None
    counts = np.bincount(table.y, minlength=len(table.classes)).tolist()
    of_classes = (
        {"classes": dict(zip(table.classes, counts, strict=True))}
        if table.findings.target.several
        else {"positives": counts[1]}
    )
    request = study.request
    return {
        "table": table.source.name,
        "rows": n,
        **of_classes,
        "rows_fitted": len(study.split.pairs[0][0]) if study.split.is_holdout else n,
        "model": fitted.spec.name,
        "loss": repr(study.loss),
        "chosen": fitted.verdict if request.search else "",
        "judged_by": study.split.text,
        **({"adapted": study.adapted} if study.adapted else {}),
        "judgement": {k: v for k, v in study.judgement.to_dict().items() if k not in ("model", "seconds")},
        "importances": {name: [e.value, e.low, e.high] for name, e in study.importance.items()},
        **({} if study.budget is None else {"budget": study.budget}),
        "left_out": dict(table.findings.left_out),
        "reference": study.reference.document(),
        "seed": request.seed,
        "command": study.facts.command,
        "version": __version__,
    }


def show_study(out: Output, study: Study, table: TrainingTable) -> None:
    """The model, what its decisions cost, and what it goes by."""
    out.say()
    out.say(f"{study.name}, fitted by the loss {loss_text(study.loss)}", "bold")
    members = _members(study)
    if members:
        out.say(members)
    show_judged(out, study, table)


def show_judged(out: Output, study: Study, table: TrainingTable) -> None:
    """What decisions cost, what the model goes by, and what may mislead."""
    out.say(deciding(table.classes, table.stated, study.costs))
    show_judgements(out, title_of(study), study.judgements)
    for line in (study.rows.left_out, *_summed_up(study), of_models(study.differences)):
        if line:
            out.say(line)
    out.say(of_intervals(study.rows))
    show_importances(out, study.importance, table)
    if study.judging.by and not study.sided:
        out.warn("--subgroup is for two classes and two decisions: no subgroups are shown")
    for name, parts in _subgroups(study).items():
        _show_subgroups(out, study, name, parts)
    out.say(study.headline)
    for finding in study.warnings:
        if finding.name != "table":  # those were said when it was read
            out.warn(finding.text)


def _subgroups(study: Study) -> dict[str, list[Subgroup]]:
    """Those that were asked for."""
    return {name: study.subgroups(name) for name in study.judging.by} if study.sided else {}


def _show_subgroups(out: Output, study: Study, name: str, parts: Sequence[Subgroup]) -> None:
    """What decisions cost, how often they err, and whether probabilities are right, in parts of the rows."""

    def cell(estimate: Estimate | None, per: float = 1.0, digits: int = 3) -> str:
        if estimate is None:
            return "–"
        value, low, high = (f"{per * v:.{digits}f}" for v in (estimate.value, estimate.low, estimate.high))
        return f"{value} ({low} to {high})"

    headings = (name, "rows", repr(study.positive), "cost of 1,000", "less others", "stated less seen")
    rows = [
        (
            *(part.name, part.n, part.positives, cell(part.cost, 1000, 0)),
            *(cell(part.differences.get("cost"), 1000, 0), cell(part.gap)),
            *(cell(part.missed), cell(part.false_alarms)),
        )
        for part in parts
    ]
    out.table(f"Decisions by {name}", (*headings, "missed", "alarmed"), rows)


def _members(study: Study) -> str:
    """What a stack is made of."""
    model = study.model
    model = getattr(model, "estimator", model)
    if not isinstance(model, AutoClassifier):
        return ""
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in model.weights_.items())
    return f"members and their weights: {weights}"


def show_importances(
    out: Output, importances: Mapping[str, Estimate], table: TrainingTable | None = None, most: int = 8
) -> None:
    """What the model relies on, most first; the table says which columns go together."""
    ranked = sorted(importances.items(), key=lambda pair: -pair[1].value)
    sure = [(name, e) for name, e in ranked if e.low > 0]
    if sure:
        names, estimates = zip(*sure[:most], strict=True)
        ends = intervals([(e.low, e.high) for e in estimates])
        title = "Permutation importance: increase in log loss when a column is shuffled"
        rows = zip(names, [e.value for e in estimates], ends, strict=True)
        out.table(title, ("column", "increase", "95% CI"), list(rows))
        out.say(_going_together(table, names))
    unsure = [name for name, e in ranked if not e.low > 0]
    if unsure:
        told = f": {', '.join(unsure)}" if len(unsure) <= _LISTED else ""
        out.say(f"No significant effect for {len(unsure)} of {len(ranked)} columns{told}.")


def _going_together(table: TrainingTable | None, names: Sequence[str]) -> str:
    """What the importances do not say of columns that go with others."""
    if table is None:
        return "A model without a column may be nearly as good if others are correlated with it."
    few = np.unique(np.linspace(0, len(table.y) - 1, min(len(table.y), _COUNTED)).astype(np.intp))
    frame = table.frame.take(pa.array(few))
    plain = [name for name in frame.column_names if not pa.types.is_dictionary(frame.column(name).type)]
    found = companions({name: frame.column(name).to_numpy().astype(float) for name in plain}, names)
    close = [f"{name} with {other.name}" for name, other in found.items() if other.close]
    if not close:
        return ""
    return (
        f"Correlated columns ({', '.join(close[:3])}{', …' if len(close) > 3 else ''}): a model without one "
        "of them may be nearly as good."
    )


def show_judgements(out: Output, title: str, judged: Sequence[Judgement]) -> None:
    """A table of costs, mistakes and quality; the cheapest in bold."""
    headings, rows, best = rows_of(judged)
    out.table(title, headings, rows, best=best)


def _summed_up(study: Study) -> list[str]:
    """The total, what is saved, and what a budget allows, in sentences; nothing of two plain costs."""
    rows, model, lines = study.rows, study.judgement, []
    if rows.costs.by_row or len(rows.labels) > 2:
        lines.append(f"Total cost: {shown(model.total)} on {rows.weights.total:,.0f} rows.")
        if model.savings is not None:
            lines[-1] += (
                f" Savings compared with the cheapest rule without a model: {model.savings.value:.1%} "
                f"(95% CI {model.savings.low:.1%} to {model.savings.high:.1%})."
            )
    if rows.budget is not None and study.p is not None:
        acted = int(np.sum(study.decided == rows.costs.positive))
        without = int(np.sum(rows.costs.decide(study.p) == rows.costs.positive))
        lines.append(
            f"The model acts on {acted:,} of {len(rows.y):,} test rows within the budget, and on {without:,} "
            "without it."
        )
    return lines


def document(study: Study, table: TrainingTable) -> dict[str, Any]:
    """The result of a fit for machines; its ``verdict`` is that of the model, or of a search, on itself."""
    findings, fitted = table.findings, study.fitted
    assert fitted is not None
    return {
        "command": "fit",
        "columns": [{"name": c.name, "kind": c.kind} for c in findings.columns.columns],
        "left_out": findings.left_out,
        "model": fitted.spec.name,
        "loss": repr(study.loss),
        "verdict": _own_verdict(study, table),
        "offset": None if table.stated_offset is None else table.stated_offset.words,
        "importances": {name: e.value for name, e in study.importance.items()},
        "importance_intervals": {name: [e.low, e.high] for name, e in study.importance.items()},
    } | validation(study, table)


def validation(study: Study, table: TrainingTable) -> dict[str, Any]:
    """What was judged, for machines."""
    target = table.findings.target
    return {
        "rows": len(table.y),
        "target": {
            "name": target.name,
            "positive": target.positive,
            "negatives": target.negatives,
            "classes": target.classes,
            "because": target.because,
        },
        "headline": study.headline,
        "costs": table.stated.document(),
        "threshold": threshold_of(study),
        "budget": study.budget,
        "judged_by": study.split.text,
        "positives": study.rows.positives,
        "judgements": [j.to_dict() for j in study.judgements],
        "differences": [difference_document(difference) for difference in study.differences],
        "subgroups": {name: [p.to_dict() for p in parts] for name, parts in _subgroups(study).items()},
    }


def _own_verdict(study: Study, table: TrainingTable) -> str:
    """What a search says of its choice, or a model of itself, by folds within its training rows."""
    fitted = study.fitted
    assert fitted is not None
    model = fitted.estimator
    return model.judgement_.text(table.classes) if isinstance(model, AutoClassifier) else fitted.verdict
