"""What the columns of a table are is worked out, and can be said instead."""

import numpy as np
import pyarrow as pa
import pytest
from samples import columns, inferred

from propriety.tables import TableError


def kinds(findings):
    return {c.name: c.kind for c in findings.columns.columns}


Y = ["no", "yes"] * 20


def test_kinds_are_worked_out():
    result = inferred({**columns(100), "y": Y * 2 + ["no", "yes"] * 10}, drop=("sick",))
    assert kinds(result) == {"age": "number", "color": "category", "size": "number", "when": "date"}
    assert result.left_out["same"] == "constant: 1"
    assert "identifier" in result.left_out["id"]
    assert result.missing_cells["size"] == 12
    assert result.target.positive == "yes"


def test_each_kind_can_be_said_instead():
    data = {"code": [1, 2, 3, 4] * 10, "text": [f"t{i}" for i in range(40)], "n": ["5", "x"] * 20, "y": Y}
    assert kinds(inferred(data, category=("code",), keep=("text",))) == {
        "code": "category",
        "text": "category",
        "n": "category",
    }
    assert kinds(inferred(data, missing=("x",)))["n"] == "number"
    with pytest.raises(TableError, match=r"'n' is not all numbers: 'x' in row 2"):
        inferred(data, number=("n",))
    with pytest.raises(TableError, match="not dates"):
        inferred(data, date=("text",))
    with pytest.raises(TableError, match=r"no column 'cod'; did you mean 'code'"):
        inferred(data, drop=("cod",))


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
    result = inferred(data)
    column = result.columns.columns[0]
    assert (column.kind, column.form) == ("date", form)
    frame, _ = result.columns.encode(pa.table({"when": pa.array(data["when"])}))
    assert frame.column("when.days").to_numpy().astype(int)[0] == 19795  # 2024-03-13
    assert frame.column("when.weekday").to_numpy()[0] == 3


def test_ambiguous_dates_are_pointed_out():
    result = inferred({"when": [f"0{1 + i % 9}/0{1 + i % 7}/2024" for i in range(40)], "y": Y})
    assert "fits as well" in result.warnings[0]
    stated = inferred(
        {"when": ["01/02/2024", "03/02/2024", "03/02/2024", "01/02/2024"] * 10, "y": Y},
        date=("when=%d/%m/%Y",),
    )
    assert stated.columns.columns[0].form == "%d/%m/%Y"
    assert not stated.warnings


def test_a_decimal_comma_is_seen():
    result = inferred({"x": ["1,5", "2,25", "-3", "4"] * 10, "y": Y})
    assert result.columns.decimal == ","
    frame, _ = result.columns.encode(pa.table({"x": ["1,5", "7"]}))
    assert frame.column("x").to_pylist() == [1.5, 7.0]


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
    result = inferred({name: values, "x": [1, 2, 3, 4] * 10, "y": Y})
    assert reason in result.left_out[name]


@pytest.mark.parametrize(
    "values",
    [np.arange(40) % 2 * 100 + np.arange(40), ["red", "blue"] * 20],
    ids=["a number", "a category"],
)
def test_a_column_that_tells_the_target_is_pointed_out(values):
    result = inferred({"leak": values, "x": [1, 2, 3, 4] * 10, "y": Y})
    assert "'leak' alone nearly determines the target" in result.warnings[0]
    harmless = {"x": [1, 2, 2, 1] * 10, "noise": ["a", "b", "b", "a"] * 10}
    assert not inferred({**harmless, "y": Y}).warnings
