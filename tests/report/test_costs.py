"""The report of costs as people have them: of rows, of a matrix, in ranges and budgets; of wrapped models."""

import html
import re

import numpy as np
import pandas as pd
import pytest
from pages import page_of
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propriety import Costs, LinearClassifier, LossSearchCV, RuleClassifier, TreeClassifier, evaluation
from propriety.costs import ResolvedCosts
from propriety.evaluation.flips import Flip
from propriety.report.groups import FAIRNESS
from propriety.study import Study
from propriety.study.flips import Flipped
from propriety.study.numbers import amount, number, percent

N = 300
RNG = np.random.default_rng(0)
AMOUNT = RNG.lognormal(2, 0.7, N)
P = RNG.uniform(size=N)
Y = (RNG.uniform(size=N) < P).astype(int)
ROWS = {"fp_cost": 0.5 + 0.1 * AMOUNT, "fn_cost": AMOUNT}
MATRIX = np.array([[0.0, 5, 9, 1], [2, 0, 3, 1], [8, 1, 0, 1]])


def text_of(report):
    page = re.sub(r"<(style|script)[^>]*>.*?</\1>", "", report.report(), flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


# --- costs of rows ------------------------------------------------------------------------------------


def test_the_cost_of_rows_is_that_of_the_library():
    report = page_of(Y, P, **ROWS, positive="bad", stated={"fn_cost": "amount"})
    summary = evaluation.cost_summary(Y, ResolvedCosts.of_mistakes(**ROWS).decide(P), **ROWS)
    assert report.judgements[0].cost.value == pytest.approx(1000 * summary.mean.value)
    assert report.judgements[0].savings.value == pytest.approx(summary.savings)
    assert (
        report.judgements[0].savings.low
        < report.judgements[0].savings.value
        < report.judgements[0].savings.high
    )
    text = text_of(report)
    for part in (
        "Costs, and so the threshold",
        "stated",
        "amount",
        "test rows cost",
        "in all",
        "cheaper of always and never",
        "Each row is weighted by its stakes",
        "Limited budget",
        "lift",
    ):
        assert part in text, part


def test_a_page_of_rows_with_the_same_costs_has_the_numbers_of_two_costs():
    of_rows = page_of(Y, P, fp_cost=np.full(N, 1.0), fn_cost=np.full(N, 4.0))
    plain = page_of(Y, P, fp_cost=1, fn_cost=4)
    for one, other in zip(of_rows.judgements, plain.judgements, strict=True):
        assert (one.cost, one.false_alarms, one.misses) == (other.cost, other.false_alarms, other.misses)
    curve, staked = (
        evaluation.murphy_curve(Y, P),
        evaluation.murphy_curve(Y, P, of_rows.weights.array * of_rows.costs.stake),
    )
    assert curve(0.3) == pytest.approx(staked(0.3))


def test_rows_of_a_group_are_one_observation():
    copies = np.repeat(np.arange(N), 4)
    alone = page_of(Y, P, fn_cost=4).judgements[0].cost
    pretended = page_of(Y[copies], P[copies], fn_cost=4).judgements[0].cost
    grouped = page_of(Y[copies], P[copies], fn_cost=4, groups=copies).judgements[0].cost
    assert grouped.high - grouped.low == pytest.approx(alone.high - alone.low, rel=1e-6)
    assert pretended.high - pretended.low < 0.6 * (alone.high - alone.low)


def test_a_benefit_may_make_the_cost_negative():
    report = page_of(Y, P, fp_cost=1, fn_cost=0, tp_benefit=5)
    assert report.judgements[0].cost.high < 0
    assert report.judgements[0].cost.low < report.judgements[0].cost.value
    assert report.judgements[0].savings is None
    assert "a hit brings" in text_of(report)


# --- budgets and ranges -------------------------------------------------------------------------------


def test_a_budget_is_kept_and_its_curve_is_that_of_the_library():
    report = page_of(Y, P, **ROWS, budget=40, positive="bad")
    assert report.decided.sum() == 40
    assert [line.name for line in report.judgements] == ["the model", "never 'bad'"]
    curve = evaluation.budget_curve(Y, P, **ROWS)
    cost = ResolvedCosts.of_mistakes(**ROWS).of_rows(Y, report.decided).sum()
    assert curve(40) == pytest.approx(cost)
    text = text_of(report)
    assert "40 (the budget)" in text
    assert f"{curve.lift(40):.3g}" in text
    assert f"{curve(40):,.0f}" in text


def test_the_budget_curve_of_benefits_has_their_sum():
    report = page_of(Y, P, fp_cost=1, fn_cost=0, tp_benefit=5, tn_benefit=0.5, budget=30)
    total = ResolvedCosts.of_mistakes(1, 0, tp_benefit=5, tn_benefit=0.5).of_rows(Y, report.decided).sum()
    row = re.search(r"30 \(the budget\) *10\.0% *([−\d.,]+)", text_of(report))
    assert float(row[1].replace("−", "-").replace(",", "")) == pytest.approx(total, abs=0.6)


def test_what_hangs_on_costs_known_roughly_is_told():
    report = page_of(Y, P, fp_cost=1, fn_cost=(2, 20))
    result = evaluation.cost_sensitivity(P, 1, (2, 20))
    text = text_of(report)
    assert f"{result.changed.value:.1%} of the rows" in text
    assert "2 to 20, uncertain" in text
    assert "Uncertain costs" not in text_of(page_of(Y, P, fn_cost=4))


def test_a_range_beside_costs_of_rows_is_told_too():
    report = page_of(Y, P, fp_cost=0.1 * AMOUNT, fn_cost=(2, 20))
    assert "for the median row" in text_of(report)
    np.testing.assert_allclose(report.costs.fn_cost, 18 / np.log(10))


# --- several classes ----------------------------------------------------------------------------------


def three(n=N):
    x = np.random.default_rng(1).normal(size=(n, 2))
    return x, np.array(["a", "b", "c"])[np.digitize(x[:, 0] + x[:, 1] / 2, [-0.5, 0.5])]


def test_a_matrix_has_its_page():
    x, y = three()
    model = TreeClassifier(costs=Costs(matrix=MATRIX), max_leaf_nodes=5).fit(x[:150], y[:150])
    report = Study.from_estimator(
        model, x[150:], y[150:], rivals={"logistic": LogisticRegression().fit(x[:150], y[:150])}
    )
    mean = evaluation.mean_cost(y[150:], model.predict(x[150:]), costs=Costs(matrix=MATRIX))
    assert report.judgements[0].cost.value == pytest.approx(1000 * mean)
    assert report.labels == ("a", "b", "c")
    text = text_of(report)
    for part in ("Cost matrix", "undecided", "is 'c'", "logistic", "The decision tree", "predicted"):
        assert part in text, part
    assert "Murphy" not in text
    assert not re.search("nan|None", text)


def test_the_confusion_of_a_page_counts_every_row():
    x, y = three()
    model = LinearClassifier(alpha=0.01).fit(x, y)
    text = text_of(Study.from_estimator(model, x, y))
    assert "All mistakes cost the same" in text
    assert sum(int(n) for n in re.findall(r"\((\d+) rows?\)", text)) == N


def test_two_classes_and_a_reject_option():
    matrix = [[0, 1, 0.2], [9, 0, 0.2]]
    report = page_of(Y, P, cost_matrix=matrix, positive="bad", negative="good")
    decided = ResolvedCosts.of_matrix(matrix).decide(P)
    assert report.judgements[0].abstained == pytest.approx(1000 * np.mean(decided == 2))
    assert "always 'abstain'" in [line.name for line in report.judgements]
    assert "of 1,000 are left undecided" in text_of(report)


def test_bad_classes_are_refused():
    x, y = three(60)
    p = LogisticRegression().fit(x, y).predict_proba(x)
    codes = np.unique(y, return_inverse=True)[1]
    with pytest.raises(ValueError, match="class_names must name the 3 classes"):
        page_of(codes, p, classes=("a", "b"))
    with pytest.raises(ValueError, match="label 3, which the model does not know"):
        page_of(codes + 1, p)
    with pytest.raises(ValueError, match="cost_matrix is for 2 classes"):
        page_of(codes, p, cost_matrix=[[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="3 probabilities for each of 60"):
        page_of(codes, p, rivals={"r": p[:, 0]})
    with pytest.raises(ValueError, match="pos_label is for two classes"):
        Study.from_estimator(LogisticRegression().fit(x, y), x, y, pos_label="a")


# --- models within others -----------------------------------------------------------------------------


def loans():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"years": rng.normal(size=N), "amount": rng.lognormal(1, 0.5, N)})
    return X, np.where(X["years"] + rng.normal(size=N) < -0.3, "bad", "good")


COSTLY = LinearClassifier("Log", alpha=0.01, fp_cost=1, fn_cost=5, pos_label="bad")
WRAPPED = {
    "itself": COSTLY,
    "a pipeline": make_pipeline(StandardScaler(), COSTLY),
    "a grid": GridSearchCV(COSTLY, {"alpha": [0.01, 0.1]}, cv=2),
    "a grid of a pipeline": GridSearchCV(
        make_pipeline(StandardScaler(), COSTLY), {"linearclassifier__alpha": [0.01]}, cv=2
    ),
    "a calibration": CalibratedClassifierCV(COSTLY, cv=2),
    "a search": LossSearchCV(COSTLY, ["Squared"], cv=2),
    "a search with its own costs": LossSearchCV(
        LinearClassifier(alpha=0.01), ["Squared"], fn_cost=5, pos_label="bad", cv=2
    ),
    "a search in a pipeline": make_pipeline(StandardScaler(), LossSearchCV(COSTLY, ["Squared"], cv=2)),
    "a threshold": FixedThresholdClassifier(COSTLY, threshold=0.4),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_the_costs_of_a_model_within_another_are_kept(name):
    X, y = loans()
    estimator = WRAPPED[name].fit(X, y)
    report = Study.from_estimator(estimator, X, y)
    assert (report.positive, report.negative) == ("bad", "good")
    assert report.costs.threshold == pytest.approx(1 / 6)
    np.testing.assert_array_equal(report.y, y == "bad")
    np.testing.assert_allclose(report.p, estimator.predict_proba(X)[:, 0])
    assert (report.loss is None) == (name == "a calibration")
    assert (report.effects is not None) == (
        name in ("itself", "a grid", "a search", "a threshold") or "own" in name
    )
    if name == "a calibration":
        assert "A miss costs 5 times" in text_of(report)


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: LossSearchCV(m, ["Squared"], cv=2), FrozenEstimator])
def test_costs_of_columns_within_another_are_those_of_the_rows(wrap):
    X, y = loans()
    model = LinearClassifier("Log", alpha=0.01, fn_cost="amount", pos_label="bad")
    estimator = wrap(model.fit(X, y)).fit(X, y)
    report = Study.from_estimator(estimator, X, y)
    np.testing.assert_allclose(report.costs.fn_cost, X["amount"])
    assert report.stated == {"fn_cost": "amount"}
    if wrap is FrozenEstimator:
        assert "differ by row" in text_of(report)


