"""The experiments of Masnadi-Shirazi and Vasconcelos: folds, measures, the paper's arithmetic."""

import numpy as np
import pytest

from propriety import losses
from reproductions import masnadi, masnadi_gaussians, masnadi_large, masnadi_noise, masnadi_sets, registry
from reproductions.coding import coded, indicators, labelled
from reproductions.data import DataSet

from .reading import printed_rows, sequence_in, specification

EXPERIMENTS = (
    *masnadi.EXPERIMENTS,
    *masnadi_gaussians.EXPERIMENTS,
    *masnadi_large.EXPERIMENTS,
    *masnadi_noise.EXPERIMENTS,
)
#: Figure 12 is printed in words.
PRINTED = [(e.name, p) for e in EXPERIMENTS for p in e.printed if p is not masnadi_noise.BETTER_12]


@pytest.mark.parametrize(("name", "printed"), PRINTED, ids=[f"{n}-{p.name}" for n, p in PRINTED])
def test_printed_numbers_are_those_of_the_specification(name, printed):
    text = specification()
    scale = 100 if printed is masnadi_gaussians.EARLY_9 else 1  # percent in the text
    most = 2 if printed is masnadi.RANKS_11 else 10  # other numbers stand between
    for row, numbers in printed_rows(printed, most):
        assert sequence_in([scale * number for number in numbers], text), (name, row, numbers)


def test_the_registry_has_these_names():
    assert {experiment.name for experiment in EXPERIMENTS} == {
        name for name in registry.names() if name.startswith("masnadi-")
    }


def test_a_fold_is_tested_once_and_chooses_once():
    y = np.repeat([0, 1], [60, 45])
    parts = masnadi_sets.splits(y, 3)
    assert len(parts) == 5
    for part in parts:
        together = np.concatenate([part.fit, part.choose, part.test])
        np.testing.assert_array_equal(np.sort(together), np.arange(105))
        assert (len(part.fit), len(part.choose), len(part.test)) == (63, 21, 21)
    for role in ("choose", "test"):
        np.testing.assert_array_equal(
            np.sort(np.concatenate([getattr(part, role) for part in parts])), np.arange(105)
        )


@pytest.mark.parametrize(
    ("printed", "least"),
    [(masnadi.ERRORS_4, 0.0), (masnadi.ENTROPIES_4, masnadi_sets.MOST)],
    ids=["errors", "entropies"],
)
def test_wins_and_drops_are_the_papers_own(printed, least):
    methods = ("AdaBoost", "LogitBoost", *masnadi_sets.TUNED)
    ours = masnadi.with_wins({row: printed.rows[row][:10] for row in methods}, least)
    # Two slips of the print: GBoost is least on #8 as well, and the drop of #6 does not follow.
    slip = 0 if printed is masnadi.ERRORS_4 else 1
    expected = {row: list(printed.rows[row][10:]) for row in masnadi_sets.TUNED}
    expected["GBoost"][1] += slip
    assert {row: ours[row][10:] for row in masnadi_sets.TUNED} == expected
    assert ours["BoostLR wins"][:10] == list(printed.rows["BoostLR wins"][:10])
    kept = [k for k in range(10) if not (slip and k == 5)]
    drops = [np.array(rows["Drop (%)"][:10], dtype=float)[kept] for rows in (ours, printed.rows)]
    # The last digit of a cross-entropy 0.1 to 0.3 above the least possible makes some percent.
    np.testing.assert_allclose(*drops, atol=5 if slip else 0.1)


@pytest.mark.parametrize(
    ("printed", "least"), [(masnadi.ERRORS_3, 0.0), (masnadi.ENTROPIES_3, masnadi_sets.MOST)]
)
def test_the_drop_of_table_3_is_the_papers_own(printed, least):
    rows = {row: np.array(values, dtype=float) for row, values in printed.rows.items()}
    others = np.min([rows[row] for row in list(rows)[:3]], axis=0)
    drop = np.array(masnadi.drop(rows["Avg. BoostLR(σ_opt)"], others, least))
    # Where the least cross-entropy is nearly reached the third digit decides; the paper rounds to two.
    clear = others - least > 0.15 if least else np.arange(10) != 0
    np.testing.assert_allclose(drop[clear], rows["Drop (%)"][clear], atol=0.1 if least == 0 else 5.0)


def test_exchanging_two_columns_of_the_print_leaves_ours():
    table = masnadi.ENTROPIES_4.beside({"GLog": [float(k) for k in range(12)]})
    back = masnadi.exchanged(table)
    assert (back.cell("GLog", "#4").printed, back.cell("GLog", "#5").printed) == (5.42, 3.80)
    assert [cell.ours for cell in back.cells] == [cell.ours for cell in table.cells]


