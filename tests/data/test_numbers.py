"""Features as numbers: filled, marked, scaled, and as indicators."""

import numpy as np
import pyarrow as pa
import pytest

from propriety.data.numbers import Numbers


def frame(**columns):
    return pa.table(
        {
            name: pa.array(values).dictionary_encode() if isinstance(values[0], str) else pa.array(values)
            for name, values in columns.items()
        }
    )


def test_numbers_are_filled_with_the_median_marked_and_scaled():
    training = frame(x=[1.0, None, 3.0, 100.0])
    numbers = Numbers.fit(training)
    assert [term.kind for term in numbers.terms] == ["value", "missing"]
    assert numbers.terms[0].fill == 3.0
    values = numbers(training)
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-12)
    assert values[:, 0].std() == pytest.approx(1)
    np.testing.assert_allclose(values[:, 1], [-0.25, 0.75, -0.25, -0.25])
    later = numbers(frame(x=[np.inf, 3.0]))
    assert later[0, 0] == later[1, 0]  # what is not finite is filled too


def test_categories_become_indicators_the_frequent_ones():
    numbers = Numbers.fit(frame(c=["b", "a", "b", "c"]))
    assert [term.level for term in numbers.terms] == ["b", "a", "c"]
    np.testing.assert_allclose(numbers(frame(c=["a"])), [[-0.5, 0.75, -0.25]])
    np.testing.assert_allclose(numbers(frame(c=["new"])), [[-0.5, -0.25, -0.25]])
    many = Numbers.fit(frame(c=[f"v{i % 70}" for i in range(300)]))
    assert len(many.terms) == 50


def test_constant_and_empty_features_have_no_term():
    training = frame(same=[2.0, 2.0], x=[1.0, 2.0])
    numbers = Numbers.fit(training)
    assert numbers.owners == (1,)
    none = Numbers.fit(frame(same=[2.0, 2.0]))
    assert none.terms == ()
    assert none.owners == (0,)
    assert none(frame(same=[2.0, 5.0])).tolist() == [[0.0], [0.0]]


def test_a_row_of_weight_k_counts_as_k_rows():
    rows = {"x": [1.0, None, 3.0, 9.0], "c": ["b", "a", "a", "c"]}
    weighted = Numbers.fit(frame(**rows), [3, 1, 0, 2])
    copies = [0, 0, 0, 1, 3, 3]
    assert weighted == Numbers.fit(frame(**{name: [v[i] for i in copies] for name, v in rows.items()}))


def test_numbers_too_small_to_divide_are_constants():
    values = np.array([[0.0], [5e-324], [5e-324]])
    assert Numbers.fit(values).terms == ()
    assert np.all(Numbers.fit(values)(values) == 0)
