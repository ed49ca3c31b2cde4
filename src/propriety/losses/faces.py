"""A proper loss from any one of its faces, given as plain Python functions.

Each constructor derives from its face the weight relative to the log loss, r = ω p q, as a function of the
log-odds; partial losses are integrals of it (adaptive quadrature), derivatives are central differences of
order eight. What is not proper is refused when it is made, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from propriety.losses.base import Loss, SmoothLoss
from propriety.losses.links import FromDistribution, Link, LogOdds, invert_increasing
from propriety.losses.numeric import Cumulative, UserFunction, derivative, second_derivative
from propriety.losses.point import Array, Point, at_log_odds
from propriety.losses.value import positive

#: Log-odds at which a face is checked: p from 1e-6 to 1 − 1e-6 in 1121 points. Said in every error.
_GRID = np.linspace(-14, 14, 1121)
_STEP = 1 / 32  # of the differences in log-odds
_TAIL = np.concatenate([np.linspace(-745, -50, 140), np.linspace(-48, -20.5, 56)])
_EDGES = np.concatenate([_TAIL, np.linspace(-20, 20, 161), -_TAIL[::-1]])


class NumericLoss(SmoothLoss):
    """A smooth loss known by r = ω p q alone; the other faces by quadrature and differences."""

    #: H(0) and H(1)
    _ends: tuple[float, float] = (0.0, 0.0)

    def _accuracy(self, t: Array) -> Array:
        return np.full_like(t, 1e-9)  # of numerical derivatives

    def _partial1(self, x: Point) -> Array:
        return self._ends[1] + self._above.above(np.asarray(x.t))

    def _partial0(self, x: Point) -> Array:
        return self._ends[0] + self._below.below(np.asarray(x.t))

    def _dlog_relative(self, x: Point) -> Array:
        slope = derivative(lambda t: self._log_relative(at_log_odds(t)), x.t, _STEP)
        # Where the weight vanishes its logarithm has no slope, and none is needed.
        return np.where(np.isfinite(slope), slope, 0.0)

    @cached_property
    def _below(self) -> Cumulative:
        return Cumulative(lambda t: self._mass(t, "lp"), _EDGES)

    @cached_property
    def _above(self) -> Cumulative:
        return Cumulative(lambda t: self._mass(t, "lq"), _EDGES)

    def _mass(self, t: Array, side: str) -> Array:
        x = at_log_odds(t)
        mass = np.exp(self._log_relative(x) + getattr(x, side))
        # At p of 1e-300 a user's function may leave the range of doubles; nothing of weight is there.
        return np.where(np.isfinite(mass), mass, 0.0)

    def _check_integrable(self) -> None:
        """Both partial losses are finite inside (0, 1) iff the masses decay outwards."""
        for side, sign, label in (("lp", -1, 0), ("lq", 1, 1)):
            # Far out, but not so far that a power of p leaves the range of doubles.
            t = sign * np.array([60.0, 120.0])
            with np.errstate(all="ignore"):
                near, far = self._mass(t, side)
            if not (far < near or far == 0):
                raise ValueError(
                    f"{self!r} is not a proper loss with finite values: the integral of t (1 - t) weight(t) "
                    f"diverges at p = {1 - label if sign > 0 else label}"
                )

    def _check_weight(self, what: str) -> None:
        with np.errstate(all="ignore"):
            log_r = self._log_relative(at_log_odds(_GRID))
        if np.any(np.isnan(log_r)) or np.any(log_r == np.inf):
            bad = at_log_odds(_GRID[np.isnan(log_r) | (log_r == np.inf)][0]).p
            raise ValueError(f"{what} is negative or not finite at p = {bad:.6g}")
        if np.all(log_r == -np.inf):
            raise ValueError(f"{what} is zero everywhere")

    def __reduce__(self) -> Any:
        # Cumulative integrals hold closures; they are made again when asked for.
        return _rebuild, (type(self), self.get_params(deep=False))


def _rebuild(cls: type, params: dict[str, Any]) -> Any:
    return cls(**params)


def _extend(log_value: Callable[[Point], Array], x: Point, last: float) -> Array:
    """Continue a logarithm beyond log-odds `last` as a straight line: a power law of 1 − p.

    A function of p alone cannot tell 1 − 1e-17 from 1; where p has used up its digits its tail is
    continued by the power law it had.
    """
    inner = at_log_odds(np.minimum(x.t, last))
    end = log_value(at_log_odds(np.array([last - 1.0, last])))
    slope = end[1] - end[0] if np.all(np.isfinite(end)) else 0.0
    return log_value(inner) + slope * np.maximum(x.t - last, 0.0)


@final
@dataclass(frozen=True, repr=False)
class FromWeight(NumericLoss):
    """The loss with a given weight function; made by `from_weight`."""

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        self._check_weight("the weight")
        self._check_integrable()

    def _accuracy(self, t: Array) -> Array:
        # A function of p alone knows 1 − p to 1e-16, whatever 1 − p is.
        lost = 0.0 if self._weight.takes_q else 1e-14 * np.exp(np.minimum(t, 30.0))
        return np.full_like(t, 1e-12) + lost

    @cached_property
    def _weight(self) -> UserFunction:
        return UserFunction("weight", self.function, arguments=2)

    def _log_weight(self, x: Point) -> Array:
        if self._weight.takes_q:
            return _log_positive(self._weight(x.p, x.q))
        return _extend(lambda x: _log_positive(self._weight(x.p)), x, last=20.0)


def from_weight(weight: Callable[..., Any]) -> Loss:
    """The proper loss with weight ω(p) ≥ 0.

    Parameters
    ----------
    weight : function of p, or of p and q
        Takes and returns arrays, or scalars. With two arguments its tails are exact.

    >>> from propriety import losses
    >>> mine = losses.from_weight(lambda p, q: 1 / (p * q))
    >>> round(float(mine.loss(1, 0.3)), 10) == round(float(losses.Log().loss(1, 0.3)), 10)
    True
    """
    return FromWeight(weight)


def from_variance(variance: Callable[..., Any]) -> Loss:
    """The quasi-likelihood with variance function V(p) = 1/ω(p).

    >>> from propriety import losses
    >>> round(losses.from_variance(lambda p, q: p * q).weight(0.5), 12)
    4.0
    """
    return FromWeight(_Reciprocal(UserFunction("variance", variance, arguments=2)))


@dataclass(frozen=True)
class _Reciprocal:
    function: UserFunction

    def __call__(self, p: Array, q: Array) -> Array:
        with np.errstate(divide="ignore"):
            return 1 / self.function(p, q)


@final
@dataclass(frozen=True, repr=False)
class FromEntropy(NumericLoss):
    """The loss with a given entropy; made by `from_entropy`."""

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        with np.errstate(all="ignore"):
            curvature = self._curvature(at_log_odds(np.linspace(-6, 6, 481)))
        if not np.all(np.isfinite(curvature)):
            raise ValueError("the entropy must be finite on (0, 1)")
        if np.any(curvature < -1e-6 * np.max(np.abs(curvature))):
            raise ValueError(self._reason(float(at_log_odds(np.linspace(-6, 6, 481)[np.argmin(curvature)]).p)))
        if not all(map(math.isfinite, self._ends)):
            raise ValueError("the entropy must be finite at p = 0 and p = 1")
        self._check_weight("minus the entropy's second derivative")
        self._check_integrable()

    def _reason(self, p: float) -> str:
        x = np.linspace(0.0025, 0.9975, 400)
        h = self._entropy_function(x, 1 - x)
        if np.all(h[1:-1] >= 0.5 * (h[:-2] + h[2:]) - 1e-12 * np.max(np.abs(h))):
            return (
                f"the entropy must be smooth; it is concave, but has a kink near p = {p:.3g}, that is, a point mass of weight: "
                "use CostWeighted and its mixtures for that"
            )
        return f"the entropy must be concave; its second derivative is positive at p = {p:.4g}"

    @cached_property
    def _entropy_function(self) -> UserFunction:
        return UserFunction("entropy", self.function, arguments=2)

    @cached_property
    def _symmetric(self) -> bool:
        x = at_log_odds(np.linspace(-6, 6, 97))
        h = self._entropy_function
        return bool(np.allclose(h(x.p, x.q), h(x.q, x.p), rtol=1e-9, atol=1e-12))

    @cached_property
    def _ends(self) -> tuple[float, float]:  # type: ignore[override]
        h = self._entropy_function
        ends = []
        for exact, near in (((0.0, 1.0), (1e-300, 1.0)), ((1.0, 0.0), (1 - 1e-16, 1e-300))):
            # p log p is nan at 0 as it is written, and 0 right beside it.
            values = [float(h(np.array([p]), np.array([q]))[0]) for p, q in (exact, near)]
            ends.append(values[0] if math.isfinite(values[0]) else values[1])
        return ends[0], ends[1]

    def _curvature(self, x: Point) -> Array:
        """−H″ p q by differences with a step of min(p, q)/25, which keeps both tails relative."""
        step = np.minimum(x.p, x.q) / 25
        h = self._entropy_function
        zero = np.zeros_like(x.p)
        return -second_derivative(lambda d: h(x.p + d, x.q - d), zero, step) * x.p * x.q

    def _log_relative(self, x: Point) -> Array:
        if self._entropy_function.takes_q:
            return _log_positive(self._curvature(x))
        if self._symmetric:
            return _log_positive(self._curvature(at_log_odds(-np.abs(x.t))))
        return _extend(lambda x: _log_positive(self._curvature(x)), x, last=6.0)

    def _entropy(self, x: Point) -> Array:
        value = self._entropy_function(x.p, x.q)
        return np.where(x.p == 0, self._ends[0], np.where(x.q == 0, self._ends[1], value))


def from_entropy(entropy: Callable[..., Any]) -> Loss:
    """The proper loss with entropy H(p), a concave function of p or of p and q.

    ω = −H″ by differences, good to about 1e-9. H(0) and H(1) may be any finite numbers; they enter the
    partial losses as constants.

    >>> from propriety import losses
    >>> import numpy as np
    >>> mine = losses.from_entropy(lambda p, q: np.sqrt(p * q))
    >>> round(float(mine.loss(1, 0.2)), 8), round(float(losses.Matsushita().loss(1, 0.2)), 8)
    (1.0, 1.0)
    """
    return FromEntropy(entropy)


@final
@dataclass(frozen=True, repr=False)
class FromPartialLosses(NumericLoss):
    """The loss with given partial losses; made by `from_partial_losses`."""

    loss1: Callable[..., Any]
    loss0: Callable[..., Any]

    def __post_init__(self) -> None:
        x = at_log_odds(np.linspace(-6, 6, 481))
        with np.errstate(all="ignore"):
            one, zero = self._relative(x)
        scale = np.maximum(np.abs(one), np.abs(zero))
        if not np.all(np.isfinite(scale)):
            raise ValueError("the partial losses must be finite and smooth on (0, 1)")
        if np.any(np.minimum(one, zero) < -1e-6 * np.max(scale)):
            raise ValueError("not proper: a partial loss is least away from its own label")
        if np.any(np.abs(one - zero) > 1e-6 * scale + 1e-12 * np.max(scale)):
            raise ValueError(self._reason())
        self._check_weight("the weight of these partial losses")

    @cached_property
    def _one(self) -> UserFunction:
        return UserFunction("loss1", self.loss1, arguments=2)

    @cached_property
    def _zero(self) -> UserFunction:
        return UserFunction("loss0", self.loss0, arguments=2)

    def _relative(self, x: Point) -> tuple[Array, Array]:
        """r from either partial loss: −ℓ₁′ p and ℓ₀′ q; the loss is proper iff they agree."""
        step, none = np.minimum(x.p, x.q) / 25, np.zeros_like(x.p)
        one = derivative(lambda d: self._one(x.p + d, x.q - d), none, step)
        zero = derivative(lambda d: self._zero(x.p + d, x.q - d), none, step)
        return -one * x.p, zero * x.q

    def _reason(self) -> str:
        p = np.linspace(0.0005, 0.9995, 1999)
        risk = 0.3 * self._one(p, 1 - p) + 0.7 * self._zero(p, 1 - p)
        return (
            "not proper: when the true probability is 0.3 the expected loss is least at "
            f"p = {p[np.argmin(risk)]:.3g}; proper losses satisfy -(loss1)'(p)/(1 - p) = (loss0)'(p)/p for every p "
            "(checked at 481 values from 0.0025 to 0.9975)"
        )

    def _log_relative(self, x: Point) -> Array:
        def log_r(x: Point) -> Array:
            one, zero = self._relative(x)
            # Each partial loss is small, and so exact, towards its own label.
            return _log_positive(np.where(x.t < 0, zero, one))

        both_exact = self._one.takes_q and self._zero.takes_q
        return log_r(x) if both_exact else _extend(log_r, x, last=6.0)

    def _partial1(self, x: Point) -> Array:
        return self._one(x.p, x.q)

    def _partial0(self, x: Point) -> Array:
        return self._zero(x.p, x.q)


def from_partial_losses(loss1: Callable[..., Any], loss0: Callable[..., Any]) -> Loss:
    """The proper loss with ℓ(1, p) = loss1 and ℓ(0, p) = loss0, if it is proper.

    >>> from propriety import losses
    >>> losses.from_partial_losses(lambda p: 1 - p, lambda p: p)
    Traceback (most recent call last):
    ...
    ValueError: not proper: when the true probability is 0.3 the expected loss is least at p = 0.0005; ...
    """
    return FromPartialLosses(loss1, loss0)


@final
@dataclass(frozen=True, repr=False)
class MarginLink(Link):
    """The link of a margin loss φ: log-odds t(F) = log φ′(−F)/φ′(F). [M (24)]"""

    function: Callable[..., Any]
    derivative: Callable[..., Any] | None = None
    scale: float = 1.0

    @cached_property
    def _phi(self) -> UserFunction:
        return UserFunction("phi", self.function)

    @cached_property
    def _given_slope(self) -> UserFunction | None:
        return None if self.derivative is None else UserFunction("derivative", self.derivative)

    @cached_property
    def _step(self) -> float:
        """1/32 of the loss's own length, |φ′/φ″| at 0."""
        zero, rough = np.zeros(1), 1e-3
        slope, bend = derivative(self._phi, zero, rough)[0], second_derivative(self._phi, zero, rough)[0]
        length = abs(slope / bend) if slope != 0 and bend != 0 else 1.0
        return float(np.clip(length, 1e-3, 1e3)) / 32

    @cached_property
    def _reach(self) -> float:
        """The largest score at which φ′ still has digits on both sides."""
        scores = self._step * 32 * np.linspace(0.5, 600, 1200)
        with np.errstate(all="ignore"):
            t = self._odds(scores)
            ok = np.isfinite(t) & (np.abs(np.diff(t, append=np.inf)) > 0)
        good = int(np.argmin(ok)) if not np.all(ok) else len(ok)
        return float(scores[max(good - 8, 0)])

    def _slope_of_phi(self, v: Array) -> Array:
        return self._given_slope(v) if self._given_slope else derivative(self._phi, v, self._step)

    def _bend_of_phi(self, v: Array) -> Array:
        if self._given_slope:
            return derivative(self._given_slope, v, self._step)
        return second_derivative(self._phi, v, self._step)

    def _odds(self, F: Array) -> Array:
        return np.log(-self._slope_of_phi(-F)) - np.log(-self._slope_of_phi(F))

    def _odds_slope(self, F: Array) -> Array:
        ratio = [self._bend_of_phi(v) / self._slope_of_phi(v) for v in (F, -F)]
        return -(ratio[0] + ratio[1])

    def _log_odds(self, F: Array) -> LogOdds:
        z = F / self.scale
        inner = np.clip(z, -self._reach, self._reach)
        slope = self._odds_slope(inner)
        # Beyond reach the log-odds go on along their last tangent.
        t = self._odds(inner) + slope * (z - inner)
        bend = np.where(inner == z, derivative(self._odds_slope, inner, self._step), 0.0)
        return LogOdds(t, slope / self.scale, bend / self.scale**2)

    def _score(self, x: Point) -> Array:
        inside = invert_increasing(self._odds, self._odds_slope, x.t, limit=self._reach)
        end = np.clip(inside, -self._reach, self._reach)
        beyond = np.abs(end) == self._reach
        excess = np.where(beyond, (x.t - self._odds(end)) / self._odds_slope(end), 0.0)
        return self.scale * (inside + excess)

    def scaled(self, factor: float) -> Link:
        return MarginLink(self.function, self.derivative, self.scale * positive("factor", factor))


