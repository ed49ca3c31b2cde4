"""The convex cone of losses: mixtures and class weightings of losses are losses."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy import special

from propriety.losses.base import Loss, SmoothLoss
from propriety.losses.links import Link
from propriety.losses.point import Array, Point, at_log_odds
from propriety.losses.score_forms import ScoreForm, SumOfForms
from propriety.losses.value import positive, show


class Mixture(Loss):
    """Σ aᵢ lossᵢ, aᵢ > 0; made by ``2 * a + b``. Flat, merged, and equal in any order.

    >>> from propriety import losses
    >>> m = 2 * losses.Log() + losses.Squared() + losses.Log()
    >>> m
    3 * Log() + Squared()
    >>> m == losses.Squared() + 3 * losses.Log()
    True
    """

    terms: tuple[tuple[float, Loss], ...]

    @staticmethod
    def of(terms: Iterable[tuple[float, Loss]]) -> Loss:
        """The mixture of the terms; a single loss with factor 1 is itself."""
        merged: dict[Loss, float] = {}
        for factor, loss in terms:
            for inner_factor, inner in loss._terms:
                merged[inner] = merged.get(inner, 0.0) + factor * inner_factor
        if len(merged) == 1 and next(iter(merged.values())) == 1.0:
            return next(iter(merged))
        flat = tuple((factor, loss) for loss, factor in merged.items())
        smooth = tuple((factor, loss) for factor, loss in flat if isinstance(loss, SmoothLoss))
        return SmoothMixture(smooth) if len(smooth) == len(flat) else PlainMixture(flat)

    @property
    def _terms(self) -> tuple[tuple[float, Loss], ...]:
        return self.terms

    def _partial1(self, x: Point) -> Array:
        return sum((a * loss._partial1(x) for a, loss in self.terms), start=np.zeros_like(x.t))

    def _partial0(self, x: Point) -> Array:
        return sum((a * loss._partial0(x) for a, loss in self.terms), start=np.zeros_like(x.t))

    def _entropy(self, x: Point) -> Array:
        return sum((a * loss._entropy(x) for a, loss in self.terms), start=np.zeros_like(x.t))

    def _slope(self, x: Point) -> Array:
        return sum((a * loss._slope(x) for a, loss in self.terms), start=np.zeros_like(x.t))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the parts, as ``part0__alpha``, and the factors, as ``factor0``."""
        params: dict[str, Any] = {}
        for i, (factor, loss) in enumerate(self.terms):
            params |= {f"factor{i}": factor, f"part{i}": loss}
            if deep:
                params |= {f"part{i}__{k}": v for k, v in loss.get_params().items()}
        return params

    def replace(self, **params: Any) -> Any:
        """The mixture with some factors or parts changed."""
        known = self.get_params(deep=False)
        terms: list[list[Any]] = [list(term) for term in self.terms]
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"a mixture of {len(terms)} losses has no parameter {name!r}; it has {', '.join(known)}"
                )
            i, is_part = int(name.lstrip("factorp")), name.startswith("part")
            terms[i][is_part] = terms[i][1].replace(**{rest: value}) if rest else value
        return Mixture.of((positive("the factor of a loss", a), loss) for a, loss in terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mixture) and frozenset(self.terms) == frozenset(other.terms)

    def __hash__(self) -> int:
        return hash(frozenset(self.terms))

    def __repr__(self) -> str:
        return " + ".join(repr(loss) if a == 1 else f"{show(a)} * {loss!r}" for a, loss in self.terms)


@final
@dataclass(frozen=True, repr=False, eq=False)
class PlainMixture(Mixture):
    """A mixture with a part that has no weight function."""

    terms: tuple[tuple[float, Loss], ...]


