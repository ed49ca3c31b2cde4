"""A study: a model judged on rows that it has not seen, with everything that is known of it."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from propriety.cli.judging import FOLDS, Judgement, Split, baselines, judge, split_rows, train
from propriety.cli.loading import TrainingTable
from propriety.cli.output import Output
from propriety.cli.recipes import Fitted, Order, Recipe
from propriety.tables import TableModel
from propriety.version import __version__


@dataclass(frozen=True)
class Study:
    """What a result and a report are written from."""

    table: TrainingTable
    order: Order
    split: Split
    judgement: Judgement
    baselines: tuple[Judgement, ...]
    fitted: Fitted
    model: TableModel

    @property
    def recipe(self) -> Recipe:
        """Of the model that is kept."""
        return self.fitted.recipe

    @property
    def verdict(self) -> str:
        """What a search says of its choice, or nothing."""
        return self.fitted.verdict


def run_study(
    out: Output,
    table: TrainingTable,
    order: Order,
    recipes: list[Recipe],
    *,
    folds: int | None = None,
    holdout: float | None = None,
) -> Study:
    """Judge the best of the recipes, and fit the model to keep.

    A model judged on a part that was held out is kept as it is; one judged by cross-validation is fitted to
    all rows once more, and chosen by all of them.
    """
    several = len(recipes) > 1
    split = split_rows(table.y, folds, holdout, order.seed, one=several)
    parts = len(split.pairs) + (not split.is_holdout)
    with (
        out.progress("fitting", parts * (1 + several * FOLDS * len(recipes))) as step,
        out.collected_warnings(),
    ):
        judgement, fitted = judge(recipes, order, table, split, step)
        if not split.is_holdout:
            fitted = train(recipes, order, table, np.arange(len(table.y)), step)
            step("all rows")
    if several and not split.is_holdout:
        split = replace(split, text=f"{split.text}, the model chosen anew in each part")
    judgement = replace(judgement, name=fitted.recipe.title)
    findings = table.findings
    model = TableModel(fitted.model, findings.columns, findings.target, fitted.numbers)
    without = baselines(findings.target.positive, judgement)
    study = Study(table, order, split, judgement, without, fitted, model)
    return replace(study, model=replace(model, summary=summary(study)))


def summary(study: Study) -> dict[str, Any]:
    """What the model file keeps of the training."""
    n = len(study.table.y)
    return {
        "table": study.table.source.name,
        "rows": n,
        "positives": int(study.table.y.sum()),
        "rows_fitted": len(study.split.pairs[0][0]) if study.split.is_holdout else n,
        "model": study.recipe.name,
        "loss": repr(study.model.loss_),
        "chosen": study.verdict,
        "judged_by": study.split.text,
        "judgement": {k: v for k, v in study.judgement.numbers().items() if k not in ("model", "seconds")},
        "left_out": dict(study.table.findings.left_out),
        "seed": study.order.seed,
        "command": shlex.join(["propriety", *sys.argv[1:]]),
        "version": __version__,
    }


def show_study(out: Output, study: Study) -> None:
    """The model, what its decisions cost, and what it goes by."""
    costs = study.order.costs
    out.say()
    out.say(f"{study.recipe.title}, fitted to {study.model.summary['loss']}", "bold")
    if study.verdict:
        out.say(study.verdict)
    out.say(
        f"decides {study.model.target.positive!r} from a probability of {costs.threshold:.3g} on: a false "
        f"alarm costs {costs.fp_cost:g}, a miss {costs.fn_cost:g}"
    )
    judged = [study.judgement, *study.baselines]
    show_judgements(out, f"Cost of 1,000 decisions, judged by {study.split.text}", judged)
    shares = study.model.importances()
    first = np.argsort(-shares)[:8]
    rows = [(study.model.columns.names[i], float(shares[i])) for i in first if shares[i] > 0]
    out.table("What counts", ("column", "share"), rows)


def show_judgements(out: Output, title: str, judged: list[Judgement]) -> None:
    """A table of costs, mistakes and quality; the cheapest in bold."""
    rows, numbers = [], [j.numbers() for j in judged]
    for n in numbers:
        flat = n["area_under_roc"] == 0.5 and n["seconds"] == 0
        rows.append(
            (
                n["model"],
                round(n["cost_per_1000"], 1),
                f"{n['cost_low']:.0f} – {n['cost_high']:.0f}",
                round(n["false_alarms_per_1000"], 1),
                round(n["misses_per_1000"], 1),
                float("nan") if flat else n["log_loss"],
                float("nan") if flat else n["area_under_roc"],
            )
        )
    best = int(np.argmin([n["cost_per_1000"] for n in numbers]))
    names = ("model", "cost", "95% interval", "false alarms", "misses", "log loss", "ROC area")
    out.table(title, names, rows, best=best)


def document(study: Study) -> dict[str, Any]:
    """The result for machines."""
    findings, model = study.table.findings, study.model
    return {
        "command": "fit",
        "rows": len(study.table.y),
        "target": {
            "name": findings.target.name,
            "positive": findings.target.positive,
            "negatives": findings.target.negatives,
            "because": findings.target.because,
        },
        "columns": [{"name": c.name, "kind": c.kind} for c in findings.columns.columns],
        "left_out": findings.left_out,
        "model": study.recipe.name,
        "loss": model.summary["loss"],
        "verdict": study.verdict,
        "threshold": study.order.costs.threshold,
        "judged_by": study.split.text,
        "judgements": [j.numbers() for j in (study.judgement, *study.baselines)],
        "importances": dict(zip(model.columns.names, model.importances().tolist(), strict=True)),
    }
