"""The page of results: every table, figure and verdict, in one file that loads nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from propriety.report import svg
from propriety.report.markup import Markup, escape, join, tag
from propriety.report.markup import table as markup_table
from propriety.report.page import contents, document, section
from reproductions.experiment import WORDS, Cell, Paper, Setting, Table, Value
from reproductions.running import FULL, Result

_SIGNS = dict(zip(WORDS, ("●", "◐", "○", "–"), strict=True))
_SOURCES = {"paper": "the paper", "inferred": "inferred from what is printed", "ours": "ours"}


def page(results: Sequence[Result]) -> str:
    """The whole document."""
    papers = [(paper, list(own)) for paper, own in groupby(results, lambda result: result.experiment.paper)]
    parts = [(f"paper-{paper.key}", f"[{paper.key}] {paper.authors} ({paper.year})") for paper, _ in papers]
    minutes = sum(result.seconds for result in results) / 60
    lead = tag(
        "p",
        f"{_many(len(results), 'experiment')} of {_many(len(papers), 'paper')}, "
        f"{_many(round(minutes), 'minute')} of computing. ",
        f"{_counted(results)} ",
        "Settings that a paper does not give are ours; everything that was tried is listed.",
        class_="lead",
    )
    return document(
        title="The papers, reproduced",
        header=join(tag("h1", "The papers, reproduced"), lead, contents(parts)),
        main=join(
            section("verdicts", "Verdicts", verdict_table(results)),
            *(
                section(name, heading, _paper(paper, own))
                for (name, heading), (paper, own) in zip(parts, papers, strict=True)
            ),
        ),
        skip="Skip to the verdicts",
    )


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _marked(word: str) -> str:
    """A verdict with its sign, in one piece."""
    return f"{_SIGNS[word]} {word}".replace(" ", "\u00a0")


def _counted(results: Sequence[Result]) -> str:
    words = [verdict.word for result in results for verdict in result.outcome.verdicts]
    return f"Of {len(words)} claims: " + ", ".join(f"{words.count(word)} {word}" for word in WORDS) + "."


def verdict_table(results: Sequence[Result]) -> Markup:
    """A line a claim."""
    rows = [
        (
            tag("a", result.experiment.name, href=f"#{result.experiment.name}"),
            verdict.claim,
            tag("b", _marked(verdict.word)),
            verdict.reason,
        )
        for result in results
        for verdict in result.outcome.verdicts
    ]
    columns = ("experiment", "claim", "verdict", "why")
    return tag("div", markup_table("What became of each claim", columns, rows), class_="lines")


def _paper(paper: Paper, results: Sequence[Result]) -> Markup:
    head = tag("p", tag("cite", paper.title), f". {paper.published}", class_="quiet")
    return join(head, *(_experiment(result) for result in results))


def _experiment(result: Result) -> Markup:
    experiment, outcome = result.experiment, result.outcome
    drawn = [
        _figure(experiment.name, drawing, outcome.figures[drawing.name])
        for drawing in experiment.drawings
        if drawing.name in outcome.figures
    ]
    verdicts = tag(
        "ul",
        *(tag("li", tag("b", _marked(v.word)), f": {v.claim} – {v.reason}.") for v in outcome.verdicts),
    )
    heading = tag("h3", f"{experiment.name}: {experiment.title}", id=experiment.name)
    notes = [tag("p", note) for note in outcome.notes]
    tables = [result_table(table) for table in outcome.tables]
    rough = "" if result.size == FULL else f" A {result.size} run: fewer repeats than the protocol says."
    computing = _many(round(result.seconds), "second")
    where = tag("p", f"{experiment.place}. {computing} of computing.{rough}", class_="quiet")
    protocol = _protocol(experiment.protocol, experiment.tried)
    return tag("article", heading, where, verdicts, *tables, *drawn, *notes, protocol)


def _figure(experiment: str, drawing: Any, numbers: Any) -> Markup:
    with svg.drawing():
        figure = svg.blank(drawing.size)
        drawing.draw(figure, numbers)
    return svg.figure(f"{experiment}-{drawing.name}", figure, drawing.title, drawing.caption)


def _protocol(settings: Sequence[Setting], tried: Sequence[str]) -> Markup:
    rows = [(setting.name, setting.value, _SOURCES[setting.source]) for setting in settings]
    listed = tag("ul", *(tag("li", text) for text in tried)) if tried else None
    heading = tag("p", "Everything that was tried:") if tried else None
    content = markup_table("Protocol", ("setting", "value", "who says so"), rows)
    return tag("details", tag("summary", "Protocol"), content, heading, listed)


def result_table(table: Table) -> Markup:
    """A table of the paper: for each row what was printed, ours and the difference."""
    if len(table.columns) == 1:
        return join(_long_table(table), _remarks(table))
    rows: list[list[Any]] = []
    for row in table.rows:
        cells = [table.cell(row, column) or Cell(row, column, None, None) for column in table.columns]
        if any(cell.printed is not None for cell in cells):
            rows.append([row, "printed", *(shown(cell.printed, table.digits) for cell in cells)])
            rows.append(["", "ours", *(_ours(cell, table.digits) for cell in cells)])
            if any(cell.difference is not None for cell in cells):
                rows.append(["", "difference", *(_difference(cell, table.digits) for cell in cells)])
        else:
            rows.append([row, "ours", *(shown(cell.ours, table.digits) for cell in cells)])
    numeric = range(2, 2 + len(table.columns))
    content = markup_table(f"{table.name}, {table.place}", ("", "", *table.columns), rows, numeric=numeric)
    return join(content, _remarks(table))


def _long_table(table: Table) -> Markup:
    """A table of one column: a line a row, with the print, ours and the difference side by side."""
    rows = [
        (
            cell.row,
            shown(cell.printed, table.digits),
            _ours(cell, table.digits),
            _difference(cell, table.digits),
        )
        for cell in table.cells
    ]
    columns = ("", "printed", "ours", "difference")
    return markup_table(f"{table.name}, {table.place}", columns, rows, numeric=(1, 2, 3))


def _remarks(table: Table) -> Markup | None:
    agreeing, known = table.agreement
    said = [f"{agreeing} of {known} cells agree with the print."] if known else []
    said += [f"Tolerance: {table.tolerance_from}."] if table.tolerance_from else []
    said += [table.note] if table.note else []
    return tag("p", " ".join(said), class_="quiet") if said else None


def shown(value: Value, digits: int) -> str:
    """A value as it stands in a table; as many digits after the point as the table has, no zeros at the end.

    >>> shown(0.8607, 3), shown(188.0, 3), shown(None, 3), shown("yes", 3)
    ('0.861', '188', '–', 'yes')
    >>> shown(-0.0001, 3), shown(-1.5, 3)
    ('0', '−1.5')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, str):
        return value
    text = f"{value:,.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text.replace("-", "−")


def _ours(cell: Cell, digits: int) -> Markup:
    text = escape(shown(cell.ours, digits))
    return tag("b", text) if cell.agrees else text


def _difference(cell: Cell, digits: int) -> str:
    if cell.difference is None:
        return ""
    allowed = "" if cell.tolerance is None else f" (±{shown(cell.tolerance, digits)})"
    number = shown(cell.difference, digits)
    return f"{'+' if cell.difference > 0 and number != '0' else ''}{number}{allowed}"
