"""Every format gives the same table; damaged and odd files are named with the place."""

import bz2
import gzip
import io
import json
import lzma
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from tables import columns, text

from propriety.tables import TableError, infer, open_source
from propriety.tables.conversion import as_text

DATA = columns(30)
TEXT = text(DATA)


def arrow(data=DATA):
    return pa.table({name: pa.array(values) for name, values in data.items()})


def excel():
    book = openpyxl.Workbook()
    book.active.append(list(DATA))
    for row in zip(*DATA.values(), strict=True):
        book.active.append(list(row))
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def zipped():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("inner.tsv", text(DATA, "\t"))
    return buffer.getvalue()


def written(write):
    buffer = pa.BufferOutputStream()
    write(buffer)
    return buffer.getvalue().to_pybytes()


def stream(buffer):
    with pa.ipc.new_stream(buffer, arrow().schema) as writer:
        writer.write_table(arrow())


def json_lines():
    rows = [dict(zip(DATA, row, strict=True)) for row in zip(*DATA.values(), strict=True)]
    return "\n".join(map(json.dumps, rows)).encode()


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True)


FILES = {
    "t.csv": TEXT.encode,
    "t.tsv": lambda: text(DATA, "\t").encode(),
    "t.txt": lambda: text(DATA, "|").encode(),
    "semicolons.csv": lambda: text(DATA, ";").encode(),
    "marked.csv": lambda: TEXT.encode("utf-8-sig"),
    "wide.csv": lambda: TEXT.encode("utf-16"),
    "t.csv.gz": lambda: gzip.compress(TEXT.encode()),
    "t.csv.bz2": lambda: bz2.compress(TEXT.encode()),
    "t.csv.xz": lambda: lzma.compress(TEXT.encode()),
    "t.csv.zst": lambda: zstd(TEXT.encode()),
    "t.zip": zipped,
    "t.parquet": lambda: written(lambda b: pq.write_table(arrow(), b)),
    "t.parquet.gz": lambda: gzip.compress(written(lambda b: pq.write_table(arrow(), b))),
    "t.feather": lambda: written(lambda b: feather.write_feather(arrow(), b)),
    "t.arrows": lambda: written(stream),
    "t.xlsx": excel,
    "t.jsonl": json_lines,
    "t.jsonl.gz": lambda: gzip.compress(json_lines()),
}


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_rows(name, tmp_path, monkeypatch):
    data = FILES[name]()
    (tmp_path / name).write_bytes(data)
    expected = {key: [str(v) for v in values] for key, values in DATA.items()}

    def read(path):
        table = open_source(path).read()
        return {key: as_text(table.column(key)).to_pylist() for key in table.column_names}

    assert read(str(tmp_path / name)) == expected
    # The same from standard input, without a name to tell the format.
    if name != "t.zip":

        class Standard:
            buffer = io.BufferedReader(io.BytesIO(data))

        monkeypatch.setattr("sys.stdin", Standard())
        assert read("-") == expected


def test_chunks_are_small_and_types_do_not_depend_on_them(tmp_path):
    values = ["1"] * 5000 + ["x"]
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{v},{i}\n" for i, v in enumerate(values)))
    with open_source(str(tmp_path / "t.csv"), chunk_bytes=4096) as source:
        pieces = list(source.chunks)
    assert len(pieces) > 5
    assert {piece.schema for piece in pieces} == {pieces[0].schema}
    assert pa.concat_tables(pieces).column("a").to_pylist() == values


