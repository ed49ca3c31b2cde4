"""The page in a real browser: every control is moved, and what it shows is compared with the library."""

import json
import re

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from tests.browser import DESKTOP, PHONE
from tests.explore.serving import running, small

from propriety import losses
from propriety.explore import answers, choices, fitting, shaping, static

SIZES = {"desktop": DESKTOP, "phone": PHONE}


@pytest.fixture(scope="module")
def data():
    return small(), small("table", plane=False, n=60)


@pytest.fixture(scope="module")
def address(browser, data):
    from propriety.explore import server

    with running(server.Explorer(data)) as where:
        yield where


@pytest.fixture
def page(browser, address):
    """The page, fitted; nothing may complain in the console while a test runs."""
    browser.look()
    browser.open(address)
    settled(browser)
    yield browser
    assert browser.complaints() == []


def settled(browser, *, fitted=True):
    """Wait until nothing is asked any more: the faces, and the models, are those of the address."""
    script = """
        const chosen = new URLSearchParams(location.hash.slice(1)), data = chosen.get("data");
        chosen.delete("at");
        chosen.delete("data");
        const { shown, fitted } = document.body.dataset, judged = document.getElementById("judged");
        const texts = arguments[0] ? [shown, fitted] : [shown];
        if (!texts.every(Boolean)) return false;
        if (arguments[0] && judged.getAttribute("aria-busy") !== "false") return false;
        if (!location.hash) return true;
        const asked = texts.map((text) => {
          const { data, ...query } = JSON.parse(text);
          return String(new URLSearchParams(query));
        });
        if (!asked.every((query) => query === String(chosen))) return false;
        return !arguments[0] || JSON.parse(fitted).data === data;
    """
    browser.until(lambda: browser.run(script, fitted))


def read(browser):
    """What the page shows of a loss, in one question: each costs some milliseconds."""
    return browser.run("""
        const text = (id) => document.getElementById(id).textContent;
        const rows = (id) => [...document.getElementById(id).tBodies[0].rows].map(
          (row) => [...row.cells].map((cell) => cell.textContent));
        const faces = [...document.querySelectorAll("#charts svg")].map((svg) => ({
          name: svg.dataset.name, low: Number(svg.dataset.low), high: Number(svg.dataset.high),
          log: svg.dataset.log === "true", shown: svg.getClientRects().length > 0,
          paths: [...svg.querySelectorAll(".curve.own")].map((path) => path.getAttribute("d")),
        }));
        return {
          loss: text("loss"), code: text("code"), command: text("command"),
          threshold: text("threshold-value"),
          values: rows("values"), properties: rows("properties"), faces,
        };
    """)


def curves(face):
    """The drawn curves of a face, read back from their letters."""
    low, high = face["low"], face["high"]
    for path in face["paths"]:
        places = np.array([float(y) for y in re.findall(r"[ML]\S+ (\S+?)(?=[ML]|$)", path)])
        share = (194 - places) / (194 - 26)
        yield low * (high / low) ** share if face["log"] else low + share * (high - low)


def check_faces(browser, loss):
    """Curves, words, values, properties and code of the page are those of a loss."""
    answer = answers.faces(shaping.Shape(loss, ()), np.array(choices.THRESHOLDS))
    shown = read(browser)
    assert shown["loss"].startswith(answer["title"])
    drawn = {face["name"]: face for face in shown["faces"] if face["shown"]}
    assert list(drawn) == [face["name"] for face in answer["faces"]]
    for face in answer["faces"]:
        one = drawn[face["name"]]
        for line, curve in zip(curves(one), face["curves"], strict=True):
            y = np.array(
                [value for value in curve["y"] if value is not None and (value > 0 or not one["log"])]
            )
            inside = (y >= one["low"]) & (y <= one["high"])
            room = 2e-3 * y[inside] if one["log"] else 2e-3 * (one["high"] - one["low"])
            assert np.all(np.abs(line[: len(y)][inside] - y[inside]) <= room)
    assert shown["properties"] == [
        [row["name"], "yes" if row["holds"] else "no", row["reason"]] for row in answer["properties"]
    ]
    place = choices.THRESHOLDS.index(float(shown["threshold"]))
    assert [name for name, _ in shown["values"]] == [row["name"] for row in answer["values"]]
    for (_, value), row in zip(shown["values"], answer["values"], strict=True):
        assert number(value) == pytest.approx(row["at"][place], rel=1e-4)
    names = {}
    exec(shown["code"], names)
    assert names["loss"] == loss
    assert f'--loss "{loss!r}"' in shown["command"]


