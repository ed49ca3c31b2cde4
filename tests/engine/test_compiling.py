"""Kernels mean what their Python means, and compiling them leaves nothing changed."""

import gc

import numpy as np
import pytest

from propriety.engine.compiling import COMPILED, inner, kernel

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


def _mixed(a, b, none):
    if none is None:
        return a + b, a / b, a // b, min(a, b), a < b
    return none[a], a - b


def _sum_mixed(a, b, values):
    total = 0.0
    for i in range(values.size):
        total += _inner_mixed(a, b, None)[1] * values[i]
    return total


_inner_mixed = inner(_mixed)


@pytest.mark.parametrize("b", [3, 3.5, np.uint8(3), True])
def test_operations_on_numbers_keep_their_types(b):
    values = np.arange(4.0)
    compiled = kernel(_sum_mixed)(7, b, values)
    assert compiled == pytest.approx(7 / b * values.sum(), rel=1e-15)


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_as_before(collecting):
    before = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        kernel(lambda x: x + 1)(2)
        assert gc.isenabled() is collecting
        with pytest.raises(Exception, match="Unknown attribute"):
            kernel(lambda x: x.nothing)(2.0)
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if before else gc.disable)()
