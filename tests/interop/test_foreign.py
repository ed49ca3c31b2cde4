"""The formulas of the losses on arrays that answer NumPy's functions by themselves."""

import numpy as np
import pytest

from propriety import losses
from propriety.interop.foreign import ForeignArray, ForeignLoss

F = np.linspace(-25, 25, 201)
Y = (np.arange(201) % 3) / 2


class Counted(ForeignArray):
    """NumPy's arrays as another library would have them; what SciPy has is lacking."""

    @staticmethod
    def constant(values, like):
        return Counted(np.asarray(values, dtype=like.array.dtype))


Counted.functions = {name: f for name, f in vars(np).items() if callable(f)} | {
    "take": lambda values, places: values[places.astype(int)]
}


def foreign(loss):
    return ForeignLoss(losses.as_composite(loss), Counted, lambda f: f(np.zeros(2)))


@pytest.mark.parametrize(
    "loss",
    [
        "Log",
        "Exponential",
        "Squared().with_link(Cauchit())",
        "Spherical",
        "LogCosh(8)",
        "Boosting",
        "GLaplace(2)",
    ],
)
def test_formulas_run_as_they_stand(loss):
    ours, c = foreign(loss), losses.as_composite(loss)
    assert ours.closed_form
    assert np.array_equal(ours.value(Y, F), c.value(Y, F))
    assert np.array_equal(ours.gradient(Y, F), c.gradient(Y, F))
    assert np.array_equal(ours.hessian(Y, F), c.hessian(Y, F))
    assert np.array_equal(ours.inverse(F), c.inverse(F))


def test_a_loss_without_closed_form_is_a_table():
    for loss in ("Tailored(0.1, 20)", 2 * losses.Log() + losses.Squared()):
        ours, c = foreign(loss), losses.as_composite(loss)
        assert not ours.closed_form
        for mine, true, digits in (
            (ours.value, c.value, 1e-11),
            (ours.gradient, c.gradient, 1e-11),
            (ours.hessian, c.hessian, 1e-8),
        ):
            truth = true(Y, F)
            assert np.allclose(mine(Y, F), truth, rtol=digits, atol=digits * 0.01 * np.abs(truth).max())
        assert np.allclose(ours.inverse(F), c.inverse(F), rtol=1e-11)


def test_a_table_goes_on_as_a_straight_line():
    ours = foreign("Log() + Squared()")
    far = np.array([100.0, 200.0, 300.0])
    zero = np.zeros(3)
    assert np.allclose(np.diff(ours.value(zero, far)), 100.0)
    assert np.allclose(ours.value(zero, -far), 0.0, atol=1e-12)


def test_a_loss_that_no_table_fits_is_refused(monkeypatch):
    monkeypatch.setattr("propriety.interop.foreign.tabulate", lambda *_: None)
    with pytest.raises(TypeError, match=r"Squared\(\).*no table fits it"):
        foreign("Log() + Squared()")
