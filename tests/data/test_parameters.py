"""Parameters: each error names the parameter, what it must be and what it was."""

import numpy as np
import pytest

from propriety.data.parameters import choice, monotone_signs, number
from propriety.data.table import Schema


@pytest.mark.parametrize("value", [True, "3", None, np.nan, np.inf, -1, 11, 2.5, 0])
def test_a_number_out_of_range_is_refused(value):
    with pytest.raises(ValueError, match=r"n must be a whole number above 0 and at most 10, got"):
        number("n", value, 0, 10, whole=True, above=True)


def test_numbers_of_numpy_are_numbers():
    assert number("n", np.int64(3), 0, whole=True) == 3
    assert number("x", np.float32(0.5), 0) == 0.5


def test_a_choice_is_one_of_the_words():
    assert choice("step", "newton", ("fisher", "newton")) == "newton"
    with pytest.raises(ValueError, match=r"step must be one of \['fisher'\], got 3"):
        choice("step", 3, ("fisher",))


def test_signs_by_list_and_by_name():
    schema = Schema((None, ("a", "b"), None), ("x", "kind", "z"))
    assert monotone_signs([1, 0, -1], schema).tolist() == [1, 0, -1]
    assert monotone_signs({"z": 1}, schema).tolist() == [0, 0, 1]
    for cst, message in (
        ([1], "has shape"),
        ({"kind": 1}, "categorical"),
        ({"x": 2}, "must hold -1, 0 or 1"),
        ({"y": 1}, "no column 'y'"),
    ):
        with pytest.raises(ValueError, match=message):
            monotone_signs(cst, schema)
