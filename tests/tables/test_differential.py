"""The same table by several writers, read by us and by pandas or polars: the same rows, names and gaps."""

import csv
import io
import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather

from propriety.tables import open_source

NAMES = ["whole", "part", "text", "odd, name", "a\nb"]
ROWS = [
    [1, 0.5, "plain", "x", "é"],
    [-2, 1e-7, "comma, quote \" and 'apostrophe'", "", "ü"],
    [30, 1234567.25, "two\nlines", "=1", "ñ"],
    [None, None, None, None, None],
    [4, -0.25, "semi;colon|bar\ttab", " lead", "ß"],
]
#: Every cell as text; a missing one is empty in text files.
TEXT = [["" if v is None else f"{v:g}" if v == 1e-7 else str(v) for v in row] for row in ROWS]


def ours(path, data, **options):
    """The table as we read it: names, and rows of text with an empty one for what is missing."""
    path.write_bytes(data)
    table = open_source(str(path), **options).read()
    return table.column_names, [
        ["" if v is None else str(v) for v in row.values()] for row in table.to_pylist()
    ]


def as_numbers(rows):
    """Rows with every number in one way of writing it."""

    def number(text):
        try:
            return float(text)
        except ValueError:
            return text

    return [[number(v) for v in row] for row in rows]


# --- text ---------------------------------------------------------------------------------------------


def written(delimiter=",", end="\n", quoting=csv.QUOTE_MINIMAL, rows=TEXT, names=NAMES):
    buffer = io.StringIO(newline="")
    # The writer quotes the line ends that are its own, and no others.
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\r\n", quoting=quoting)
    lengths = [writer.writerow(row) for row in (names, *rows)]
    text, lines = buffer.getvalue(), []
    for length in lengths:
        lines.append(text[: length - 2] + end)
        text = text[length:]
    return "".join(lines)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
def test_csv_of_every_dialect(encoding, end, delimiter, quoting, tmp_path):
    text = written(delimiter, end, quoting)
    told = {"encoding": encoding} if encoding == "cp1252" else {}
    names, rows = ours(tmp_path / "t.csv", text.encode(encoding), **told)
    assert (names, rows) == (NAMES, TEXT)
    frame = pd.read_csv(
        tmp_path / "t.csv",
        sep=delimiter,
        encoding=encoding,
        dtype=str,
        keep_default_na=False,
        engine="python",
    )
    # Line ends in quoted cells are made one by pandas.
    assert [list(frame.columns), *frame.to_numpy().tolist()] == [names, *rows]


def by_pandas(buffer, **options):
    frame = pd.DataFrame(ROWS, columns=NAMES).astype({"whole": "Int64"})
    frame.to_csv(buffer, index=False, **options)


def by_arrow(buffer):
    columns = [pa.array(list(column)) for column in zip(*ROWS, strict=True)]
    pacsv.write_csv(pa.table(columns, names=NAMES), buffer)


CSV_WRITERS = {
    "pandas": by_pandas,
    "pandas, quoted": lambda b: by_pandas(b, quoting=csv.QUOTE_ALL),
    "pandas, tabs": lambda b: by_pandas(b, sep="\t"),
    "polars": lambda b: pl.DataFrame(ROWS, NAMES, orient="row").write_csv(b),
    "polars, quoted": lambda b: pl.DataFrame(ROWS, NAMES, orient="row").write_csv(b, quote_style="always"),
    "pyarrow": by_arrow,
}


@pytest.mark.parametrize("name", CSV_WRITERS)
def test_csv_of_every_writer(name, tmp_path):
    buffer = io.BytesIO()
    CSV_WRITERS[name](buffer)
    names, rows = ours(tmp_path / "t.csv", buffer.getvalue())
    assert (names, as_numbers(rows)) == (NAMES, as_numbers(TEXT))


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=5),
    names=st.lists(CELLS, min_size=2, max_size=2, unique_by=str.strip),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
)
def test_any_text_in_quotes_comes_back(rows, names, end, delimiter, tmp_path):
    header = ["first", *(f"{i}{name}" for i, name in enumerate(names))]
    text = written(delimiter, end, csv.QUOTE_ALL, rows, header)
    assert ours(tmp_path / "t.csv", text.encode(), delimiter=delimiter) == ([n.strip() for n in header], rows)


# --- formats with types -------------------------------------------------------------------------------

ARROW = pa.table([pa.array(list(column)) for column in zip(*ROWS, strict=True)], names=NAMES)
PANDAS = pd.DataFrame(ROWS, columns=NAMES).astype({"whole": "Int64"})
POLARS = pl.DataFrame(ROWS, NAMES, orient="row")
RECORDS = [dict(zip(NAMES, row, strict=True)) for row in ROWS]


def stream(buffer):
    with pa.ipc.new_stream(buffer, ARROW.schema) as writer:
        writer.write_table(ARROW)


WRITERS = {
    "pandas.parquet": lambda b: PANDAS.to_parquet(b, index=False),
    "polars.parquet": lambda b: POLARS.write_parquet(b),
    "pyarrow.parquet": lambda b: pq.write_table(ARROW, b, row_group_size=2, compression="gzip"),
    "plain.parquet": lambda b: pq.write_table(ARROW, b, use_dictionary=False, version="1.0"),
    "pandas.feather": lambda b: PANDAS.to_feather(b),
    "polars.arrow": lambda b: POLARS.write_ipc(b, compression="zstd"),
    "polars.arrows": lambda b: POLARS.write_ipc_stream(b),
    "pyarrow.feather": lambda b: feather.write_feather(ARROW, b, compression="lz4"),
    "pyarrow.arrows": stream,
    "pandas.jsonl": lambda b: b.write(PANDAS.to_json(orient="records", lines=True).encode()),
    "pandas.json": lambda b: b.write(PANDAS.to_json(orient="records", indent=1).encode()),
    "polars.ndjson": lambda b: POLARS.write_ndjson(b),
    "polars.json": lambda b: POLARS.write_json(b),
    "escaped.jsonl": lambda b: b.write("\r\n".join(map(json.dumps, RECORDS)).encode()),
    "wide.jsonl": lambda b: b.write("\n".join(map(json.dumps, RECORDS)).encode("utf-16")),
    "pandas.xlsx": lambda b: PANDAS.replace("=1", "'=1").to_excel(b, index=False),
}


@pytest.mark.parametrize("name", WRITERS)
def test_formats_with_types_of_every_writer(name, tmp_path):
    buffer = io.BytesIO()
    WRITERS[name](buffer)
    names, rows = ours(tmp_path / name, buffer.getvalue())
    expected = TEXT
    if name.endswith("xlsx"):  # a formula has no value until Excel computes it, and a row of nothing is none
        expected = [[v.replace("=1", "'=1") for v in row] for row in TEXT if any(row)]
    assert (names, as_numbers(rows)) == (NAMES, as_numbers(expected))


@pytest.mark.parametrize("name", ["pyarrow.parquet", "polars.arrow", "polars.ndjson"])
def test_polars_reads_the_same(name, tmp_path):
    with (tmp_path / name).open("wb") as file:
        WRITERS[name](file)
    read = {"parquet": pl.read_parquet, "arrow": pl.read_ipc, "ndjson": pl.read_ndjson}[name.split(".")[1]]
    frame = read(tmp_path / name)
    theirs = [["" if v is None else str(v) for v in row] for row in frame.rows()]
    names, rows = ours(tmp_path / name, (tmp_path / name).read_bytes())
    assert (names, as_numbers(rows)) == (frame.columns, as_numbers(theirs))
