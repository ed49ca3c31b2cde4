"""Arithmetic of columns: what it says, and that nothing else is ever run."""

import numpy as np
import pytest

from propriety.tables.expressions import Expression, ExpressionError

VALUES = {"a": np.array([1.0, 4.0]), "b": np.array([2.0, 0.0]), "net price": np.array([10.0, 20.0])}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", [1, 4]),
        ("2 + 3 * a", [5, 14]),
        ("(2 + 3) * a", [5, 20]),
        ("a - b - 1", [-2, 3]),
        ("a − b", [-1, 4]),
        ("8 / a / 2", [4, 1]),
        ("-a + --b", [1, -4]),
        ("-(a + b) * 2", [-6, -8]),
        ('"net price" * 0.1', [1, 2]),
        ("`net price`*.5e1", [50, 100]),
        ("'net price' + +a", [11, 24]),
        ("1e1*a", [10, 40]),
    ],
)
def test_arithmetic_is_that_of_python(text, expected):
    np.testing.assert_allclose(Expression.parse(text)(VALUES), expected)


def test_a_quote_in_a_name_is_doubled():
    expression = Expression.parse("\"5\"\" pipe\" + 'it''s'")
    assert expression.columns == ('5" pipe', "it's")


@pytest.mark.parametrize("name", ["amount", "loan.amount", "grün_2", "credit amount", 'a "b"', "2nd", "x-y"])
def test_a_column_comes_back_from_its_own_text(name):
    text = Expression.of_column(name).text
    assert Expression.parse(text).columns == (name,)
    assert Expression.parse(text) == Expression.of_column(name)


def test_columns_are_named_once_in_order():
    assert Expression.parse("b*a + b/2").columns == ("b", "a")


def test_a_division_by_zero_is_not_finite_and_raises_nothing():
    np.testing.assert_array_equal(np.isfinite(Expression.parse("a / b")(VALUES)), [True, False])


@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "a +", "* a", "(a", "a)", "a b", "2 a", "a ** 2", "a // 2", "a % 2", "a, b", "f(a)", "a[0]",
        "a.b()", "__import__('os').system('x')", "lambda: a", "a if b else a", "a == b", "a; b", "'a",
        "1e999", "(" * 5000, "-" * 60 + "a", "a" * 2001, "$a", "a := 2",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text):
    with pytest.raises(ExpressionError, match=r"expression|column|lacking|too large|expected"):
        Expression.parse(text)
