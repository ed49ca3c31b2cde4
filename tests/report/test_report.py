"""The report: what it says, that it is safe to open, and that a browser draws it."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from pages import page_of, warnings_of
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from propriety import (
    AutoClassifier,
    BoostingClassifier,
    LinearClassifier,
    LossSearchCV,
    RuleClassifier,
    TreeClassifier,
    evaluation,
    losses,
)
from propriety.boosting import Algorithm
from propriety.costs import ResolvedCosts
from propriety.evaluation.judging import MODEL, RIVAL, DecisionRule, JudgedRows, judge
from propriety.report import figures
from propriety.report.markup import clean, escape, table, tag
from propriety.study import Study, checks
from propriety.study.columns import ColumnFacts
from propriety.study.pieces import Effects
from propriety.weights import Weights

HOSTILE = "<script>alert('x')</script>\"'&$x_{\x00]]>😀"


def make(n=400, seed=0, **facts):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    p = 1 / (1 + np.exp(-2 * x))
    y = rng.uniform(size=n) < p
    size = rng.choice(["small", "large"], n)
    known = {
        "fp_cost": 1,
        "fn_cost": 4,
        "name": "my model",
        "positive": "sick",
        "negative": "well",
        "target": "state",
        "rivals": {"a coin": np.full(n, 0.5)},
        "loss": losses.Tailored(0.2).composite(),
        "chosen": "It was given by name.",
        "importance": {"x": 0.9, "size": 0.1, "unused": 0.0},
        "features": {"x": x, "size": size},
        "effects": Effects(np.arange(0, n, 4), np.column_stack([2 * x, 0.1 * (size == "small")])[::4]),
        "columns": [ColumnFacts("x", "number", 0.25, "-3 to 3"), ColumnFacts("size", "category")],
        "left_out": {"id": "counts the rows"},
        "notes": ["3 rows were left out"],
        "warnings": ["column 'z' alone nearly determines the target"],
        "about": {"table": "t.csv"},
        "command": "propriety fit t.csv --report r.html",
    }
    return page_of(y, p, **(known | facts))


@pytest.fixture(scope="module")
def page():
    return make().report()


class Reader(HTMLParser):
    """Elements, attributes, and the text outside of styles."""

    void = ("meta", "br", "col", "input")

    def __init__(self, page):
        super().__init__()
        self.elements, self.open, self.text = [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in self.void:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        if "style" not in self.open and "script" not in self.open:
            self.text.append(data)

    def all(self, name):
        return [a for n, a in self.elements if n == name]


# --- numbers ------------------------------------------------------------------------------------------


def test_costs_are_those_of_the_decisions():
    y, p = np.array([0, 0, 1, 1.0]), np.array([0.1, 0.3, 0.1, 0.9])
    report = page_of(y, p, fp_cost=1, fn_cost=4, sample_weight=[1, 1, 2, 1])
    model, never, always = report.judgements
    assert model.cost.value == pytest.approx(1000 * (1 + 2 * 4) / 5)
    assert (model.false_alarms, model.misses) == pytest.approx((200, 400))
    assert never.cost.value == pytest.approx(1000 * 3 * 4 / 5)
    assert always.cost.value == pytest.approx(1000 * 2 / 5)
    assert never.dearer.value == pytest.approx(never.cost.value - model.cost.value)


def test_the_interval_of_a_saving_is_of_paired_rows():
    rng = np.random.default_rng(1)
    y, decided = rng.uniform(size=500) < 0.4, (rng.uniform(size=500) < 0.5).astype(np.intp)
    other = decided.copy()
    other[:10] = 1 - other[:10]  # few differences: the paired interval is much the narrower
    rows = JudgedRows(y.astype(int), ("no", "yes"), ResolvedCosts.of_mistakes(1, 4), Weights(500))
    model, rival = judge(rows, [DecisionRule("m", MODEL, decided), DecisionRule("r", RIVAL, other)])
    assert rival.dearer.high - rival.dearer.low < 0.5 * (rival.cost.high - rival.cost.low)
    assert model.dearer is None


def test_a_row_of_weight_k_is_k_rows():
    rng = np.random.default_rng(3)
    p = rng.uniform(size=80)
    y, weight = rng.uniform(size=80) < p, rng.integers(0, 9, 80)
    rival, parts = rng.uniform(size=80), np.arange(80) % 3
    copies = np.repeat(np.arange(80), weight)
    weighted = page_of(y, p, fn_cost=4, sample_weight=weight, rivals={"r": rival}, parts=parts)
    repeated = page_of(y[copies], p[copies], fn_cost=4, rivals={"r": rival[copies]}, parts=parts[copies])
    for one, other in zip(weighted.judgements, repeated.judgements, strict=True):
        assert one.false_alarms == pytest.approx(other.false_alarms)
        for a, b in ((one.cost, other.cost), (one.dearer, other.dearer)):
            assert (a is None) == (b is None)
            if a is not None and b is not None:
                assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), rel=1e-12)


def test_relative_weights_have_the_error_of_a_weighted_mean():
    rng = np.random.default_rng(4)
    p, weight = rng.uniform(size=60), rng.uniform(0.1, 2, size=60)
    y = rng.uniform(size=60) < p
    cost = page_of(y, p, sample_weight=weight).judgements[0].cost
    wrong = ((p >= 0.5) != y).astype(float)
    share = weight / weight.sum()
    error = np.sqrt(60 / 59 * np.sum((share * (wrong - share @ wrong)) ** 2))
    assert (cost.high - cost.low) / 2 == pytest.approx(1959.963984540054 * error, rel=0.15)


def test_bad_contents_are_refused_by_name():
    with pytest.raises(ValueError, match=r"rivals of 'other' must have"):
        page_of([0, 1], [0.2, 0.8], rivals={"other": [0.5]})
    with pytest.raises(ValueError, match="rename it"):
        page_of([0, 1], [0.2, 0.8], rivals={"the model": [0.5, 0.5]})
    with pytest.raises(ValueError, match="one label for each row of 3 rows"):
        page_of([0, 1], [0.2, 0.8], features={"x": np.ones(3)})
    with pytest.raises(ValueError, match="p must be probabilities between 0 and 1"):
        page_of([0, 1], [0.2, 1.8])
    with pytest.raises(ValueError, match="fn_cost must be positive and finite"):
        page_of([0, 1], [0.2, 0.8], fn_cost=-1).report()


# --- warnings -----------------------------------------------------------------------------------------


def test_warnings_of_rare_classes_and_few_mistakes():
    y = np.r_[np.ones(5), np.zeros(200)]
    assert "only 5 of the 205" in checks.rare_classes(y, ("no", "yes"))[0]
    assert checks.rare_classes(np.repeat([0.0, 1.0], 60), ("no", "yes")) == []
    assert "no mistake" in checks.few_mistakes(y, y)[0]
    assert checks.few_mistakes(y, 1 - y) == []


def test_drift_is_seen_where_it_is_and_not_where_it_is_not():
    rng = np.random.default_rng(0)
    order, parts = rng.permutation(2000), np.repeat(np.arange(4), 500)
    y = (rng.uniform(size=2000) < 0.3).astype(float)
    assert checks.share_drifts(y, order, "yes") == []
    (at_random,) = checks.share_drifts((order > 1200).astype(float), order, "yes")
    assert "random splits are too optimistic" in at_random
    (by_time,) = checks.share_drifts((order > 1200).astype(float), order, "yes", "day")
    assert "by 'day'" in by_time
    assert "at random" not in by_time
    noise, colour = rng.normal(size=2000), rng.choice(["a", "b"], 2000)
    assert checks.columns_drift({"noise": noise, "colour": colour}, order) == []
    drifting = {"later": np.where(order > 1000, np.nan, noise), "colour": np.where(order > 700, "a", "b")}
    (text,) = checks.columns_drift(drifting, order)  # one sentence, however many they are
    assert text.startswith("2 columns drift")
    assert all(name in text for name in drifting)
    (text,) = checks.columns_drift({f"c{k}": order + 0.0 for k in range(13)}, order)
    assert text.startswith("13 columns drift")
    assert text.count("c1") == 1
    assert ", …" in text
    costs = rng.exponential(size=2000)
    assert checks.parts_differ(parts, costs, Weights(2000)) == []
    assert "differs significantly" in checks.parts_differ(parts, costs + (parts == 2), Weights(2000))[0]
    assert checks.parts_differ(parts, costs + (parts == 2), Weights(2000).without(parts == 2)) == []


def test_of_many_rows_some_are_looked_at_for_drift(monkeypatch):
    monkeypatch.setattr(checks, "_SAMPLE", 1000)
    rng = np.random.default_rng(0)
    order = rng.permutation(5000)
    few = checks.in_order(order)
    assert len(few) == 1000
    assert np.all(np.diff(order[few]) > 0)
    assert order[few[0]] == 0
    assert order[few[-1]] == 4999
    columns = {"up": order + rng.normal(size=5000), "noise": rng.normal(size=5000)}
    # A terminal has these rows alone, a page has all.
    alone = {name: values[few] for name, values in columns.items()}
    found = checks.columns_drift(columns, order)
    assert found == checks.columns_drift(alone, np.arange(1000))
    assert "one column drifts" in found[0]


def test_a_model_no_better_than_none_is_called_so_first():
    rng = np.random.default_rng(0)
    y = rng.uniform(size=2000) < 0.3
    wrong = warnings_of(page_of(y, np.where(y, 0.2, 0.8), order=rng.permutation(2000)))
    assert "worse than none" in wrong[0]
    assert "worse than the base rate" in wrong[1]
    useless = warnings_of(page_of(y, rng.uniform(0.29, 0.31, 2000), order=rng.permutation(2000)))
    assert "not significantly better than never" in useless[0]
    assert not any("worse than" in text for text in useless)


@pytest.mark.parametrize(("factor", "says"), [(3.0, "overconfident"), (0.4, "underconfident"), (1.0, None)])
def test_a_slope_is_told_with_its_interval(factor, says):
    rng = np.random.default_rng(1)
    score = rng.normal(size=4000)
    y = rng.uniform(size=4000) < 1 / (1 + np.exp(-score))
    p = 1 / (1 + np.exp(-factor * score))
    texts = checks.miscalibrated(y.astype(float), p, Weights(4000))
    if says is None:
        assert texts == []
        return
    assert says in texts[0]
    low, high = map(float, re.search(r"CI ([0-9.]+) to ([0-9.]+)", texts[0]).groups())
    assert low < 1 / factor < high
    assert "too high on average" in checks.miscalibrated(y.astype(float), p**0.3, Weights(4000))[-1]


# --- the page -----------------------------------------------------------------------------------------


def test_the_page_says_everything_it_should(page):
    text = re.sub(r"\s+", " ", " ".join(Reader(page).text))
    for part in (
        "A miss costs 4 times as much as a false alarm",
        "at a probability of 0.2 or more",
        "Tailored(0.2)",
        "It was given by name.",
        "Cost and mistakes per 1,000 cases",
        "never 'sick'",
        "always 'sick'",
        "a coin",
        "95% CI",
        "Murphy diagram",
        "Reliability",
        "decided 'well'",
        "Columns left out",
        "counts the rows",
        "3 rows were left out",
        "Column 'z' alone nearly determines the target",
        "1 of 3 columns are not used",
        "propriety fit t.csv --report r.html",
        "numpy",
    ):
        assert part in text, part


def test_the_page_is_whole_and_loads_nothing(page):
    reader = Reader(page)
    assert not {"link", "iframe", "img", "object", "base"} & {name for name, _ in reader.elements}
    policy = next(a["content"] for a in reader.all("meta") if "http-equiv" in a)
    assert policy.startswith("default-src 'none'")
    # The one script that runs is named by its hash; the other is data.
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert [a.get("type") for a in reader.all("script")] == ["application/json", None]
    for name, attributes in reader.elements:
        for key, value in attributes.items():
            assert not key.startswith("on"), (name, key)
            if key in ("href", "src"):
                assert value.startswith("#"), (name, value)
    assert not re.search(r"https?://|@import|url\((?!#)", page)


def test_every_reference_leads_somewhere_and_every_name_is_there_once(page):
    reader = Reader(page)
    names = [a["id"] for _, a in reader.elements if "id" in a]
    assert len(names) == len(set(names))
    wanted = {a["href"][1:] for _, a in reader.elements if "href" in a}
    wanted |= set(re.findall(r"url\(#([^)]+)\)", page))
    wanted |= {a["aria-labelledby"] for _, a in reader.elements if "aria-labelledby" in a}
    assert wanted <= set(names)


def test_the_page_can_be_read_without_seeing_it(page):
    reader = Reader(page)
    assert reader.all("html")[0]["lang"] == "en"
    assert len(reader.all("h1")) == 1
    assert len(reader.all("main")) == len(reader.all("nav")) == 1
    pictures = reader.all("svg")
    assert len(pictures) == 7  # loss, gains, precision, Murphy, reliability, scores, effects
    assert all(a["role"] == "img" for a in pictures)
    assert len(reader.all("figcaption")) == len(reader.all("figure")) == len(pictures)
    assert len(reader.all("caption")) == len(reader.all("table"))
    assert all(a.get("scope") in ("row", "col") for a in reader.all("th"))
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_the_same_contents_give_the_same_page(page):
    assert make().report() == page


def test_hostile_names_are_text():
    report = make(
        name=HOSTILE,
        positive=HOSTILE,
        negative=HOSTILE[::-1],
        target=HOSTILE,
        rivals={HOSTILE + "2": np.full(400, 0.5)},
        features={HOSTILE: np.linspace(0, 1, 400), "g": np.array([HOSTILE, "b"] * 200)},
        columns=[ColumnFacts(HOSTILE, HOSTILE, 0.5, HOSTILE)],
        importance={HOSTILE: 1.0},
        left_out={HOSTILE: HOSTILE},
        warnings=[HOSTILE],
        about={HOSTILE: HOSTILE},
        command=HOSTILE,
    )
    page = report.report()
    reader = Reader(page)
    assert page.count("<script") == 2  # the page's own, and its data
    assert "\x00" not in page
    assert [a.get("type") for a in reader.all("script")] == ["application/json", None]
    (data,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert repr(HOSTILE) in json.loads(data)["never"]
    assert clean(HOSTILE) in "".join(reader.text)
    figure = page[page.index('id="effects-title"') :]
    assert "$x_{" in figure[: figure.index("</svg>")]  # a name in a figure is text, not mathematics


def test_markup_escapes_all_but_markup():
    assert escape('<a href="x">') == "&lt;a href=&quot;x&quot;&gt;"
    assert tag("a", "&", href='"><b>') == '<a href="&quot;&gt;&lt;b&gt;">&amp;</a>'
    assert tag("p", tag("b", "x"), None, "<") == "<p><b>x</b>&lt;</p>"
    made = table("<i>", ["<i>", "<b>"], [["<i>", "<i>"]])
    assert "&lt;i&gt;" in made
    assert 'data-label="&lt;b&gt;"' in made
    assert "<i>" not in made


def test_one_row_and_one_class_make_a_page():
    assert "Only 0 of the 1" in page_of([1], [0.7]).report()
    assert (
        "Only 0 of the 30"
        in page_of(np.zeros(30), np.linspace(0, 1, 30), sample_weight=np.arange(30.0)).report()
    )


# --- models -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "word"),
    [
        (TreeClassifier(max_leaf_nodes=4, fn_cost=3), "The decision tree."),
        (RuleClassifier(n_rules=2, fn_cost=3), "The model in words"),
        (LinearClassifier("tailored", fn_cost=3), "Tailored(0.25)"),
        (
            BoostingClassifier(algorithm=Algorithm(weak_learner="stump"), max_iter=5, fn_cost=3),
            "The model itself",
        ),
        (BoostingClassifier(max_iter=2, fn_cost=3), "The line is the mean"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_models_are_shown(estimator, word, tmp_path):
    X, y = two_columns()
    report = Study.from_estimator(
        estimator.fit(X, y), X, y, rivals={"flat": TreeClassifier(max_depth=1).fit(X, y)}
    )
    report.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert word in page
    assert "flat" in page
    assert "A miss costs 3 times" in page
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    Reader(page)


def two_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    return X, np.where(X[:, 0] + rng.normal(size=300) > 0, "on", "off")


def test_a_tree_too_large_to_draw_is_told_in_words():
    X, y = two_columns()
    model = TreeClassifier(max_leaf_nodes=60, min_samples_leaf=1).fit(X, y)
    assert model.get_n_leaves() > 40
    assert "The model in words" in Study.from_estimator(model, X, y).report()


def test_a_loss_without_a_weight_function_is_named():
    X, y = two_columns()
    model = TreeClassifier("CostWeighted(0.2)", max_leaf_nodes=4).fit(X, y)
    assert "<code>CostWeighted(0.2)</code>" in Study.from_estimator(model, X, y).report()


def test_the_loss_of_a_report_has_its_gain():
    X, y = two_columns()
    model = BoostingClassifier(losses.Log().composite().shrunk(8), max_iter=2).fit(X, y)
    report = Study.from_estimator(model, X, y)
    assert report.loss == model.loss_ != losses.Log().composite()


def test_a_search_and_a_pipeline_say_the_costs_and_the_loss_of_their_classifier():
    X, y = two_columns()
    search = LossSearchCV(LinearClassifier(alpha=0.1), ["Squared"], fn_cost=3, cv=2).fit(X, y)
    report = Study.from_estimator(search, X, y)
    assert report.costs.threshold == 0.25
    assert report.loss == search.loss_ == search.best_estimator_.loss_
    assert all(rise.low <= rise.value <= rise.high for rise in report.importance.values())
    pipeline = make_pipeline(StandardScaler(), LinearClassifier("Squared", fn_cost=3)).fit(X, y)
    report = Study.from_estimator(pipeline, X, y)
    assert (report.costs.threshold, report.loss) == (0.25, losses.Squared().composite())
    assert report.effects is None
    assert list(report.importance) == ["x0", "x1"]


def test_what_columns_count_for_is_measured_for_others_classifiers_too():
    X, y = two_columns()
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    report = Study.from_estimator(model, X, y, fn_cost=3)
    assert report.importance == evaluation.importance(model, X, y).estimates
    assert report.loss is None
    page = report.report()
    assert "A miss costs 3 times" in page
    assert "The decision tree." not in page


# --- a real browser -----------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_draws_every_figure_without_an_error(page, tmp_path):
    probe = """<script>addEventListener('load', () => {
      const drawn = s => [s.getBBox().width, s.querySelectorAll('path').length];
      const boxes = [...document.querySelectorAll('svg')].map(drawn);
      document.title = JSON.stringify({boxes, wide: document.documentElement.scrollWidth <= innerWidth});
    })</script>"""
    # The page's own policy forbids other scripts, so the copy that is measured goes without it.
    tested = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    tested = tested.replace("</body>", probe + "</body>")
    (tmp_path / "r.html").write_text(tested, encoding="utf-8")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")

    def open_in_browser(name, *options):
        quiet = ("sync", "background-networking", "component-update", "gpu")
        command = ["chromium", "--headless", "--no-sandbox", "--no-first-run", "--enable-logging=stderr"]
        command += [f"--disable-{thing}" for thing in quiet]
        command += [f"--user-data-dir={tmp_path / 'profile'}", *options, (tmp_path / name).as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)

    for width in (1200, 500):
        dumped = open_in_browser("r.html", f"--window-size={width},900", "--dump-dom").stdout
        seen = json.loads(re.search("<title>(.*?)</title>", dumped)[1])
        assert len(seen["boxes"]) == 7
        assert all(size > 100 and paths > 5 for size, paths in seen["boxes"])
        assert seen["wide"], "the page itself must not scroll sideways"
    done = open_in_browser("page.html", f"--screenshot={tmp_path / 'r.png'}", "--window-size=1200,900")
    assert "CONSOLE" not in done.stderr
    assert (tmp_path / "r.png").stat().st_size > 10_000


def test_a_readable_model_is_shown_in_words_with_the_names_of_its_columns():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(50, 9, 160), "dose": rng.normal(size=160)})
    y = (X["age"] / 9 + rng.normal(size=160) > 50 / 9).astype(int).to_numpy()
    model = AutoClassifier(members=("linear",), interpretable=True, random_state=0).fit(X, y)
    page = Study.from_estimator(model, X, y).report()
    assert "The model in words" in page
    assert "Recalibrated by cross-validation" in page
    assert "age" in model.export_text()


def test_the_log_loss_of_a_title_is_that_of_the_text_and_no_picture_has_a_spike():
    """Many rows, and some that are sure and wrong: neither rounding nor a 0 makes them infinite."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.05, 0.5, size=4000)
    y = rng.uniform(size=4000) < p
    p[:3], y[:3] = 0.0, [True, False, True]
    text = Reader(page_of(y, p, fn_cost=20).report()).text
    told = re.findall(r"Log loss ([0-9.]+|inf)", " ".join(text))
    assert len(told) == 2
    assert float(told[0]) == float(told[1])
    display = figures.murphy(y.astype(float), {"m": p}, np.ones(4000), None).axes[0]
    (line,) = [line for line in display.get_lines() if line.get_label() == "m"]
    drawn = np.asarray(line.get_xydata())
    np.testing.assert_allclose(drawn[:, 1], evaluation.murphy_curve(y, p)(drawn[:, 0]))


def test_a_page_says_what_importance_is_and_how_the_loss_came_about():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    page = Study.from_estimator(LinearClassifier().fit(X[:200], y[:200]), X[200:], y[200:]).report()
    text = re.sub(r"\s+", " ", " ".join(Reader(page).text))
    for part in ("Permutation importance", "x1 (rank correlation 1.00)", "may be nearly as good"):
        assert part in text
    assert "hardly mattered" not in text
    assert "It was given" not in text
    assert "It is the default of this kind of model." in text
    asked = LinearClassifier("Squared").fit(X[:200], y[:200])
    assert "It is a parameter of the model." in Study.from_estimator(asked, X[200:], y[200:]).report()
