"""Costs: the one threshold, decisions and what they cost."""

import pickle

import numpy as np
import pytest

from propriety import Costs, LinearClassifier
from propriety.costs import ResolvedCosts, threshold
from propriety.errors import ArgumentError


def test_the_threshold_is_where_both_decisions_cost_the_same(rng):
    for alarm, miss in rng.lognormal(0, 3, (50, 2)):
        costs = ResolvedCosts.of_mistakes(alarm, miss)
        stay, act = costs.expected([costs.threshold])[0]
        assert stay == pytest.approx(act)


def test_decisions_are_the_cheapest(rng):
    p = rng.random(200)
    alarm, miss = rng.lognormal(size=(2, 200))
    costs = ResolvedCosts.of_mistakes(alarm, miss)
    expected = costs.expected(p)
    np.testing.assert_array_equal(costs.decide(p), np.argmin(expected, axis=1))
    np.testing.assert_array_equal(costs.threshold, alarm / (alarm + miss))


def test_the_positive_class_may_be_either(rng):
    P = rng.dirichlet([1, 1], 100)
    one, other = ResolvedCosts.of_mistakes(1, 9), ResolvedCosts.of_mistakes(1, 9, positive=0)
    assert one.threshold == other.threshold == 0.1
    np.testing.assert_array_equal(one.decide(P), 1 - other.decide(P[:, ::-1]))
    assert other.of_rows([0], [1]) == 9
    assert (other.fp_cost, other.fn_cost) == (1, 9)


def test_a_tie_goes_to_the_positive_class():
    assert ResolvedCosts.of_mistakes(1, 3).decide([0.25]) == 1
    assert ResolvedCosts.of_mistakes(1, 3, positive=0).decide([0.25]) == 0


def test_several_classes_by_a_matrix(rng):
    matrix = rng.random((4, 4))
    P = rng.dirichlet(np.ones(4), 50)
    costs = ResolvedCosts.of_matrix(matrix)
    np.testing.assert_array_equal(costs.decide(P), np.argmin(P @ matrix, axis=1))
    np.testing.assert_array_equal(ResolvedCosts.equal(4).decide(P), np.argmax(P, axis=1))


def test_a_matrix_for_each_row(rng):
    matrices, P = rng.random((20, 3, 3)), rng.dirichlet(np.ones(3), 20)
    costs = ResolvedCosts.of_matrix(matrices)
    expected = np.array([p @ m for p, m in zip(P, matrices, strict=True)])
    np.testing.assert_allclose(costs.expected(P), expected)
    true = rng.integers(0, 3, 20)
    decided = costs.decide(P)
    np.testing.assert_array_equal(costs.of_rows(true, decided), matrices[np.arange(20), true, decided])
    with pytest.raises(ValueError, match="20 rows, but there are 5"):
        costs.expected(P[:5])


def test_benefits_of_right_decisions_shift_the_threshold():
    # A hit is worth 4: not acting on a positive costs 4 more than acting.
    assert ResolvedCosts.of_matrix([[0, 1], [5, 1]]).threshold == pytest.approx(1 / 5)


def test_huge_costs_have_a_threshold():
    assert threshold(1e308, 1e308) == 0.5
    assert threshold(1.5e308, 0.5e308) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ResolvedCosts.of_mistakes(0, 1), "fp_cost must be positive"),
        (lambda: ResolvedCosts.of_mistakes(1, -1), "fn_cost must be positive"),
        (lambda: ResolvedCosts.of_mistakes(1, np.nan), "fn_cost must be positive and finite"),
        (lambda: ResolvedCosts.of_mistakes([[1]], 1), "fp_cost must be a number or have one entry"),
        (lambda: ResolvedCosts.of_matrix([[0, 1]]), "cost_matrix must have shape"),
        (lambda: ResolvedCosts.of_matrix([[0, np.inf], [1, 0]]), "cost_matrix must be finite"),
        (lambda: ResolvedCosts.read(2, 1, [[0, 1], [1, 0]]), "not both"),
        (lambda: ResolvedCosts.of_matrix([[1, 0], [1, 0]]).threshold, "cheaper than the right one"),
        (lambda: ResolvedCosts.equal(3).threshold, "two classes"),
        (lambda: ResolvedCosts.of_mistakes(1, 1).decide(np.ones((2, 3)) / 3), "3 columns"),
    ],
)
def test_bad_costs_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_row_in_which_one_decision_is_always_cheaper(rng):
    # Acting costs 1 and brings `value`: for a value below 0 acting never pays, whatever the probability.
    value = np.array([4.0, -0.5, -2.0])
    costs = ResolvedCosts.of_mistakes(1, 0, tp_benefit=value)
    np.testing.assert_array_equal(costs.threshold, [0.2, np.inf, np.inf])
    for p in rng.random((20, 3)):
        np.testing.assert_array_equal(costs.decide(p), np.argmin(costs.expected(p), axis=1))
    np.testing.assert_array_equal(costs.stake, [5, 0, 0])
    with pytest.raises(ValueError, match="both wrong decisions cheaper"):
        ResolvedCosts.of_matrix([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]).threshold  # noqa: B018


