"""Figures of matplotlib as SVG that lives inside a page: its colours follow light and dark."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

from propriety.plots.faces import _STYLE, _import_matplotlib
from propriety.report.markup import Markup, clean, escape, tag

#: Colours of the displays, and the variables of the style sheet that stand for them.
_THEME = {
    "#000000": "currentColor",
    "#ffffff": "var(--page)",
    "#0072b2": "var(--c1)",
    "#d55e00": "var(--c2)",
    "#009e73": "var(--c3)",
    "#cc79a7": "var(--c4)",
    "#737373": "var(--quiet)",
    "#8c8c8c": "var(--quiet)",
    "#b2b2b2": "var(--bars)",
    "#b3b3b3": "var(--bars)",
    "#cccccc": "var(--bars)",
}
_COLOUR = re.compile("|".join(_THEME), re.IGNORECASE)
_WIDE = 500  # pixels from which a figure scrolls on a phone, rather than shrink
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


@contextmanager
def drawing() -> Iterator[Any]:
    """Settings of figures for a page: text stays text, and is never read as mathematics."""
    matplotlib = _import_matplotlib()
    settings = _STYLE | {
        "text.parse_math": False,
        "text.usetex": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "propriety",
        "font.family": "DejaVu Sans",
        "savefig.facecolor": "none",
    }
    # A letter that matplotlib's font lacks is drawn by the browser, in one that has it.
    with warnings.catch_warnings(), matplotlib.rc_context(settings):
        warnings.filterwarnings("ignore", message=".*[Gg]lyph")
        warnings.filterwarnings("ignore", message=".*constrained_layout not applied")
        yield matplotlib


def blank(size: tuple[float, float]) -> Any:
    """An empty figure of so many inches, to be filled within `drawing`."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def figure(
    name: str, drawn: Any, title: str, caption: Any, *, paper: bool = False, mark: float | None = None
) -> Markup:
    """A drawn figure as an HTML figure: `title` is what it shows in a sentence, for those who do not see it.

    `paper` keeps its own colours, on white; `mark` is a place from 0 to 1 along the first axes where a line
    stands that the script of the page can move.
    """
    picture = inline(name, drawn, title, paper=paper, mark=mark)
    content = tag("div", picture, class_="scroll", tabindex="0", role="region", aria_label=title)
    return tag("figure", content, tag("figcaption", caption))


def inline(name: str, drawn: Any, title: str, *, paper: bool = False, mark: float | None = None) -> Markup:
    """The SVG of a figure, without anything that points outside of it."""
    buffer = io.StringIO()
    with drawing():
        drawn.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    root = ElementTree.fromstring(clean(text[text.index("<svg") :]))
    _plain(root)
    _rename(root, name)
    if not paper:
        _colour(root)
    width = 4 / 3 * float(root.get("viewBox", "0 0 480 360").split()[2])
    kind = "paper" if paper else "themed wide" if width > _WIDE else "themed"
    content = "".join(ElementTree.tostring(child, encoding="unicode") for child in root)
    start = (
        f'<svg viewBox="{root.get("viewBox")}" class="{kind}" role="img" '
        f'aria-labelledby="{name}-title" style="width:{width:.0f}px">'
    )
    line = "" if mark is None else _mark(name, drawn, root.get("viewBox", ""), mark)
    return Markup(f'{start}<title id="{name}-title">{escape(title)}</title>{content}{line}</svg>')


def _mark(name: str, drawn: Any, box: str, at: float) -> Markup:
    """A line across the first axes, and where it may go."""
    width, height = (float(value) for value in box.split()[2:])
    place = drawn.axes[0].get_position()
    low, high = place.x0 * width, place.x1 * width
    x = f"{low + at * (high - low):.3f}"
    return tag(
        "line",
        id=f"{name}-mark",
        class_="mark",
        x1=x,
        x2=x,
        y1=f"{(1 - place.y1) * height:.3f}",
        y2=f"{(1 - place.y0) * height:.3f}",
        data_low=f"{low:.3f}",
        data_high=f"{high:.3f}",
    )


def _plain(root: ElementTree.Element) -> None:
    """Without namespaces, metadata and style sheets, which would reach beyond the figure."""
    for parent in root.iter():
        parent.tag = parent.tag.rpartition("}")[2]
        for key in list(parent.attrib):
            if "}" in key:
                parent.attrib[key.rpartition("}")[2]] = parent.attrib.pop(key)
        for child in list(parent):
            if child.tag.rpartition("}")[2] in ("metadata", "style"):
                parent.remove(child)


def _rename(root: ElementTree.Element, name: str) -> None:
    """Names that are referred to begin with the figure's, others go: a page may have a name once only."""
    used = set()
    for element in root.iter():
        href = element.get("href", "")
        if href.startswith("#"):
            used.add(href[1:])
            element.set("href", f"#{name}-{href[1:]}")
        for key, value in element.attrib.items():
            if "url(#" in value:
                used.update(_REFERENCE.findall(value))
                element.set(key, _REFERENCE.sub(rf"url(#{name}-\1)", value))
    for element in root.iter():
        label = element.attrib.pop("id", None)
        if label in used:
            element.set("id", f"{name}-{label}")


def _colour(root: ElementTree.Element) -> None:
    for element in root.iter():
        style = element.get("style")
        if style:
            element.set("style", _COLOUR.sub(lambda colour: _THEME[colour[0].lower()], style))
