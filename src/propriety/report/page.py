"""The page: its frame, and the order of its sections."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

from propriety.errors import ArgumentError
from propriety.progress import part
from propriety.report import flipping, groups, interaction, outcomes, ranking, sections, top
from propriety.report.markup import Markup, clean, join, tag
from propriety.study import Study
from propriety.version import __version__

#: Nothing may be loaded, from anywhere, and no script run but the page's own: the browser itself sees to it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
#: The sections in the order of the page: a name, the heading, and a function from a study to what it says,
#: or None where it has nothing to say.
SECTIONS: tuple[tuple[str, str, Callable[[Study], Markup | None]], ...] = (
    ("asked", "The question", sections.asked),
    ("costs", "Cost of decisions", sections.costs),
    ("decisions", "Decisions", outcomes.decisions),
    ("ranking", "Limited capacity", ranking.ranking),
    ("budget", "Limited budget", outcomes.budget),
    ("roughly", "Uncertain costs", outcomes.roughly_known),
    ("other-costs", "Other costs", outcomes.other_costs),
    ("probabilities", "Calibration and discrimination", sections.probabilities),
    ("subgroups", "Subgroups", groups.subgroups),
    ("over-time", "Stability over time", groups.over_time),
    ("matters", "Feature importance and effects", sections.matters),
    ("flips", "Counterfactuals", flipping.flips),
    ("data", "The data", sections.data),
    ("again", "Reproducibility", sections.again),
)


def page(study: Study) -> str:
    """The whole document."""
    if study.p is None:
        raise ArgumentError("model", "has no predict_proba, which a report needs")
    title = f"{study.facts.target}: {study.positive}?" if study.p.ndim == 1 else study.facts.target
    written = []
    for k, (name, heading, write) in enumerate(SECTIONS):
        with part(heading, k, len(SECTIONS)):
            content = write(study)
        if content:
            written.append((name, heading, content))
    nav = contents([(name, heading) for name, heading, _ in written])
    return document(
        title=f"{title} – {study.name}",
        header=join(tag("h1", title), top.summary(study), nav),
        main=join(top.warnings(study), *(section(*part) for part in written)),
        skip="Skip to the findings",
        script=interaction.script() if interaction.possible(study) else "",
    )


def document(*, title: str, header: Markup, main: Markup, skip: str, script: str = "") -> str:
    """A page that loads nothing: `skip` is what the link past its header says."""
    policy = _POLICY
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=f"propriety {__version__}"),
        tag("title", title),
        tag("style", Markup(files("propriety.report").joinpath("style.css").read_text(encoding="utf-8"))),
    )
    body = tag(
        "body",
        tag("a", skip, class_="skip", href="#main"),
        tag("header", header),
        tag("main", main, id="main", tabindex="-1"),
        tag("footer", tag("p", f"Written by propriety {__version__}. The page loads no external content.")),
        tag("script", Markup(script)) if script else None,
    )
    return clean("<!DOCTYPE html>\n" + tag("html", head, "\n", body, lang="en") + "\n")


def contents(parts: Sequence[tuple[str, str]]) -> Markup:
    """Links to sections, by name and heading."""
    links = (tag("li", tag("a", heading, href=f"#{name}")) for name, heading in parts)
    return tag("nav", tag("ul", *links), aria_label="Contents")


def section(name: str, heading: str, content: Any) -> Markup:
    """A part of a page, under its heading."""
    title = tag("h2", heading, id=f"{name}-heading")
    return join("\n", tag("section", title, content, id=name, aria_labelledby=f"{name}-heading"))
