import json

import numpy as np
import pytest

from propriety import losses
from propriety.explore import answers, choices
from propriety.explore.answers import GRIDS, BadRequestError, asked_loss, code, faces
from propriety.explore.shaping import Shape

THRESHOLDS = np.array([0.1, 0.5])
P, V = GRIDS["p"], GRIDS["v"]


def told(loss):
    return faces(Shape(losses.parse(loss) if isinstance(loss, str) else loss, ()), THRESHOLDS)


def curves(answer):
    return {face["name"]: [np.array(c["y"], dtype=float) for c in face["curves"]] for face in answer["faces"]}


@pytest.mark.parametrize("family", choices.families(), ids=lambda family: family.name)
def test_curves_values_and_properties_are_the_library_s(family):
    loss = answers.make(family.name, family.start())
    answer = told(loss)
    expected = {"entropy": [loss.entropy(P)], "partial losses": [loss.loss(1, P), loss.loss(0, P)]}
    values = {"entropy H": loss.entropy(THRESHOLDS), "loss if y = 1": loss.loss(1, THRESHOLDS)}
    values["loss if y = 0"] = loss.loss(0, THRESHOLDS)
    facts = loss.properties()
    if isinstance(loss, losses.SmoothLoss):
        c = loss.composite()
        facts = c.properties()
        expected |= {"weight": [loss.weight(P)], "link": [c.link(P)]}
        values |= {"weight ω": loss.weight(THRESHOLDS), "score F": c.link(THRESHOLDS)}
        expected["margin loss"] = [c.value(1, V)] + ([] if c.has_margin_form else [c.value(0, -V)])
        expected["example weight"] = [-c.gradient(1, V)] + ([] if c.has_margin_form else [c.gradient(0, -V)])
    shown = curves(answer)
    assert set(shown) == set(expected)
    for name, lines in expected.items():
        assert len(shown[name]) == len(lines)
        for line, value in zip(shown[name], lines, strict=True):
            np.testing.assert_allclose(line, value, rtol=1e-4)
    assert {row["name"] for row in answer["values"]} == set(values)
    for row in answer["values"]:
        np.testing.assert_allclose(row["at"], values[row["name"]], rtol=1e-5)
    assert {row["name"]: (row["holds"], row["reason"]) for row in answer["properties"]} == {
        name: (fact.holds, fact.reason) for name, fact in facts.items()
    }
    json.dumps(answer, allow_nan=False)


def test_the_log_loss_beside_it_has_the_same_largest_entropy():
    answer = told("Beta(6, 14)")
    (entropy,) = [face for face in answer["faces"] if face["name"] == "entropy"]
    largest = max(entropy["curves"][0]["y"])
    assert max(entropy["reference"][0]["y"]) == pytest.approx(largest, rel=1e-2)
    assert answer["reference"].endswith("× log loss")
    assert told("Log")["reference"] == "log loss"


@pytest.mark.parametrize(
    "text",
    [
        *(repr(answers.make(family.name, family.start())) for family in choices.families()),
        "0.5 * Log() + 12 * HandVinciotti(0.1, 0.04)",
        "Squared().with_link(Probit())",
        "Tailored(0.3, by='mode')",
    ],
)
def test_the_code_makes_this_loss_and_a_model_of_it(text):
    loss, names = losses.parse(text), {}
    (row,) = [row for row in choices.thresholds() if row["c"] == 0.1]
    exec(told(loss)["code"].replace("{costs}", row["costs"]), names)
    assert names["loss"] == loss
    model = names["model"]
    assert model.loss == loss
    assert (model.fp_cost, model.fn_cost) == (1, 9)
    assert f'--loss "{text}"' in told(loss)["command"]


def test_a_loss_without_a_weight_is_for_a_tree():
    assert "TreeClassifier" in code(losses.CostWeighted(0.1))
    assert told("CostWeighted(0.1)")["handles"] is None


def test_a_long_sum_has_a_short_title():
    assert told("Log")["title"] == "Log()"
    long = " + ".join(f"{k + 1} * HandVinciotti(0.{k + 1}, 0.05)" for k in range(5))
    assert told(long)["title"] == "A mixture of 5 losses"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({}, "there is no family ''; the families are AlphaTunable"),
        ({"family": "Nope"}, "there is no family 'Nope'"),
        ({"family": "Beta", "alpha": "1"}, "Beta needs alpha, beta; beta is not given"),
        ({"family": "Beta", "alpha": "1", "beta": "x"}, "beta must be a number, got 'x'"),
        ({"family": "Beta", "alpha": "1", "beta": "-2"}, r"beta must be a finite number in \(-1, inf\)"),
        ({"family": "Tailored", "cost": "0.1", "focus": "1", "by": "median"}, "by must be 'mean' or 'mode'"),
        ({"loss": " "}, "write a loss, for example"),
        ({"loss": "Focal(2)"}, "Focal is not a proper loss"),
        ({"loss": "__import__('os')"}, "unknown loss or link"),
        ({"loss": "Logit()"}, "loss must be a proper loss"),
        ({"loss": "simplex.Log()"}, "loss must be a proper loss"),
        ({"loss": "Log()+" * 200 + "Log()"}, "at most 500 letters"),
        ({"handles": "1,2,3"}, "handles must be 7 weights"),
        ({"handles": ""}, "handles must be 7 weights"),
    ],
)
def test_a_question_that_cannot_be_answered_says_why(query, message):
    with pytest.raises(BadRequestError, match=message):
        asked_loss(query)


def test_a_loss_beyond_every_number_is_refused_or_drawn_as_json():
    for text in ("1e-300 * Log()", "1e300 * Log() + Squared()", "LogCosh(1e12)"):
        assert json.dumps(told(text), allow_nan=False)
    with pytest.raises(BadRequestError, match="cannot be drawn"):
        told("Beta(1e300, 2)")
