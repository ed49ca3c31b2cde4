"""The best of the cuts that were found, against the same by NumPy."""

import numpy as np
import pytest

from propriety.tree.choosing import choose


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_best_cut_of_each_node(n_classes):
    rng = np.random.default_rng(n_classes)
    n_nodes, m = 6, 200
    sums = rng.integers(5, 30, (n_nodes, n_classes)).astype(float)
    cuts = np.zeros((m, 4), dtype=np.int64)
    cuts[:, 0] = rng.choice([0, 1, 2, 4, 5], m)  # node 3 has none
    left = np.floor(sums[cuts[:, 0]] * rng.uniform(0.1, 0.9, (m, n_classes))) + 0.5
    worth, before = rng.choice([0.2, 1.0], m), rng.uniform(20, 30, n_nodes)
    # Few different losses, so that several cuts of a node have the same gain.
    after = rng.integers(1, 4, 2 * m).astype(float)
    gains, seconds, best = np.empty(m), np.empty(m), np.empty(n_nodes, dtype=np.int64)
    choose(cuts, left, worth, sums, before, after, gains, seconds, np.empty((2, n_nodes)), best)
    expected = worth * (before[cuts[:, 0]] - after[:m] - after[m:])
    np.testing.assert_allclose(gains, expected, rtol=1e-14)

    def squared(part):
        return part.sum() * (1 - np.sum((part / part.sum()) ** 2))

    ties = 0
    for node in range(n_nodes):
        own = np.flatnonzero(cuts[:, 0] == node)
        if len(own) == 0:
            assert best[node] == -1
            continue
        top = own[expected[own] > expected[own].max() - 1e-9]
        of_top = [
            worth[i] * (squared(sums[node]) - squared(left[i]) - squared(sums[node] - left[i])) for i in top
        ]
        np.testing.assert_allclose(seconds[top], of_top, rtol=1e-9)
        assert best[node] == top[np.argmax(of_top)]
        ties += len(top) > 1
    assert ties >= 2


def test_equal_cuts_are_decided_by_the_squared_loss_then_by_the_first_column():
    sums, left = np.array([[4.0, 4.0]]), np.array([[2.0, 2.0], [4.0, 1.0], [1.0, 4.0], [3.0, 3.0]])
    cuts, worth = np.zeros((4, 4), dtype=np.int64), np.ones(4)

    def best(after):
        place, room = np.empty(1, dtype=np.int64), (np.empty(4), np.empty(4), np.empty((2, 1)))
        choose(cuts, left, worth, sums, np.array([8.0]), np.tile(after, 2), *room, place)
        return place[0]

    assert best([2.0, 2.0, 2.0, 2.0]) == 1
    assert best([2.0, 2.0, 2.0, 1.0]) == 3
    assert best([2.0, 2.0 + 1e-13, 2.0, 2.0]) == 1
    assert best([np.nan, 2.0, 2.0, 2.0]) == -1