def check_models(browser, data, loss):
    """The table of costs is that of the models."""
    thresholds = np.array(choices.THRESHOLDS)
    place = threshold(browser)
    own, log = (fitting.judged(data, of, thresholds)["models"] for of in (loss, losses.Log()))
    rows = table(browser, "#costs")
    assert [row[0] for row in rows] == [model["title"] for model in own]
    for row, mine, theirs in zip(rows, own, log, strict=True):
        if "error" in mine:
            assert row[1] == mine["error"]
            continue
        assert number(row[1]) == pytest.approx(mine["cost"][place], rel=1e-3, abs=1e-9)
        assert number(row[2]) == pytest.approx(theirs["cost"][place], rel=1e-3, abs=1e-9)
        assert number(row[3]) == pytest.approx(mine["difference"][place], rel=1e-3, abs=1e-9)
        assert row[4] == {-1: "yes, cheaper", 0: "no", 1: "yes, dearer"}[mine["verdict"][place]]
        assert [number(v) for v in row[5].split(" / ")] == pytest.approx(
            [mine["log_loss"], theirs["log_loss"]], rel=1e-3
        )


def threshold(browser):
    return choices.THRESHOLDS.index(float(browser.text("#threshold-value")))


def table(browser, selector):
    rows = browser.run(
        "return [...document.querySelector(arguments[0]).tBodies[0].rows].map((row) => "
        "[...row.cells].map((cell) => cell.textContent))",
        selector,
    )
    assert rows
    return rows


def number(text):
    return float(text.replace("−", "-"))


def move(browser, selector, steps):
    """A slider, by its keys."""
    from selenium.webdriver.common.keys import Keys

    key = Keys.ARROW_RIGHT if steps > 0 else Keys.ARROW_LEFT
    browser.one(selector).send_keys(*[key] * abs(steps))


def choose(browser, selector, value):
    from selenium.webdriver.support.select import Select

    Select(browser.one(selector)).select_by_value(value)


def test_it_begins_with_a_tailored_loss(page, data):
    loss = losses.Tailored(0.1, 20)
    check_faces(page, loss)
    check_models(page, data[0], loss)
    assert "A miss costs 9 false alarms." in page.text("#threshold-words")
    assert len(page.all("#boundaries svg")) == len(page.all("#reliabilities svg")) == 3


def test_every_family_and_every_slider(page):
    for one in choices.families():
        choose(page, "#family", one.name)
        values = one.start()
        settled(page, fitted=False)
        check_faces(page, answers.make(one.name, values))
        for name, slider in one.sliders.items():
            place = slider.stops.index(values[name])
            step = 1 if place + 1 < len(slider.stops) else -1
            move(page, f"#slider-{name}", step)
            values[name] = slider.stops[place + step]
            assert page.text(f"#slider-{name}-value") == str(values[name])
        settled(page, fitted=False)
        check_faces(page, answers.make(one.name, values))


def test_a_loss_without_a_weight_has_two_faces_and_a_tree(page, data):
    choose(page, "#family", "CostWeighted")
    settled(page)
    assert [svg.get_attribute("data-name") for svg in page.all("#charts svg") if svg.is_displayed()] == [
        "entropy",
        "partial losses",
    ]
    assert "no weight function" in page.text("#note")
    check_models(page, data[0], losses.CostWeighted(0.1))


def test_the_threshold_moves_marks_values_costs_boundaries_and_code(page, data):
    before = page.all("#boundaries svg .curve.own")[0].get_attribute("d")
    move(page, "#threshold", 6)
    assert page.text("#threshold-value") == "0.4"
    check_faces(page, losses.Tailored(0.1, 20))
    check_models(page, data[0], losses.Tailored(0.1, 20))
    assert page.all("#boundaries svg .curve.own")[0].get_attribute("d") != before
    assert "fp_cost=1, fn_cost=1.5" in page.text("#code")
    mark = float(page.one("svg[data-name=entropy] .mark").get_attribute("x1"))
    assert mark == pytest.approx(46 + 0.4 * (320 - 8 - 46))


def test_a_linear_boundary_is_where_the_model_says(page, data):
    d = page.all("#boundaries svg .curve.own")[0].get_attribute("d")
    points = np.array([[float(a), float(b)] for a, b in re.findall(r"[ML](\S+?) (\S+?)(?=[ML]|$)", d)])
    low, high = data[0].frame
    x = low[0] + (points[:, 0] - 46) / (312 - 46) * (high[0] - low[0])
    y = low[1] + (194 - points[:, 1]) / (194 - 26) * (high[1] - low[1])
    rows, _ = data[0].split
    from propriety import LinearClassifier

    model = LinearClassifier(loss=losses.Tailored(0.1, 20), **fitting.MODELS["linear"][1])
    p = model.fit(data[0].X[rows], data[0].y[rows]).predict_proba(np.column_stack([x, y]))[:, 1]
    assert np.median(np.abs(p - 0.1)) < 0.02


