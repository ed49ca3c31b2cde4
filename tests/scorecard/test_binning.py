"""Bins of one column: the least loss, by trying every way to cut it."""

from itertools import combinations

import numpy as np
import pytest

from propriety import losses
from propriety.losses.links import Logit
from propriety.scorecard.binning import BinRules
from propriety.scorecard.columns import BinnedColumn

LOG = losses.Log()
RULES = BinRules(LOG.entropy_of_shares, 4, 0.1)


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, n).astype(float)
    y = (rng.random(n) < np.array([0.1, 0.7, 0.2, 0.3, 0.3, 0.8, 0.6, 0.9, 0.4])[x.astype(int)]).astype(float)
    return x, y


def loss_of(x, y, edges, sign):
    """Loss of the rows and price of the bins; infinite if a bin is too small or out of order."""
    places = np.searchsorted(edges, x)
    count = np.bincount(places, minlength=len(edges) + 1)
    ones = np.bincount(places, weights=y, minlength=len(edges) + 1)
    rates = (ones + 4 * y.mean()) / (count + 4)
    if len(edges) and (np.any(count < 0.1 * len(x)) or np.any(sign * np.diff(rates) < 0)):
        return np.inf
    shares = ones / count
    return float(count @ LOG.entropy_of_shares(shares, 1 - shares)) + 1.0 * len(edges)


@pytest.mark.parametrize("sign", [0, 1, -1])
@pytest.mark.parametrize("seed", range(4))
def test_no_other_cuts_are_better(seed, sign):
    x, y = rows(seed=seed)
    bins = RULES.bins_of(0, x, 0, sign, np.ones(len(x)), y)
    edges = np.arange(8) + 0.5
    least = min(loss_of(x, y, np.array(few), sign) for k in range(4) for few in combinations(edges, k))
    found = np.empty(0) if bins is None else bins.edges
    assert loss_of(x, y, found, sign) == pytest.approx(least)


def test_weights_are_copies():
    x, y = rows()
    weight = np.random.default_rng(1).integers(0, 4, len(x))
    one = RULES.bins_of(0, x, 0, 0, weight.astype(float), y)
    other = RULES.bins_of(0, np.repeat(x, weight), 0, 0, np.ones(weight.sum()), np.repeat(y, weight))
    np.testing.assert_array_equal(one.edges, other.edges)
    np.testing.assert_array_equal(one.sums, other.sums)


def test_rare_levels_and_missing_values_have_bins_of_their_own():
    codes = np.repeat([0.0, 1.0, 2.0, 3.0, np.nan], [80, 80, 3, 2, 35])
    y = np.concatenate([np.zeros(80), np.ones(80), np.ones(5), np.tile([0, 1, 0, 0, 0], 7)]).astype(float)
    bins = RULES.bins_of(0, codes, 4, 0, np.ones(200), y)
    assert bins.groups.tolist() == [0, 1, 2, 2]
    assert (bins.rare, bins.missing) == (2, 3)
    assert bins.sums.tolist() == [[80, 0], [0, 80], [0, 5], [28, 7]]


def test_without_missing_values_what_is_unknown_is_rare_or_says_nothing():
    y = np.repeat([0.0, 1.0], 50)
    unknown = np.array([np.nan])
    codes = np.concatenate([np.zeros(48), np.ones(51), np.full(1, 2.0)])
    rare = RULES.bins_of(0, codes, 3, 0, np.ones(100), y)
    assert rare.place(unknown) == rare.rare == 2
    whole = RULES.bins_of(0, np.repeat([0.0, 1.0], 50), 2, 0, np.ones(100), y)
    assert whole.evidence(Logit())[whole.place(unknown)] == 0
    number = RULES.bins_of(0, np.repeat([1.0, 2.0], 50), 0, 0, np.ones(100), y)
    assert number.evidence(Logit())[number.place(unknown)] == 0


def test_a_column_that_says_nothing_has_no_bins():
    assert RULES.bins_of(0, np.ones(40), 0, 0, np.ones(40), np.tile([0.0, 1.0], 20)) is None
    assert RULES.bins_of(0, np.full(40, np.nan), 0, 0, np.ones(40), np.tile([0.0, 1.0], 20)) is None


def test_information_value():
    bins = BinnedColumn(0, np.array([0.5]), None, -1, 2, np.array([[3e9, 1e9], [1e9, 3e9], [0, 0]]))
    np.testing.assert_allclose(bins.woe, [np.log(3), -np.log(3), 0])
    assert bins.information.sum() == pytest.approx(np.log(3))
