"""Every format gives the same table; damaged and odd files are named with the place."""

import bz2
import gzip
import io
import json
import lzma
import zipfile

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from samples import columns, text

from propriety.tables import TableError, open_source
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
