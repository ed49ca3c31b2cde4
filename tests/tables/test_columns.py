"""Columns are read from any later table as they were from the first."""

import pyarrow as pa
import pytest

from propriety.tables import Column, Columns, TableError

COLUMNS = Columns(
    (
        Column("age", "number"),
        Column("color", "category", ("blue", "red")),
        Column("when", "date", form="%d.%m.%Y", parts=("days", "weekday")),
    ),
    missing=("", "na"),
    decimal=",",
)
GOOD = {"age": ["1,5", "NA"], "color": ["red", " blue "], "when": ["02.01.1970", "so"]}


def test_every_kind_is_encoded_and_what_is_no_date_is_missing_and_counted():
    frame, unknown = COLUMNS.encode(pa.table(GOOD))
    assert frame.column_names == list(COLUMNS.features) == ["age", "color", "when.days", "when.weekday"]
    assert frame.column("age").to_pylist() == [1.5, None]
    assert frame.column("color").to_pylist() == ["red", "blue"]
    assert frame.column("when.days").to_pylist() == [1.0, None]
    assert frame.column("when.weekday").to_pylist() == [5.0, None]
    assert unknown == {"when": 1}


def test_features_know_their_column():
    assert COLUMNS.owners == (0, 1, 2, 2)
    assert COLUMNS.names == ("age", "color", "when")


def test_unknown_categories_are_counted_and_missing():
    frame, unknown = COLUMNS.encode(pa.table({**GOOD, "color": ["violet", "red"]}))
    assert unknown == {"color": 1, "when": 1}
    assert frame.column("color").to_pylist() == [None, "red"]


def test_other_columns_are_named_and_any_order_will_do():
    names = ["when", "extra", "color", "age"]
    assert COLUMNS.check(names) == ["extra"]
    table = pa.table({**GOOD, "extra": [1, 2]}).select(names)
    assert COLUMNS.encode(table)[0].equals(COLUMNS.encode(pa.table(GOOD))[0])


@pytest.mark.parametrize(("values", "expected"), [([9, 4, 9], [9.0, 4.0, 9.0]), ([True, False], [1.0, 0.0])])
def test_numbers_in_dictionaries_are_numbers_and_no_marker_of_a_missing_value(values, expected):
    encoded = pa.table({"age": pa.array(values).dictionary_encode()})
    frame, _ = Columns((Column("age", "number"),), missing=("", "9")).encode(encoded)
    assert frame.column("age").to_pylist() == expected


def test_numbers_of_any_type_are_floats():
    table = pa.table({"x": pa.array([1, None, 3], pa.int8())})
    frame, _ = Columns((Column("x", "number"),), ("",)).encode(table)
    assert frame.schema.field("x").type == pa.float64()
    assert frame.column("x").to_pylist() == [1.0, None, 3.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": ["1,5", "old"]}, "'age' holds 'old' in row 12, which is not a number"),
        ({"age": [[1], [2]]}, "'age' holds values of type list"),
    ],
)
def test_a_cell_that_does_not_fit_is_named(change, message):
    with pytest.raises(TableError, match=message):
        COLUMNS.encode(pa.table({**GOOD, **change}), first_row=11)


def test_a_column_that_is_lacking_is_named_with_the_nearest():
    with pytest.raises(TableError, match="no column 'age'; did you mean 'Age'"):
        COLUMNS.check(["Age", "color", "when"])
    with pytest.raises(TableError, match="lacks 2 columns that the model was fitted with: 'age', 'color'"):
        COLUMNS.check(["when"])
