"""A proper loss from a link: with a binding function, as its canonical link, or from its density."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from propriety.cached_properties import cached_property
from propriety.losses.base import Loss
from propriety.losses.from_functions.calculus import Cumulative, UserFunction, derivative
from propriety.losses.from_functions.numeric import EDGES, NumericLoss, log_positive
from propriety.losses.links import FromDistribution, Link
from propriety.losses.point import Array, Point, at_log_odds
from propriety.losses.special import invert_increasing


@final
@dataclass(frozen=True, repr=False)
class FromLinkAndBinding(NumericLoss):
    """The loss with a given link and binding function; made by `from_link_and_binding`."""

    link: Link
    binding: Callable[..., Any]
    derivative: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        from propriety.losses.registry import as_link

        object.__setattr__(self, "link", as_link(self.link))
        if not self.link.symmetric:
            raise ValueError(f"{self.link!r} is not symmetric: a binding function needs p(-v) = 1 - p(v)")
        v = self.link._score(at_log_odds(np.linspace(0.05, 12, 240)))
        values, mirrored = self._binding(v), self._binding(-v)
        if not np.allclose(values, -mirrored, rtol=1e-6, atol=1e-9):
            raise ValueError("the binding function must be odd: binding(-v) = -binding(v)")
        if not np.all(self._slope_of_binding(v) < 0):
            raise ValueError("the binding function must decrease: it is H'(p(v)), and H is concave")
        self._check_weight("the weight of this link and binding")
        self._check_integrable()

    @cached_property
    def _binding(self) -> UserFunction:
        return UserFunction("binding", self.binding)

    def _slope_of_binding(self, v: Array) -> Array:
        if self.derivative is not None:
            return UserFunction("derivative", self.derivative)(v)
        spread = float(self.link.link(0.75) - self.link.link(0.25))
        return derivative(self._binding, v, spread / 64)

    def _log_rate(self, link: Link, F: Array) -> Array | None:
        # β′ = −ω p′ = −r t′.
        return log_positive(-self._slope_of_binding(F)) if link == self.link else None

    def _log_relative(self, x: Point) -> Array:
        F = self.link._score(x)
        log_rate = self._log_rate(self.link, F)
        assert log_rate is not None
        return log_rate - np.log(self.link._log_odds(F).slope)

    def _default_link(self) -> Link:
        return self.link


def from_link_and_binding(
    link: Link, binding: Callable[..., Any], derivative: Callable[..., Any] | None = None
) -> Loss:
    """The loss with link f and binding β(v) = H′(p(v)), a decreasing odd function. [M Thm 5]

    The binding decides how outliers count, the link how the loss regularizes; any such pair is a loss.

    >>> from propriety import losses, links
    >>> mine = losses.from_link_and_binding(links.Logit(), lambda v: -v)
    >>> round(float(mine.loss(1, 0.25)), 8) == round(float(losses.Log().loss(1, 0.25)), 8)
    True
    """
    return FromLinkAndBinding(link, binding, derivative)


@final
@dataclass(frozen=True, repr=False)
class CanonicalFor(NumericLoss):
    """The loss for which a link is canonical: ω = 1/p′, convex in the score, gradient p − y.

    >>> from propriety import losses, links
    >>> loss = losses.CanonicalFor(links.CLogLog())
    >>> round(loss.composite().gradient(1, 0.0), 6)
    -0.367879
    """

    link: Link

    def __post_init__(self) -> None:
        from propriety.losses.registry import as_link

        object.__setattr__(self, "link", as_link(self.link))
        self._check_weight(f"the weight 1/p' of {self.link!r}")
        self._check_integrable()

    # ω p′ = 1, so the partial losses are integrals of 1 − p and of p over the score itself.

    def _partial1(self, x: Point) -> Array:
        return self._above.above(self.link._score(x))

    def _partial0(self, x: Point) -> Array:
        return self._below.below(self.link._score(x))

    @cached_property
    def _below(self) -> Cumulative:
        return Cumulative(lambda F: at_log_odds(self.link._log_odds(F).t).p, self._score_edges)

    @cached_property
    def _above(self) -> Cumulative:
        return Cumulative(lambda F: at_log_odds(self.link._log_odds(F).t).q, self._score_edges)

    @cached_property
    def _score_edges(self) -> Array:
        with np.errstate(all="ignore"):
            scores = self.link._score(at_log_odds(EDGES))
        return np.unique(scores[np.isfinite(scores)])

    def _log_relative(self, x: Point) -> Array:
        return -np.log(self.link._log_odds(self.link._score(x)).slope)

    def _dlog_relative(self, x: Point) -> Array:
        _, slope, bend = self.link._log_odds(self.link._score(x))
        return -bend / slope**2

    def _canonical_link(self) -> Link:
        return self.link

    def _default_link(self) -> Link:
        return self.link


def from_density(density: Any, gain: float = 1.0) -> Loss:
    """The canonical loss whose inverse link is the distribution function of a density. [M §6.2]

    Parameters
    ----------
    density : scipy distribution, its name, or a function
        Symmetric about 0, with its single mode there. A function need not integrate to 1.
    gain : float
        Stretches the link.

    Examples
    --------
    >>> from propriety import losses
    >>> import numpy as np
    >>> mine = losses.from_density(lambda v: np.exp(-v * v / 2))
    >>> round(float(mine.composite().inverse(1.0)), 6)
    0.841345
    """
    dist = density
    if callable(density) and not hasattr(density, "logpdf"):
        dist = DensityFunction(density)
    elif hasattr(density, "freeze") or hasattr(density, "rvs"):
        dist = density() if hasattr(density, "freeze") else density
    link = FromDistribution(dist, scale=gain)
    pdf = link._frozen.logpdf
    v = np.linspace(0.01, 10, 400) * float(link._frozen.ppf(0.75))
    if not np.allclose(pdf(v), pdf(-v), rtol=1e-6, atol=1e-6):
        raise ValueError("the density must be symmetric about 0")
    if np.any(np.diff(pdf(v)) > 1e-9):
        raise ValueError(
            f"the density must have its single mode at 0; it rises at v = {v[np.argmax(np.diff(pdf(v)))]:.3g}"
        )
    return CanonicalFor(link)


class DensityFunction:
    """A distribution made of a density function: what `FromDistribution` needs of it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._density = UserFunction("density", function)
        v = np.linspace(-12, 12, 2401)
        if np.any(self._density(v) < 0) or not np.all(np.isfinite(self._density(v))):
            raise ValueError("the density must be finite and not negative")
        reach = np.concatenate([np.geomspace(1e-3, 1, 40), np.geomspace(1.1, 1e4, 160)])
        # Far out a formula may be inf/inf where the density is nothing.
        self._cumulative = Cumulative(
            lambda v: np.nan_to_num(self._density(v), nan=0.0, posinf=0.0),
            np.concatenate([-reach[::-1], reach]),
        )
        self._total = float(self._cumulative.below(np.array([1e4]))[0])
        if not 0 < self._total < math.inf:
            raise ValueError("the density must have a finite, positive integral")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DensityFunction) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return f"DensityFunction({getattr(self.function, '__name__', self.function)})"

    def __reduce__(self) -> Any:
        return DensityFunction, (self.function,)

    def logpdf(self, v: Array) -> Array:
        """Logarithm of the density, normalized."""
        return np.log(self._density(np.asarray(v, dtype=np.float64)) / self._total)

    def logcdf(self, v: Array) -> Array:
        """Logarithm of the distribution function."""
        return np.log(self._cumulative.below(np.asarray(v)) / self._total)

    def logsf(self, v: Array) -> Array:
        """Logarithm of the survival function."""
        return np.log(self._cumulative.above(np.asarray(v)) / self._total)

    def ppf(self, p: Array) -> Array:
        """Quantile."""
        return invert_increasing(
            lambda v: self._cumulative.below(v) / self._total,
            lambda v: np.exp(self.logpdf(v)),
            np.asarray(p),
            limit=1e4,
        )

    def isf(self, q: Array) -> Array:
        """Quantile from the right."""
        return -invert_increasing(
            lambda v: self._cumulative.above(-v) / self._total,
            lambda v: np.exp(self.logpdf(-v)),
            np.asarray(q),
            limit=1e4,
        )
