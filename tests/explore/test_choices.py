import dataclasses

import pytest

from propriety import losses
from propriety.costs import ResolvedCosts
from propriety.explore import choices


def test_every_registered_family_is_on_the_page():
    assert [family.name for family in choices.families()] == losses.names()


@pytest.mark.parametrize("family", choices.families(), ids=lambda family: family.name)
def test_every_stop_makes_a_loss_and_the_few_are_among_them(family):
    for name, slider in family.sliders.items():
        assert set(slider.few) <= set(slider.stops)
        assert list(slider.few) == [stop for stop in slider.stops if stop in slider.few]
        for stop in slider.stops:
            loss = getattr(losses, family.name)(**family.start() | {name: stop})
            assert getattr(loss, name) == stop
    assert all(getattr(losses, family.name)(**values) for values in family.grid())


def test_no_slider_is_without_its_family():
    fields = {(name, f.name) for name in losses.names() for f in dataclasses.fields(getattr(losses, name))}
    assert set(choices.SLIDERS) == fields


def test_the_grid_runs_through_the_last_parameter_first():
    family = next(f for f in choices.families() if f.name == "HandVinciotti")
    first, second = list(family.grid())[:2]
    assert first["c"] == second["c"]
    assert (first["width"], second["width"]) == family.sliders["width"].few[:2]


def test_costs_belong_to_their_thresholds():
    for row in choices.thresholds():
        costs = ResolvedCosts.of_mistakes(**eval(f"dict({row['costs']})"))
        assert costs.threshold == pytest.approx(row["c"], rel=1e-3)
    own = {row["c"]: row for row in choices.thresholds(3, 97)}
    assert own[0.03]["costs"] == "fp_cost=3, fn_cost=97"
    assert {row["words"] for row in choices.thresholds() if row["c"] in (0.5, 0.8)} == {
        "A miss costs as much as a false alarm.",
        "A false alarm costs 4 misses.",
    }