def test_positive_says_from_which_side_the_same_costs_are_seen():
    X, y = loans()
    model = COSTLY.fit(X, y)
    bad, good = (Study.from_estimator(model, X, y, pos_label=label) for label in ("bad", "good"))
    assert (good.positive, good.terms["fp_cost"], good.terms["fn_cost"]) == ("good", 5, 1)
    np.testing.assert_allclose(bad.p, 1 - good.p)
    assert bad.judgements[0].cost == good.judgements[0].cost
    assert bad.judgements[0].false_alarms == pytest.approx(good.judgements[0].misses)
    plain = LogisticRegression().fit(X, y)
    stated = Study.from_estimator(plain, X, y, pos_label="bad", fn_cost=5)
    np.testing.assert_allclose(stated.p, plain.predict_proba(X)[:, 0])
    assert stated.costs.threshold == pytest.approx(1 / 6)


def test_a_range_of_the_model_is_seen_from_either_side():
    X, y = loans()
    model = LinearClassifier("Log", alpha=0.01, fn_cost=(2, 8), pos_label="bad").fit(X, y)
    assert Study.from_estimator(model, X, y).terms["fn_cost"] == (2, 8)
    other = Study.from_estimator(model, X, y, pos_label="good")
    assert (other.terms["fp_cost"], other.terms["fn_cost"]) == ((2, 8), 1)