BAD = {
    "empty": (b"", {}, "is empty"),
    "blank": (b"\n\n", {}, "is empty"),
    "no rows": (b"a,b\n", {}, "a header and no rows"),
    "ragged": (b"a,b\n1,2\n3\n4,5\n", {}, r"row 3 has 1 fields and the header 2: '3'"),
    "ragged, too long": (b"a,b\n1,2\n3,4,5\n", {}, r"row 3 has 3 fields and the header 2"),
    "latin": ("a,b\n1,2\n3,café\n".encode("cp1252"), {}, r"byte 0xE9 in line 3"),
    "binary": (bytes(range(256)) * 4, {}, "binary data"),
    "no such encoding": (b"a,b\n1,2\n", {"encoding": "klingon"}, "no encoding 'klingon'"),
    "twice the same name": (b"a,a\n1,2\n", {}, "more than one column called 'a'"),
    "no header": (b"1.5,2,3\n4,5,6\n", {}, "holds numbers and no names"),
    "unclosed quote": (b'a,b\n1,"2\n' + b"3,4\n" * 2000, {"chunk_bytes": 1024}, "quote|cannot be read"),
    "half of a gzip": (gzip.compress(TEXT.encode() * 50)[:400], {}, "cannot be|unpacked"),
    "half of a parquet": (FILES["t.parquet"]()[:300], {}, "cannot be read as parquet"),
    "half of an arrow file": (FILES["t.feather"]()[:300], {}, "cannot be read as arrow"),
    "no json": (b'{"a": 1}\n{"a": \n', {}, "line 2 is not JSON"),
    "json, no object": (b'{"a": 1}\n[2]\n', {}, "line 2 is not an object"),
    "no such format": (b"a,b\n1,2\n", {"format": "sas"}, "no format 'sas'"),
    "no such sheet": (excel(), {"sheet": "Z"}, "no sheet 'Z'"),
    "an archive that is no table": (zipped()[:60], {}, "cannot be read as excel"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_with_the_place(name, tmp_path):
    data, options, message = BAD[name]
    (tmp_path / "t").write_bytes(data)
    with pytest.raises(TableError, match=message):
        open_source(str(tmp_path / "t"), **options).read()


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    with pytest.raises(TableError, match="is a folder"):
        open_source(str(tmp_path))
    with pytest.raises(TableError, match="no file"):
        open_source(str(tmp_path / "t.csv"))


def test_other_encodings_and_headless_files_are_read_when_told(tmp_path):
    (tmp_path / "t.csv").write_bytes("1,café\n2,thé\n".encode("cp1252"))
    table = open_source(str(tmp_path / "t.csv"), encoding="cp1252", header=False).read()
    assert table.to_pydict() == {"column_1": ["1", "2"], "column_2": ["café", "thé"]}


# --- what the columns are -----------------------------------------------------------------------------


def found(data, target="y", **options):
    from propriety.tables import Overrides

    positive = options.pop("positive", None)
    strings = {
        k: pa.array([None if v is None else str(v) for v in vs], pa.string()) for k, vs in data.items()
    }
    return infer(pa.table(strings), target, positive=positive, overrides=Overrides(**options))


def kinds(findings):
    return {c.name: c.kind for c in findings.columns.columns}


Y = ["no", "yes"] * 20


def test_kinds_are_worked_out():
    result = found({**columns(100), "y": Y * 2 + ["no", "yes"] * 10}, drop=("sick",))
    assert kinds(result) == {"age": "number", "color": "category", "size": "number", "when": "date"}
    assert result.left_out["same"] == "constant: 1"
    assert "identifier" in result.left_out["id"]
    assert result.missing_cells["size"] == 12
    assert result.target.positive == "yes"


def test_each_kind_can_be_said_instead():
    data = {"code": [1, 2, 3, 4] * 10, "text": [f"t{i}" for i in range(40)], "n": ["5", "x"] * 20, "y": Y}
    assert kinds(found(data, category=("code",), keep=("text",))) == {
        "code": "category",
        "text": "category",
        "n": "category",
    }
    assert kinds(found(data, missing=("x",)))["n"] == "number"
    with pytest.raises(TableError, match=r"'n' is not all numbers: 'x' in row 2"):
        found(data, number=("n",))
    with pytest.raises(TableError, match="no dates"):
        found(data, date=("text",))
    with pytest.raises(TableError, match=r"no column 'cod'; did you mean 'code'"):
        found(data, drop=("cod",))


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("2024-03-{d}", "iso"),
        ("2024-03-{d} 07:30", "iso"),
        ("2024-03-{d}T07:30:00Z", "iso with zone"),
        ("{d}.03.2024", "%d.%m.%Y"),
        ("03/{d}/2024", "%m/%d/%Y"),
        ("{d}/03/2024", "%d/%m/%Y"),
        ("{d}/03/2024 08:15", "%d/%m/%Y %H:%M"),
        ("{d} Mar 2024", "%d %b %Y"),
    ],
)
def test_dates_become_parts(value, form):
    data = {"when": [value.format(d=13 + i % 15) for i in range(40)], "y": Y}
    result = found(data)
    column = result.columns.columns[0]
    assert (column.kind, column.form) == ("date", form)
    frame, _ = result.columns.encode(pa.table({"when": pa.array(data["when"])}))
    assert frame.column("when.days").to_numpy().astype(int)[0] == 19795  # 2024-03-13
    assert frame.column("when.weekday").to_numpy()[0] == 3


