"""What a fitted model tells: its rules, what they add to a score, and the same from a file."""

import re
from itertools import chain

import numpy as np
import pytest

from propriety import RuleClassifier, losses
from propriety.data.table import Schema
from propriety.evaluation import theory
from propriety.losses import simplex
from propriety.model import contract, files


def test_rules_say_what_the_model_does(frame):
    X, y = frame
    model = RuleClassifier(n_rules=8, max_literals=3).fit(X, y)
    column = Schema.fit(X)[1].column
    F = np.full(len(y), model.intercept_)
    for rule in model.rules_:
        holds = rule.holds(column, len(y))
        F += np.where(holds, rule.coefficient, -rule.coefficient)
        assert rule.coverage == pytest.approx(holds.mean())
        assert rule.precision == pytest.approx(np.mean(y[holds] == rule.says))
        assert rule.precision_outside == pytest.approx(np.mean(y[~holds] == rule.denies))
        assert len({literal.column for literal in rule.literals}) == len(rule.literals)
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-12)
    text = model.export_text()
    assert "town in {" in text
    assert "missing" in text


def test_the_printed_model_can_be_worked_out_by_hand(data):
    X, y = data
    model = RuleClassifier(n_rules=6).fit(X, y)
    lines = model.export_text(digits=12).splitlines()
    F = np.full(len(y), float(lines[0].split("=")[1]))
    for line in lines[1:-1:2]:
        sign, size, condition = re.fullmatch(r"  ([+-]) +(\S+) if (.*), else . \S+", line).groups()
        holds = np.ones(len(y), dtype=bool)
        for literal in condition.split(" and "):
            expression = re.sub(r"x(\d)", r"X[:, \1]", literal.replace("≤", "<="))
            expression = re.sub(r"^(\S+) < (.*) <= (\S+)$", r"(\1 < \2) & (\2 <= \3)", expression)
            holds &= eval(expression)
        F += float(sign + size) * np.where(holds, 1, -1)
    np.testing.assert_allclose(F, model.decision_function(X), atol=1e-10)
    assert lines[-1] == "probability of 1 = Logit().inverse(score)"
    assert not model.separated_


def test_margins(data):
    X, y = data
    model = RuleClassifier("Matsushita()").fit(X, y)
    signs = 2 * y - 1
    expected = 2 * model.loss_.inverse(signs * model.decision_function(X)) - 1
    np.testing.assert_allclose(model.margins(X, y), expected, atol=1e-12)
    distribution = theory.margin_distribution(model.margins(X, y))
    assert distribution(0) == pytest.approx(np.mean(model.predict(X) != y))


def test_it_keeps_the_contract_of_a_fitted_model(data):
    model = RuleClassifier(n_rules=2).fit(*data)
    assert isinstance(model, contract.FittedModel)
    assert model.view == contract.TEXT


def test_contributions_add_up_to_the_score_and_have_mean_zero(frame, three):
    for X, y, n_scores in ((*frame, 1), (*three, 3)):
        w = np.random.default_rng(0).integers(0, 4, len(y))
        model = RuleClassifier(n_rules=6).fit(X, y, w)
        parts = model.contributions(X).reshape(len(y), n_scores, -1)
        scores = model.decision_function(X).reshape(len(y), n_scores)
        np.testing.assert_allclose(parts.sum(axis=2), scores, atol=1e-12)
        np.testing.assert_allclose(np.average(parts[:, :, :-1], axis=0, weights=w), 0, atol=1e-12)
        np.testing.assert_allclose(parts[0, :, -1], np.average(scores, axis=0, weights=w), atol=1e-12)
        np.testing.assert_array_equal(model.predict_contributions(X), model.contributions(X))


def test_a_rule_is_shared_by_its_columns():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 3)).astype(float)
    y = (X[:, 0] * X[:, 2] > 0) ^ (rng.random(400) < 0.1)
    model = RuleClassifier(n_rules=1).fit(X, y)
    (rule,) = model.rules_
    assert {literal.column for literal in rule.literals} == {0, 2}
    holds = np.all(X[:, [0, 2]] == 1, axis=1)
    np.testing.assert_allclose(
        model.contributions(X)[:, 0], rule.coefficient * (holds - holds.mean()), atol=1e-12
    )
    np.testing.assert_array_equal(model.feature_importances_, [0.5, 0.0, 0.5])