def test_names_are_what_the_page_calls_the_classes():
    X, y = loans()
    model = COSTLY.fit(X, y)
    report = Study.from_estimator(model, X, y, class_names={"bad": "not paid back", "good": "paid back"})
    assert (report.positive, report.negative) == ("not paid back", "paid back")
    with pytest.raises(ValueError, match=r"pos_label must be one of the classes .*'ill'; class_names="):
        Study.from_estimator(model, X, y, pos_label="ill")


def test_costs_that_are_given_take_the_place_of_the_model_s():
    x, y = three()
    model = TreeClassifier(costs=Costs(matrix=MATRIX)).fit(x, y)
    report = Study.from_estimator(model, x, y, costs=Costs(matrix=np.ones((3, 3)) - np.eye(3)))
    assert not report.costs.abstains
    X, labels = loans()
    report = Study.from_estimator(COSTLY.fit(X, labels), X, labels, fp_cost=2, pos_label="bad")
    assert (report.terms["fp_cost"], report.terms["fn_cost"]) == (2, 1)


def test_a_rival_of_other_classes_is_refused():
    X, y = loans()
    rival = LogisticRegression().fit(X, y == "bad")
    with pytest.raises(ValueError, match="'r' has the classes"):
        Study.from_estimator(COSTLY.fit(X, y), X, y, rivals={"r": rival})