def test_ambiguous_dates_are_pointed_out():
    result = found({"when": [f"0{1 + i % 9}/0{1 + i % 7}/2024" for i in range(40)], "y": Y})
    assert "fits as well" in result.warnings[0]
    said = found(
        {"when": ["01/02/2024", "03/02/2024", "03/02/2024", "01/02/2024"] * 10, "y": Y},
        date=("when=%d/%m/%Y",),
    )
    assert said.columns.columns[0].form == "%d/%m/%Y"
    assert not said.warnings


def test_a_decimal_comma_is_seen():
    result = found({"x": ["1,5", "2,25", "-3", "4"] * 10, "y": Y})
    assert result.columns.decimal == ","
    frame, _ = result.columns.encode(pa.table({"x": ["1,5", "7"]}))
    assert frame.column("x").to_pylist() == [1.5, 7.0]


@pytest.mark.parametrize(
    ("labels", "positive", "because"),
    [
        (["0", "1"], "1", "by its name"),
        (["1", "2"], "1", "by its name"),
        (["2", "4"], "4", "the larger number"),
        (["malignant", "benign"], "malignant", "by its name"),
        (["alive", "gone"], "gone", "by the other's name"),
        (["False", "True"], "True", "by its name"),
        (["left", "left", "right"], "right", "the rarer one"),
        ([">50K", "<=50K", "<=50K"], ">50K", "the rarer one"),
    ],
)
def test_the_positive_class_is_worked_out(labels, positive, because):
    data = {"x": list(range(30)), "y": [labels[i % len(labels)] for i in range(30)]}
    target = found(data, keep=("x",)).target
    assert (target.positive, target.because) == (positive, because)


def test_rows_without_a_label_are_left_out_and_three_classes_need_a_word():
    data = {"x": list(range(40)), "y": ["a", "b", "c", None] * 10}
    with pytest.raises(
        TableError, match=r"3 different values: 'a' \(10\), 'b' \(10\), 'c' \(10\).*--positive"
    ):
        found(data, keep=("x",))
    result = found(data, positive="b", keep=("x",))
    assert result.target.negatives == ("a", "c")
    assert len(result.rows) == 30
    assert result.positive.sum() == 10
    assert "10 rows without a value" in result.notes[0]


USELESS = {
    "counter": (list(range(100, 140)), "counts the rows, from 100 to 139"),
    "customer_id": ([7 * i + i % 3 for i in range(40)], "an identifier"),
    "note": ([f"free text {i}" for i in range(40)], "an identifier or free text"),
    "empty": ([None] * 40, "no value in any row"),
    "marked": (["NA"] * 40, "no value in any row"),
    "constant": (["x"] * 40, "constant: 'x'"),
}


@pytest.mark.parametrize("name", USELESS)
def test_useless_columns_are_left_out_with_the_reason(name):
    values, reason = USELESS[name]
    result = found({name: values, "x": [1, 2, 3, 4] * 10, "y": Y})
    assert reason in result.left_out[name]


@pytest.mark.parametrize(
    "values",
    [np.arange(40) % 2 * 100 + np.arange(40), ["red", "blue"] * 20],
    ids=["a number", "a category"],
)
def test_a_column_that_tells_the_target_is_pointed_out(values):
    result = found({"leak": values, "x": [1, 2, 3, 4] * 10, "y": Y})
    assert "'leak' alone nearly tells the target" in result.warnings[0]
    harmless = {"x": [1, 2, 2, 1] * 10, "noise": ["a", "b", "b", "a"] * 10}
    assert not found({**harmless, "y": Y}).warnings
