"""Everything that the page shows of one loss, as JSON: evaluated by the library, drawn as it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from propriety import losses
from propriety.explore import shaping
from propriety.explore.choices import about, families
from propriety.losses import Composite, SmoothLoss
from propriety.plots.panels import PANELS, Array, Axis, Curve, Panel, Subject, probabilities

GRIDS = {"p": probabilities(121), "v": np.linspace(-4, 4, 121)}
_FACES = PANELS[:6]  # weight, entropy, partial losses, link, margin loss, example weight
_VALUES = {
    "weight": ("weight ω",),
    "entropy": ("entropy H",),
    "partial losses": ("loss if y = 1", "loss if y = 0"),
    "link": ("score F",),
}
_LONGEST = 500  # letters of a loss in text
_LONG = 60  # letters, for a heading
_BEST_WITH = {True: "BoostingClassifier", False: "TreeClassifier"}


class BadRequestError(ValueError):
    """A loss that cannot be made; the message says why."""


def asked_loss(query: Mapping[str, str]) -> shaping.Shape:
    """The loss of a request: ``family`` with its parameters, ``handles``, or ``loss`` as text.

    >>> asked_loss({"family": "Beta", "alpha": "6", "beta": "14"}).loss
    Beta(6, 14)
    >>> asked_loss({"family": "Beta", "alpha": "-3", "beta": "14"})
    Traceback (most recent call last):
    propriety.explore.answers.BadRequestError: alpha must be a finite number in (-1, inf), got -3.0
    """
    try:
        if "handles" in query:
            return shaping.through(query["handles"].split(","))
        if "loss" in query:
            return shaping.Shape(_read(query["loss"]), ())
        return shaping.Shape(_of_family(query), ())
    except (ValueError, TypeError, ArithmeticError) as error:
        raise BadRequestError(str(error)) from None


def _read(text: str) -> Any:
    if len(text) > _LONGEST:
        raise ValueError(f"a loss has at most {_LONGEST} letters here, got {len(text)}")
    if not text.strip():
        raise ValueError("write a loss, for example 2 * Log() + Tailored(0.1, 20)")
    given = losses.parse(text)
    return given if isinstance(given, Composite) else losses.as_loss(given)


def _of_family(query: Mapping[str, str]) -> losses.Loss:
    known = {family.name: family for family in families()}
    name = query.get("family", "")
    if name not in known:
        raise ValueError(f"there is no family {name!r}; the families are {', '.join(known)}")
    sliders = known[name].sliders
    if missing := [parameter for parameter in sliders if parameter not in query]:
        raise ValueError(f"{name} needs {', '.join(sliders)}; {', '.join(missing)} is not given")
    named = {parameter for parameter, slider in sliders.items() if isinstance(slider.stops[0], str)}
    return make(name, {p: query[p] if p in named else _number(p, query[p]) for p in sliders})


def make(name: str, values: Mapping[str, Any]) -> losses.Loss:
    """A loss of a family."""
    loss: losses.Loss = getattr(losses, name)(**values)
    return loss


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number, got {text!r}") from None


def faces(shape: shaping.Shape, thresholds: Array, *, by_handles: bool = False) -> dict[str, Any]:
    """What the page shows of a loss: curves and axes, values at the thresholds, properties, code.

    Raises
    ------
    BadRequestError
        If the numbers of the loss are beyond what can be drawn.
    """
    try:
        return _faces(shape, thresholds, by_handles)
    except BadRequestError:
        raise
    except (ValueError, TypeError, ArithmeticError) as error:
        raise BadRequestError(f"{shape.loss!r} cannot be drawn: {error}") from None


def _faces(shape: shaping.Shape, thresholds: Array, by_handles: bool) -> dict[str, Any]:
    subject = Subject.of(shape.loss)
    # One evaluation for the curves and for the thresholds: the page asks for it at every step of a drag.
    along = {"p": np.concatenate([GRIDS["p"], thresholds]), "v": GRIDS["v"]}
    own = {panel: panel.curves(subject, along[panel.x]) for panel in _FACES if panel.has(subject)}
    factor = _same_entropy(subject, own)
    reference = Subject.of(factor * losses.Log())
    shown = [_face(panel, curves, reference) for panel, curves in own.items()]
    if by_handles:
        shown[0] |= _axis(shaping.AXIS)
    composite = subject.composite
    facts = (subject.loss if composite is None else composite).properties()
    heights = None
    if isinstance(subject.loss, SmoothLoss):
        heights = rounded(shaping.heights_of(subject.loss, 1 / factor))
    return {
        "loss": subject.label,
        "title": _title(subject),
        "link": "" if composite is None else repr(composite.link),
        "about": about(subject.loss) if type(subject.loss).__name__ in losses.names() else "",
        "note": shape.note,
        "reference": "log loss" if factor == 1 else f"{factor:.3g} × log loss",
        "faces": shown,
        "values": _values(own),
        "properties": [
            {"name": name, "holds": fact.holds, "reason": fact.reason} for name, fact in facts.items()
        ],
        "handles": heights,
        "code": code(shape.loss),
        "command": f'propriety fit TABLE --target COLUMN --loss "{shape.loss!r}"',
    }


def _title(subject: Subject) -> str:
    """What a loss is called in a heading: a long sum by its length."""
    if len(subject.label) <= _LONG:
        return subject.label
    return f"A mixture of {len(subject.loss._terms)} losses"


def _same_entropy(subject: Subject, own: Mapping[Panel, list[Curve]]) -> float:
    """The multiple of the log loss with the same largest entropy: a loss is fixed only up to a factor."""
    ((entropy, _),) = next(curves for panel, curves in own.items() if panel.name == "entropy")
    largest = float(np.max(entropy))
    if not 0 < largest < math.inf:
        raise BadRequestError(f"{subject.label} cannot be drawn: its largest entropy is {largest:g}")
    factor = float(f"{largest / losses.Log().entropy(0.5):.6g}")
    return 1.0 if abs(factor - 1) < 1e-4 else factor


def _face(panel: Panel, own: list[Curve], reference: Subject) -> dict[str, Any]:
    x = GRIDS[panel.x]
    log = panel.curves(reference, x)
    drawn = [Curve(curve.y[: len(x)], curve.dashed) for curve in own]
    return {
        "name": panel.name,
        "title": panel.title,
        "x": panel.x,
        "xlabel": panel.xlabel,
        "ylabel": panel.ylabel,
        "curves": [{"y": rounded(curve.y, 5), "dashed": curve.dashed} for curve in drawn],
        "reference": [{"y": rounded(curve.y, 5), "dashed": curve.dashed} for curve in log],
        **_axis(panel.axis(x, [curve.y for curve in drawn + log])),
    }


def _axis(axis: Axis) -> dict[str, Any]:
    low, high = rounded(np.array(axis[:2]))
    return {"low": low, "high": high, "log": axis.log}


def _values(own: Mapping[Panel, list[Curve]]) -> list[dict[str, Any]]:
    """Of the faces over p, at the thresholds."""
    return [
        {"name": name, "at": rounded(curve.y[len(GRIDS["p"]) :])}
        for panel, curves in own.items()
        if panel.name in _VALUES
        for name, curve in zip(_VALUES[panel.name], curves, strict=True)
    ]


def code(loss: losses.Loss | Composite) -> str:
    """Python that makes the loss and a model for it; ``{costs}`` stands for the costs.

    >>> print(code(losses.Beta(6, 14)))
    from propriety import BoostingClassifier, losses
    <BLANKLINE>
    loss = losses.Beta(6, 14)
    model = BoostingClassifier(loss=loss, {costs})
    """
    model = _BEST_WITH[isinstance(loss, SmoothLoss | Composite)]
    plain = type(loss).__name__ in losses.names()
    made = f"losses.{loss!r}" if plain else f"losses.parse({str(loss)!r})"
    return (
        f"from propriety import {', '.join(sorted([model, 'losses'], key=str.lower))}\n\n"
        f"loss = {made}\nmodel = {model}(loss=loss, {{costs}})"
    )


def rounded(values: Sequence[float] | Array, digits: int = 6) -> list[float | None]:
    """Numbers as JSON can hold them: so many digits, and None where there is none.

    >>> rounded([1 / 3, float("inf")], 3)
    [0.333, None]
    """
    return [
        float(f"{value:.{digits}g}") if math.isfinite(value) else None
        for value in np.asarray(values).tolist()
    ]


__all__ = ["GRIDS", "BadRequestError", "asked_loss", "code", "faces", "make", "rounded"]
