"""A study: a model judged on rows that it has not seen, with everything that is known of it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from propriety import evaluation, memory
from propriety.cli.judging import Judged, judged_rows, out_of_sample, train
from propriety.cli.ordering import in_words, judged_by_time, sorted_by
from propriety.cli.output import Output, shown
from propriety.cli.recipes import Fitted, Order, Recipe
from propriety.cli.splitting import Split, split_rows
from propriety.cli.training import Role, TrainingTable
from propriety.cli.words import deciding, has_threshold
from propriety.data.table import Rows
from propriety.evaluation import Importance
from propriety.evaluation.companions import companions
from propriety.evaluation.judging import OFFSET, Judgement
from propriety.report.reading import OFFSET_ALONE, offset_alone
from propriety.tables import TableModel
from propriety.version import __version__
from propriety.weights import Estimate

_OFFSET = "\0offset"  # no column of a table is called so
_COUNTED = 4000  # rows on which it is measured what columns count for
_TWO_JUDGEMENTS = (
    "That is by folds within the rows that it was fitted to; the table of costs judges the whole fit on rows "
    "that were kept from it, and is the one to trust."
)


@dataclass(frozen=True)
class Study:
    """What a result and a report are written from."""

    table: TrainingTable
    order: Order
    split: Split
    judged: Judged
    fitted: Fitted
    model: TableModel
    importances: dict[str, Estimate]
    by_time: str = ""
    sorted_by: Role | None = None

    @property
    def judgement(self) -> Judgement:
        """Of the model."""
        return self.judged.judgements[0]

    @property
    def remarks(self) -> list[str]:
        """What is to be warned of besides the judging rows: another way of judging, and how the fit ended."""
        return [*([self.by_time] if self.by_time else []), *self.model.estimator.remarks]

    @property
    def recipe(self) -> Recipe:
        """Of the model that is kept."""
        return self.fitted.recipe

    @property
    def by_own_folds(self) -> str:
        """The verdict of a search or of a model on itself, and why its numbers are not those of the table."""
        if not self.verdict:
            return ""
        start = "" if self.order.search else "By its own folds: "
        return f"{start}{self.verdict} {_TWO_JUDGEMENTS}"

    @property
    def verdict(self) -> str:
        """What a search says of its choice, or a model of itself; or nothing."""
        text = self.fitted.verdict
        for code, label in enumerate(self.table.classes):  # the model knows the classes by number
            text = text.replace(f"Deciding {code} for everyone", f"Deciding {label!r} for everyone")
        return text


def run_study(
    out: Output,
    table: TrainingTable,
    order: Order,
    recipe: Recipe,
    *,
    folds: int | None = None,
    holdout: float | None = None,
) -> Study:
    """Judge a model, and fit the one to keep.

    A model judged on a part that was held out is kept as it is; one judged by cross-validation is fitted to
    all rows once more.
    """
    split = split_rows(table.y, folds, holdout, order.seed, groups=table.groups, time=table.time)
    memory.trim()  # of many rows the split leaves much behind
    time = None if table.time is not None else sorted_by(table)
    parts = len(split.pairs) + (not split.is_holdout) + (time is not None)
    counted: list[Importance] = []

    def look(fitted: Fitted, rows: TrainingTable) -> None:
        counted.append(importance_of(fitted, rows, len(split.pairs)))

    with (
        out.progress("fitting", parts) as step,
        out.collected_warnings(),
    ):
        rule, fitted = out_of_sample(recipe, order, table, split, step, look)
        later = None
        if time is not None:
            later = judged_by_time(recipe, _as_fitted(order, fitted), table, time, step)
        if not split.is_holdout:
            fitted = train(recipe, order, table, np.arange(len(table.y)))
            step("all rows")
    findings = table.findings
    row_costs = table.stated if table.stated.by_row else None
    model = TableModel(
        fitted.model,
        findings.columns,
        findings.target,
        fitted.numbers,
        row_costs=row_costs,
        offset=table.stated_offset,
    )
    rows = judged_rows(table, order, split.rows)
    rules = [rule, *rows.constants]
    if table.offset is not None:
        alone = offset_alone(model.loss_, table.offset[split.rows])
        rules.insert(1, rows.rule(OFFSET_ALONE, alone, OFFSET))
    judged = Judged(rows, tuple(rules))
    importances = Importance.join(counted).estimates
    by_time = "" if time is None or later is None else in_words(time, judged.judgements[0], later)
    study = Study(table, order, split, judged, fitted, model, importances, by_time, time)
    return replace(study, model=replace(model, summary=summary(study)))


def _as_fitted(order: Order, fitted: Fitted) -> Order:
    """The order with the loss that a search has found."""
    return replace(order, loss=fitted.estimator.best_loss_) if order.search else order


def importance_of(fitted: Fitted, rows: TrainingTable, n_parts: int) -> Importance:
    """What the columns count for, on one of the parts that judge; the features of a column go together."""
    columns = rows.findings.columns
    owners = np.asarray(columns.owners)
    frame = rows.frame
    if rows.offset is not None:  # goes with its row, and is never dealt out
        frame = frame.taken() if isinstance(frame, Rows) else frame
        frame = frame.append_column(_OFFSET, pa.array(rows.offset))

    def predict(frame: Any) -> Any:
        if rows.offset is None:
            return fitted.probabilities(frame)
        offset = frame.column(_OFFSET).to_numpy()
        return fitted.probabilities(frame.drop_columns([_OFFSET]), offset)

    return evaluation.importance(
        predict,
        frame,
        rows.y,
        sample_weight=rows.weight,
        groups=None if rows.groups is None else rows.groups.values,
        columns={name: np.flatnonzero(owners == k).tolist() for k, name in enumerate(columns.names)},
        most=-(-_COUNTED // n_parts),
    )


def summary(study: Study) -> dict[str, Any]:
    """What the model file keeps of the training."""
    table, n = study.table, len(study.table.y)
    counts = np.bincount(table.y, minlength=len(table.classes)).tolist()
    of_classes = (
        {"classes": dict(zip(table.classes, counts, strict=True))}
        if table.findings.target.several
        else {"positives": counts[1]}
    )
    return {
        "table": table.source.name,
        "rows": n,
        **of_classes,
        "rows_fitted": len(study.split.pairs[0][0]) if study.split.is_holdout else n,
        "model": study.recipe.name,
        "loss": repr(study.model.loss_),
        "chosen": study.verdict if study.order.search else "",
        "judged_by": study.split.text,
        "judgement": {k: v for k, v in study.judgement.to_dict().items() if k not in ("model", "seconds")},
        "importances": {name: [e.value, e.low, e.high] for name, e in study.importances.items()},
        **({} if study.order.budget is None else {"budget": study.order.budget}),
        "left_out": dict(table.findings.left_out),
        "seed": study.order.seed,
        "command": shlex.join(["propriety", *sys.argv[1:]]),
        "version": __version__,
    }


def show_study(out: Output, study: Study) -> None:
    """The model, what its decisions cost, and what it goes by."""
    out.say()
    out.say(f"{study.recipe.title}, fitted to {study.model.summary['loss']}", "bold")
    if study.verdict:
        out.say(study.by_own_folds)
    out.say(deciding(study.table.classes, study.table.stated, study.judged.rows.costs))
    title = f"Cost of 1,000 decisions, judged by {study.split.text}"
    show_judgements(out, title, study.judged.judgements)
    for line in (
        study.judged.rows.left_out,
        *summed_up(study.judged),
    ):
        if line:
            out.say(line)
    show_importances(out, study.importances, study.table)


def show_importances(
    out: Output, importances: Mapping[str, Estimate], table: TrainingTable | None = None, most: int = 8
) -> None:
    """What the model relies on, most first; the table says which columns go together."""
    ranked = sorted(importances.items(), key=lambda pair: -pair[1].value)
    rows = [(name, float(f"{e.value:.3g}"), f"{e.low:.2g} – {e.high:.2g}") for name, e in ranked if e.low > 0]
    if rows:
        title = "What the model relies on: how much its log loss rises if the column is shuffled"
        out.table(title, ("column", "rises by", "95% interval"), rows[:most])
        out.say(_going_together(table, [name for name, _, _ in rows[:most]]))
    chance = len(ranked) - len(rows)
    if chance:
        names = ", ".join(name for name, e in ranked if not e.low > 0) if chance <= 5 else ""
        told = f": {names}" if names else ""
        out.say(f"For {chance} of {len(ranked)} columns no effect can be told from chance{told}.")


def _going_together(table: TrainingTable | None, names: Sequence[str]) -> str:
    """What the importances do not say of columns that go with others."""
    if table is None:
        return "A model fitted without a column may be nearly as good, if others go with it."
    few = table.take(np.unique(np.linspace(0, len(table.y) - 1, min(len(table.y), _COUNTED)).astype(np.intp)))
    frame = few.frame.taken()
    plain = [name for name in frame.column_names if not pa.types.is_dictionary(frame.column(name).type)]
    found = companions({name: frame.column(name).to_numpy().astype(float) for name in plain}, names)
    close = [f"{name} with {other.name}" for name, other in found.items() if other.close]
    if not close:
        return ""
    return (
        f"Columns that go together ({', '.join(close[:3])}{', …' if len(close) > 3 else ''}): a model fitted "
        "without one of them may be nearly as good."
    )


#: What is shown of a judgement: the key, the heading, and the digits after the point.
_SHOWN = (
    ("false_alarms_per_1000", "false alarms", 1),
    ("misses_per_1000", "misses", 1),
    ("mistakes_per_1000", "mistakes", 1),
    ("abstained_per_1000", "abstained", 1),
    ("log_loss", "log loss", None),
    ("area_under_roc", "ROC area", None),
)


def show_judgements(out: Output, title: str, judged: Sequence[Judgement]) -> None:
    """A table of costs, mistakes and quality; the cheapest in bold."""
    numbers = [j.to_dict() for j in judged]
    columns = [column for column in _SHOWN if any(n.get(column[0]) is not None for n in numbers)]
    rows = []
    for n in numbers:
        values = [float("nan") if n.get(key) is None else n[key] for key, _, _ in columns]
        rows.append(
            (
                n["model"],
                round(n["cost_per_1000"], 1),
                f"{n['cost_low']:,.0f} – {n['cost_high']:,.0f}",
                *(
                    v if digits is None else round(v, digits)
                    for v, (_, _, digits) in zip(values, columns, strict=True)
                ),
            )
        )
    best = int(np.argmin([n["cost_per_1000"] for n in numbers]))
    out.table(
        title, ("model", "cost", "95% interval", *(heading for _, heading, _ in columns)), rows, best=best
    )


def summed_up(judged: Judged) -> list[str]:
    """The total, what is saved, and what a budget allows, in sentences; nothing of two plain costs."""
    rows, model, lines = judged.rows, judged.judgements[0], []
    if rows.costs.by_row or len(rows.labels) > 2:
        lines.append(f"In all, {shown(model.total)} on {rows.weights.total:,.0f} rows.")
        if model.savings is not None:
            lines[-1] += (
                f" Savings against the cheapest decision for everyone: {model.savings.value:.1%} "
                f"(95% interval {model.savings.low:.1%} to {model.savings.high:.1%})."
            )
    if rows.budget is not None and judged.model.p is not None:
        acted = int(np.sum(judged.model.decided == rows.costs.positive))
        without = int(np.sum(rows.costs.decide(judged.model.p) == rows.costs.positive))
        lines.append(
            f"Within the budget {acted:,} of {len(rows.y):,} judging rows are acted on; without it, "
            f"{without:,} would be."
        )
    return lines


def document(study: Study) -> dict[str, Any]:
    """The result for machines."""
    findings, model, costs = study.table.findings, study.model, study.judged.rows.costs
    threshold = costs.threshold if has_threshold(costs) else None
    return {
        "command": "fit",
        "rows": len(study.table.y),
        "target": {
            "name": findings.target.name,
            "positive": findings.target.positive,
            "negatives": findings.target.negatives,
            "classes": findings.target.classes,
            "because": findings.target.because,
        },
        "columns": [{"name": c.name, "kind": c.kind} for c in findings.columns.columns],
        "left_out": findings.left_out,
        "model": study.recipe.name,
        "loss": model.summary["loss"],
        "verdict": study.verdict,
        "costs": study.table.stated.document(),
        "threshold": threshold,
        "budget": study.order.budget,
        "offset": None if model.offset is None else model.offset.words,
        "judged_by": study.split.text,
        "judgements": [j.to_dict() for j in study.judged.judgements],
        "importances": {name: e.value for name, e in study.importances.items()},
        "importance_intervals": {name: [e.low, e.high] for name, e in study.importances.items()},
    }
