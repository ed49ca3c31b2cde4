"""Take the picture of the explorer that its page shows: ``python docs/screenshot.py``.

Needs chromium with its driver and ``pip install -e ".[browser]"``; run it after the page has changed.
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SHAPE = "handles=30,60,25,4,2,2,6&at=0.1&data=curved"
WIDTH, HEIGHT = 1280, 900


def take(browser: Any, address: str) -> bytes:
    """The page down to the boundaries, with handles, when all of it is drawn."""
    browser.look(size=(WIDTH, HEIGHT))
    browser.command("Emulation.setScrollbarsHidden", hidden=True)
    browser.open(f"{address}#{SHAPE}")
    done = "return document.getElementById('judged').getAttribute('aria-busy') === 'false'"
    browser.until(lambda: browser.run(done), seconds=120)
    bottom = browser.run("return document.getElementById('boundaries').getBoundingClientRect().bottom")
    region = {"x": 0, "y": 0, "width": WIDTH, "height": bottom, "scale": 1}
    taken = browser.command("Page.captureScreenshot", format="png", clip=region, captureBeyondViewport=True)
    return base64.b64decode(taken["data"])


def main() -> None:
    """Serve the explorer, look at it, and keep the picture."""
    # The tests have a browser and a running explorer.
    sys.path.insert(0, str(ROOT))
    from tests.browser import Browser, chromium
    from tests.explore.serving import running

    from propriety.explore import datasets, server

    with chromium() as driver, running(server.Explorer(datasets.built_in())) as address:
        (ROOT / "docs" / "_static" / "explorer.png").write_bytes(take(Browser(driver), address))


if __name__ == "__main__":
    main()