# --- an offset, labels, decisions for everyone --------------------------------------------------------


def test_a_model_with_an_offset_is_judged_on_top_of_it():
    rng = np.random.default_rng(0)
    X, offset = rng.normal(size=(200, 2)), 2 * rng.normal(size=200)
    y = (rng.uniform(size=200) < 1 / (1 + np.exp(-offset - X[:, 0]))).astype(int)
    model = LinearClassifier(alpha=0.01).fit(X, y, offset=offset)
    plain = LinearClassifier(alpha=0.01).fit(X, y)
    piped = make_pipeline(StandardScaler(), LinearClassifier(alpha=0.01))
    piped.fit(X, y, linearclassifier__offset=offset)
    rivals = {"without": plain, "piped": piped}
    report = Study.from_estimator(model, X, y, offset=offset, rivals=rivals)
    np.testing.assert_array_equal(report.p, model.predict_proba(X, offset=offset)[:, 1])
    np.testing.assert_array_equal(report.rivals["without"], plain.predict_proba(X)[:, 1])
    np.testing.assert_allclose(report.rivals["piped"], report.p, atol=0.05)
    np.testing.assert_allclose(report.rivals["the offset alone"], 1 / (1 + np.exp(-offset)))
    turned = Study.from_estimator(model, X, y, offset=offset, pos_label=0)
    np.testing.assert_allclose(turned.rivals["the offset alone"], 1 / (1 + np.exp(offset)))
    assert "Scores include an offset" in text_of(report)
    assert "offset" not in text_of(Study.from_estimator(plain, X, y))
    with pytest.raises(ValueError, match="offset is needed: LinearClassifier was fitted with one"):
        Study.from_estimator(model, X, y)
    with pytest.raises(ValueError, match="offset is given, and LinearClassifier was fitted without one"):
        Study.from_estimator(plain, X, y, offset=offset)
    with pytest.raises(ValueError, match=r"offset must have shape \(200,\)"):
        page_of(y, report.p, offset=offset[1:])