def test_a_gain_that_is_chosen_by_one_fold_is_tested_on_another():
    values = np.zeros((1, 1, 2, 2, 3))
    values[0, 0, 0] = [[3, 1, 2], [10, 20, 30]]
    values[0, 0, 1] = [[3, 3, 2], [40, 50, 60]]
    nothing = np.zeros((1, 1, 2, 2, 1, 3))
    sweeps = masnadi_sets.Sweeps(("GLog",), (1.0, 2.0, 4.0), nothing, nothing, values, np.zeros((1, 1, 2, 2)))
    tested, gains = sweeps.chosen(values)
    assert tested[0, 0] == pytest.approx((20 + 60) / 2)
    assert gains[0, 0].tolist() == [2.0, 4.0]


def test_the_sweeps_of_one_loss_are_those_of_all():
    shape = (1, 2, 3, 2, 2, 3)  # sets, seeds, folds, rows to choose by and to test, losses, gains
    values = np.arange(np.prod(shape), dtype=float).reshape(shape)
    whole = masnadi_sets.Sweeps(
        ("GLog", "GBoost"), (0.5, 1.0, 2.0), values, -values, values[..., 0, :], np.zeros((1, 2, 3, 2))
    )
    part = whole.of_loss("GBoost", (0.5, 2.0, 9.0))
    assert (part.losses, part.gains) == (("GBoost",), (0.5, 2.0))
    np.testing.assert_array_equal(part.tested("error")[:, :, 0], whole.tested("error")[:, :, 1, [0, 2]])
    np.testing.assert_array_equal(part.entropy[..., 0, :], -values[..., 1, [0, 2]])
    np.testing.assert_array_equal(part.plain, values[..., 0, [0, 2]])


def test_the_predictor_read_without_its_gain():
    scores, gains = np.array([-3.0, 0.0, 2.0]), (1.0, 10.0)
    P = np.array([losses.GLog(gain).composite().inverse(scores) for gain in gains])
    expected = losses.Log().composite().inverse(scores)
    np.testing.assert_allclose(masnadi_sets.read_without_gain(P, gains), [expected, expected], rtol=1e-12)


def test_the_measures_of_the_tables():
    y = np.array([0, 1, 1, 0])
    P = np.array([[0.05, 0.15, 0.95, 0.85], [0.5, 0.5, 0.5, 0.5]])
    assert masnadi_sets.wrong(y, P).tolist() == [2.0, 2.0]
    # Ten bins, one row added to each: four bins of 2/14 and six of 1/14.
    expected = -(4 * np.log2(2 / 14) + 6 * np.log2(1 / 14)) / 10
    assert masnadi_sets.cross_entropy(y, P)[0] == pytest.approx(expected)


def test_the_true_probability_of_two_gaussians():
    rng = np.random.default_rng(0)
    X, y = masnadi_gaussians.sample(rng, 50_000)
    eta = masnadi_gaussians.truth(X)
    assert eta.mean() == pytest.approx(0.5, abs=0.01)
    assert np.mean(np.minimum(eta, 1 - eta)) == pytest.approx(0.3, abs=0.005)  # the Bayes error of the paper
    assert np.mean(y[eta > 0.7]) == pytest.approx(eta[eta > 0.7].mean(), abs=0.01)


def test_categories_become_codes_or_columns_of_their_own():
    cells = (("1.5", "a", "x"), ("2", "b", "y"), ("?", "c", "?"), ("4", "a", "x"))
    rows = DataSet("made up", cells, np.array(["0", "1", "?", "1"]), (0, 1, 2), np.zeros(4, dtype=int))
    assert labelled(rows).tolist() == [True, True, False, True]
    np.testing.assert_array_equal(coded(rows)[:, 1], [0, 1, 2, 0])
    np.testing.assert_array_equal(coded(rows)[:, 2], [0, 1, np.nan, 0])
    expected = [[1.5, 1, 0, 0, 0], [2, 0, 1, 0, 1], [np.nan, 0, 0, 1, np.nan], [4, 1, 0, 0, 0]]
    np.testing.assert_array_equal(indicators(rows), expected)


def test_words_for_counts():
    words = [masnadi_sets.counted_word(ours, 8, 10) for ours in (9, 7, 6, 5)]
    assert words == ["reproduced", "reproduced", "same pattern", "not reproduced"]
    assert masnadi_sets.word((9, 10), pattern=False) == "reproduced"
    assert masnadi_sets.word((8, 10), pattern=True) == "same pattern"