@final
@dataclass(frozen=True, repr=False)
class FromMarginLoss(NumericLoss):
    """The proper loss of a margin loss; made by `from_margin_loss`."""

    function: Callable[..., Any]
    derivative: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        link = self._link
        slope = link._slope_of_phi(np.zeros(1))[0]
        if not slope < 0:
            raise ValueError(
                f"the margin loss must fall at 0 (it has slope {slope:.3g} there): only then is it classification-calibrated"
            )
        v = np.linspace(-1, 1, 401) * 20 * 32 * link._step
        with np.errstate(all="ignore"):
            falls = link._slope_of_phi(v)
        if np.any(falls > 1e-9):
            raise ValueError(
                f"the margin loss must be decreasing; it rises at v = {v[np.argmax(falls)]:.3g}, where a better score costs more"
            )
        v = np.linspace(-1, 1, 401) * min(20 * 32 * link._step, link._reach)
        with np.errstate(all="ignore"):
            rises = link._odds_slope(v)
        if not np.all(rises > 1e-9 / (32 * link._step)):
            flat = v[~(rises > 1e-9 / (32 * link._step))]
            raise ValueError(
                "not a proper composite: the scores around "
                f"v = {flat[np.argmin(np.abs(flat))]:.3g} do not tell probabilities apart, because p(v) = "
                "phi'(-v)/(phi'(v) + phi'(-v)) does not increase there; the minimizer gives the likelier class only, "
                "as the hinge loss does (checked at 401 margins)"
            )

    @cached_property
    def _link(self) -> MarginLink:
        return MarginLink(self.function, self.derivative)

    def _log_rate(self, link: Link, F: Array) -> Array | None:
        if link != self._link:
            return None
        inner = np.clip(F, -self._link._reach, self._link._reach)
        # −φ′(F) = (1 − p) A and −φ′(−F) = p A, with A = ω p′ = r t′.
        return np.log(-self._link._slope_of_phi(inner) - self._link._slope_of_phi(-inner))

    def _log_relative(self, x: Point) -> Array:
        F = self._link._score(x)
        inner = np.clip(F, -self._link._reach, self._link._reach)
        log_rate = self._log_rate(self._link, inner)
        assert log_rate is not None
        return log_rate - np.log(self._link._odds_slope(inner))

    def _partial1(self, x: Point) -> Array:
        return self._link._phi(self._link._score(x))

    def _partial0(self, x: Point) -> Array:
        return self._link._phi(-self._link._score(x))

    def _default_link(self) -> Link:
        return self._link