def test_other_data(page, data):
    choose(page, "#data", "table")
    settled(page)
    check_models(page, data[1], losses.Tailored(0.1, 20))
    assert not page.one("#boundaries").is_displayed()
    assert len(page.all("#reliabilities svg")) == 3
    choose(page, "#data", "small")
    settled(page)
    assert page.one("#boundaries").is_displayed()


def test_handles_are_dragged_and_the_loss_follows(page, data):
    from selenium.webdriver import ActionChains

    page.one("[name=way][value=handles]").click()
    settled(page)
    handles = page.all(".handle")
    assert len(handles) == len(shaping.HANDLES)
    before = [number(handle.get_attribute("aria-valuenow")) for handle in handles]
    weights = losses.Tailored(0.1, 20).weight(np.array(shaping.HANDLES))
    assert before[1] / before[0] == pytest.approx(weights[1] / weights[0], rel=1e-3)
    for k, up in ((3, -40), (1, 15)):
        ActionChains(page.driver).click_and_hold(handles[k]).move_by_offset(0, up // 2).move_by_offset(
            0, up - up // 2
        ).release().perform()
    settled(page)
    after = [number(handle.get_attribute("aria-valuenow")) for handle in page.all(".handle")]
    assert after[3] > before[3]
    assert after[1] < before[1]
    assert [after[k] for k in (0, 2, 4, 5, 6)] == [before[k] for k in (0, 2, 4, 5, 6)]
    shape = shaping.through(after)
    names = {}
    exec(page.text("#code"), names)
    assert names["loss"] == shape.loss
    (drawn,) = curves(read(page)["faces"][0])
    at = np.interp(0.5, answers.GRIDS["p"], np.log(drawn))
    assert np.exp(at) == pytest.approx(after[3], rel=0.05)
    check_models(page, data[0], shape.loss)


def test_handles_begin_with_a_known_loss(page):
    page.one("[name=way][value=handles]").click()
    for button, loss in zip(page.all("#shapes button")[:2], (losses.Log(), losses.Squared()), strict=True):
        button.click()
        settled(page)
        assert page.text("#loss").startswith(repr(loss))


def test_a_loss_is_written_and_what_cannot_be_read_is_said(page, data):
    from selenium.webdriver.common.keys import Keys

    page.one("[name=way][value=text]").click()
    settled(page)
    field = page.one("#text")
    assert field.get_property("value") == "Tailored(0.1, 20)"
    field.clear()
    field.send_keys("Focal(2)", Keys.ENTER)
    page.until(lambda: "Focal is not a proper loss" in page.text("#problem"))
    assert page.text("#fitting") == "Nothing is fitted."
    complaints = page.complaints()
    assert complaints
    assert all("400 (Bad Request)" in text for text in complaints)
    field.clear()
    field.send_keys("2 * Log() + Squared()")
    page.one("#by-text button").click()
    settled(page)
    assert page.text("#problem") == ""
    check_faces(page, 2 * losses.Log() + losses.Squared())
    check_models(page, data[0], 2 * losses.Log() + losses.Squared())


def test_what_is_chosen_survives_a_reload(page):
    choose(page, "#family", "Power")
    move(page, "#slider-upsilon", 2)
    move(page, "#threshold", -1)
    settled(page)
    loss, c = page.text("#loss"), page.text("#threshold-value")
    page.driver.refresh()
    settled(page)
    assert (page.text("#loss"), page.text("#threshold-value")) == (loss, c)


def test_the_code_is_copied(page, address):
    page.command("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    page.one("#copy").click()
    page.until(lambda: page.text("#copied"))
    assert page.text("#copied") in ("Copied.", "Selected: press Ctrl-C.")
    copied = page.driver.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], () => arguments[0](String(getSelection())))"
    )
    assert copied.strip() == page.text("#code")


