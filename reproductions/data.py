"""The papers' data sets: files of the UCI repository, read as they are published."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Where files are looked for after ``--data``.
VARIABLE = "PROPRIETY_DATA"
PUBLISHED = "https://archive.ics.uci.edu"
_MISSING = ("?", "")
_MISPRINTS = 0.001  # share of cells of a column of numbers that may be something else


class MissingData(Exception):
    """A file that is not there: the message says what it is and where it is published."""


@dataclass(frozen=True)
class DataSet:
    """A data set as it is in its files.

    Attributes
    ----------
    cells : tuple of tuples of str
        Rows without the target and without columns to be ignored (identifiers, other targets).
    labels : array of str
    columns : tuple of int
        Which column of the file each is.
    part : array of int
        Which of its files a row is of, for sets that are published in two.
    """

    name: str
    cells: tuple[tuple[str, ...], ...]
    labels: NDArray[np.str_]
    columns: tuple[int, ...]
    part: NDArray[np.intp]

    def is_one_of(self, labels: Iterable[str]) -> NDArray[np.intp]:
        """Labels 0 and 1: 1 for those given."""
        return np.isin(self.labels, list(labels)).astype(np.intp)

    def column(self, j: int) -> list[str | None]:
        """A column, None for what is missing."""
        return [None if row[j] in _MISSING else row[j] for row in self.cells]

    def numbers(self) -> NDArray[np.float64]:
        """All columns as numbers, NaN for what is missing or is none."""
        return np.column_stack([_numbers(self.column(j))[0] for j in range(len(self.columns))])

    def table(self) -> Any:
        """A pyarrow table: columns of numbers, and of categories where a column has none."""
        import pyarrow as pa

        arrays = {}
        for j, number in enumerate(self.columns):
            texts = self.column(j)
            values, failed = _numbers(texts)
            numeric = failed <= _MISPRINTS * len(texts)
            arrays[f"c{number}"] = (
                pa.array(values) if numeric else pa.array(texts, pa.string()).dictionary_encode()
            )
        return pa.table(arrays)


def _numbers(texts: Sequence[str | None]) -> tuple[NDArray[np.float64], int]:
    """Numbers, NaN where there is none, and how many texts were something else."""
    values, failed = np.full(len(texts), np.nan), 0
    for i, text in enumerate(texts):
        if text is not None:
            try:
                values[i] = float(text)
            except ValueError:
                failed += 1
    return values, failed


@dataclass(frozen=True)
class _Entry:
    """How a data set is published: its files, how they are written, rows of each, the target's column."""

    name: str
    files: tuple[str, ...]
    format: str
    rows: tuple[int, ...]
    target: int
    ignored: frozenset[int]


@cache
def catalogue() -> dict[str, _Entry]:
    """The data sets that can be read, by name."""
    text = Path(__file__).with_name("sets.csv").read_text(encoding="utf-8")
    return {
        line["name"]: _Entry(
            line["name"],
            tuple(line["files"].split(";")),
            line["format"],
            tuple(int(rows) for rows in line["rows"].split()),
            int(line["target"]),
            frozenset(int(column) for column in line["ignored"].split()),
        )
        for line in csv.DictReader(text.splitlines())
    }


