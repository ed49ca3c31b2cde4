"""Costs as they are stated for a table."""

import numpy as np
import pyarrow as pa
import pytest

from propriety.tables import Columns, TableCosts, TableError
from propriety.tables.costs import read_matrix

NAMES = ["amount", "age", "credit amount"]
TABLE = pa.table({"amount": ["5", "20", "0"], "age": [1, 2, 3], "credit amount": [1.5, 2.5, 3.5]})
COLUMNS = Columns((), ("", "na"))
CLASSES = ("good", "bad")


def read(**texts):
    return TableCosts.read(texts, NAMES)


def test_terms_are_numbers_ranges_and_columns():
    costs = read(fp_cost="2*3", fn_cost="5..20", tp_benefit="credit amount", tn_benefit="age/2")
    assert costs.terms["fp_cost"] == 6
    assert costs.terms["fn_cost"] == (5, 20)
    assert costs.columns == ("credit amount", "age")
    assert costs.by_row
    assert costs.roughly
    assert costs.texts == {
        "fp_cost": "6",
        "fn_cost": "5..20",
        "tp_benefit": '"credit amount"',
        "tn_benefit": "age/2",
    }
    again = TableCosts.read(costs.texts, NAMES)
    assert dict(again.terms) == dict(costs.terms)


def test_costs_of_rows_are_those_of_the_columns():
    costs = read(fn_cost="amount", fp_cost="1 + 0.1*amount").costs(CLASSES, TABLE, COLUMNS)
    np.testing.assert_allclose(costs.fn_cost, [5, 20, 0])
    np.testing.assert_allclose(costs.fp_cost, [1.5, 3, 1])
    assert costs.positive == 1


def test_a_range_beside_columns_stands_for_its_mean():
    of_rows = read(fp_cost="amount", fn_cost="5..20").of_rows(TABLE, COLUMNS)
    np.testing.assert_allclose(of_rows["fn_cost"], [15 / np.log(4)] * 3)


def test_constants_are_parameters_of_an_estimator_and_come_back():
    costs = read(fp_cost="2", fn_cost="5..20")
    assert costs.parameters(CLASSES) == {"fp_cost": 2.0, "fn_cost": (5.0, 20.0)}
    assert not costs.by_row
    assert TableCosts.of_parameters(costs.parameters(CLASSES), CLASSES).texts == costs.texts


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"fn_cost": "-1"}, "fn_cost must be positive"),
        ({"fp_cost": "0"}, "fp_cost must be positive"),
        ({"fn_cost": "nan"}, "fn_cost must be positive and finite"),
        ({"fn_cost": "20..5"}, "must be a range low..high, the lower end first"),
        ({"fn_cost": "0..5"}, "fn_cost must have a lower end that is a finite number above 0"),
        ({"fn_cost": "amount..20"}, "a range of numbers"),
        ({"tp_benefit": "1..2"}, "ranges are for fp_cost and fn_cost"),
        ({"fn_cost": "amount +"}, "lacking at the end"),
        ({"fn_cost": "credit amoun"}, "did you mean 'credit amount'"),
        ({"fn_cost": "amout*2"}, "no column 'amout'; did you mean 'amount'"),
        ({"fp_cost": "1", "fn_cost": "0", "tn_benefit": "-5"}, "must be positive"),
    ],
)
def test_costs_that_cannot_be_meant_are_refused(texts, message):
    with pytest.raises(ValueError, match=message):
        read(**texts)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"amount": ["5", "-2"]}), "fn_cost = amount is negative in row 8"),
        (pa.table({"amount": ["5", "NA"]}), "fn_cost = amount is missing or not finite in row 8"),
        (pa.table({"amount": ["5", "much"]}), "need numbers in column 'amount': 'much' in row 8"),
        (pa.table({"Amount": ["5", "2"]}), "no column 'amount', which the costs need; did you mean 'Amount'"),
    ],
)
def test_a_row_without_a_cost_is_named(table, message):
    with pytest.raises(TableError, match=message):
        read(fn_cost="amount").of_rows(table, COLUMNS, rows=np.array([6, 7]))


# --- matrices -----------------------------------------------------------------------------------------


def matrix(rows, header=("", "a", "b", "c")):
    return pa.table([[row[j] for row in rows] for j in range(len(header))], names=list(header))


GOOD = [("a", "0", "1", "2"), ("b", "3", "0", "4"), ("c", "5", "6", "0")]


def test_a_matrix_is_read_by_its_labels_whatever_their_order():
    read = read_matrix(matrix(GOOD), "m.csv")
    swapped = read_matrix(matrix([GOOD[2], GOOD[0], GOOD[1]]), "m.csv")
    np.testing.assert_array_equal(read.ordered("abc"), [[0, 1, 2], [3, 0, 4], [5, 6, 0]])
    np.testing.assert_array_equal(swapped.ordered("abc"), read.ordered("abc"))
    np.testing.assert_array_equal(read.ordered("cab")[0], [0, 5, 6])
    assert not read.abstains


def test_the_column_of_abstaining_may_stand_anywhere():
    rows = [(row[0], "0.5", *row[1:]) for row in GOOD]
    read = read_matrix(matrix(rows, ("", "abstain", "a", "b", "c")), "m.csv")
    assert read.abstains
    np.testing.assert_array_equal(read.ordered("abc")[:, -1], [0.5] * 3)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (matrix(GOOD[:2]), "'c' is in one of them: 2 rows, 3 columns"),
        (matrix(GOOD, ("", "a", "b", "d")), "'c' is in one of them"),
        (matrix([*GOOD, GOOD[0]]), "each label once, got 'a'"),
        (matrix([("a", "0", "1", ""), *GOOD[1:]]), "deciding 'c' for 'a' is missing"),
        (matrix([("a", "0", "1", "-1"), *GOOD[1:]]), "deciding 'c' for 'a' is negative"),
        (matrix([("a", "0", "1", "x"), *GOOD[1:]]), "'x' in column 'c' is not a number"),
        (pa.table({"": ["a"], "a": ["0"]}), "two labels or more"),
    ],
)
def test_a_matrix_that_is_none_is_refused(table, message):
    with pytest.raises(TableError, match=message):
        read_matrix(table, "m.csv")


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (("a", "b", "d"), "the label 'c', which the target 'y' never has"),
        (("a", "b", "c", "d"), "for 3 classes and lacks 'd'"),
    ],
)
def test_a_matrix_for_other_classes_is_refused(classes, message):
    with pytest.raises(TableError, match=message):
        read_matrix(matrix(GOOD), "m.csv").check("y", classes)


def test_a_class_that_is_called_abstain_is_refused():
    rows = [("a", "0", "1"), ("abstain", "1", "0")]
    with pytest.raises(TableError, match="is in one of them"):
        read_matrix(matrix(rows, ("", "a", "abstain")), "m.csv")
