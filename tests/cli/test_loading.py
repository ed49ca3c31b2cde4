"""Columns of text files that are read as numbers are what they are when all is read as text."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from propriety.cli import loading, options
from propriety.tables import Source, open_source

ROWS = 3_000  # more than the first rows that columns are guessed by


def texts(values):
    return [f"{v}" for v in values]


def table(**columns):
    """A CSV file of these columns of text, and a target."""
    columns["y"] = texts(np.arange(ROWS) % 2)
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    return "\n".join(lines) + "\n"


def mixed():
    rng = np.random.default_rng(0)
    plain = texts(rng.normal(size=ROWS).round(6))
    whole = texts(rng.integers(0, 99, ROWS))
    gaps = [["NA", "", "nan", "NaN", "?", " 7 ", "-", "1e3", "Null"][i % 9] for i in range(ROWS)]
    late = [*whole[:-1], "many"]  # begins with numbers, and is none
    codes = [f"{i % 7:03d}" for i in range(ROWS)]
    when = [f"2024-01-{1 + i % 28:02d}" for i in range(ROWS)]
    return table(plain=plain, whole=whole, gaps=gaps, late=late, codes=codes, when=when, empty=[""] * ROWS)


FILES = {
    "mixed": mixed(),
    "an odd marker": table(a=[*texts(range(ROWS - 1)), " NA "], b=texts(np.arange(ROWS) % 5)),
    "a late comma": table(a=[*texts(np.arange(ROWS - 1) % 5), '"1,5"'], b=texts(np.arange(ROWS) % 5)),
    "commas, and points later": table(a=['"1,5"', '"2,5"'] * (ROWS // 2), b=texts(np.arange(ROWS) / 4)),
    "commas alone": table(a=['"1,5"', '"2,5"'] * (ROWS // 2), b=texts(np.arange(ROWS) % 5)),
    "accents": table(a=texts(np.arange(ROWS) / 8), b=["é", "ü"] * (ROWS // 2)),
}


def load(path, asking=None, **meaning):
    given = options.Meaning(**meaning), "y", asking or options.Asking()
    return loading.load_table(str(path), options.Opening(), *given)


def as_text(monkeypatch):
    """Have no column read as numbers."""
    monkeypatch.setattr("propriety.tables.reading.Numbers.ask", lambda *_: False)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("meaning", [{}, {"missing": ["99"]}, {"category": ["b"]}, {"decimal": ","}])
def test_numbers_are_read_as_text_would_be(name, meaning, tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text(FILES[name])
    meaning = {k: v for k, v in meaning.items() if k != "category" or "b," in FILES[name]}
    fast = load(path, **meaning)
    as_text(monkeypatch)
    slow = load(path, **meaning)
    assert fast.findings.columns == slow.findings.columns
    assert fast.findings.left_out == slow.findings.left_out
    assert fast.findings.missing_cells == slow.findings.missing_cells
    assert fast.findings.notes == slow.findings.notes
    for column in slow.frame.column_names:
        a, b = (np.array(t.frame.column(column).to_pylist(), dtype=object) for t in (fast, slow))
        nothing = [np.array([v is None or str(v) == "nan" for v in values]) for values in (a, b)]
        np.testing.assert_array_equal(*nothing)
        np.testing.assert_array_equal(a[~nothing[0]], b[~nothing[1]])


def types_of(monkeypatch):
    """The types of the columns of each table that is read."""
    seen = []
    read = Source.read

    def noted(self):
        result = read(self)
        seen.append({field.name: str(field.type) for field in result.schema})
        return result

    monkeypatch.setattr(Source, "read", noted)
    return seen


def test_numbers_never_become_text(tmp_path, monkeypatch):
    seen = types_of(monkeypatch)
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(FILES["mixed"].encode()))
    asking = options.Asking(groups="codes", weights="whole", fn_cost="1 + plain*plain")
    load(path, asking)
    # `late` was read anew as text; groups, weights and costs are wanted as they are written.
    text = "dictionary<values=string, indices=int32, ordered=0>"
    names = ["plain", "whole", "late", "codes", "when", "empty", "y"]
    assert seen == [dict.fromkeys(names, text) | {"gaps": "double"}]
    load(path)
    assert [name for name, kind in seen[-1].items() if kind == "double"] == [
        "plain",
        "whole",
        "gaps",
        "codes",
    ]


def test_nothing_is_a_number_unless_asked(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(FILES["mixed"])
    with open_source(str(path)) as source:
        assert source.numbers.likely == ("plain", "whole", "gaps", "late", "codes", "y")
        assert {str(field.type) for field in source.read().schema} == {"string"}


@pytest.mark.parametrize("others", [texts(np.arange(4) / 8), ["a", "b", "a", "b"]])
def test_a_row_may_be_longer_than_a_chunk(others, tmp_path):
    path = tmp_path / "table.csv"
    notes = ["x" * (loading._CHUNK + 1), "y", "z", "y"]
    rows = [",".join(row) for row in zip(notes, others, "0101", strict=True)] * 5
    path.write_text("note,other,y\n" + "\n".join(rows) + "\n")
    read = load(path)
    assert read.frame.num_rows == 20
    assert [c.name for c in read.findings.columns.columns] == ["note", "other"]