@pytest.mark.parametrize(
    "model",
    [RuleClassifier(n_rules=2), TreeClassifier(max_leaf_nodes=60, min_samples_leaf=1)],
    ids=["rules", "tree"],
)
def test_the_words_of_a_model_have_the_labels_of_the_page(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    shown = text_of(Study.from_estimator(model.fit(X, y), X, y, class_names={0: "good", 1: "bad"}))
    words = shown[shown.index("The model in words") :]
    assert re.search(r"(says|→) bad", words)
    assert not re.search(r"(says|→|score of) [01]", words)


def test_decisions_for_everyone_that_are_not_shown_are_counted():
    p = RNG.dirichlet(np.ones(3), size=N)
    y = np.array([RNG.choice(3, p=row) for row in p])
    shown = text_of(page_of(y, p, cost_matrix=MATRIX, classes=("a", "b", "c")))
    assert "Of 4 decisions that could be taken for everyone, the 3 cheapest are shown." in shown
    assert "cheapest are shown" not in text_of(
        page_of(y, p, cost_matrix=MATRIX[:, :3], classes=("a", "b", "c"))
    )


def test_the_first_sentence_says_what_deciding_without_a_model_costs():
    sure = text_of(page_of(Y, P, fn_cost=4, positive="bad"))
    assert re.search(
        r"The model saves [\d.,]+ per 1,000 cases \(95% CI [\d.,]+ to [\d.,]+\) compared with "
        r"(never|always) 'bad'.*; without a model \((never|always) 'bad'\), they cost [\d.,]+\.",
        sure,
    )
    constant = text_of(page_of(Y, np.full(N, 0.5) + 1e-9 * P, positive="bad"))
    assert "No significant saving" in constant


def test_a_missing_group_of_a_report_is_named():
    with pytest.raises(ValueError, match="groups must name a group in every row, and none is named in row 3"):
        page_of(Y, P, groups=["a", "b", "a", None] * (N // 4))


# --- in the words of those who decide -----------------------------------------------------------------


def test_headline_and_tiles_are_in_the_unit_and_for_the_period():
    report = page_of(Y, P, fp_cost=10, fn_cost=40, positive="bad", unit="€", per=("year", 120_000))
    text = text_of(report)
    line = min(report.judgements[1:3], key=lambda line: line.cost.value)
    saved = amount(120 * line.dearer.value, "€")
    assert f"The model saves {saved} on 120,000 cases a year" in text
    assert f"{amount(120 * report.judgements[0].cost.value, '€')} cost of 120,000 cases a year" in text
    assert f"{number(120 * report.judgements[0].misses)} misses per 120,000 a year" in text
    assert "1,000 cases" not in text
    with pytest.raises(ValueError, match="cases must be a period and a number of cases"):
        page_of(Y, P, per=("year", 0))


def test_the_ranking_has_the_numbers_of_the_library():
    report = page_of(Y, P, positive="bad")
    curve = evaluation.ranking_curve(Y, P)
    text = text_of(report)
    assert f"100 of 1,000 10.0% {number(1000 * curve.gain(0.1) * curve.rate)}" in text
    assert f"Average precision {number(curve.average_precision)}" in text


def test_what_a_capacity_finds_is_told():
    report = page_of(Y, P, positive="bad", per=("day", 3000), capacity=200)
    curve = evaluation.ranking_curve(Y, P)
    found, there = (number(3000 * curve.rate * share) for share in (curve.gain(200 / 3000), 1))
    text = text_of(report)
    assert f"Checking 200 a day finds {found} of {there}" in text
    assert "200 of 3,000 (the capacity)" in text
    with pytest.raises(ValueError, match="capacity must be above 0 and at most the 1,000 cases"):
        page_of(Y, P, capacity=2000)


def test_subgroups_have_their_numbers_and_intervals():
    by = np.where(np.arange(N) % 2 == 0, "even", "odd")
    report = page_of(Y, P, fn_cost=4, by={"side": by, "p": P}, order=np.arange(N), time="day")
    text = text_of(report)
    for part in evaluation.subgroups(Y, P, by, costs=report.costs):
        seen = f"{part.rate.value:.1%} ({part.rate.low:.1%} to {part.rate.high:.1%})"
        assert f"{part.name} {part.n:,} {part.positives:,} {number(1000 * part.cost.value)}" in text
        assert seen in text
        more = part.differences["missed"]
        assert f"{percent(more.value)} ({percent(more.low)} to {percent(more.high)})" in text
    assert FAIRNESS in text
    assert FAIRNESS.count(". ") + 1 == 4
    assert "By p" in text
    assert "The test rows in order of 'day'" in text
    assert "part 6, latest" in text
    with pytest.raises(ValueError, match="by must have an entry for each of 300 rows, and 'side'"):
        page_of(Y, P, by={"side": by[:3]})


def test_what_would_change_a_decision_is_told_in_words():
    flip = Flip({"age": (40.0, 52.0), "job": ("none", "clerk")}, 0.61, 0.2)
    report = page_of(Y, P, flips=[Flipped(2, flip), Flipped(5, None)], places=np.arange(N) + 100)
    text = text_of(report)
    assert "row 103" in text
    assert "age 52 instead of 40 and job clerk instead of none" in text
    assert "nothing that was tried" in text


def test_a_linear_model_has_its_scorecard():
    X = np.column_stack([P, 1 - P**2])
    model = LinearClassifier(alpha=0.01).fit(X, Y)
    page = text_of(Study.from_estimator(model, X, Y, class_names={0: "good", 1: "bad"}))
    assert "score of bad = " in page
    assert "× x0" in page


def test_a_wrapper_that_decides_without_the_costs_is_warned_of():
    X, y = loans()
    for wrapper in (CalibratedClassifierCV(COSTLY, cv=2), FixedThresholdClassifier(COSTLY, threshold=0.5)):
        estimator = wrapper.fit(X, y)
        report = Study.from_estimator(estimator, X, y)
        [warning] = [text for text in report.remarks if "knows nothing of the costs" in text]
        share = np.mean((estimator.predict(X) == "bad") != report.decided)
        assert share > 0.1
        assert f"{type(estimator).__name__}, and" in warning.replace(" knows nothing of the costs", "")
        assert f"{share:.1%}" in warning
    for estimator in (COSTLY.fit(X, y), make_pipeline(StandardScaler(), clone(COSTLY)).fit(X, y)):
        assert not any("knows nothing" in text for text in Study.from_estimator(estimator, X, y).remarks)
