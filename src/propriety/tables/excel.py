"""Excel in: one sheet of an .xlsx file."""

from __future__ import annotations

import posixpath
import re
import warnings
import zipfile
from collections.abc import Iterator
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import iterparse

from propriety.tables.cells import cell_text, text_chunks
from propriety.tables.errors import TableError
from propriety.tables.reading import Read, Reading, in_memory, names_of

if TYPE_CHECKING:
    from typing import BinaryIO

_MOST_ROWS = 1 << 20  # of a sheet, by the format itself
_AT_ONCE = 100  # rows taken of openpyxl
_PIECE = 1 << 20  # bytes of a sheet looked at
_FORMULA = re.compile(rb"<(\w+:)?f[\s/>]")


def read_excel(stream: BinaryIO, how: Reading) -> Read:
    """One sheet, every column as text."""
    stream = in_memory(stream)
    book = _open(stream, how)
    if not book.sheetnames:
        raise TableError(f"{how.name} has no sheet")
    if how.sheet is not None and how.sheet not in book.sheetnames:
        raise TableError(
            f"{how.name} has no sheet {how.sheet!r}",
            f"its sheets are {', '.join(map(repr, book.sheetnames))}",
        )
    title = how.sheet if how.sheet is not None else book.sheetnames[0]
    _check_formulas(stream, title, how.name)
    rows = _rows(book, title, how.name)
    head = next(rows, None)
    if head is None:
        raise TableError(f"{how.name}: sheet {title!r} is empty")
    cells = head[1]
    while cells[-1] is None:
        cells.pop()
    names = names_of([cell_text(v) or "" for v in cells], how)
    notes = [] if len(book.sheetnames) == 1 else [f"sheet: {title}"]
    strings: set[str] = set()

    def filled() -> Iterator[list[Any]]:
        if not how.header:
            yield cells
        for number, row in rows:
            if any(v is not None for v in row[len(names) :]):
                raise TableError(
                    f"{how.name}: row {number} has {len(row)} cells and the first {len(names)}",
                    "correct the row",
                )
            yield (row + [None] * len(names))[: len(names)]

    return Read(names, text_chunks(names, filled(), strings), notes, strings)


def _open(stream: Any, how: Reading) -> Any:
    import openpyxl

    try:
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
        stream.seek(0, 2)
        how.limit.check(sum(m.file_size for m in members), stream.tell())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the format has besides values
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
    except TableError:
        raise
    except Exception as error:  # a damaged file makes openpyxl raise anything
        raise TableError(
            f"{how.name} cannot be read as excel: {_reason(error)}", "is it an .xlsx file?"
        ) from None
    how.files.callback(book.close)
    return book


def _check_formulas(stream: Any, title: str, name: str) -> None:
    """Refuse a formula whose value is not in the file: it would be read as missing.

    Spreadsheet programs write both; programs that write files for them often leave the value out.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            part = _part_of(archive, title)
            with archive.open(part) as text:
                pieces = iter(lambda: text.read(_PIECE), b"")
                # A tag may lie across two pieces.
                if not any(_FORMULA.search(a[-32:] + b) for a, b in pairwise(chain([b""], pieces))):
                    return
            with archive.open(part) as text:
                cell = next(_without_value(text), None)
    except Exception:  # whatever is wrong with the sheet, reading its rows will say
        return
    if cell is not None:
        raise TableError(
            f"{name}: cell {cell} of sheet {title!r} holds a formula and no value",
            "open the file in a spreadsheet program, which works it out, and save it",
        )


def _part_of(archive: Any, title: str) -> str:
    """The part of the archive that holds a sheet, as the relationships of the format say."""
    book = next(part for kind, _, part in _related(archive, "") if kind.endswith("/officeDocument"))
    with archive.open(book) as text:
        sheets = [e for _, e in iterparse(text) if e.tag.rpartition("}")[2] == "sheet"]
    sheet = next(e for e in sheets if e.get("name") == title)
    own = next(value for key, value in sheet.attrib.items() if key.endswith("}id"))
    return next(part for _, id_, part in _related(archive, book) if id_ == own)


def _related(archive: Any, part: str) -> Iterator[tuple[str, str, str]]:
    """Kind, identifier and name of the parts that a part names, or the archive ("")."""
    folder, name = posixpath.split(part)
    with archive.open(posixpath.join(folder, "_rels", f"{name}.rels")) as text:
        for _, element in iterparse(text):
            if element.tag.rpartition("}")[2] == "Relationship":
                target = posixpath.normpath(posixpath.join("/", folder, element.get("Target", "")))
                yield element.get("Type", ""), element.get("Id", ""), target.lstrip("/")


def _without_value(text: Any) -> Iterator[str]:
    """Places of the cells that have a formula and no value."""
    for _, element in iterparse(text):
        tag = element.tag.rpartition("}")[2]
        if tag == "c":
            parts = {child.tag.rpartition("}")[2]: child.text for child in element}
            # An empty value is that of a formula which gives an empty text; of any other there is none.
            is_text = element.get("t") == "str" and "v" in parts
            if "f" in parts and not (parts.get("v") or is_text):
                yield element.get("r", "?")
        if tag in ("c", "row"):
            element.clear()


def _rows(book: Any, title: str, name: str) -> Iterator[tuple[int, list[Any]]]:
    """The rows that have a value, after their numbers."""
    try:
        sheet = book[title]
        # A sheet states its size; what it holds counts, not what it states.
        sheet.reset_dimensions()
        rows = sheet.iter_rows(values_only=True)
    except Exception as error:
        raise TableError(
            f"{name}: sheet {title!r} cannot be read: {_reason(error)}", "is it a table?"
        ) from None
    number = 0
    while True:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                several = list(islice(rows, _AT_ONCE))
        except Exception as error:
            raise TableError(
                f"{name}: sheet {title!r} cannot be read after row {number}: {_reason(error)}"
            ) from None
        if not several:
            return
        for row in several:
            number += 1
            if number > _MOST_ROWS:
                raise TableError(f"{name}: sheet {title!r} states more than {_MOST_ROWS:,} rows")
            if any(v is not None for v in row):
                yield number, list(row)


def _reason(error: Exception) -> str:
    return str(error).partition("\n")[0][:200] or type(error).__name__
