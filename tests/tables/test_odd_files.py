"""Files that are odd but good are read whole; those that are bad or hostile are refused with what to do."""

import bz2
import gzip
import io
import json
import re
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from propriety.tables import TableError, limits, open_source

ROWS = {"age": ["31", "44"], "color": ["red", "blue"]}


def read(path, data, **options):
    path.write_bytes(data)
    return open_source(str(path), **options).read().to_pydict()


# --- headers and encodings ----------------------------------------------------------------------------

TEXT = "age,color\n31,red\n44,blue\n"
HEADERS = {
    "a blank line before": b"\n" + TEXT.encode(),
    "blank lines of Windows before": b"\r\n \r\n" + TEXT.encode(),
    "a line of commas before": b",\n" + TEXT.encode(),
    "a blank line after": TEXT.replace("color\n", "color\n\n").encode(),
    "CR ends": TEXT.replace("\n", "\r").encode(),
    "CR LF ends": TEXT.replace("\n", "\r\n").encode(),
    "UTF-32": TEXT.encode("utf-32"),
    "UTF-32, big end first": b"\0\0\xfe\xff" + TEXT.encode("utf-32-be"),
    "UTF-16, CR ends": TEXT.replace("\n", "\r").encode("utf-16"),
    "a hint for Excel": b"sep=;\n" + TEXT.replace(",", ";").encode(),
}


@pytest.mark.parametrize("name", HEADERS)
def test_the_header_is_found_and_no_row_is_lost(name, tmp_path):
    assert read(tmp_path / "t.csv", HEADERS[name]) == ROWS


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["a\nge", "a\r\nge", 'a"g"\re', "\u2028age", "a\x0bge"])
def test_a_quoted_name_may_hold_line_ends_and_quotes(name, end, tmp_path):
    quoted = name.replace('"', '""')
    data = f'"{quoted}",color{end}31,red{end}44,blue{end}'.encode()
    assert read(tmp_path / "t.csv", data) == {name.strip(): ROWS["age"], "color": ROWS["color"]}


def test_a_header_may_be_long(tmp_path):
    names = [f"a column with the number {i}" for i in range(9000)]
    data = ",".join(names) + "\n" + ",".join(map(str, range(9000))) + "\n"
    assert len(",".join(names)) > 3 * (1 << 16)
    assert read(tmp_path / "t.csv", data.encode()) == {n: [str(i)] for i, n in enumerate(names)}


def test_rows_are_counted_from_the_first_line(tmp_path):
    with pytest.raises(TableError, match="row 5 has 1 fields and the header 2"):
        read(tmp_path / "t.csv", b'\n"a\nb",c\n1,2\n3\n')


@pytest.mark.parametrize("data", [b'"a,b\n1,2\n', b'"a,b\n' + b"1,2\n" * 60_000])
def test_a_quote_that_is_not_closed_in_the_header_is_pointed_out(data, tmp_path):
    with pytest.raises(TableError, match="quote that is not closed"):
        read(tmp_path / "t.csv", data)


@pytest.mark.parametrize("encoding", ["hex", "rot13", "undefined", "a\0b", "no such"])
def test_what_is_no_encoding_is_refused(encoding, tmp_path):
    with pytest.raises(TableError, match=r"no encoding|is not undefined text"):
        read(tmp_path / "t.csv", TEXT.encode(), encoding=encoding)


# --- Excel --------------------------------------------------------------------------------------------


def excel(rows, change=lambda text: text):
    """A sheet with these rows; `change` is made in its XML."""
    book, buffer, changed = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(buffer)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            text = old.read(member).decode()
            new.writestr(member, change(text) if member.endswith("sheet1.xml") else text)
    return changed.getvalue()


@pytest.mark.parametrize("stated", ["A1", "A1:A2", "A1:B2", "A1:XFD1048576", "B2:B2"])
def test_the_size_that_a_sheet_states_is_not_trusted(stated, tmp_path):
    data = excel(
        [["age", "color"], [31, "red"], [44, "blue"]],
        lambda text: re.sub('<dimension ref="[^"]*"', f'<dimension ref="{stated}"', text),
    )
    assert read(tmp_path / "t.xlsx", data) == ROWS


def test_a_row_number_without_end_is_refused(tmp_path):
    data = excel([["a"], [1]], lambda text: text.replace('<row r="2"', '<row r="99999999999"'))
    with pytest.raises(TableError, match="more than 1,048,576 rows"):
        read(tmp_path / "t.xlsx", data)


def test_a_long_row_is_named_with_its_number_in_the_sheet(tmp_path):
    with pytest.raises(TableError, match="row 4 has 3 cells and the first 2"):
        read(tmp_path / "t.xlsx", excel([["a", "b"], [None], [1, 2], [1, 2, 3]]))


def with_value(text, value, kind=""):
    """The formulas of a sheet with a value of a kind."""
    return re.sub(r"<c r=\"(\w+)\"><f>(.*?)</f><v ?/?>(</v>)?", rf'<c r="\1"{kind}><f>\2</f>{value}', text)


@pytest.mark.parametrize("change", [str, lambda text: with_value(text, "")], ids=["empty", "not there"])
@pytest.mark.parametrize("piece", [4, 1 << 20])
def test_a_formula_without_its_value_is_named(piece, change, tmp_path, monkeypatch):
    monkeypatch.setattr("propriety.tables.excel._PIECE", piece)
    data = excel([["age", "color"], [31, "red"], ["=A2+13", "blue"]], change)
    with pytest.raises(TableError, match=r"cell A3 of sheet 'Sheet' holds a formula and no value.*save"):
        read(tmp_path / "t.xlsx", data)


