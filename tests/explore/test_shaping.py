import numpy as np
import pytest

from propriety import losses
from propriety.explore import shaping
from propriety.explore.shaping import AXIS, HANDLES, heights_of, through


@pytest.mark.parametrize("seed", range(8))
def test_the_weight_passes_through_the_handles(seed):
    heights = np.exp(np.random.default_rng(seed).uniform(np.log(0.5), np.log(60), len(HANDLES)))
    shape = through(heights)
    assert shape.missed == ()
    assert shape.note == ""
    np.testing.assert_allclose(shape.loss.weight(np.array(HANDLES)), heights, rtol=shaping._NEAR)


def test_a_shape_prints_as_text_that_makes_it():
    shape = through([5, 40, 8, 4, 2, 1, 0.5])
    assert losses.parse(repr(shape.loss)) == shape.loss
    assert shape.loss.composite().properties()["proper"]


@pytest.mark.parametrize("loss", [losses.Log(), losses.Squared()])
def test_handles_of_a_known_loss_give_it_back(loss):
    assert through(heights_of(loss, 1.0)).loss == loss


def test_what_cannot_be_reached_is_said():
    low = through([AXIS.low, AXIS.high, AXIS.low, *[AXIS.low] * 4])
    assert set(low.missed) <= set(HANDLES)
    assert low.missed
    assert "stays above the handle" in low.note


@pytest.mark.parametrize(
    ("heights", "message"),
    [
        ([1, 2], "handles must be 7 weights"),
        ([1] * 6 + ["x"], "a handle must be a number"),
        ([1] * 6 + [1e9], r"a handle must be a finite number in \[0.2, 300\]"),
        ([1] * 6 + [float("nan")], "a handle must be a finite number"),
    ],
)
def test_handles_that_cannot_be_are_refused(heights, message):
    with pytest.raises((ValueError, TypeError), match=message):
        through(heights)
