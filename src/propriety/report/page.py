"""The page: its frame, and the order of its sections."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from propriety.report import outcomes, sections
from propriety.report.contents import Report
from propriety.report.markup import Markup, clean, join, tag
from propriety.version import __version__

#: Nothing may be loaded, from anywhere: the browser itself sees to it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_SECTIONS = (
    ("asked", "What the model was asked", sections.asked),
    ("costs", "What its decisions cost", sections.costs),
    ("decisions", "Its decisions", outcomes.decisions),
    ("budget", "If only some can be acted on", outcomes.budget),
    ("roughly", "Costs known only roughly", outcomes.roughly_known),
    ("other-costs", "If costs change", outcomes.other_costs),
    ("probabilities", "Are its probabilities right?", sections.probabilities),
    ("matters", "What it goes by", sections.matters),
    ("data", "The data", sections.data),
    ("again", "How to make it again", sections.again),
)


def page(report: Report) -> str:
    """The whole document."""
    title = f"{report.target}: {report.positive}?" if report.p.ndim == 1 else report.target
    written = [(name, heading, content) for name, heading, write in _SECTIONS if (content := write(report))]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=f"propriety {__version__}"),
        tag("title", f"{title} – {report.name}"),
        tag("style", Markup(files("propriety.report").joinpath("style.css").read_text(encoding="utf-8"))),
    )
    nav = tag(
        "nav",
        tag("ul", *(tag("li", tag("a", h, href=f"#{n}")) for n, h, _ in written)),
        aria_label="Contents",
    )
    body = tag(
        "body",
        tag("a", "Skip to the findings", class_="skip", href="#main"),
        tag("header", tag("h1", title), sections.summary(report), nav),
        tag(
            "main",
            sections.warnings(report),
            *(_section(*part) for part in written),
            id="main",
            tabindex="-1",
        ),
        tag("footer", tag("p", f"Written by propriety {__version__}. The page loads nothing from anywhere.")),
    )
    return clean("<!DOCTYPE html>\n" + tag("html", head, "\n", body, lang="en") + "\n")


def _section(name: str, heading: str, content: Any) -> Markup:
    title = tag("h2", heading, id=f"{name}-heading")
    return join("\n", tag("section", title, content, id=name, aria_labelledby=f"{name}-heading"))