@dataclass(frozen=True)
class Data:
    """The folders in which the files of the data sets are looked for."""

    folders: tuple[Path, ...]

    @classmethod
    def found(cls, given: str | Path | None = None) -> Data:
        """A folder that is given, then that of the environment variable."""
        places = [given, os.environ.get(VARIABLE)]
        return cls(tuple(Path(place) for place in places if place))

    def available(self, least: int = 0, most: int | None = None) -> list[str]:
        """Data sets whose files are all there, with at least `least` and at most `most` rows."""
        return [
            entry.name
            for entry in catalogue().values()
            if sum(entry.rows) >= least and (most is None or sum(entry.rows) <= most) and self.has(entry.name)
        ]

    def has(self, name: str) -> bool:
        """Whether the files of a data set are there."""
        return all(self._path(file) is not None for file in catalogue()[name].files)

    def load(self, name: str, target: int | None = None, ignored: Iterable[int] | None = None) -> DataSet:
        """A data set; if a file is not there, `MissingData` says which.

        `target` and `ignored` are columns of the file, in the place of those of the catalogue. Two sets come
        with scikit-learn, and need no file.
        """
        entry = catalogue()[name]
        labelled = entry.target if target is None else target
        left_out = {labelled, *(entry.ignored if ignored is None else ignored)}
        rows: list[list[str]] = []
        part: list[int] = []
        for number, (file, expected) in enumerate(zip(entry.files, entry.rows, strict=True)):
            path = self._path(file)
            if path is None and name in _PACKAGED:
                rows, part = _packaged(name), [0] * expected
                break
            if path is None:
                looked = ", ".join(str(folder) for folder in self.folders) or "no folder"
                raise MissingData(
                    f"{file} is not in {looked}: the data set {name!r}, {sum(entry.rows):,} rows, published "
                    f"at {PUBLISHED}; give its folder with --data or in ${VARIABLE}"
                )
            read = _READERS[entry.format](_lines(path), expected)
            if len(read) != expected:
                raise MissingData(
                    f"{path} has {len(read):,} rows, and {name!r} has {expected:,}: another file"
                )
            rows += read
            part += [number] * len(read)
        kept = [j for j in range(len(rows[0])) if j not in left_out]
        labels = np.array([row[labelled].rstrip(".") for row in rows])
        cells = tuple(tuple(row[j] for j in kept) for row in rows)
        return DataSet(name, cells, labels, tuple(kept), np.array(part))

    def _path(self, file: str) -> Path | None:
        """A file, perhaps compressed."""
        paths = (folder / name for folder in self.folders for name in (file, f"{file}.gz"))
        return next((path for path in paths if path.is_file()), None)


#: Sets of scikit-learn that are the repository's value by value, each with its function, its labels, the
#: column of the target and what stands before the first column.
_PACKAGED = {
    "wdbc": ("load_breast_cancer", ("M", "B"), 1, [""]),
    "wine": ("load_wine", ("1", "2", "3"), 13, []),
}


def _packaged(name: str) -> list[list[str]]:
    """Rows as they are in the file."""
    from sklearn import datasets

    function, labels, target, before = _PACKAGED[name]
    X, y = getattr(datasets, function)(return_X_y=True)
    rows = [[*before, *(repr(value) for value in row.tolist())] for row in X]
    for row, label in zip(rows, y, strict=True):
        row.insert(target, labels[label])
    return rows


# -- files, as they are written -----------------------------------------------------------------------------


def _lines(path: Path) -> list[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="latin-1") as file:
        return [line for line in file.read().splitlines() if line.strip()]


def _last(lines: list[str], expected: int) -> list[str]:
    """The rows: some copies of a file have lines above them."""
    return lines[max(0, len(lines) - expected) :]


def _comma(lines: list[str], expected: int) -> list[list[str]]:
    content = _last([line for line in lines if not line.startswith("|")], expected)
    rows = [[cell.strip() for cell in row] for row in csv.reader(content, skipinitialspace=True)]
    # One row of the echocardiograms has an empty field too many, in front.
    width = min(len(row) for row in rows)
    return [row[len(row) - width :] for row in rows]


def _tab(lines: list[str], expected: int) -> list[list[str]]:
    return [line.split("\t") for line in _last(lines, expected)]


def _space(lines: list[str], expected: int) -> list[list[str]]:
    return [line.split() for line in _last(lines, expected)]


def _list(lines: list[str], expected: int) -> list[list[str]]:
    return [line.strip().strip("()").split() for line in _last(lines, expected)]


def _sequence(lines: list[str], expected: int) -> list[list[str]]:
    """A class, a name and letters, each of which is a column."""
    rows = (line.split(",") for line in _last(lines, expected))
    return [[label, name.strip(), *letters.strip()] for label, name, letters in rows]


def _arff(lines: list[str], expected: int) -> list[list[str]]:
    start = next(i for i, line in enumerate(lines) if line.strip().lower().startswith("@data"))
    content = [line.strip() for line in lines[start + 1 :] if not line.lstrip().startswith("%")]
    rows = csv.reader(content, quotechar="'", skipinitialspace=True)
    return [[cell.strip().strip("'") for cell in row] for row in rows]


_READERS = {
    "arff": _arff,
    "comma": _comma,
    "list": _list,
    "sequence": _sequence,
    "space": _space,
    "tab": _tab,
}
