"""Monomials are the best that greedy growth can find: against all literals, tried one by one."""

from itertools import combinations

import numpy as np
import pytest

from propriety import losses
from propriety.data.table import Schema
from propriety.rules.growing import RuleGrower, edge_score, entropy_score, least_entropies
from propriety.rules.monomials import BinLiteral, conjoin, shortest_between
from propriety.rules.text import merged
from propriety.trees.binning import Binner
from propriety.weights import Weights

LEVELS = 3  # categories of column 2


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 6, (80, 2)), rng.integers(0, LEVELS, 80), rng.normal(size=80)])
    X[rng.random(80) < 0.2, 1] = np.nan
    X[rng.random(80) < 0.1, 2] = np.nan
    y = (rng.random(80) < 0.2 + 0.3 * (X[:, 0] > 2) + 0.3 * (np.nan_to_num(X[:, 1]) < 3)).astype(np.uint8)
    order = np.argsort(y, kind="stable")  # as a grower wants them
    return X[order], y[order], rng.integers(1, 1000, 80)


def grower_of(X, y, max_literals, counts=None, least=1.0, constant=True):
    schema, columns = Schema.fit(X, [2])
    binner = Binner.fit(columns, Weights.read(None, len(y)), y.astype(float), schema.n_categories, 255, 1)
    return RuleGrower(
        binner.transform(columns, 1),
        y,
        counts,
        max_literals=max_literals,
        least=least,
        criterion="entropy",
        constant=constant,
        n_jobs=1,
    )


def literals(X):
    """Every set of rows that a literal can be, with its complement."""
    for f in range(X.shape[1]):
        x, missing = X[:, f], np.isnan(X[:, f])
        if f == 2:
            codes = range(LEVELS)
            sets = [np.isin(x, chosen) for k in range(LEVELS + 1) for chosen in combinations(codes, k)]
        else:
            sets = [x <= t for t in np.unique(x[~missing])]
        for inside in sets:
            for rows in (inside, inside | missing):
                yield rows
                yield ~rows


def criterion(rows, y, w, kind, loss):
    def sums(part):
        return np.array([w[part & (y == 0)].sum(), w[part & (y == 1)].sum()])

    total = sums(np.ones(len(y), dtype=bool))
    within = sums(rows)[None]
    return float((edge_score if kind == "edge" else entropy_score(loss))(within, total)[0])


def best(X, y, w, kind, loss, within):
    found = [
        criterion(within & rows, y, w, kind, loss) for rows in literals(X) if 0 < (within & rows).sum() < 80
    ]
    return min(found)


@pytest.mark.parametrize("loss", ["Log", "Squared", "Matsushita", "Power(0.3)"])
@pytest.mark.parametrize("kind", ["entropy", "edge"])
def test_one_literal_is_the_best_there_is(table, loss, kind):
    X, y, w = table
    loss = losses.as_loss(loss)
    grown = grower_of(X, y, 1).grow(w, loss, kind)
    value = criterion(grown.holds.astype(bool), y, w, kind, loss)
    assert value == pytest.approx(best(X, y, w, kind, loss, np.ones(80, dtype=bool)), rel=1e-12)


@pytest.mark.parametrize("factor", [1, 30, 1000])
def test_without_a_constant_the_largest_edge_is_found_however_unbalanced_the_classes(table, factor):
    X, y, w = table
    w = np.where(y == 1, factor * w, w)
    grown = grower_of(X, y, 1, constant=False).grow(w, losses.Log(), "edge")
    value = criterion(grown.holds.astype(bool), y, w, "edge", None)
    assert value == pytest.approx(best(X, y, w, "edge", None, np.ones(80, dtype=bool)), rel=1e-12)


def test_the_edge_of_a_set_of_categories_is_the_largest_where_all_say_the_same_class():
    # Differences of the classes are 20, 5 and 29, shares of class 1 60 %, 78 % and 97 %: the category to be
    # told from the others is neither the first nor the last by its share.
    category = np.repeat([0, 1, 2, 0, 1, 2], [40, 2, 1, 60, 7, 30])
    y = np.repeat([0, 1], [43, 97]).astype(np.uint8)
    X = np.column_stack([np.zeros(140), np.zeros(140), category])
    grown = grower_of(X, y, 1, constant=False).grow(np.ones(140, dtype=np.int64), losses.Log(), "edge")
    np.testing.assert_array_equal(grown.holds == grown.holds[0], category != 1)


