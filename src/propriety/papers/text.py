"""The results as a page of Markdown: the verdicts and every table, for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from propriety.papers.experiment import WORDS, Cell, Table
from propriety.papers.page import shown
from propriety.papers.running import FULL, Result

_TITLE = "# The papers' experiments, repeated"


def markdown(results: Sequence[Result]) -> str:
    """Verdicts first, then each experiment with its protocol and its tables."""
    words = [verdict.word for result in results for verdict in result.outcome.verdicts]
    counted = ", ".join(f"{words.count(word)} {word}" for word in WORDS)
    short = [f"`{result.experiment.name}`" for result in results if result.size != FULL]
    parts = [
        _TITLE,
        "Written by `propriety papers all --out FOLDER`, which also draws the figures. Settings come from "
        "the paper, are inferred from what it prints, or are ours; everything that was tried is listed.",
        *([f"Not in full, with fewer repeats than the protocol says: {', '.join(short)}."] if short else []),
        f"Of {len(words)} claims: {counted}.",
        "## Verdicts",
        _lines(
            ("experiment", "claim", "verdict", "why"),
            [
                (f"`{result.experiment.name}`", verdict.claim, f"**{verdict.word}**", verdict.reason)
                for result in results
                for verdict in result.outcome.verdicts
            ],
        ),
    ]
    for paper, own in groupby(results, lambda result: result.experiment.paper):
        parts.append(f"## [{paper.key}] {paper.authors} ({paper.year})")
        for result in own:
            parts += _experiment(result)
    return "\n\n".join(parts) + "\n"


def _experiment(result: Result) -> list[str]:
    experiment, outcome = result.experiment, result.outcome
    size = "" if result.size == FULL else f" A {result.size} run: fewer repeats than the protocol says."
    settings = "; ".join(f"{s.name}: {s.value} ({s.source})" for s in experiment.protocol)
    parts = [
        f"### {experiment.name}: {experiment.title}",
        f"{experiment.place}.{size}",
        f"Protocol: {settings}. Tried: {'; '.join(experiment.tried) or 'nothing else'}.",
    ]
    for table in outcome.tables:
        parts += [f"**{table.name}**, {table.place}.", _table(table)]
        agreeing, known = table.agreement
        said = [f"{agreeing} of {known} cells agree with the print."] if known else []
        said += [f"Tolerance: {table.tolerance_from}."] if table.tolerance_from else []
        said += [table.note] if table.note else []
        parts += [" ".join(said)] if said else []
    return [*parts, *outcome.notes]


def _table(table: Table) -> str:
    rows = []
    for row in table.rows:
        cells = [table.cell(row, column) or Cell(row, column, None, None) for column in table.columns]
        ours = [shown(cell.ours, table.digits) for cell in cells]
        printed = any(cell.printed is not None for cell in cells)
        if printed:
            rows.append((row, "printed", *(shown(cell.printed, table.digits) for cell in cells)))
        rows.append(("" if printed else row, "ours", *ours))
    return _lines(("", "", *table.columns), rows)


def _lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A table; what would end a cell is escaped.

    >>> print(_lines(("a", "b"), [("x|y", "1")]))
    | a | b |
    |---|---|
    | x\|y | 1 |
    """
    lines = [columns, *rows]
    text = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join([text[0], "|" + "---|" * len(columns), *text[1:]])
