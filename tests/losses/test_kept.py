"""Tables that are kept on disk, by what the loss is."""

import math
from io import BytesIO

import numpy as np
import pytest

from propriety import losses
from propriety.losses import fused, kept

EXPONENT = -1.2


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path / "propriety-tables"


def mine():
    return losses.from_weight(lambda p, q: (p * q) ** EXPONENT).with_link("Logit()")


def test_a_function_is_told_by_its_source_and_what_it_uses(monkeypatch):
    def with_power(k):
        return losses.from_weight(lambda p: p**k)

    first = kept.digest(mine())
    assert first == kept.digest(mine())
    assert kept.digest(with_power(0.5)) == kept.digest(with_power(0.5)) != kept.digest(with_power(0.6))
    monkeypatch.setitem(globals(), "EXPONENT", -1.1)
    assert kept.digest(mine()) != first
    monkeypatch.setitem(globals(), "EXPONENT", object())
    assert kept.digest(losses.Log()) != kept.digest(losses.Squared())
    assert kept.digest(lambda p: EXPONENT) is None  # nobody can tell when this changes
    assert kept.digest(lambda p: np.exp(p)) != kept.digest(lambda p: np.log(p))
    assert kept.digest((math.exp, np.exp, np.arange(3))) is not None


def test_only_losses_of_functions_are_kept():
    assert kept.has_function(mine())
    assert kept.has_function((2 * losses.from_entropy(lambda p: p * (1 - p)) + losses.Log()).composite())
    assert not kept.has_function(losses.Tailored(0.1).composite())


def test_a_table_is_made_once(place, monkeypatch):
    made = fused._table_kernel(mine(), "fisher")
    assert len(list(place.glob("*.npz"))) == 1
    monkeypatch.setattr(fused, "tabulate", lambda *_: pytest.fail("the table was kept"))
    again = fused._table_kernel(mine(), "fisher")
    y, F = np.array([0.0, 1.0, 1.0]), np.array([-3.0, 0.1, 4.0])
    found = []
    for kernel in (made, again):
        gradient, curvature = np.empty(3), np.empty(3)
        assert kernel.run(y, F, gradient, curvature) == 0
        found.append((gradient, curvature))
    assert np.array_equal(found[0], found[1])


@pytest.mark.parametrize("damage", ["cut", "numbers"])
def test_a_damaged_table_is_made_again(place, damage):
    fused._table_kernel(mine(), "fisher")
    (path,) = place.glob("*.npz")
    whole = path.read_bytes()
    if damage == "cut":
        path.write_bytes(whole[:1000])
    else:
        with np.load(path) as file:
            arrays = [file[f"arr_{i}"] for i in range(5)]
        arrays[2] = 2 * arrays[2]
        np.savez(path, *arrays)
    assert fused._table_kernel(mine(), "fisher") is not None
    with np.load(path) as file, np.load(BytesIO(whole)) as before:
        assert np.array_equal(file["arr_2"], before["arr_2"])


def test_nothing_is_written_where_nothing_can_be(monkeypatch):
    monkeypatch.setattr(kept, "folder", lambda: None)
    assert fused._table_kernel(mine(), "fisher") is not None


def test_old_tables_are_forgotten(place, monkeypatch):
    monkeypatch.setattr(kept, "_MOST", 2)
    for i in range(4):
        kept.kept((i,), lambda: (np.arange(3),), lambda _: True)
    assert len(list(place.glob("*.npz"))) == 2