@pytest.mark.parametrize("kind", ["entropy", "edge"])
def test_the_second_literal_is_the_best_on_either_side_of_the_first(table, kind):
    X, y, w = table
    loss = losses.Log()
    first = grower_of(X, y, 1).grow(w, loss, kind).holds.astype(bool)
    grown = grower_of(X, y, 2).grow(w, loss, kind)
    assert len(grown.literals) == 2
    value = criterion(grown.holds.astype(bool), y, w, kind, loss)
    expected = min(best(X, y, w, kind, loss, side) for side in (first, ~first))
    assert value == pytest.approx(expected, rel=1e-12)


def test_a_longer_monomial_is_never_worse(table):
    X, y, w = table
    values = [
        criterion(
            grower_of(X, y, k).grow(w, losses.Log(), "entropy").holds.astype(bool),
            y,
            w,
            "entropy",
            losses.Log(),
        )
        for k in range(1, 6)
    ]
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]


def test_a_rule_holds_for_enough_rows_and_not_for_enough(table):
    X, y, w = table
    counts = np.full(80, 2)
    for least in (20, 50):
        grown = grower_of(X, y, 3, counts, least).grow(w, losses.Log(), "entropy")
        assert 2 * min(grown.holds.sum(), 80 - grown.holds.sum()) >= least
    assert grower_of(X, y, 3, counts, 81).grow(w, losses.Log(), "entropy") is None


def test_nothing_to_tell_gives_no_monomial():
    X = np.column_stack([np.ones(8), np.tile([0.0, 1.0], 4), np.zeros(8)])
    y = np.repeat([0, 1], 4).astype(np.uint8)
    assert grower_of(X, y, 2).grow(np.ones(8, dtype=np.int64), losses.Log(), "entropy") is None
    assert grower_of(X[:, [0, 0, 2]], y, 2).grow(np.ones(8, dtype=np.int64), losses.Log(), "edge") is None


def test_redundant_literals_are_left_out(table):
    X, y, _ = table
    grower = grower_of(X, y, 2)
    everything = [(1 << (int(b) + 1)) - 1 for b in grower.n_bins]
    assert conjoin([BinLiteral(0, 0b0111), BinLiteral(0, 0b0011)], everything) == (BinLiteral(0, 0b0011),)
    assert conjoin([BinLiteral(0, everything[0])], everything) == ()
    low, high = BinLiteral(0, 0b000111), BinLiteral(0, 0b111000)
    both = (BinLiteral(0, 0b0111), BinLiteral(3, 0b11))
    rules = merged([(low,), both, (high,), both[::-1]], [1.0, 2.0, 0.25, 3.0], grower)
    # "x ≤ 2" with 1 and "x > 2" with 0.25 are one rule, and so are the conjunctions in either order.
    assert rules == {(low,): 0.75, both: 5.0}
    assert merged([(low,)], [-1.0], grower) == {(high,): 1.0}


@pytest.mark.parametrize(
    ("below", "above"),
    [(0.1, 0.2), (-3.0, 5.0), (1.0, np.nextafter(1.0, 2.0)), (-np.inf, 3.0), (2.0, np.inf)],
)
def test_short_thresholds_lie_between(below, above):
    t = shortest_between(below, above)
    assert below <= t < above
    assert np.isfinite(t)


LOSSES = ["Log()", "Squared()", "Matsushita()", "Mu(0.3)", "Power(0.3)", "CascadeUp(16)", "Beta(2, 5)"]


@pytest.mark.parametrize("text", LOSSES)
@pytest.mark.parametrize("scale", [20, 1 << 50], ids=["small", "large"])
def test_chords_leave_out_no_monomial_of_least_score(text, scale):
    """Pure and nearly pure leaves, copies of the best one, and monomials that are not allowed."""
    loss, rng = losses.parse(text), np.random.default_rng(1)
    total = np.array([3 * scale, 2 * scale])
    within = rng.integers(0, total + 1, size=(300, 2))
    within[:50, 0] = rng.integers(0, 2, 50)
    within[50:60] = total - rng.integers(0, 2, (10, 2))
    allowed = rng.random(300) < 0.9
    allowed[-1] = True
    full = entropy_score(loss)(within, total)
    best = int(np.argmin(np.where(allowed, full, np.inf)))
    within[200:203], allowed[200:203] = within[best], True
    full = np.where(allowed, entropy_score(loss)(within, total), np.inf)
    found = least_entropies(loss, within, total, allowed)
    tied = full <= full.min() * (1 + 1e-9)
    assert tied.sum() >= 4
    np.testing.assert_array_equal(found[tied], full[tied])
    assert np.all((found == full) | (found == np.inf))
    assert np.isfinite(found).sum() < 100


def test_nothing_allowed_has_no_least_score():
    within, total = np.array([[1, 2], [3, 0]]), np.array([5, 5])
    assert np.all(least_entropies(losses.Log(), within, total, np.zeros(2, dtype=bool)) == np.inf)
