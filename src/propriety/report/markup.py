"""HTML that escapes what it is given: only what was made here goes into a page as it is."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_VOID = {"meta", "br", "col", "input"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def clean(text: object) -> str:
    r"""Text without characters that no document may hold.

    >>> clean("a\x00b")
    'a�b'
    """
    return _CONTROL.sub("\ufffd", str(text))


def escape(value: object) -> Markup:
    """Text as HTML; markup as it is."""
    return value if isinstance(value, Markup) else Markup(html.escape(clean(value)))


def join(*children: Any) -> Markup:
    """One piece of HTML of several; None is left out."""
    return Markup("".join(escape(child) for child in children if child is not None))


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element. Underscores in names of attributes are hyphens, a last one is dropped; None leaves one out.

    >>> tag("p", "1 < 2 ", tag("b", "so"), class_="note")
    '<p class="note">1 &lt; 2 <b>so</b></p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{join(*children)}</{name}>")


def table(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, numeric: Sequence[int] = ()
) -> Markup:
    """A table with a caption, whose first column heads its rows; wide ones scroll, by keyboard too.

    On a phone every row is a list of its cells.
    """
    # An empty header would be read out as one; a cell is not.
    head = [
        tag("th", name, scope="col", class_=_kind(j, numeric)) if name else tag("td")
        for j, name in enumerate(columns)
    ]
    body = []
    for row in rows:
        first, *rest = row
        # On a phone a row is a list, and each of its cells says what it is.
        cells = [
            tag("td", tag("span", cell), class_=_kind(j, numeric), data_label=columns[j] or None)
            for j, cell in enumerate(rest, 1)
        ]
        body.append(tag("tr", tag("th", first, scope="row"), *cells))
    content = tag("table", tag("caption", caption), tag("thead", tag("tr", *head)), tag("tbody", *body))
    return tag("div", content, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _kind(column: int, numeric: Sequence[int]) -> str | None:
    return "number" if column in numeric else None


def interval(value: str, ends: str) -> Markup:
    """A number with its interval below it, for a cell of a table.

    >>> interval("5%", "3% to 7%")
    '5% <small>(3% to 7%)</small>'
    """
    return join(value, " ", tag("small", f"({ends})"))


def bar(share: float, *, low: float | None = None, high: float | None = None) -> Markup:
    """A bar of a share of the width, with a whisker for its interval; the numbers stand beside it."""
    parts = [tag("span", class_="fill", style=f"width:{_percent(share)}")]
    if low is not None and high is not None:
        left, width = _percent(low), _percent(max(high - low, 0.0))
        parts.append(tag("span", class_="whisker", style=f"left:{left};width:{width}"))
    return tag("span", *parts, class_="bar", aria_hidden="true")


def _percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%"