def test_by_keyboard_alone(page):
    """Tab reaches every control in order; keys change what is shown."""
    from selenium.webdriver.common.keys import Keys

    def focused():
        return page.run(
            "const e = document.activeElement;"
            "return e.id || e.value || e.getAttribute('aria-label') || e.tagName"
        )

    reached = []
    for _ in range(12):
        page.press(Keys.TAB)
        reached.append(focused())
        if reached[-1] == "threshold":
            break
    assert reached == [
        "A", "family", "family", "slider-cost", "slider-focus", "slider-by", "threshold",
    ]  # fmt: skip
    page.driver.refresh()
    settled(page)
    page.press(Keys.TAB, Keys.TAB, Keys.ARROW_RIGHT)  # from a family to handles
    settled(page)
    assert page.run("return document.querySelector('[name=way]:checked').value") == "handles"
    while focused() != "Weight at p = 0.03":
        page.press(Keys.TAB)
    first = number(page.all(".handle")[0].get_attribute("aria-valuenow"))
    page.press(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_DOWN)
    settled(page)
    assert number(page.all(".handle")[0].get_attribute("aria-valuenow")) == pytest.approx(
        1.1 * first, rel=0.02
    )
    page.press(Keys.END)
    settled(page)
    assert number(page.all(".handle")[0].get_attribute("aria-valuenow")) == shaping.AXIS.high
    for _ in range(6):
        page.press(Keys.TAB)
    assert focused() == "Weight at p = 0.97"
    reached = []
    for _ in range(8):
        page.press(Keys.TAB)
        reached.append(focused())
        if reached[-1] == "command":
            break
    assert reached == ["data", "Costs of the models", "code", "copy", "command"]


@pytest.mark.parametrize(
    ("way", "size", "scheme"),
    [
        ("family", "desktop", "light"),
        ("family", "phone", "dark"),
        ("handles", "desktop", "dark"),
        ("handles", "phone", "light"),
        ("text", "desktop", "light"),
        ("text", "phone", "dark"),
    ],
)
def test_nothing_is_wrong_for_anyone(page, way, size, scheme):
    """No violation of accessibility, contrast among them, and nothing cut off."""
    page.look(size=SIZES[size], dark=scheme == "dark")
    page.one(f"[name=way][value={way}]").click()
    settled(page)
    assert page.overflow() <= 0
    wide = page.run(
        "return [...document.querySelectorAll('svg text')].filter((t) => t.getClientRects().length)"
        ".map((t) => [t.textContent, t.getBoundingClientRect()])"
        ".filter(([, r]) => r.left < 0 || r.right > innerWidth)"
    )
    assert wide == []
    picture = page.picture(f"explorer-{way}-{size}-{scheme}")
    assert len(picture) > 20_000
    assert page.violations() == []


def test_a_problem_is_accessible_too(page):
    from selenium.webdriver.common.keys import Keys

    page.one("[name=way][value=text]").click()
    page.one("#text").send_keys(" nonsense", Keys.ENTER)
    page.until(lambda: page.text("#problem"))
    (complaint,) = page.complaints()
    assert "400 (Bad Request)" in complaint
    assert page.violations() == []


def test_on_paper(page):
    page.look(media="print")
    for control in ("#threshold", "#copy", "#ways"):
        assert not page.one(control).is_displayed()
    assert page.one("#charts").is_displayed()
    page.picture("explorer-paper")
    page.look()
    assert page.paper("explorer").startswith(b"%PDF")


def test_titles_do_not_collide(page):
    overlaps = page.run(
        "const place = (s, q) => s.querySelector(q).getBoundingClientRect();"
        "return [...document.querySelectorAll('svg')].filter((s) => s.getClientRects().length)"
        ".filter((s) => place(s, '.title').right > place(s, '.quiet[text-anchor=end]').left)"
        ".map((s) => s.dataset.name)"
    )
    assert overlaps == []


@pytest.fixture(scope="module")
def without_server(browser, data, tmp_path_factory):
    """The folder of a static page, and its families with few stops."""
    few = [
        choices.Family(one.name, {n: choices.Slider(s.stops, s.few[:2]) for n, s in one.sliders.items()})
        for one in choices.families()
        if one.name in ("Log", choices.START)
    ]
    folder = tmp_path_factory.mktemp("static")
    static.write(folder, families=few, data=data)
    return folder, few


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_the_static_page_says_the_same_without_a_server(browser, served, data, without_server, scheme):
    folder, few = without_server
    browser.look()
    browser.open(served(folder) if scheme == "http" else (folder / "index.html").as_uri())
    settled(browser)
    assert not browser.one("#ways").is_displayed()
    assert "propriety explore" in browser.text("#no-server")
    for one in few:
        choose(browser, "#family", one.name)
        values = one.start(few=True)
        for name, slider in one.sliders.items():
            step = 1 if values[name] == slider.few[0] else -1
            move(browser, f"#slider-{name}", step)
            values[name] = slider.few[slider.few.index(values[name]) + step]
        settled(browser)
        loss = answers.make(one.name, values)
        check_faces(browser, loss)
        check_models(browser, data[0], loss)
    choose(browser, "#data", "table")
    settled(browser)
    check_models(browser, data[1], loss)
    assert browser.complaints() == []
    assert browser.violations() == []
    assert json.loads(browser.text("#settings"))["server"] is False
