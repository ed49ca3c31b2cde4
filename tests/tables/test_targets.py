"""The target: its labels, and which of them is positive."""

import pyarrow as pa
import pytest
from samples import inferred

from propriety.tables import TableError, Target, infer
from propriety.tables.targets import find_target, in_order


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
    target = inferred(data, keep=("x",)).target
    assert (target.positive, target.because) == (positive, because)


def test_rows_without_a_label_are_left_out_and_three_classes_need_a_word():
    data = {"x": list(range(40)), "y": ["a", "b", "c", None] * 10}
    with pytest.raises(
        TableError, match=r"3 different values: 'a' \(10\), 'b' \(10\), 'c' \(10\).*--positive"
    ):
        inferred(data, keep=("x",))
    result = inferred(data, positive="b", keep=("x",))
    assert result.target.negatives == ("a", "c")
    assert len(result.rows) == 30
    assert result.codes.sum() == 10
    assert "10 rows without a value" in result.notes[0]


def test_labels_are_read_as_text_whatever_they_are():
    target = Target("y", "1", ("0",))
    for values in ([1, 0, None], [1.0, 0.0, None], ["1", " 0 ", "NA"], [True, False, None]):
        expected = Target("y", "true", ("false",)) if values[0] is True else target
        codes, known = expected.codes(pa.array(values), ("", "na"))
        assert codes.tolist() == [1, 0, 0]
        assert known.tolist() == [True, True, False]


def test_a_dash_and_the_word_none_may_be_classes():
    target = find_target(pa.array(["-", "none", "none"]), "y", ("", "-", "none"), None)
    assert {target.positive, *target.negatives} == {"-", "none"}


def test_several_negatives_are_one_class():
    assert Target("y", "a", ("b", "c")).negative == "not a"
    assert Target("y", "a", ("b",)).negative == "b"


def test_labels_are_in_the_order_of_numbers():
    assert sorted(["10", "9", "b", "a", "-1.5"], key=in_order) == ["-1.5", "9", "10", "a", "b"]


@pytest.mark.parametrize(
    ("values", "positive", "message"),
    [
        ([None, None], None, "has no value in any row"),
        (["a", "a"], None, "only one class: all 2 rows are 'a'"),
        (["a", "b"], "c", r"never 'c'; its values are 'a' \(1\), 'b' \(1\)"),
        ([str(v) for v in range(30)], None, "is it a quantity"),
    ],
)
def test_a_target_of_no_use_is_refused_with_the_reason(values, positive, message):
    with pytest.raises(TableError, match=message):
        find_target(pa.array(values, pa.string()), "y", ("",), positive)


def test_three_labels_are_three_classes_if_they_may():
    array = pa.array(["b", "10", "9", None, "b"])
    target = find_target(array, "y", ("",), None, several=True)
    assert target.classes == target.several == ("9", "10", "b")
    codes, known = target.codes(array, ("",))
    assert codes.tolist() == [2, 1, 0, 0, 2]
    assert known.tolist() == [True, True, True, False, True]
    assert find_target(array, "y", ("",), "b", several=True).classes == ("not b", "b")
    assert find_target(pa.array(["no", "yes"]), "y", ("",), None, several=True).classes == ("no", "yes")


def test_a_leak_of_several_classes_tells_each_of_them():
    data = {"x": [i % 3 * 10 + i % 2 for i in range(60)], "y": ["abc"[i % 3] for i in range(60)]}
    data["one"] = [int(v == "a") + i % 2 / 9 for i, v in enumerate(data["y"])]
    strings = {k: pa.array([str(v) for v in vs]) for k, vs in data.items()}
    warnings = infer(pa.table(strings), "y", several=True).warnings
    # The middle one of three numbers is told by no order of them, a category tells all.
    assert warnings == []
    strings["name"] = pa.array([f"{v}!" for v in data["y"]])
    assert ["'name'" in w for w in infer(pa.table(strings), "y", several=True).warnings] == [True]
