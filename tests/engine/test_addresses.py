"""Kernels called by their address do what they do when they are called, and nothing for other types."""

import numpy as np
import pytest
from numba.core.errors import TypingError

from propriety.engine.addresses import address_of, caller, unknown_address
from propriety.engine.compiling import COMPILED, addressed, kernel


@addressed
def _add(numbers, one):
    for i in range(numbers.size):
        numbers[i] += one


_call_add = caller(_add)


@kernel
def _add_twice(add_at, numbers, one):
    _call_add(add_at, (numbers, one))
    _call_add(add_at, (numbers, one))


def test_a_kernel_is_called_by_its_address():
    numbers = np.arange(3.0)
    _add_twice(address_of(_add, numbers, 2.0), numbers, 2.0)
    np.testing.assert_array_equal(numbers, [4.0, 5.0, 6.0])


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_an_address_is_for_the_types_that_it_was_compiled_for():
    numbers = np.arange(3)
    _add_twice(address_of(_add, numbers, 2), numbers, 2)
    np.testing.assert_array_equal(numbers, [4, 5, 6])
    with pytest.raises(TypingError, match="_add was not compiled for"):
        _add_twice(address_of(_add, numbers, 2), np.arange(3.0), 2.0)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_an_address_that_is_not_known_yet_has_the_same_type():
    numbers = np.arange(3.0)
    unknown, known = unknown_address(_add, numbers, 1.0), address_of(_add, numbers, 1.0)
    assert unknown.dtype == known.dtype
    assert unknown[0].item() == (0,)
    assert known[0].item() != (0,)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_values_of_other_types_have_other_addresses():
    numbers = np.arange(6.0)
    fixed = numbers.copy()
    fixed.flags.writeable = False
    cases = [(numbers, 1.0), (numbers[::2], 1.0), (numbers.astype(np.int64), 1.0), (numbers, 1)]
    names = [address_of(_add, *values).dtype.names for values in cases]
    assert len(set(names)) == len(cases)
    assert unknown_address(_add, fixed, 1.0).dtype.names not in names
    assert address_of(_add, np.ones(3), 2.0) is address_of(_add, *cases[0])
