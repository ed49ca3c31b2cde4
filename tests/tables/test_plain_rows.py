"""Plain rows are read as Arrow reads them, and rows that are not plain are left to Arrow."""

import numpy as np
import pyarrow as pa
import pytest

from propriety.engine.compiling import COMPILED
from propriety.tables import formats, open_source
from propriety.tables.conversion import MISSING
from propriety.tables.plain_rows import plain_rows

TEXT = pa.dictionary(pa.int32(), pa.string())
KINDS = {"x": pa.float64(), "c": TEXT, "z": pa.float64()}
RNG = np.random.default_rng(0)
NUMBERS = ["0", "-0", "7", "007", ".5", "5.", "-.25e2", "1E5", "1e+22", "1e-22", "123456789012345", "0.1"]
NUMBERS += ["9007199254740.93", "4.35", "-2.5e-07", "1e15", "3e-21", ""]
NUMBERS += [f"{v:.6g}" for v in RNG.normal(size=2000) * 10.0 ** RNG.integers(-6, 7, 2000)]
NUMBERS += [f"{v:.14e}" for v in RNG.normal(size=500) * 10.0 ** RNG.integers(-3, 7, 500)]
OTHERS = ("?", "NA", "nan", "inf", "+1", "1e", "1e+", "-", ".", "1.2.3", "0x1", "1_0", " 1", "1 ")
LONG = ("1234567890123456", "0.1234567890123456", "1e0001", "1e400", "1e-30")

compiled = pytest.mark.skipif(not COMPILED, reason="is not used where nothing is compiled")


def by_arrow(text, delimiter=",", missing=MISSING):
    return formats._Parsing(delimiter, KINDS, missing).piece((0, text))


def rows(*lines, end="\n"):
    return "".join(line + end for line in lines).encode()


@compiled
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_plain_rows_are_those_of_arrow_to_the_last_bit(delimiter, end):
    words = ["", "a", "naïve", "NA", " b ", "0"]
    lines = [delimiter.join((x, words[i % 6], NUMBERS[-1 - i])) for i, x in enumerate(NUMBERS)]
    text = rows(*lines, end=end)
    ours, theirs = plain_rows(text, delimiter, KINDS), by_arrow(text, delimiter)
    ours.validate(full=True)
    assert ours.schema == theirs.schema
    assert ours.equals(theirs)
    for name in ("x", "z"):
        bits = [np.nan_to_num(t.column(name).to_numpy(), nan=1.5).view(np.int64) for t in (ours, theirs)]
        assert np.array_equal(*bits)


@pytest.mark.parametrize("cell", [*OTHERS, *LONG])
def test_other_cells_are_left_to_arrow(cell):
    assert plain_rows(rows("1,a,2", f"{cell},b,3"), ",", KINDS) is None
    assert plain_rows(rows("1,a,2", f"1,b,{cell}"), ",", KINDS) is None


@pytest.mark.parametrize(
    "text",
    [
        rows("1,a"),
        rows("1,a,2,3"),
        rows("1,a,2", "", "3,b,4"),
        rows("1,a,2")[:-1],
        rows('1,"a",2'),
        rows("1,a,2", end="\r"),
        b"1,a,2\r3,b,4\n",
        b"",
    ],
)
def test_other_rows_are_left_to_arrow(text):
    assert plain_rows(text, ",", KINDS) is None


def test_a_delimiter_that_may_be_in_a_number_is_left_to_arrow():
    assert plain_rows(b"1-a-2\n", "-", KINDS) is None


@pytest.fixture
def large(tmp_path):
    """A file of many pieces: plain ones and, in its middle, rows that are not."""
    path = tmp_path / "large.csv"
    plain = ["1.5,a,2", ",b,999", "-3e2,a,"] * 3000
    path.write_text("\n".join(["x,c,z", *plain, "?,c,0.12345678901234567", *plain]) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("missing", [MISSING, ("", "?", "999")])
def test_a_file_reads_the_same_with_plain_rows_and_without(large, missing, monkeypatch):
    used, tables = [], []

    def counted(*args):
        used.append(plain_rows(*args))
        return used[-1]

    monkeypatch.setattr("propriety.tables.plain_rows.plain_rows", counted)
    for many in (10**9, 2):
        monkeypatch.setattr(formats, "_MANY", many)
        with open_source(large, chunk_bytes=4096, n_jobs=2) as source:
            assert source.numbers.ask((), missing)
            tables.append(source.read())
        assert bool(used) == (many == 2 and "999" not in missing)
    assert tables[0].equals(tables[1])
    if used and COMPILED:
        assert sum(table is None for table in used) == 1  # what is not plain is read by Arrow alone
