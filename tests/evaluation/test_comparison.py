"""Ranks and tests over many data sets; Q–Q traces."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from propriety import evaluation
from propriety.evaluation import theory
from propriety.evaluation.comparison import holm

# Demšar (2006), Table 6: AUC of C4.5 and three of its variants on 14 data sets.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)
NAMES = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]


@pytest.fixture
def demsar():
    return evaluation.compare(DEMSAR, NAMES, greater_is_better=True)


def test_the_worked_example_of_the_literature(demsar):
    np.testing.assert_allclose(demsar.average_ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert demsar.critical_difference(0.05) == pytest.approx(1.25, abs=0.005)
    assert demsar.critical_difference(0.10) == pytest.approx(1.12, abs=0.005)
    # The paper's statistics have no correction for ties.
    n, k = DEMSAR.shape
    ranks = demsar.average_ranks
    uncorrected = 12 * n / (k * (k + 1)) * (np.sum(ranks**2) - k * (k + 1) ** 2 / 4)
    assert uncorrected == pytest.approx(9.28, abs=0.02)


def test_friedman_agrees_with_scipy(demsar):
    peer = stats.friedmanchisquare(*DEMSAR.T)
    assert demsar.friedman.statistic == pytest.approx(peer.statistic, rel=1e-12)
    assert demsar.friedman.pvalue == pytest.approx(peer.pvalue, rel=1e-12)
    assert demsar.iman_davenport.pvalue < demsar.friedman.pvalue


def test_nemenyi_is_its_critical_difference(demsar):
    gap = np.abs(demsar.average_ranks[:, None] - demsar.average_ranks)
    for alpha in (0.01, 0.05, 0.2, 0.6):
        np.testing.assert_array_equal(demsar.nemenyi < alpha, gap > demsar.critical_difference(alpha))


def test_pairs_agree_with_scipy(demsar):
    for i, j in [(0, 1), (2, 3)]:
        peer = stats.wilcoxon(DEMSAR[:, i], DEMSAR[:, j], zero_method="zsplit")
        assert demsar.wilcoxon[i, j] == demsar.wilcoxon[j, i] == pytest.approx(peer.pvalue, rel=1e-12)
        peer = stats.ttest_rel(DEMSAR[:, i], DEMSAR[:, j])
        assert demsar.student[i, j] == pytest.approx(peer.pvalue, rel=1e-12)
    flat = demsar.wilcoxon[np.triu_indices(4, 1)]
    corrected = multipletests(flat, method="holm")[1]
    np.testing.assert_allclose(holm(flat), corrected, atol=1e-12)
    np.testing.assert_allclose(holm(demsar.wilcoxon)[np.triu_indices(4, 1)], corrected, atol=1e-12)


def test_who_beats_whom(demsar):
    wins = demsar.wins
    assert wins[1, 0] == np.sum(DEMSAR[:, 1] > DEMSAR[:, 0])
    beats = demsar.beats(level=0.1)
    assert beats[0] == 0
    assert beats[3] == 2
    by_hand = sum(stats.ttest_rel(DEMSAR[:, 3], DEMSAR[:, j]).pvalue < 0.1 for j in (0, 1, 2))
    assert beats[3] == by_hand
    assert demsar.cliques(0.1) == [(3, 1, 2), (2, 0)]
    assert demsar.cliques(1e-4) == [(3, 1, 2, 0)]
    assert str(demsar).splitlines()[1].startswith("C4.5+m+cf")


def test_forms_of_input_and_order():
    frame = pd.DataFrame(DEMSAR, columns=NAMES)
    one = evaluation.compare(frame, greater_is_better=True)
    two = evaluation.compare({name: -DEMSAR[:, i] for i, name in enumerate(NAMES)})
    assert one.names == two.names == tuple(NAMES)
    np.testing.assert_array_equal(one.ranks, two.ranks)
    turned = evaluation.compare(DEMSAR[::-1], greater_is_better=True)
    np.testing.assert_allclose(turned.average_ranks, one.average_ranks)
    assert turned.names[0] == "model 0"


def test_no_difference_at_all():
    alike = evaluation.compare(np.ones((4, 3)))
    assert alike.friedman.pvalue == 1
    assert alike.cliques() == [(0, 1, 2)]
    assert np.all(alike.wilcoxon == 1)
    assert np.all(alike.student == 1)
    assert alike.beats().sum() == 0
    always = evaluation.compare(np.column_stack([np.zeros(5), np.ones(5)]))
    assert always.student[0, 1] == 0
    assert always.beats()[0] == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluation.compare(np.ones((1, 3))), "two data sets"),
        (lambda: evaluation.compare([[1, np.nan], [1, 2]]), "finite"),
        (lambda: evaluation.compare(np.ones((3, 2)), ["a"]), "names"),
        (lambda: evaluation.compare(np.ones((3, 2))).beats(test="sign"), "test must be"),
        (lambda: theory.qq_trace([1.0], [1.0, 2.0]), "x must be two"),
        (lambda: theory.qq_trace([1.0, 2.0], [1.0, 2.0], n_permutations=0), "n_permutations"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_traces_of_one_distribution_stay_inside_and_of_two_leave():
    rng = np.random.default_rng(0)
    x, y = rng.gamma(3, size=200), rng.gamma(3, size=200)
    same = theory.qq_trace(x, y, n_permutations=200)
    moved = theory.qq_trace(x, y + 0.7, n_permutations=200)
    assert same.outside().mean() < 0.2
    assert moved.outside().mean() > 0.7
    assert moved.pvalue < 0.01 < same.pvalue
    np.testing.assert_array_equal(same.x, np.sort(x))
    # Each null trace shares out the pooled values.
    pooled = np.sort(np.concatenate([x, y]))
    np.testing.assert_array_equal(np.sort(np.concatenate([same.null_x[3], same.null_y[3]])), pooled)


def test_traces_of_samples_of_different_size():
    trace = theory.qq_trace(np.arange(10.0), np.arange(25.0))
    assert trace.x.shape == trace.y.shape == (10,)
    np.testing.assert_allclose(trace.y, np.quantile(np.arange(25.0), (np.arange(10) + 0.5) / 10))
