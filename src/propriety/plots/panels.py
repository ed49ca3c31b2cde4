"""The faces of a loss as curves with the axes that show them, for whoever draws: no drawing happens here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import losses as loss_algebra
from propriety.losses import Composite, Loss, SmoothLoss

Array = NDArray[np.float64]

_DECADES = 4  # that a logarithmic axis shows below the largest value
_LOG_FROM = 30.0  # ratio of the largest to the smallest value from which an axis is logarithmic


def probabilities(count: int) -> Array:
    """Probabilities between the ends, dense where faces bend: equally spaced angles, p = sin²(angle).

    >>> probabilities(3)
    array([0.0025, 0.5   , 0.9975])
    """
    return np.sin(np.linspace(np.arcsin(0.05), np.arccos(0.05), count)) ** 2


@dataclass(frozen=True)
class Subject:
    """A loss to draw, with its composite if it has one."""

    loss: Loss
    composite: Composite | None
    label: str
    color: Any = None

    @classmethod
    def of(cls, given: Any) -> Subject:
        """A loss, a composite or text; a loss is drawn with its default link.

        >>> Subject.of("Log").composite
        Log().with_link(Logit())
        """
        if isinstance(given, str):
            given = loss_algebra.parse(given)
        if isinstance(given, Composite):
            usual = given.link == given.loss.default_link
            return cls(given.loss, given, repr(given.loss if usual else given))
        loss = loss_algebra.as_loss(given)
        return cls(loss, loss.composite() if isinstance(loss, SmoothLoss) else None, repr(loss))

    @property
    def described(self) -> str:
        """What a legend says."""
        return self.label if self.composite is not None else f"{self.label}: no weight function"


class Curve(NamedTuple):
    """Values along the axis of a panel."""

    y: Array
    dashed: bool = False  # the curve of label 0


class Axis(NamedTuple):
    """From where to where values are shown, and whether by their logarithms."""

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Panel:
    """One face: how its curves come about, and the axis that shows them."""

    name: str
    title: str
    x: str  # "p" or "v": what runs along the axis
    xlabel: str
    ylabel: str
    needs: type  # of the loss
    formulas: Callable[[Subject, Array], list[Curve]]
    axis: Callable[[Array, list[Array]], Axis]

    def has(self, subject: Subject) -> bool:
        """Whether a loss has this face."""
        return isinstance(subject.loss, self.needs)

    def curves(self, subject: Subject, x: Array) -> list[Curve]:
        """The curves of a loss; far scores may leave the range of doubles, their curves end there."""
        with np.errstate(all="ignore"):
            return self.formulas(subject, x)


# -- the curves ----------------------------------------------------------------------------------------


def _weight(s: Subject, p: Array) -> list[Curve]:
    return [Curve(s.loss.weight(p))]  # type: ignore[attr-defined]


def _entropy(s: Subject, p: Array) -> list[Curve]:
    return [Curve(s.loss.entropy(p))]


def _partial_losses(s: Subject, p: Array) -> list[Curve]:
    return [Curve(s.loss.loss(1, p)), Curve(s.loss.loss(0, p), dashed=True)]


def _link(s: Subject, p: Array) -> list[Curve]:
    return [Curve(_composite(s).link(p))]


def _margin_loss(s: Subject, v: Array) -> list[Curve]:
    c = _composite(s)
    if c.has_margin_form:
        return [Curve(c.margin_loss(v))]
    return [Curve(c.value(1, v)), Curve(c.value(0, -v), dashed=True)]


def _example_weight(s: Subject, v: Array) -> list[Curve]:
    c = _composite(s)
    if c.has_margin_form:
        return [Curve(c.example_weight(v))]
    return [Curve(-c.gradient(1, v)), Curve(c.gradient(0, -v), dashed=True)]


def _regularization_strength(s: Subject, v: Array) -> list[Curve]:
    return [Curve(_composite(s).regularization_strength(v))]


def _composite(s: Subject) -> Composite:
    assert s.composite is not None
    return s.composite


# -- the axes ------------------------------------------------------------------------------------------


def _scaled(ys: list[Array], keep: str) -> Axis:
    """Logarithmic where values span more than a decade and a half, else from zero.

    Of more decades than an axis can show, it shows those at the largest or at the smallest value.
    """
    values = np.concatenate(ys)
    values = values[np.isfinite(values) & (values > 0)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (1.0, 1.0)
    if high <= _LOG_FROM * low:
        return Axis(0.0, 1.05 * high)
    if keep == "largest":
        low = max(low, high / 10**_DECADES)
    else:
        high = min(high, low * 10**_DECADES)
    return Axis(low / 1.5, high * 1.5, log=True)


def _weight_axis(p: Array, ys: list[Array]) -> Axis:
    return _scaled(ys, keep="largest")


def _strength_axis(v: Array, ys: list[Array]) -> Axis:
    return _scaled(ys, keep="smallest")


def _whole_axis(p: Array, ys: list[Array]) -> Axis:
    return Axis(0.0, 1.05 * float(max(np.max(y) for y in ys)) or 1.0)


def _capped_axis(x: Array, ys: list[Array]) -> Axis:
    return Axis(0.0, 1.05 * max(_height(y) for y in ys) or 1.0)


def _height(y: Array) -> float:
    """The largest value of a curve; of one that runs away at an end, what leaves its middle visible."""
    y = np.where(np.isfinite(y), y, np.inf)
    if y[-1] > y[0]:
        y = y[::-1]
    eighth, middle = y[len(y) // 8], y[len(y) // 2]
    if np.argmax(y) == 0 and y[0] > 2 * eighth:
        return float(min(y[0], 6 * middle if 30 * middle > eighth else eighth))
    return float(np.max(y[np.isfinite(y)], initial=0.0))


def _score_axis(p: Array, ys: list[Array]) -> Axis:
    """Scores of p between 0.03 and 0.97 fit, the tails may leave."""
    inner = (p > 0.03) & (p < 0.97)
    reach = 1.15 * max(float(np.max(np.abs(y[inner]))) for y in ys)
    return Axis(-reach, reach)


def _margin_axis(v: Array, ys: list[Array]) -> Axis:
    top = _capped_axis(v, ys).high
    return Axis(0.0, max(top, 1.05 * step_height(top)))


def step_height(top: float) -> float:
    """Of the 0/1 step below losses up to `top`: 1, or what is in view where that would hide them."""
    return 1.0 if 0.5 < top < 25 else top / 4


_P, _V = "probability p", "margin v = (2y − 1) F"
PANELS = (
    Panel("weight", "Weight", "p", _P, "ω(p)", SmoothLoss, _weight, _weight_axis),
    Panel("entropy", "Entropy", "p", _P, "H(p)", Loss, _entropy, _whole_axis),
    Panel("partial losses", "Partial losses", "p", _P, "ℓ(y, p)", Loss, _partial_losses, _capped_axis),
    Panel("link", "Link", "p", _P, "score F", SmoothLoss, _link, _score_axis),
    Panel("margin loss", "Margin loss", "v", _V, "φ(v)", SmoothLoss, _margin_loss, _margin_axis),
    Panel("example weight", "Example weight", "v", _V, "−φ′(v)", SmoothLoss, _example_weight, _capped_axis),
    Panel(
        "regularization strength", "Regularization strength", "v", "score F", "1 / p′(F)", SmoothLoss,
        _regularization_strength, _strength_axis,
    ),
)  # fmt: skip