def test_importances_are_shares_of_the_spread(data, three):
    X, y = data
    model = RuleClassifier(max_literals=1).fit(X, y)
    spread = np.zeros(5)
    for rule in model.rules_:
        column = rule.literals[0].column
        spread[column] += np.std(np.where(rule.literals[0].holds(X[:, column]), 1, -1) * rule.coefficient)
    np.testing.assert_allclose(model.importances(), spread / spread.sum())
    assert RuleClassifier().fit(*three).importances().sum() == pytest.approx(1)
    assert RuleClassifier(n_rules=0).fit(X, y).importances().tolist() == [0.0] * 5


def test_words_are_the_rules_that_hold(frame, three):
    X, y = frame
    model = RuleClassifier(n_rules=4).fit(X, y)
    held = np.array([rule.holds(Schema.fit(X)[1].column, len(y)) for rule in model.rules_])
    assert model.words(X) == [[str(r) for r, h in zip(model.rules_, row, strict=True) if h] for row in held.T]
    assert any("town in {" in rule for rule in chain(*model.words(X)))
    several = RuleClassifier(n_rules=2).fit(*three)
    assert "then 0 else not 0" in " ".join(chain(*several.words(three[0])))


# --- several classes ------------------------------------------------------------------------------


def test_attributes_have_one_entry_a_class(three):
    X, y = three
    model = RuleClassifier(n_rules=3).fit(X, y)
    assert model.loss_ == simplex.OneVsRest(losses.Log())
    np.testing.assert_array_equal(model.loss_.inverse(model.decision_function(X)), model.predict_proba(X))
    assert [len(rules) for rules in (model.rules_, model.chosen_, model.edges_)] == [3, 3, 3]
    assert model.intercept_.shape == model.separated_.shape == (3,)
    assert model.n_iter_ == max(map(len, model.edges_))
    two = RuleClassifier(n_rules=3).fit(X, y == 1)
    assert two.chosen_ == (losses.Log().composite(),) * 3
    assert isinstance(two.intercept_, float)
    assert two.edges_.shape == (3,)
    assert two.separated_ is False


def test_each_class_of_a_bag_has_the_link_of_its_own_loss(three):
    X, y = three
    model = RuleClassifier("bag", choose="edge", n_rules=4).fit(X, y)
    last = [chosen[-1] for chosen in model.chosen_]
    assert len(set(last)) > 1
    assert model.loss_ == simplex.OneVsRest(last[0])
    F = model.decision_function(X)
    p = np.column_stack([c.inverse(F[:, k]) for k, c in enumerate(last)])
    np.testing.assert_allclose(model.predict_proba(X), p / p.sum(axis=1, keepdims=True), atol=1e-15)
    again = files.from_bytes(files.to_bytes(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_a_file_keeps_everything(frame, classes):
    X, y = frame
    y = np.where((X["noise"] > 0.5) & (classes == 3), "maybe", y)
    model = RuleClassifier(n_rules=3).fit(X, y)
    again = files.from_bytes(files.to_bytes(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.contributions(X), model.contributions(X))
    for name in ("rules_", "chosen_", "loss_", "n_iter_"):
        assert getattr(again, name) == getattr(model, name)
    for name in ("intercept_", "separated_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
        assert type(getattr(again, name)) is type(getattr(model, name))
    assert again.export_text() == model.export_text()
    assert again.words(X.head(5)) == model.words(X.head(5))


def test_a_file_whose_losses_differ_is_refused(data):
    model = RuleClassifier(n_rules=1).fit(*data)
    model.loss_ = losses.Squared().composite()
    with pytest.raises(ValueError, match="not that of its scores"):
        files.from_bytes(files.to_bytes(model))