@final
@dataclass(frozen=True, repr=False, eq=False)
class SmoothMixture(Mixture, SmoothLoss):
    """A mixture of smooth losses."""

    terms: tuple[tuple[float, SmoothLoss], ...]

    @property
    def _slow(self) -> bool:  # type: ignore[override]
        return any(loss._slow for _, loss in self.terms)

    def _accuracy(self, t: Array) -> Array:
        return np.max([loss._accuracy(t) for _, loss in self.terms], axis=0)

    def _log_relative(self, x: Point) -> Array:
        return special.logsumexp(self._logs([s._log_relative(x) for _, s in self.terms]), axis=0)

    def _dlog_relative(self, x: Point) -> Array:
        return self._mean(
            [s._log_relative(x) for _, s in self.terms], [s._dlog_relative(x) for _, s in self.terms]
        )

    def _log_weight(self, x: Point) -> Array:
        return special.logsumexp(self._logs([s._log_weight(x) for _, s in self.terms]), axis=0)

    def _dlog_weight(self, x: Point) -> Array:
        return self._mean(
            [s._log_weight(x) for _, s in self.terms], [s._dlog_weight(x) for _, s in self.terms]
        )

    def _score_form(self, link: Link) -> ScoreForm | None:
        forms = [(a, loss._score_form(link)) for a, loss in self.terms]
        known = tuple((a, form) for a, form in forms if form is not None)
        return SumOfForms(known) if len(known) == len(forms) else None

    def _logs(self, logs: list[Array]) -> Array:
        return np.stack([math.log(a) + part for (a, _), part in zip(self.terms, logs, strict=True)])

    def _mean(self, logs: list[Array], slopes: list[Array]) -> Array:
        """d log Σ aᵢ e^{lᵢ} = mean of the parts' slopes, weighted by the parts."""
        if len(slopes) == 1:
            return slopes[0]
        shares = special.softmax(self._logs(logs), axis=0)
        # A part without weight somewhere has no say there, whatever its slope.
        return np.sum(np.where(shares > 0, shares * np.stack(slopes), 0.0), axis=0)

    def _canonical_link(self) -> Link:
        if len(self.terms) == 1:
            ((factor, loss),) = self.terms
            return loss.canonical_link.scaled(factor)
        return super()._canonical_link()

    def _default_link(self) -> Link:
        links = {loss.default_link for _, loss in self.terms}
        # Parts that agree on a link keep it: 3 * Exponential() is still exponential in the score.
        return links.pop() if len(links) == 1 else super()._default_link()


@final
@dataclass(frozen=True, repr=False)
class Tilted(SmoothLoss):
    """A loss with class weights whose minimizer is still the true probability; see `Loss.tilted`."""

    base: SmoothLoss
    positive: float = 1.0
    negative: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "positive", positive("positive", self.positive))
        object.__setattr__(self, "negative", positive("negative", self.negative))

    @staticmethod
    def of(loss: Loss, positive: float, negative: float) -> Loss:
        """The tilted loss, flat: tilting twice multiplies the weights."""
        if not isinstance(loss, SmoothLoss):
            raise TypeError(
                f"{loss!r} has no weight function, so it cannot be tilted; weight the rows instead"
            )
        if isinstance(loss, Tilted):
            return Tilted.of(loss.base, loss.positive * positive, loss.negative * negative)
        tilted = Tilted(loss, positive, negative)
        return loss if tilted.positive == tilted.negative == 1 else tilted

    @property
    def _slow(self) -> bool:  # type: ignore[override]
        return self.base._slow

    def _accuracy(self, t: Array) -> Array:
        return self.base._accuracy(t + self._shift)

    @property
    def _shift(self) -> float:
        return math.log(self.positive / self.negative)

    def _moved(self, x: Point) -> Point:
        return at_log_odds(x.t + self._shift)

    def _partial1(self, x: Point) -> Array:
        return self.positive * self.base._partial1(self._moved(x))

    def _partial0(self, x: Point) -> Array:
        return self.negative * self.base._partial0(self._moved(x))

    def _log_relative(self, x: Point) -> Array:
        mass = np.logaddexp(math.log(self.positive) + x.lp, math.log(self.negative) + x.lq)
        return math.log(self.positive * self.negative) - mass + self.base._log_relative(self._moved(x))

    def _dlog_relative(self, x: Point) -> Array:
        moved = self._moved(x)
        return self.base._dlog_relative(moved) - (moved.p - x.p)
