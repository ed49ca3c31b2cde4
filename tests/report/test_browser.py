"""The report in a real browser: every control is moved, and what it shows is compared with the library."""

import json

import numpy as np
import pytest

pytest.importorskip("tests.browser", reason="the fixtures of browsers are not there")

from pages import page_of
from tests.browser import DESKTOP, PHONE

from propriety import Costs
from propriety.costs import ResolvedCosts
from propriety.evaluation.flips import Flip
from propriety.report.interaction import Steps
from propriety.study.flips import Flipped
from propriety.study.numbers import Scale

SIZES = {"desktop": DESKTOP, "phone": PHONE}
FP, FN, CASES = 10.0, 50.0, 120_000


def made(n=400, **facts):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, n))
    size = rng.choice(["small", "large", "of a size with a very long name indeed"], n)
    p = 1 / (1 + np.exp(-(1.5 * x + 0.4 * z - 1.2)))
    y = rng.uniform(size=n) < p
    columns = {"x": x, "z": z, "size": size}
    flip = Flip({"x": (0.1, 0.4)}, 0.3, 0.1)
    known = {
        "fp_cost": FP,
        "fn_cost": FN,
        "unit": "€",
        "per": ("year", CASES),
        "name": "my model",
        "positive": "bad",
        "negative": "good",
        "target": "loan",
        "features": columns,
        "by": {"size": size, "x": x},
        "time": "issued",
        "order": np.arange(n),
        "rivals": {"another model": np.clip(p + 0.1, 0, 1)},
        "flips": [Flipped(3, flip), Flipped(4, None)],
        "warnings": ["column 'z' alone nearly determines the target"],
        "command": "propriety fit loans.csv --report loans.html",
    }
    return page_of(y, p, **(known | facts))


REPORTS = {
    "plain": made,
    "many": lambda: made(6000),
    "by row": lambda: made(fp_cost=1.0, fn_cost=np.exp(np.random.default_rng(1).normal(1, 1, 400))),
}


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    """Reports and their pages as files."""
    folder, found = tmp_path_factory.mktemp("reports"), {}
    for name, make in REPORTS.items():
        report = make()
        report.report(folder / f"{name}.html")
        found[name] = report, (folder / f"{name}.html").as_uri()
    return found


@pytest.fixture
def opened(browser, addresses):
    """Open one of the reports; nothing may complain in the console while a test runs."""

    def open_one(name="plain", **look):
        report, address = addresses[name]
        browser.look(**look)
        browser.open(address)
        return report, browser

    yield open_one
    assert browser.complaints() == []
    browser.look()


def move(browser, name, value):
    """Move a slider as a hand does: the browser is told of it by an event."""
    script = """const s = document.getElementById('costs-' + arguments[0]);
        s.value = arguments[1];
        s.dispatchEvent(new Event('input', {bubbles: true}));
        return Number(s.value);"""
    return float(browser.run(script, name, value))


def exact(browser):
    return json.loads(browser.run("return document.getElementById('costs-slider').dataset.exact"))


def expected(report, fp, fn):
    """Decisions, their cost and what is saved at costs times factors, by the library; per row."""
    costs = ResolvedCosts.of_mistakes(fp * report.costs.fp_cost, fn * report.costs.fn_cost)
    true, mean = report.y.astype(int), report.weights.mean
    decided = costs.decide(report.p)
    constant = [mean(costs.of_rows(true, np.full(len(true), k))) for k in (0, 1)]
    cost = mean(costs.of_rows(true, decided))
    return {
        "hits": mean((decided == 1) & (true == 1)),
        "misses": mean((decided == 0) & (true == 1)),
        "alarms": mean((decided == 1) & (true == 0)),
        "quiet": mean((decided == 0) & (true == 0)),
        "cost": cost,
        "never": constant[0],
        "always": constant[1],
        "saved": min(constant) - cost,
    }


MOVES = [(0, 0), (0.5, 0), (0, 0.7), (-2, 2), (2, -2), (-0.31, -1.17), (2, 2)]


@pytest.mark.parametrize("kind", ["plain", "by row"])
def test_sliders_show_what_the_library_says(opened, kind):
    report, page = opened(kind)
    scale = Scale("€", "year", CASES)
    for places in MOVES:
        fp, fn = (10 ** move(page, name, place) for name, place in zip(("fp", "fn"), places, strict=True))
        seen, right = exact(page), expected(report, fp, fn)
        assert seen == pytest.approx(right, rel=1e-9, abs=1e-12)
        assert page.text("#costs-cost") == scale.cost(1000 * right["cost"])
        assert page.text("#costs-saved") == scale.cost(1000 * right["saved"])
        for cell in ("hits", "misses", "alarms", "quiet"):
            assert page.text(f"#costs-{cell}") == scale.count(1000 * right[cell])
        constant = "never 'bad'" if right["never"] <= right["always"] else "always 'bad'"
        assert page.text("#costs-against") == constant
        if kind == "plain":
            c = Costs(fp * FP, fn * FN).threshold
            assert float(page.text("#costs-threshold")) == float(f"{c:.3g}")
            place = "const m = document.getElementById('murphy-mark');"
            drawn = page.run(f"{place} return [m.x1.baseVal.value, m.dataset.low, m.dataset.high]")
            at, low, high = map(float, drawn)
            assert (at - low) / (high - low) == pytest.approx(c, abs=1e-4)


