"""The table of an entropy against its formula."""

import numpy as np
import pytest

from propriety import losses
from propriety.model.measure import NodeLoss, measure_of
from propriety.trees.criteria import FEW, entropy_table, pair_loss
from propriety.trees.jit import kernel


@kernel
def _losses(panels, a, b, found):
    for i in range(a.size):
        found[i] = pair_loss(panels, a[i], b[i])


def close(loss, rtol=2e-12):
    measure = measure_of(loss, None, 2)
    table, rng = entropy_table(measure), np.random.default_rng(0)
    a = np.concatenate([np.repeat(np.arange(1, 40.0), 39), rng.integers(1, 10**6, 2000), np.full(500, 1e6)])
    b = np.concatenate(
        [np.tile(np.arange(1, 40.0), 39), rng.integers(1, 10**6, 2000), rng.integers(1, 99, 500)]
    )
    exact, found = NodeLoss(measure, 2)(np.column_stack([a, b])), np.empty(len(a))
    _losses(table.panels, a, b, found)
    np.testing.assert_allclose(found * table.unit, exact, rtol=rtol)
    few = a + b < FEW
    place = (FEW * a + b).astype(int)[few]
    np.testing.assert_array_equal(table.few[place], found[few])


@pytest.mark.parametrize("loss", losses.examples(), ids=repr)
def test_the_table_is_the_entropy(loss):
    close(loss)


@pytest.mark.parametrize("threshold", [0.01, 0.3, 1 / 3, 0.7123])
def test_a_kink_is_where_it_is(threshold):
    """Between the panels and on them, alone and together with a smooth entropy."""
    close(losses.CostWeighted(threshold), 1e-13)
    close(losses.CostWeighted(threshold) + losses.Log(), 2e-9)


def test_a_loss_without_an_entropy_is_refused():
    class Nothing:
        fitted = None

        def share_entropy(self, p, q):
            return 0.0 * p

    with pytest.raises(ValueError, match="no finite entropy"):
        entropy_table(Nothing())
