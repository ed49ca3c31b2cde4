"""Standard errors, the one-standard-error rule, and gains that owe nothing to having chosen the best."""

import numpy as np
import pytest

from propriety.tuning import choosing


def folds_of(values, n_folds=5):
    m = len(values)
    none = np.zeros(m)
    parts = np.array_split(np.arange(values.shape[1]), n_folds)
    return [choosing.Fold(i, values[:, i], none, none, none.astype(bool)) for i in parts]


def noise(m, n, seed):
    """Candidates that differ from the first by chance alone."""
    rng = np.random.default_rng(seed)
    common, weighted = rng.standard_normal(n), rng.standard_normal((m, n))
    values = np.sqrt(0.5) * common + np.sqrt(0.5) * weighted
    values[0] = 0.0
    return values


def test_the_error_of_a_mean_is_that_of_paired_rows():
    values = np.random.default_rng(0).standard_normal(50)
    rows = choosing.Observations.read(50)
    expected = values.std(ddof=1) / np.sqrt(50)
    assert rows.standard_error(np.arange(50), values) == pytest.approx(expected, rel=1e-12)
    groups = choosing.Observations.read(50, None, np.arange(50))
    assert groups.standard_error(np.arange(50), values) == pytest.approx(expected, rel=1e-12)


def test_weights_count_as_copies_and_other_weights_by_their_share():
    rng = np.random.default_rng(1)
    values, weight = rng.standard_normal(30), rng.integers(0, 5, 30)
    copies = np.repeat(np.arange(30), weight)
    weighted = choosing.Observations.read(30, weight)
    plain = choosing.Observations.read(len(copies))
    assert weighted.standard_error(np.arange(30), values) == pytest.approx(
        plain.standard_error(np.arange(len(copies)), values[copies]), rel=1e-12
    )
    small = choosing.Observations.read(30, np.full(30, 0.01))
    assert small.standard_error(np.arange(30), values) == pytest.approx(values.std(ddof=1) / np.sqrt(30))


def test_a_row_held_out_twice_is_one_row():
    values = np.random.default_rng(2).standard_normal(20)
    rows = choosing.Observations.read(20)
    twice, both = np.tile(np.arange(20), 2), np.concatenate([values + 0.5, values - 0.5])
    once = rows.standard_error(np.arange(20), values)
    assert rows.standard_error(twice, both) == pytest.approx(once, rel=1e-12)


def test_of_candidates_within_one_error_of_the_best_the_first_is_taken():
    n = 400
    wave = np.tile([1.0, -1.0], n // 2)  # an error of 0.05 in the mean
    values = np.stack([np.zeros(n), 0.04 * wave - 0.02, 1.0 * wave - 0.04])
    rows = choosing.Observations.read(n)
    means = rows.mean(np.arange(n), values)
    assert np.argmin(means) == 2
    assert choosing.choose(folds_of(values), rows, "best") == 2
    assert choosing.choose(folds_of(values), rows, "one_se") == 0
    sharper = np.stack([values[0], values[1], 0.01 * wave - 0.04])
    assert choosing.choose(folds_of(sharper), rows, "one_se") == 2


def test_a_candidate_without_a_value_is_never_chosen():
    values = np.stack([np.zeros(10), np.full(10, np.nan), np.full(10, -1.0)])
    rows = choosing.Observations.read(10)
    assert choosing.choose(folds_of(values, 2), rows, "one_se") == 2
    with pytest.raises(ValueError, match="log loss has no finite criterion"):
        choosing.choose(folds_of(values[[1, 0, 2]], 2), rows, "best")


def test_chance_is_rarely_called_a_gain_and_the_mean_gain_of_chance_is_zero():
    gains, sure, naive = [], 0, 0
    for seed in range(400):
        values = noise(8, 100, seed)
        folds, rows = folds_of(values), choosing.Observations.read(100)
        gain, error = choosing.gain(folds, rows, choosing.choices_without(folds, rows, "best"))
        gains.append(gain)
        sure += gain >= 2 * error and gain > 0
        best = choosing.choose(folds, rows, "best")
        gain, error = choosing.gain(folds, rows, [best] * 5)
        naive += gain >= 2 * error and gain > 0
    assert sure / 400 < 0.07
    assert naive > 1.4 * sure  # what would be claimed without the correction
    assert abs(np.mean(gains)) < 3 * np.std(gains) / 20


def test_a_real_gain_is_seen():
    values = noise(4, 400, 0)
    values[2] -= 0.5
    folds, rows = folds_of(values), choosing.Observations.read(400)
    choices = choosing.choices_without(folds, rows, "one_se")
    gain, error = choosing.gain(folds, rows, choices)
    assert set(choices) == {2}
    assert gain > 5 * error
