"""What predict writes: types as they were read, links and permissions as they were, whole or not at all."""

import csv
import io
import json
import os
import signal
import stat
import subprocess
import sys
import time

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from running import as_json, run
from samples import columns, text, write

import propriety
from propriety.storage.atomic import atomically

N = 30
MORE = {
    "whole": list(range(-3, N - 3)),
    "part": [i / 8 for i in range(N)],
    "code": [f"{i:03}" for i in range(N)],
    "price": [f"{i}.50" for i in range(N)],
    "long": ["12345678901234567890"] * N,
    "truth": [("true", "false")[i % 2] for i in range(N)],
    "word": ["nan", "inf"] * (N // 2),
    "gaps": [i if i % 3 else "" for i in range(N)],
    "late": [*range(N - 1), "x"],
}
TYPED = {
    "whole": MORE["whole"],
    "part": MORE["part"],
    "code": MORE["code"],
    "price": MORE["price"],
    "long": MORE["long"],
    "truth": [value == "true" for value in MORE["truth"]],
    "word": MORE["word"],
    "gaps": [value if value != "" else None for value in MORE["gaps"]],
    "late": [str(value) for value in MORE["late"]],
}


def written(path):
    """The columns of a file with types."""
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        return {name: [row[name] for row in rows] for name in rows[0]}
    table = pq.read_table(path) if path.suffix == ".parquet" else feather.read_table(path)
    return table.to_pydict()


# --- types --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl"])
@pytest.mark.parametrize("chunk", ["0", "8"])
def test_numbers_of_a_csv_are_numbers_where_no_letter_is_lost(folder, tmp_path, ending, chunk):
    table = write(tmp_path / "t.csv", columns(N) | MORE)
    out = tmp_path / f"s.{ending}"
    run("predict", folder / "linear.propriety", table, "--out", out, "--chunk-mb", chunk)
    result = written(out)
    assert {name: result[name] for name in TYPED} == TYPED
    assert [type(v) for v in result["part"]] == [float] * N
    assert result["age"] == columns(N)["age"]
    assert list(result) == [*columns(N), *MORE, "probability", "decision", "expected_cost"]
    assert sorted(f.name for f in tmp_path.iterdir()) == sorted(["t.csv", out.name])


def test_a_type_is_of_all_pieces_and_not_of_the_first(folder, tmp_path):
    many = {name: values * 400 for name, values in (columns(N) | {"late": MORE["whole"]}).items()}
    many["late"][-1] = "x"
    table = write(tmp_path / "t.csv", many)
    with propriety.tables.open_source(str(table), chunk_bytes=4096) as source:
        assert len(list(source.chunks)) > 20
    run("predict", folder / "linear.propriety", table, "--out", tmp_path / "s.parquet", "--chunk-mb", "0")
    assert written(tmp_path / "s.parquet")["late"] == [str(v) for v in many["late"]]


def test_text_of_json_and_excel_stays_text_and_their_numbers_stay_numbers(folder, tmp_path):
    data = columns(N) | {
        "digits": [str(i) for i in range(N)],
        "whole": MORE["whole"],
        "truth": TYPED["truth"],
        "part": MORE["part"],
    }
    rows = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    book = openpyxl.Workbook()
    book.active.append(list(data))
    for row in rows:
        book.active.append(list(row.values()))
    book.save(tmp_path / "t.xlsx")
    for name in ("t.jsonl", "t.xlsx"):
        for ending in ("parquet", "jsonl"):
            run("predict", folder / "linear.propriety", tmp_path / name, "--out", tmp_path / f"s.{ending}")
            result = written(tmp_path / f"s.{ending}")
            assert {key: result[key] for key in data} == data


def test_types_that_a_file_states_are_kept(folder, tmp_path):
    data = columns(N)
    table = pa.table(
        {name: pa.array(values) for name, values in data.items()}
        | {
            "narrow": pa.array(range(N), pa.int8()),
            "digits": pa.array([str(i) for i in range(N)]),
            "category": pa.array(["a", "b"] * (N // 2)).dictionary_encode(),
            "bad": pa.array([float("nan"), 1.0] * (N // 2)),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=7)
    run("predict", folder / "linear.propriety", tmp_path / "t.parquet", "--out", tmp_path / "s.arrow")
    result = feather.read_table(tmp_path / "s.arrow")
    assert result.schema.field("narrow").type == pa.int8()
    assert result.column("digits").to_pylist() == [str(i) for i in range(N)]
    assert result.column("category").to_pylist() == ["a", "b"] * (N // 2)
    run("predict", folder / "linear.propriety", tmp_path / "t.parquet", "--out", tmp_path / "s.jsonl")
    assert written(tmp_path / "s.jsonl")["bad"] == [None, 1.0] * (N // 2)


def test_a_column_that_the_format_cannot_hold_is_an_error_with_what_to_do(folder, tmp_path):
    table = pa.table({name: pa.array(values) for name, values in columns(N).items()} | {"list": [[1]] * N})
    pq.write_table(table, tmp_path / "t.parquet")
    result = run(
        "predict",
        folder / "linear.propriety",
        tmp_path / "t.parquet",
        "--out",
        tmp_path / "s.csv",
        code=3,
    )
    assert "--only-scores" in result.stderr
    assert not (tmp_path / "s.csv").exists()


# --- formulas -----------------------------------------------------------------------------------------

FORMULAS = ["=1+1", "+cmd|'x'!A", "-2+3", "@SUM(A1)", "\t=1", "\r=1"]
PLAIN = ["-3", "+4.5", "-1e-5", "-3,5", "a=b", "-0", ".5", "'=1"]


def test_formulas_are_left_alone_unless_asked_and_numbers_always(folder, tmp_path):
    cells = (FORMULAS + PLAIN) * 3
    data = columns(len(cells)) | {"=note": cells}
    table = tmp_path / "t.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(data)
        writer.writerows(zip(*data.values(), strict=True))

    def notes(*more):
        run("predict", folder / "linear.propriety", table, "--out", tmp_path / "s.csv", *more)
        with (tmp_path / "s.csv").open(newline="") as file:
            head, *rows = csv.reader(file)
        place = next(i for i, name in enumerate(head) if "note" in name)
        return head[place], [row[place] for row in rows]

    assert notes() == ("=note", cells)
    assert notes("--spreadsheet-safe") == ("'=note", (["'" + f for f in FORMULAS] + PLAIN) * 3)
    shown = run("predict", folder / "linear.propriety", table, "--spreadsheet-safe").stdout
    assert "'=1+1" in shown
    result = run(
        "predict",
        folder / "linear.propriety",
        table,
        "--spreadsheet-safe",
        "--out",
        tmp_path / "s.parquet",
        code=2,
    )
    assert "--spreadsheet-safe is for CSV" in result.stderr


# --- files that are there already ---------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="links need permission")
def test_a_link_stays_and_its_file_is_written(folder, tmp_path):
    (tmp_path / "real").mkdir()
    file = tmp_path / "real" / "s.csv"
    file.write_text("old")
    file.chmod(0o600)
    link, dangling = tmp_path / "s.csv", tmp_path / "new.csv"
    link.symlink_to(file)
    dangling.symlink_to(tmp_path / "real" / "new.csv")
    for path in (link, dangling):
        run("predict", folder / "linear.propriety", folder / "t.csv", "--out", path)
        assert path.is_symlink()
        assert "probability" in path.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    model = tmp_path / "m.propriety"
    model.symlink_to(tmp_path / "real" / "m.propriety")
    propriety.load(folder / "linear.propriety").save(model)
    assert model.is_symlink()
    assert propriety.load(tmp_path / "real" / "m.propriety").target.name == "sick"
    assert sorted(f.name for f in (tmp_path / "real").iterdir()) == ["m.propriety", "new.csv", "s.csv"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_what_is_no_plain_file_is_refused_and_stays(folder, tmp_path):
    loop, pipe = tmp_path / "loop.csv", tmp_path / "pipe.csv"
    loop.symlink_to(loop)
    os.mkfifo(pipe)
    for path in (loop, pipe):
        run("predict", folder / "linear.propriety", folder / "t.csv", "--out", path, code=5)
    with pytest.raises(OSError, match="plain file"), atomically(pipe):
        pass
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["loop.csv", "pipe.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_termination_leaves_nothing_behind(folder, tmp_path, ending):
    out = tmp_path / f"s.{ending}"
    arguments = [
        "predict",
        folder / "linear.propriety",
        "-",
        "--out",
        out,
        "--chunk-mb",
        "0",
        "--only-scores",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "propriety", *map(str, arguments)], stdin=subprocess.PIPE, cwd=tmp_path
    )
    try:
        # Enough for some pieces, and no end.
        process.stdin.write(text({k: v * 200 for k, v in columns().items()}).encode())
        process.stdin.flush()
        deadline = time.monotonic() + 120
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert list(tmp_path.iterdir()) != []
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
    assert list(tmp_path.iterdir()) == []


#: One SIGTERM in a bad moment, repeated sooner than usual.
BAD_MOMENTS = """
import ctypes, operator, os, signal, sys, time
from collections import deque
from functools import partial

import pyarrow as pa
from pyarrow import csv

from propriety.cli import commands

commands._AGAIN, commands._TIMES = 0.05, 40


def before_a_read():
    # Both are called by one instruction, so that no handler is called between them.
    kill = partial(ctypes.CDLL(None).kill, os.getpid(), signal.SIGTERM)
    deque(map(operator.call, (kill, partial(sys.stdin.buffer.read, 1))), maxlen=0)


class Ending:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)


def in_a_destructor():
    Ending()
    sys.stdin.buffer.read(1)


class Named:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGTERM)


def as_a_class_is_made():
    type("Made", (), {"name": Named()})


def in_a_library():
    print("waits", flush=True)
    csv.open_csv(pa.PythonFile(sys.stdin.buffer, "r"))


def while_cleaning_up():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        time.sleep(0.05 * 60)


with commands.ending_in_order():
    try:
        globals()[sys.argv[1]]()
    finally:
        print("cleaned up", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM")
@pytest.mark.parametrize(
    ("moment", "told"),
    [
        ("before_a_read", {"cleaned up"}),
        ("in_a_destructor", {"cleaned up"}),
        ("as_a_class_is_made", {"cleaned up"}),
        ("while_cleaning_up", {"cleaned up"}),
        ("in_a_library", {"", "cleaned up"}),  # where it has not yet begun to wait there
    ],
)
def test_one_signal_is_enough_in_a_bad_moment(moment, told):
    with subprocess.Popen(
        [sys.executable, "-c", BAD_MOMENTS, moment], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            if moment == "in_a_library":
                process.stdout.readline()
                process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 143
            assert process.stdout.read().strip() in told
        finally:
            process.kill()


# --- what comes from a table is shown harmlessly ------------------------------------------------------

EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\x7f[red]:bomb:"


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """A table with control characters in names, labels and categories, and a model of it."""
    place = tmp_path_factory.mktemp("evil")
    data = columns()
    data = {
        "age" + EVIL: data["age"],
        "color": [c + EVIL for c in data["color"]],
        "constant" + EVIL: [EVIL] * len(data["age"]),
        "sick" + EVIL: [s + EVIL for s in data["sick"]],
    }
    return write(place / "t.csv", data), place / "m.propriety"


def assert_harmless(shown):
    unseen = {c for c in shown if not c.isprintable() and c != "\n"}
    assert unseen == set()


def test_nothing_of_a_table_reaches_the_terminal_as_it_is(evil, tmp_path):
    table, model = evil
    fitted = run("fit", table, "--target", "sick" + EVIL, "--model", "tree", "--folds", "2", "--save", model)
    wrong = run("fit", table, "--target", "sick" + EVIL + "s", code=3)
    twice = run("fit", "-", "--target", "a", code=3, input=f"a,{EVIL},{EVIL}\n1,2,3\n")
    explained = run("explain", model, table, "--row", "2")
    described = run("explain", model)
    data = columns(20)
    new = {"age" + EVIL: data["age"], "color": [EVIL] * 20}
    predicted = run("predict", model, write(tmp_path / "n.csv", new), "--out", tmp_path / "s.csv")
    for result in (fitted, wrong, twice, explained, described, predicted):
        assert_harmless(result.stdout + result.stderr)
    assert "[red]:bomb:" in "".join(fitted.stdout.split())
    document = run("explain", model, table, "--json").stdout
    assert_harmless(document)
    assert "age" + EVIL in json.loads(document)["contributions"]


def test_rows_on_a_terminal_are_harmless_and_in_a_pipe_they_are_exact(evil, monkeypatch):
    from propriety.cli.writing import open_sink

    class Standard(io.TextIOWrapper):
        looked_at = True

        def isatty(self):
            return self.looked_at

    def shown(looked_at):
        standard = Standard(io.BytesIO(), encoding="utf-8")
        standard.looked_at = looked_at
        monkeypatch.setattr(sys, "stdout", standard)
        with open_sink(None) as put:
            put(pa.table({"é" + EVIL: [EVIL, "ü"]}))
        return standard.buffer.getvalue().decode()

    assert_harmless(shown(True))
    assert "é\\x1b[2J" in shown(True)
    assert shown(False) == f'"é{EVIL}"\n"{EVIL}"\n"ü"\n'


# --- bad tables, for machines -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    ['{"a": ' + "9" * 5000 + "}", '{"a": ' + "[" * 100_000 + "}", '{"a": "\\ud800"}', '{"\\ud800": 1}'],
)
def test_json_that_cannot_be_read_is_an_error_document(line, tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1, "sick": "yes"}\n' + line + "\n")
    for arguments in (("fit", tmp_path / "t.jsonl", "--target", "sick"),):
        assert "line 2" in as_json(*arguments, code=3)["error"]
        assert "line 2" in " ".join(run(*arguments, code=3).stderr.split())
