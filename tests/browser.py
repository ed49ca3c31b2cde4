"""A real browser for tests of pages: Debian's chromium, driven by selenium; without them, tests are skipped.

``apt-get install chromium chromium-driver``, ``pip install -e ".[browser]"``, and for the tests of
accessibility ``npm install axe-core``: it is looked for in ``node_modules`` of the project, or where
``PROPRIETY_AXE`` says.
``PROPRIETY_SCREENSHOTS=folder`` keeps what `Browser.picture` takes.
"""

import base64
import functools
import http.server
import os
import shutil
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
AXE = Path(os.environ.get("PROPRIETY_AXE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
PHONE, DESKTOP = (375, 740), (1280, 900)


class Browser:
    """A page in chromium, as a user sees it."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address):
        """Go to a page; what the console said before is forgotten."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(address)

    def look(self, *, size=DESKTOP, dark=False, media="screen"):
        """How the page is shown: the size of the window, light or dark, on the screen or on paper."""
        width, height = size
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", **screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def command(self, name, **arguments):
        """A command of the browser's own protocol."""
        return self.driver.execute_cdp_cmd(name, arguments)

    def run(self, script, *arguments):
        """What a script returns."""
        return self.driver.execute_script(script, *arguments)

    def all(self, selector):
        """Elements by a selector of style sheets."""
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        """The element by a selector."""
        (element,) = self.all(selector)
        return element

    def text(self, selector):
        """What an element says, whether or not it is in view."""
        return self.one(selector).get_property("textContent")

    def until(self, condition, seconds=60):
        """Wait until something holds, and return it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.03)
        raise AssertionError(f"not so within {seconds} s; the console says {self.complaints()}")

    def press(self, *keys):
        """Keys, to whatever has the focus."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def complaints(self):
        """Errors and warnings of the console since the page was opened."""
        return [row["message"] for row in self.driver.get_log("browser") if row["level"] != "INFO"]

    def violations(self):
        """What axe-core finds wrong, in a line each."""
        if not AXE.exists():
            pytest.skip(f"axe-core is not there: npm install axe-core, or PROPRIETY_AXE (looked for {AXE})")
        self.run(AXE.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1]; axe.run().then((r) => done(r.violations));"
        )
        return [
            f"{rule['id']}: {rule['help']}: {node['html'][:120]} {node.get('failureSummary', '')[:200]}"
            for rule in found
            for node in rule["nodes"]
        ]

    def overflow(self):
        """By how many pixels the page is wider than the window."""
        return self.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def picture(self, name):
        """The whole page as a picture, kept if PROPRIETY_SCREENSHOTS names a folder."""
        taken = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        picture = base64.b64decode(taken["data"])
        folder = os.environ.get("PROPRIETY_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / f"{name}.png").write_bytes(picture)
        return picture

    def paper(self, name):
        """The page as it is printed, kept as `picture` is."""
        page = base64.b64decode(self.command("Page.printToPDF", printBackground=False)["data"])
        folder = os.environ.get("PROPRIETY_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / f"{name}.pdf").write_bytes(page)
        return page


@contextmanager
def chromium():
    """A chromium without a window, as selenium drives it."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture(scope="session")
def browser():
    """A browser for the whole run."""
    pytest.importorskip("selenium", reason="selenium is not installed")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("chromium and its driver are not there: apt-get install chromium chromium-driver")
    with chromium() as driver:
        made = Browser(driver)
        made.look()
        yield made


@pytest.fixture
def served():
    """Serve a folder on this machine: ``served(folder)`` is its address."""
    servers = []

    def serve(folder):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return "http://{}:{}/".format(*server.server_address)

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()
