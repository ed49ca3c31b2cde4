"""The results as a page of Markdown: the verdicts and every table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reproductions import registry
from reproductions.experiment import WORDS, Cell, Paper, Table
from reproductions.page import shown
from reproductions.running import FULL, Result

_TITLE = "# The papers' experiments, repeated"
_COLUMNS = ("experiment", "claim", "verdict", "why")


@dataclass(frozen=True)
class _Entry:
    """What the page has of an experiment."""

    verdicts: tuple[str, ...]  # lines of the first table
    section: str


def markdown(results: Sequence[Result]) -> str:
    """Verdicts first, then each experiment with its protocol and its tables."""
    entries = {r.experiment.name: _Entry(tuple(verdict_lines(r)), section(r)) for r in results}
    short = [f"`{r.experiment.name}`" for r in results if r.size != FULL]
    papers = {r.experiment.name: r.experiment.paper for r in results}
    return _page(entries, papers, short)


def updated(page: str, results: Sequence[Result]) -> str:
    """The page with these results in the place of older ones; the others stay as they are."""
    before, *parts = re.split(r"^### ", page, flags=re.MULTILINE)
    rows: dict[str, list[str]] = {}
    for line in before.splitlines():
        if line.startswith("| `"):
            rows.setdefault(line.split("`")[1], []).append(line)
    sections = {
        part.split(": ")[0]: "### " + re.split(r"^## ", part, flags=re.MULTILINE)[0].rstrip()
        for part in parts
    }
    entries = {name: _Entry(tuple(rows[name]), text) for name, text in sections.items()}
    entries |= {r.experiment.name: _Entry(tuple(verdict_lines(r)), section(r)) for r in results}
    known = [name for name in registry.names() if name in entries]
    return _page({name: entries[name] for name in known}, {n: registry.named(n).paper for n in known}, [])


def _page(entries: Mapping[str, _Entry], papers: Mapping[str, Paper], short: Sequence[str]) -> str:
    lines = [line for entry in entries.values() for line in entry.verdicts]
    words = [next(word for word in WORDS if f"| **{word}** |" in line) for line in lines]
    counted = ", ".join(f"{words.count(word)} {word}" for word in WORDS)
    parts = [
        _TITLE,
        "Written by `python -m reproductions all --out FOLDER`, which also draws the figures. Settings come "
        "from the paper, are inferred from what it prints, or are ours; everything that was tried is listed.",
        *([f"Not in full, with fewer repeats than the protocol says: {', '.join(short)}."] if short else []),
        f"Of {len(words)} claims: {counted}.",
        "## Verdicts",
        "\n".join([_lines(_COLUMNS, []), *lines]),
    ]
    last = None
    for name, entry in entries.items():
        paper = papers[name]
        if paper.key != last:
            parts.append(f"## [{paper.key}] {paper.authors} ({paper.year})")
            last = paper.key
        parts.append(entry.section)
    return "\n\n".join(parts) + "\n"


def verdict_lines(result: Result) -> list[str]:
    """A line of the table of verdicts for each claim."""
    return [
        _line((f"`{result.experiment.name}`", verdict.claim, f"**{verdict.word}**", verdict.reason))
        for verdict in result.outcome.verdicts
    ]


def section(result: Result) -> str:
    """An experiment: its protocol, its tables and its notes."""
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
    return "\n\n".join([*parts, *outcome.notes])


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
    return "\n".join([_line(columns), "|" + "---|" * len(columns), *(_line(row) for row in rows)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