def test_a_formula_with_its_value_is_read(tmp_path):
    rows = [["age", "color"], [31, "red"], ["=A2+13", "blue"]]
    data = excel(rows, lambda text: with_value(text, "<v>44</v>"))
    assert read(tmp_path / "t.xlsx", data) == ROWS
    data = excel(rows, lambda text: with_value(text, "<v></v>", ' t="str"'))  # an empty text
    assert read(tmp_path / "t.xlsx", data) == {"age": ["31", None], "color": ["red", "blue"]}


# --- JSON ---------------------------------------------------------------------------------------------

BAD_JSON = {
    "a huge integer": ('{"a": 1}\n{"a": ' + "9" * 5000 + "}", "line 2 is not JSON"),
    "deep nesting": ('{"a": 1}\n{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "line 2 is nested too deeply"),
    "half of a pair": ('{"a": "x"}\n{"a": "\\ud800"}', "line 2 has half of a surrogate pair"),
    "half of a pair in a key": ('{"\\uDfff": 1}', "line 1 has half of a surrogate pair"),
    "an array of numbers": ("[1, 2]", "item 1 of the array is not an object"),
    "an array with half of a pair": ('[{"a": 1}, {"a": "\\udead"}]', "item 2 of the array has half"),
    "an array that is cut off": ('[{"a": 1}, {"a"', "the array is not JSON"),
    "an empty array": ("[]", "holds no objects"),
    "no keys": ("{}\n{}", "objects without keys"),
    "an object over several lines": ('{\n"a": 1\n}', r"line 1 is not JSON.*one \{…\} a line"),
}


@pytest.mark.parametrize("name", BAD_JSON)
def test_bad_json_is_named_with_the_place(name, tmp_path):
    text, message = BAD_JSON[name]
    with pytest.raises(TableError, match=message):
        read(tmp_path / "t.json", text.encode())


def test_a_large_integer_keeps_its_digits(tmp_path):
    assert read(tmp_path / "t.jsonl", b'{"a": 1' + b"0" * 400 + b"}") == {"a": ["1" + "0" * 400]}


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.csv", "t"])
@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_objects_is_a_table(name, indent, tmp_path):
    rows = [{"age": 31, "color": "red"}, {"age": 44, "color": "blue"}]
    for encoding in ("utf-8", "utf-8-sig"):
        assert read(tmp_path / name, json.dumps(rows, indent=indent).encode(encoding)) == ROWS


def test_feather_of_version_1_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(TableError, match=r"version 1.*write it again"):
        read(tmp_path / "t.feather", b"FEA1" + bytes(40) + b"FEA1")


# --- files that unpack to far more than they are ------------------------------------------------------


def parquet(table, **options):
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue().to_pybytes()


def arrow(table, new=pa.ipc.new_file):
    buffer = pa.BufferOutputStream()
    with new(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue().to_pybytes()


def zipped(data):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", data)
    return buffer.getvalue()


LONG = pa.array(["x" * 10_000] * 2_000)
MANY = b"a,b\n" + b"0,0\n" * 500_000
BOMBS = {
    "t.csv.gz": lambda: gzip.compress(MANY),
    "t.csv.bz2": lambda: bz2.compress(MANY),
    "t.csv.zst": lambda: pa.compress(MANY, "zstd", asbytes=True),
    "t.zip": lambda: zipped(MANY),
    "t.xlsx": lambda: excel([["a"], [1]], lambda text: text + " " * 2_000_000),
    "t.parquet": lambda: parquet(pa.table({"a": pa.repeat(0, 1_000_000)})),
    "t.arrow": lambda: arrow(pa.table({"a": pa.nulls(1_000_000)})),
    "text.parquet": lambda: parquet(pa.table({"a": LONG})),
    "lists.parquet": lambda: parquet(pa.table({"a": pa.array([["x" * 10_000] * 20] * 100)})),
    "fixed.parquet": lambda: parquet(pa.table({"a": pa.array([b"x" * 10_000] * 2_000, pa.binary(10_000))})),
    "text.arrow": lambda: arrow(pa.table({"a": LONG.dictionary_encode()})),
    "text.arrows": lambda: arrow(pa.table({"a": LONG.dictionary_encode()}), pa.ipc.new_stream),
    "t.parquet.gz": lambda: gzip.compress(parquet(pa.table({"a": pa.repeat(0, 1_000_000)}))),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_becomes_a_huge_table_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "FREE", 1 << 20)
    data = BOMBS[name]()
    factor = 100 if name != "t.parquet" or len(data) < 20_000 else 10
    with pytest.raises(
        TableError, match=rf"more than {factor} times its size; .*--max-expansion {10 * factor}"
    ):
        read(tmp_path / name, data, max_expansion=factor)
    read(tmp_path / name, data, max_expansion=1e6)


@pytest.mark.skipif(not hasattr(pa, "string_view"), reason="this pyarrow has no views")
def test_views_of_one_text_count_once_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "FREE", 1 << 20)
    text = pa.py_buffer(b"x" * 10_000)
    view = np.array(
        [10_000, int.from_bytes(b"xxxx", "little"), 0, 0], np.int32
    )  # length, prefix, buffer, place
    views = pa.Array.from_buffers(pa.string_view(), 2_000, [None, pa.py_buffer(np.tile(view, 2_000)), text])
    data = arrow(pa.table({"a": views}))
    assert len(data) < 100_000
    with pytest.raises(TableError, match="more than 100 times its size"):
        read(tmp_path / "t.arrow", data, max_expansion=100)
    assert read(tmp_path / "t.arrow", data, max_expansion=1e6) == {"a": LONG.to_pylist()}


@pytest.mark.parametrize("name", BOMBS)
def test_up_to_a_gigabyte_nothing_is_refused(name, tmp_path):
    assert read(tmp_path / name, BOMBS[name]())
