"""What holds of a loss or a composite, and why.

Every answer comes from the formulas: from their limits at p = 0 and 1, or from their values on a grid of
2801 log-odds from −35 to 35 (p from 6e-16 to 1 − 6e-16), which the reason then says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from propriety.losses.base import Loss, SmoothLoss
from propriety.losses.composite import GRID
from propriety.losses.point import at_log_odds

if TYPE_CHECKING:
    from propriety.losses.composite import Composite
    from propriety.losses.links import Link

_ON_GRID = "at 2801 log-odds from -35 to 35"
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Fact:
    """An answer that counts as true or false, with its reason."""

    holds: bool
    reason: str

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return f"{'yes' if self.holds else 'no'}: {self.reason}"


class Properties(Mapping[str, Fact]):
    """Facts by name; prints as a table.

    >>> from propriety import losses
    >>> print(losses.Log().properties()["symmetric"])
    yes: weight(p) = weight(1 - p) at 2801 log-odds from -35 to 35
    """

    def __init__(self, facts: dict[str, Fact]) -> None:
        self._facts = facts

    def __getitem__(self, name: str) -> Fact:
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __repr__(self) -> str:
        width = max(map(len, self._facts))
        return "\n".join(f"{name:<{width}}  {fact}" for name, fact in self._facts.items())


def of_loss(loss: Loss) -> Properties:
    """Properties of a proper loss."""
    facts = {"proper": Fact(True, "it is a mixture of cost-weighted losses: its entropy is concave")}
    strict, symmetric = _strict(loss), _symmetric(loss)
    bounded, normalized = _bounded(loss), _normalized(loss)
    permissible = strict.holds and symmetric.holds
    facts |= {
        "strict": strict,
        "symmetric": symmetric,
        "permissible": Fact(
            permissible,
            "its entropy is strictly concave and symmetric about 1/2"
            if permissible
            else f"its entropy is not {'strictly concave' if not strict else 'symmetric about 1/2'}",
        ),
        "bounded": bounded,
        "normalized": normalized,
        "classification calibrated": _calibrated(loss),
        "smooth": Fact(
            isinstance(loss, SmoothLoss),
            "it has a weight function" if isinstance(loss, SmoothLoss) else "its weight has point masses",
        ),
    }
    return Properties(facts)


def of_composite(c: Composite) -> Properties:
    """Properties of a composite: those of its loss, and those that depend on the link."""
    facts = dict(of_loss(c.loss))
    factor = c._canonical_factor
    ends, convex = _beyond(c), _convex(c)
    dual = c.has_margin_form and convex.holds
    if ends:
        facts["proper"] = Fact(True, f"{facts['proper'].reason}{ends}")
    facts |= {
        "canonical": Fact(
            factor is not None,
            f"weight(p) dp/dF {'varies' if factor is None else 'is constant'} at 161 log-odds in [-20, 20]"
            + ("" if factor is None else ends),
        ),
        "convex": convex,
        "margin form": Fact(
            c.has_margin_form,
            "the loss is symmetric and p(-F) = 1 - p(F)"
            if c.has_margin_form
            else "the link is not symmetric"
            if facts["symmetric"]
            else "the loss is not symmetric",
        ),
        "real range": Fact(
            c.link.has_real_range,
            "every score has a probability"
            if c.link.has_real_range
            else f"scores of a probability between 0 and 1 lie in [{c.link.low:.4g}, {c.link.high:.4g}]",
        ),
        "Legendre dual": Fact(
            dual,
            "phi is convex, so that the weights -phi'(v) fall with the margin"
            if dual
            else "it has no convex margin form",
        ),
        "generalized logit": _generalized_logit(c.link),
        "regularization loss": _regularization(c),
    }
    return Properties(facts)


def _beyond(c: Composite) -> str:
    """Where what holds of probabilities ends, for a loss that goes on beyond the range of its link."""
    if c.link.has_real_range or not c.whole_line:
        return ""
    if c._form is not None:
        what = "phi itself, with a probability of 0 or 1"
    elif c.link._rate_beyond > 0:
        what = "the same parabola, with a probability of 0 or 1"
    else:
        what = "straight"
    return f", for scores in [{c.link.low:.4g}, {c.link.high:.4g}]; beyond them the loss is {what}"


def _strict(loss: Loss) -> Fact:
    if isinstance(loss, SmoothLoss):
        with np.errstate(all="ignore"):
            log_r = loss._log_relative(at_log_odds(GRID))
        zero = log_r == -np.inf
        if np.any(zero):
            return Fact(False, f"the weight is zero at p = {at_log_odds(GRID[zero][0]).p:.4g}")
        return Fact(True, f"the weight is positive {_ON_GRID}")
    smooth = [part for _, part in loss._terms if isinstance(part, SmoothLoss)]
    strict = next((part for part in smooth if _strict(part)), None)
    if strict is not None:
        return Fact(True, f"its part {strict!r} is strict")
    return Fact(
        False, "its weight is a point mass: statements on the same side of the cost are charged alike"
    )


def _symmetric(loss: Loss) -> Fact:
    x = at_log_odds(GRID)
    with np.errstate(all="ignore"):
        if isinstance(loss, SmoothLoss):
            log_r = loss._log_relative(x)
            difference = np.where(np.isfinite(log_r), log_r - log_r[::-1], 0.0)
            unequal, what = np.abs(difference) > _TOLERANCE * (1 + np.abs(x.t)), "weight"
        else:
            h = loss._entropy(x)
            unequal, what = np.abs(h - h[::-1]) > _TOLERANCE * np.max(h), "entropy"
    if np.any(unequal):
        p = at_log_odds(GRID[np.argmax(unequal)]).p
        return Fact(False, f"{what}(p) and {what}(1 - p) differ at p = {p:.4g}")
    return Fact(True, f"{what}(p) = {what}(1 - p) {_ON_GRID}")


def _bounded(loss: Loss) -> Fact:
    miss, alarm = float(loss.loss(1, 0.0)), float(loss.loss(0, 1.0))
    reason = f"loss(1, 0) = {miss:.4g} and loss(0, 1) = {alarm:.4g}"
    return Fact(bool(np.isfinite(miss) and np.isfinite(alarm)), reason)


def _normalized(loss: Loss) -> Fact:
    low, high = float(loss.entropy(0.0)), float(loss.entropy(1.0))
    return Fact(max(abs(low), abs(high)) < 1e-12, f"H(0) = {low:.4g} and H(1) = {high:.4g}")


def _calibrated(loss: Loss) -> Fact:
    """Deciding by p ≥ ½ is right iff the weight has mass in every neighbourhood of ½."""
    centre = np.array([-1e-3, 1e-3])
    slopes = [float(s) for s in loss.slope(at_log_odds(centre).p)]
    holds = slopes[1] > slopes[0]
    return Fact(holds, f"the weight has {'' if holds else 'no '}mass around p = 1/2")


def _convex(c: Composite) -> Fact:
    # [B §15] in log-odds: −q t′ ≤ (log ω p′)′ ≤ p t′, that is, both partial Hessians are ≥ 0.
    if c._form is not None:
        return _convex_on_line(c)
    if c._canonical_factor is not None:
        return Fact(True, "the link is canonical, so the Hessian is a multiple of p'(F)")
    x = at_log_odds(GRID)
    with np.errstate(all="ignore"):
        _, slope, bend = c.link._log_odds(c.link._score(x))
        growth = c.loss._dlog_relative(x) * slope + bend / slope
        one, zero = x.p * slope - growth, x.q * slope + growth
    tolerance = 1e-9 * (slope + np.abs(growth))
    ok = np.isfinite(growth)
    for label, room in ((1, one), (0, zero)):
        bad = ok & (room < -tolerance)
        if np.any(bad):
            p = at_log_odds(GRID[bad][np.argmin(np.abs(GRID[bad]))]).p
            return Fact(False, f"the Hessian for y = {label} is negative at p = {p:.4g}")
    return Fact(True, f"both Hessians are non-negative {_ON_GRID}")


def _convex_on_line(c: Composite) -> Fact:
    """The curvature of a margin loss, at margins on either side of the range of its link."""
    unit = float(c.link(0.75) - c.link(0.25))
    v = unit * np.linspace(-20, 20, 4001)
    with np.errstate(all="ignore"):
        bend = c.hessian(1.0, v)
        size = np.abs(c.gradient(1.0, v)) + np.abs(c.gradient(0.0, v))
        bad = bend < -1e-7 * size / unit
    if np.any(bad):
        return Fact(False, f"phi'' is negative at v = {v[bad][np.argmin(np.abs(v[bad]))]:.4g}")
    return Fact(True, f"phi'' is not negative at 4001 margins from {v[0]:.4g} to {v[-1]:.4g}")


def _generalized_logit(link: Link) -> Fact:
    """p rises from 0 to 1 on the real line, p(−F) = 1 − p(F), and p″ is 0 at 0 alone. [M Definition 2]

    As p′ falls to 0 far out, p″ is then negative for every F > 0, that is, p′ falls.
    """
    if not link.has_real_range:
        return Fact(False, f"p reaches 0 and 1 at the scores {link.low:.4g} and {link.high:.4g}")
    if not link.symmetric:
        return Fact(False, "p(-F) is not 1 - p(F)")
    t = np.concatenate([np.arange(0, 4, 1 / 32), np.arange(4, link._known_log_odds, 0.25)])
    x = at_log_odds(t)
    with np.errstate(all="ignore"):
        slope = link._log_odds(link._score(x)).slope
        steps = np.diff(x.lp + x.lq + np.log(slope))
    rises = steps > -1e-9
    if np.any(rises):
        return Fact(False, f"dp/dF does not fall from p = {x.p[:-1][rises][0]:.4g} on")
    return Fact(True, f"p(-F) = 1 - p(F), and dp/dF falls for F > 0, at {len(t)} log-odds to {t[-1]:.3g}")


def _regularization(c: Composite) -> Fact:
    """Whether ρ(v) ≥ 1 for all v [M Definition 1]: iff μ ≥ ½ for a generalized logit link [M Thm 4]."""
    if not c.has_margin_form:
        return Fact(False, "it has no margin form")
    margin = c.loss_margin
    if _generalized_logit(c.link):
        return Fact(margin >= 0.5 - 1e-12, f"its loss margin is {margin:.4g} (at least 1/2 is needed)")
    with np.errstate(all="ignore"):
        strength = c.regularization_strength(c.link._score(at_log_odds(GRID)))
    least = float(np.nanmin(strength))
    return Fact(
        least >= 1 - 1e-12,
        f"its link is no generalized logit, and its least regularization strength is {least:.4g} "
        "(at least 1 is needed)",
    )