def test_many_rows_are_put_together_and_the_costs_asked_for_stay_exact(opened):
    report, page = opened("many")
    assert len(Steps.of(report).ratio) <= 1001 < len(report.y)
    assert exact(page) == pytest.approx(expected(report, 1, 1), rel=1e-9)
    for places in MOVES:
        fp, fn = (10 ** move(page, name, place) for name, place in zip(("fp", "fn"), places, strict=True))
        seen, right = exact(page), expected(report, fp, fn)
        for cell in ("hits", "misses", "alarms", "quiet"):
            assert seen[cell] == pytest.approx(right[cell], abs=0.002)


def test_by_the_keyboard_alone(opened):
    from selenium.webdriver.common.keys import Keys

    _, page = opened()
    before = exact(page)
    focused = "return document.activeElement.id"
    for _ in range(60):
        page.press(Keys.TAB)
        if page.run(focused) == "costs-fp":
            break
    assert page.run(focused) == "costs-fp"
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.END)
    assert page.run("return document.getElementById('costs-fp').value") == "2"
    page.press(Keys.TAB, Keys.ARROW_LEFT)
    assert page.run(focused) == "costs-fn"
    assert page.run("return document.activeElement.getAttribute('aria-valuetext')") == "48.9 €"
    assert exact(page) != before
    page.press(Keys.TAB)
    assert page.run(focused) == "costs-reset"
    page.press(Keys.ENTER)
    assert exact(page) == before
    # The first stop is the link past the header.
    page.run("document.activeElement.blur(); scrollTo(0, 0)")


def test_without_scripts_everything_can_still_be_read(opened, browser):
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        _, page = opened()
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
    assert not page.one("#costs-slider").is_displayed()
    assert page.run("return document.getElementById('murphy-mark').getBoundingClientRect().height") > 50
    assert "50 € (as asked)" in page.text("#other-costs")


def test_no_other_script_runs(browser, addresses, tmp_path):
    text = (
        addresses["plain"][0].report().replace("</main>", "<script>document.title = 'taken'</script></main>")
    )
    (tmp_path / "r.html").write_text(text, encoding="utf-8")
    browser.look()
    browser.open((tmp_path / "r.html").as_uri())
    assert browser.driver.title != "taken"
    assert any("Content Security Policy" in text for text in browser.complaints())
    assert browser.one("#costs-slider").is_displayed()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_cut_off_and_axe_finds_nothing(opened, size, dark):
    _, page = opened(size=SIZES[size], dark=dark)
    page.picture(f"report-{size}-{'dark' if dark else 'light'}")
    assert page.overflow() == 0
    assert page.violations() == []


@pytest.mark.parametrize("name", REPORTS)
def test_labels_of_figures_do_not_collide(opened, name):
    _, page = opened(name)
    collisions = page.run("""
        const found = [];
        for (const svg of document.querySelectorAll('svg')) {
          const texts = [...svg.querySelectorAll('text')];
          const boxes = texts.map(t => [t.textContent, t.getBoundingClientRect()]);
          for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
            const [a, p] = boxes[i], [b, q] = boxes[j];
            const w = Math.min(p.right, q.right) - Math.max(p.left, q.left);
            const h = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
            if (w > 1 && h > 4) found.push([svg.getAttribute('aria-labelledby'), a, b, w, h]);
          }
        }
        return found;
    """)
    assert collisions == []


def test_on_paper_there_are_no_controls_and_nothing_is_cut_off(opened):
    _, page = opened(size=(794, 1123), media="print")
    assert not page.one("#costs-slider").is_displayed()
    assert "50 € (as asked)" in page.text("#other-costs")
    wide = page.run("""return [...document.querySelectorAll('main *')]
        .filter(e => !e.closest('svg') && e.getBoundingClientRect().right > innerWidth + 1)
        .map(e => e.tagName + ' ' + e.textContent.slice(0, 40))""")
    assert wide == []
    assert page.paper("report").startswith(b"%PDF")


def test_on_a_phone_no_table_and_no_figure_has_to_be_scrolled_sideways(opened):
    _, page = opened(size=PHONE)
    wide = page.run("""return [...document.querySelectorAll('.scroll')]
        .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.getAttribute('aria-label'))""")
    assert wide == []
