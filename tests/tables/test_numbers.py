"""Columns of numbers in text files: the same as reading all as text, and told by name where they are none."""

import numpy as np
import pytest

from propriety.tables import open_source
from propriety.tables.conversion import MISSING, as_number
from propriety.tables.errors import LongRow, NotNumbers


def written(path, middle, n=3000):
    """A file of many pieces of plain rows, with others in its middle."""
    plain = ["1.5,a,2", ",b,999", "-3e2,a,"] * n
    path.write_text("\n".join(["x,c,z", *plain, *middle, *plain]) + "\n", encoding="utf-8")
    return str(path)


def read(path, missing=MISSING, numbers=True):
    with open_source(path, chunk_bytes=4096, n_jobs=2) as source:
        if numbers:
            assert source.numbers.ask((), missing)
        return source.read()


@pytest.mark.parametrize("missing", [MISSING, ("", "?", "999")])
@pytest.mark.parametrize(
    "middle",
    [["?,c,0.12345678901234567"], [" 7 ,c, +1.e-3 "], ['?,"c, and",1e308', '2,"a\nb",3'], ['1,say "so",2']],
    ids=["plain", "spaces", "quoted", "quotes inside"],
)
def test_numbers_are_those_of_the_text(tmp_path, missing, middle):
    path = written(tmp_path / "t.csv", middle)
    table, text = read(path, missing), read(path, numbers=False)
    assert table.column("c").to_pylist() == text.column("c").to_pylist()
    for name in ("x", "z"):
        assert str(table.schema.field(name).type) == "double"
        ours, theirs = table.column(name), as_number(text.column(name), missing)
        assert ours.null_count == theirs.null_count > 0
        np.testing.assert_array_equal(ours.to_numpy(), theirs.to_numpy())


@pytest.mark.parametrize("quotes", ["", 'say "so"'])
def test_a_value_that_is_no_number_is_told_with_its_column(tmp_path, quotes):
    path = written(tmp_path / "t.csv", [f"1,{quotes},2", "2,b,1999-12-31", "3,b,7"])
    with pytest.raises(NotNumbers, match="column 'z' holds '1999-12-31', which is not a number") as caught:
        read(path)
    assert (caught.value.column, caught.value.value) == ("z", "1999-12-31")


def test_a_row_that_is_longer_than_a_piece_is_told(tmp_path):
    path = written(tmp_path / "t.csv", ["1,so " + 'it "goes" on ' * 1000 + ",3"])
    with pytest.raises(LongRow, match="more than"):
        read(path)


def test_pieces_of_blank_lines_have_no_rows(tmp_path):
    path = written(tmp_path / "t.csv", [""] * 10_000)
    assert read(path).num_rows == 18_000
