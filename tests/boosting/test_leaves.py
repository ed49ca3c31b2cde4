"""Rows and their leaves, and what is added to scores on the way to the next gradients."""

import numpy as np
import pytest

from propriety import losses
from propriety.boosting import leaves
from propriety.losses.fused import _BLOCK, derivative_pass


@pytest.mark.parametrize("n_leaves", [1, 2, 7, 300])
@pytest.mark.parametrize("order", ["sorted", "two runs", "none"])
def test_rows_of_leaves_are_marked_in_whatever_order_they_lie(n_leaves, order, monkeypatch):
    monkeypatch.setattr(leaves, "_ROWS", 130)
    monkeypatch.setattr(leaves, "_PIECE_ROWS", 16)
    rng = np.random.default_rng(n_leaves)
    n = 1000
    leaf_of = rng.integers(0, n_leaves, n)
    leaf_of[rng.random(n) < 0.2] = n_leaves  # takes no part; leaves may be without rows
    taking_part = np.flatnonzero(leaf_of < n_leaves)
    keys = {"sorted": taking_part, "two runs": taking_part % 2, "none": rng.permutation(len(taking_part))}
    index = taking_part[np.lexsort((keys[order], leaf_of[taking_part]))].astype(np.uint32)
    marked = leaves.Leaves.__new__(leaves.Leaves)
    marked.starts = np.searchsorted(leaf_of[index], np.arange(n_leaves))
    marked._n_jobs, marked._leaf_of = 2, np.full(n, n_leaves, dtype=np.uint16)
    marked._mark(index, len(index))
    np.testing.assert_array_equal(marked._leaf_of, leaf_of)


@pytest.mark.parametrize("far", [False, True])
def test_scores_are_read_after_the_step_before_and_written_before_the_step_after(far):
    n = 2 * _BLOCK + 17
    rng = np.random.default_rng(0)
    y, F = rng.integers(0, 2, n).astype(np.uint8), rng.normal(size=n)
    F[5] = 800.0 if far else 0.0  # beyond what the kernel can do
    moved, (g, h), seen = F + 1.0, np.empty((2, n)), np.zeros((2, n))

    def before(start, stop):
        F[start:stop] += 1.0

    def after(start, stop):
        seen[:, start:stop] = g[start:stop], h[start:stop]

    composite = losses.Log().composite()
    anew = derivative_pass(composite, y, "fisher")(F, (g, h), 2, before, after)
    np.testing.assert_array_equal(F, moved)
    np.testing.assert_allclose([g, h], composite.derivatives(y, moved), rtol=1e-14, atol=0)
    assert anew == far
    if not far:
        np.testing.assert_array_equal(seen, [g, h])