def from_margin_loss(phi: Callable[..., Any], derivative: Callable[..., Any] | None = None) -> Loss:
    """The proper loss whose composite with its default link is the margin loss φ(v).

    p(v) = φ′(−v)/(φ′(v) + φ′(−v)); φ must decrease, fall at 0, and p(v) must increase. Give the derivative
    φ′ where φ is too flat for differences.

    >>> from propriety import losses
    >>> import numpy as np
    >>> mine = losses.from_margin_loss(lambda v: np.log1p(np.exp(-v)))
    >>> round(float(mine.loss(1, 0.25)), 8) == round(float(losses.Log().loss(1, 0.25)), 8)
    True
    >>> losses.from_margin_loss(lambda v: np.maximum(0, 1 - v))
    Traceback (most recent call last):
    ...
    ValueError: not a proper composite: the scores around v = ...
    """
    return FromMarginLoss(phi, derivative)


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
        return _log_positive(-self._slope_of_binding(F)) if link == self.link else None

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
    >>> loss = losses.CanonicalFor(links.Cauchit())
    >>> round(loss.composite().gradient(1, 0.0), 12)
    -0.5
    """

    link: Link

    def __post_init__(self) -> None:
        from propriety.losses.registry import as_link

        object.__setattr__(self, "link", as_link(self.link))
        self._check_weight(f"the weight 1/p' of {self.link!r}")
        self._check_integrable()

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
        raise ValueError(f"the density must have its single mode at 0; it rises at v = {v[np.argmax(np.diff(pdf(v)))]:.3g}")
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
            lambda v: np.nan_to_num(self._density(v), nan=0.0, posinf=0.0), np.concatenate([-reach[::-1], reach])
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
            lambda v: self._cumulative.below(v) / self._total, lambda v: np.exp(self.logpdf(v)), np.asarray(p), limit=1e4
        )

    def isf(self, q: Array) -> Array:
        """Quantile from the right."""
        return -invert_increasing(
            lambda v: self._cumulative.above(-v) / self._total,
            lambda v: np.exp(self.logpdf(-v)),
            np.asarray(q),
            limit=1e4,
        )


def _log_positive(value: Array) -> Array:
    """log of a non-negative value; a value below zero by rounding alone counts as zero, others give nan."""
    floor = -1e-9 * np.max(np.abs(value), initial=0.0)
    with np.errstate(all="ignore"):
        return np.log(np.where((value < 0) & (value >= floor), 0.0, value))
