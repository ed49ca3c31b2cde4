"""Text that is cut into pieces and parsed by threads is the same table as when it is read from end to end."""

from __future__ import annotations

import csv
import io
import random

import pyarrow as pa
import pytest

from propriety.tables import TableError, open_source, sources
from propriety.tables.text_files import Pieces

PLAIN = ["1", "-2.5", "", "north", "é"]
QUOTED = [*PLAIN, '"a, b"', '"two\nlines"', '""', '"x\r\ny"']
ODD = [*QUOTED[:-1], '"say ""no"""', '5" pipe', '"a"b', ' "c"']


def rows_of(cells, seed, n=300):
    rng = random.Random(seed)
    return [[rng.choice(cells) for _ in range(3)] for _ in range(n)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [64, 100, 257, 4096])
@pytest.mark.parametrize("cells", [PLAIN, QUOTED, ODD], ids=["plain", "quoted", "odd"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "not ended"])
def test_pieces_are_whole_rows(cells, size, end, last):
    text = end.join(",".join(row) for row in rows_of(cells, size)) + end * last
    data = text.encode()
    pieces = Pieces(io.BytesIO(data), size, ",")
    cut = list(pieces)
    assert len(cut) > 1 or pieces.rest is not None or size > 1000
    left = b"" if pieces.rest is None else pieces.rest.read()
    assert b"".join(cut) + left == data
    if cells is not ODD:
        assert pieces.rest is None
    whole = list(csv.reader(io.StringIO(text, newline="")))
    parts = [row for piece in [*cut, left] for row in csv.reader(io.StringIO(piece.decode(), newline=""))]
    if cells is not ODD:  # whose quotes Python takes otherwise
        assert parts == whole


@pytest.mark.parametrize("cells", [PLAIN, QUOTED, ODD], ids=["plain", "quoted", "odd"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_tables_do_not_depend_on_pieces(cells, n_jobs, tmp_path):
    path = tmp_path / "t.csv"
    rows = [*rows_of(PLAIN, 1, 100), *rows_of(cells, 2, 2000)]
    path.write_text("a,b,c\n" + "\n".join(",".join(row) for row in rows), newline="")
    whole = open_source(str(path)).read().to_pydict()
    assert len(whole["a"]) == 2100
    with open_source(str(path), chunk_bytes=512, n_jobs=n_jobs) as source:
        parts = list(source.chunks)
    assert len(parts) > 20
    assert pa.concat_tables(parts).to_pydict() == whole


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("quote", ['"b"', '"b""c"'], ids=["in pieces", "from end to end"])
def test_a_short_row_is_told_with_its_number(n_jobs, quote, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + f"1,{quote}\n" * 500 + "2\n" + "3,4\n" * 500)
    with pytest.raises(TableError, match="row 502 has 1 fields and the header 2: '2'"):
        open_source(str(path), chunk_bytes=256, n_jobs=n_jobs).read()


def test_numbers_of_a_training_table_are_one_array(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_ROWS", 100)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i / 8},{'xyz'[i % 3]}\n" for i in range(1000)))
    source = open_source(str(path), chunk_bytes=256)
    assert source.numbers.ask({"b"}, [""])
    table = source.read()
    assert table.column("a").num_chunks == 1
    assert 5 < table.column("b").num_chunks <= 10
    assert table.column("a").to_pylist() == [i / 8 for i in range(1000)]
    assert table.column("b").to_pylist() == ["xyz"[i % 3] for i in range(1000)]


def test_blank_lines_may_fill_a_piece(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n" + "\n" * 1000 + "3,4\n")
    assert open_source(str(path), chunk_bytes=128).read().to_pydict() == {"a": ["1", "3"], "b": ["2", "4"]}