def test_costs_of_some_rows_and_their_mean():
    costs = ResolvedCosts.of_mistakes(1, [1, 3, 5], positive=0)
    np.testing.assert_array_equal(costs.take([2, 0]).fn_cost, [5, 1])
    assert costs.mean().fn_cost == 3
    assert costs.mean(np.array([1.0, 0.0, 3.0])).fn_cost == 4
    assert costs.mean().boundary == pytest.approx(0.75)
    assert ResolvedCosts.of_mistakes(1, 2).take([0]).fn_cost == 2
    assert costs.sided
    assert not ResolvedCosts.of_mistakes([1, 2], [1, 2]).sided


def test_abstaining_is_one_decision_more(rng):
    matrix = np.column_stack([1 - np.eye(3), np.full(3, 0.25)])
    costs, P = ResolvedCosts.of_matrix(matrix), rng.dirichlet(np.ones(3), 50)
    assert costs.abstains
    np.testing.assert_array_equal(costs.decide(P) == 3, P.max(axis=1) <= 0.75)
    assert costs.of_rows([2], [3]) == 0.25


def test_costs_of_the_same_numbers_are_kept_and_cannot_be_changed():
    assert ResolvedCosts.of_mistakes(1, 7.5) is ResolvedCosts.of_mistakes(1.0, 7.5)
    assert ResolvedCosts.of_mistakes(1, 7.5) is not ResolvedCosts.of_mistakes(1, 7.5, positive=0)
    with pytest.raises(ValueError, match="read-only"):
        ResolvedCosts.of_mistakes(1, 7.5).matrix[0, 0] = 3.0
    for _ in range(2):
        with pytest.raises(ValueError, match="fp_cost must be positive and finite, got -1"):
            ResolvedCosts.of_mistakes(-1, 7.5)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: ResolvedCosts.of_mistakes(fp_cost=-1), "fp_cost"),
        (lambda: ResolvedCosts.of_mistakes(fn_cost=[1, np.nan]), "fn_cost"),
        (lambda: ResolvedCosts.of_mistakes(fn_cost=np.ones((2, 2))), "fn_cost"),
        (lambda: ResolvedCosts.of_mistakes(fn_cost=1, tp_benefit=-2), "fn_cost"),
        (lambda: ResolvedCosts.of_matrix([[0, 1, 2]]), "cost_matrix"),
        (lambda: ResolvedCosts.of_mistakes().decide_within([0.5], 1.5), "budget"),
        (lambda: Costs(fn=(20, 5)).resolve(np.arange(2)), "fn_cost"),
        (lambda: Costs(fp=(-1, 5)).resolve(np.arange(2)), "fp_cost"),
        (lambda: Costs(pos_label="x").resolve(np.arange(2)), "pos_label"),
        (lambda: LinearClassifier(max_iter=-1).fit([[0.0], [1.0]], [0, 1]), "max_iter"),
        (lambda: LinearClassifier(solver="x").fit([[0.0], [1.0]], [0, 1]), "solver"),
    ],
)
def test_an_error_carries_the_argument_that_it_is_about(call, argument):
    with pytest.raises(ArgumentError, match=argument) as caught:
        call()
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.argument == argument
    assert argument in str(error)
    told = error.told(lambda name: f"<{name}>")
    assert told.count(f"<{argument}>") == 1
    assert told.replace("<", "").replace(">", "") == str(error)
