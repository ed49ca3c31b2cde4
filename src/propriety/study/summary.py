"""What a study says as a table, as data frames and for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from propriety.data.table import Rows, is_frame
from propriety.evaluation.judging import Difference, Judgement
from propriety.formatting import aligned, intervals
from propriety.study.verdict import of_intervals

if TYPE_CHECKING:
    from propriety.study.study import Study

#: What is shown of a judgement: the key and the heading.
COLUMNS = (
    ("false_alarms_per_1000", "false alarms"),
    ("misses_per_1000", "misses"),
    ("mistakes_per_1000", "mistakes"),
    ("abstained_per_1000", "abstained"),
    ("log_loss", "log loss"),
    ("area_under_roc", "AUC"),
)


def rows_of(judged: Sequence[Judgement]) -> tuple[tuple[str, ...], list[tuple[Any, ...]], int]:
    """Headings and rows of the table of costs, mistakes and quality, and the row of least cost."""
    numbers = [j.to_dict() for j in judged]
    ends = intervals([(n["cost_low"], n["cost_high"]) for n in numbers])
    columns = [column for column in COLUMNS if any(n.get(column[0]) is not None for n in numbers)]
    rows = []
    for n, interval in zip(numbers, ends, strict=True):
        values = [float("nan") if n.get(key) is None else n[key] for key, _ in columns]
        rows.append((n["model"], n["cost_per_1000"], interval, *values))
    headings = ("model", "cost", "95% CI", *(heading for _, heading in columns))
    return headings, rows, int(np.argmin([n["cost_per_1000"] for n in numbers]))


def title_of(study: Study) -> str:
    """Of the table."""
    by = study.split.text or f"{len(study.y):,} rows"
    return f"Cost per 1,000 decisions: {by}"


def text(study: Study) -> str:
    """The table and the verdict in plain text."""
    headings, rows, _ = rows_of(study.judgements)
    columns = zip(*rows, strict=True)
    cells = [list(column) if isinstance(column[0], str) else aligned(column) for column in columns]
    shown = [headings, *zip(*cells, strict=True)]
    widths = [max(len(row[j]) for row in shown) for j in range(len(headings))]
    lines = [
        "  ".join(
            cell.ljust(w) if j == 0 else cell.rjust(w)
            for j, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in shown
    ]
    return "\n".join([title_of(study), *lines, of_intervals(study.rows), study.verdict])


def _backend(study: Study) -> Any:
    """The kind of data frame that is made: that of X, or pandas."""
    X = study.question.X
    X = X.frame if isinstance(X, Rows) else X
    return nw.from_native(X, eager_only=True).implementation if X is not None and is_frame(X) else "pandas"


def judgements_frame(study: Study) -> Any:
    """A row for each way to decide."""
    rows = [j.to_dict() for j in study.judgements]
    names = list(dict.fromkeys(key for row in rows for key in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    return nw.from_dict(columns, backend=_backend(study)).to_native()


def predictions_frame(study: Study) -> Any:
    """A row for each test row."""
    labels, p = np.array([*study.labels, "abstain"]), study.p
    columns: dict[str, Any] = {"row": study.split.rows, "part": study.split.parts, "y": labels[study.rows.y]}
    if p is not None and p.ndim == 1:
        columns["p"] = p
    elif p is not None:
        columns |= {f"p_{label}": p[:, k] for k, label in enumerate(study.labels)}
    columns |= {"decision": labels[study.decided], "cost": study.rows.row_costs(study.decided)}
    plain = {name: values.tolist() for name, values in columns.items()}
    return nw.from_dict(plain, backend=_backend(study)).to_native()


def difference_document(difference: Difference) -> dict[str, Any]:
    """For machines."""
    more = difference.estimate
    numbers = {"more_per_1000": more.value, "more_low": more.low, "more_high": more.high}
    tests = {"p_value": difference.p_value, "p_holm": difference.p_holm}
    return {"model": difference.second, **numbers, **tests}


def document(study: Study) -> dict[str, Any]:
    """The numbers for machines."""
    importance = study.importance
    return {
        "rows": study.question.n_rows,
        "judging_rows": len(study.y),
        "classes": list(study.labels),
        "judged_by": study.split.text,
        "positives": study.rows.positives,
        "threshold": threshold_of(study),
        "budget": study.budget,
        "judgements": [j.to_dict() for j in study.judgements],
        "differences": [difference_document(d) for d in study.differences],
        "importances": {name: e.value for name, e in importance.items()},
        "importance_intervals": {name: [e.low, e.high] for name, e in importance.items()},
        "warnings": [{"check": finding.name, "text": finding.text} for finding in study.warnings],
        "verdict": study.verdict,
    }


def threshold_of(study: Study) -> float | None:
    """The one probability from which the positive class is decided, if there is one."""
    return float(study.costs.threshold) if study.sided and not study.costs.by_row else None
