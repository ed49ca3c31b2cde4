"""The page itself: one document, one style sheet and two scripts, the same with and without a server."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from propriety import losses
from propriety.explore import choices, shaping
from propriety.explore.answers import GRIDS, rounded
from propriety.explore.datasets import DataSet
from propriety.version import __version__

ASSETS = {"style.css": "text/css", "charts.js": "text/javascript", "explore.js": "text/javascript"}
#: Scripts, styles and answers come from where the page comes from, and nothing else is loaded from anywhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def asset(name: str) -> str:
    """The text of a file of the page."""
    return files("propriety.explore").joinpath("assets", name).read_text(encoding="utf-8")


def settings(
    data: Sequence[DataSet],
    thresholds: Sequence[dict[str, Any]],
    *,
    start_threshold: float = choices.START_THRESHOLD,
    few: bool = False,
) -> dict[str, Any]:
    """What can be chosen, for the script: with `few`, what a page without a server can answer."""
    return {
        "families": [family.described(few=few) for family in choices.families()],
        "family": choices.START,
        "thresholds": list(thresholds),
        "threshold": [row["c"] for row in thresholds].index(start_threshold),
        "handles": list(shaping.HANDLES),
        "shapes": [
            {"name": repr(loss), "handles": rounded(shaping.heights_of(loss, 1.0))}
            for loss in (losses.Log(), losses.Squared(), losses.Boosting())
        ],
        "handle_low": shaping.AXIS.low,
        "handle_high": shaping.AXIS.high,
        "grids": {name: rounded(grid) for name, grid in GRIDS.items()},
        "data": [one.described() for one in data],
        "server": not few,
    }


def document(given: dict[str, Any], *, title: str = "Shape a loss") -> str:
    """The document; `given` are the settings."""
    # "<" as an escape: no text of a table can end the element.
    data = json.dumps(given, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        asset("page.html")
        .replace("{{policy}}", html.escape(POLICY))
        .replace("{{title}}", html.escape(title))
        .replace("{{version}}", __version__)
        .replace("{{settings}}", data)
    )
