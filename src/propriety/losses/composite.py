"""A composite: a proper loss as a function of a real score, through a link.

With t(F) the log-odds of the score, r = ω p q the weight relative to the log loss's and ρ = d log r/dt,

    gradient  = (p − y) r t′
    fisher    = p q r t′²
    hessian   = y q r [(p − ρ) t′² − t″] + (1 − y) p r [(q + ρ) t′² + t″]

every product of small and large numbers taken as the exponential of a sum of logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from propriety.cached_properties import cached_property
from propriety.losses.base import SmoothLoss
from propriety.losses.links import Canonical, Link
from propriety.losses.point import Array, Point, as_float, at_log_odds, check_probability, plain, product
from propriety.losses.special import invert_increasing
from propriety.losses.value import Value, positive

if TYPE_CHECKING:
    from propriety.losses.properties import Properties
    from propriety.losses.score_forms import ScoreForm

#: Log-odds on which properties are decided: 2801 values from −35 to 35.
GRID = np.linspace(-35, 35, 2801)


class _Parts(NamedTuple):
    x: Point
    slope: Array  # t′
    bend: Array  # t″
    log_rate: Array  # log(ω p′) = log(r t′)
    over: Array  # how far the score lies beyond a canonical link's range, 0 inside


@final
@dataclass(frozen=True, repr=False)
class Composite(Value):
    """A proper loss with a link; ``loss.composite()`` and ``loss.with_link(link)`` make one.

    >>> from propriety import losses, links
    >>> c = losses.Log().with_link(links.Logit())
    >>> c.gradient(1, 0.0), c.fisher(0.0), c.inverse(0.0)
    (-0.5, 0.25, 0.5)
    >>> c.link, c.link(0.5)
    (Logit(), 0.0)
    """

    loss: SmoothLoss
    link: Link

    def __post_init__(self) -> None:
        if not isinstance(self.loss, SmoothLoss):
            raise TypeError(f"a composite needs a loss with a weight function, got {self.loss!r}")
        if not isinstance(self.link, Link):
            raise TypeError(f"a composite needs a link, got {self.link!r}")

    def __repr__(self) -> str:
        loss = repr(self.loss)
        return (
            f"{f'({loss})' if ' ' in loss.split('(')[0] or ' + ' in loss else loss}.with_link({self.link!r})"
        )

    # -- the loss of a score ---------------------------------------------------------------------------

    def value(self, y: ArrayLike, F: ArrayLike) -> Any:
        """ℓ(y, p(F)); of a margin loss φ, φ itself on the whole line.

        Beyond the range of a bounded canonical link it goes on as the conjugate of −H does, straight, and the
        squared loss as the parabola that it is.

        Many rows of a loss of special functions, such as `Beta`, are looked up in a table that is good to
        1e-12, as `values` does.
        """
        from propriety.losses import fused

        y, F = check_probability("y", y), as_float("F", F)
        if fused.are_many(self.loss, y, F):
            return fused.many_values(self, y, F)
        return self._pointwise(y, F, self._value)

    def gradient(self, y: ArrayLike, F: ArrayLike) -> Any:
        """∂ℓ/∂F = −(y − p) ω(p) p′(F)."""
        return self._pointwise(y, F, self._gradient)

    def hessian(self, y: ArrayLike, F: ArrayLike) -> Any:
        """∂²ℓ/∂F²; may be negative off the canonical link."""
        return self._pointwise(y, F, self._hessian)

    def fisher(self, F: ArrayLike) -> Any:
        """ω p′², the mean of the Hessian when the score is right; never negative."""
        F = as_float("F", F)
        with np.errstate(all="ignore"):
            return plain(self._fisher(self._parts(F)))

    @cached_property
    def _form(self) -> ScoreForm | None:
        return self.loss._score_form(self.link)

    @property
    def whole_line(self) -> bool:
        """Whether every score has a loss and a gradient, also beyond the range of the link."""
        return self.link.has_real_range or self._form is not None or self._canonical_factor is not None

    @property
    def leaves_link(self) -> bool:
        """Whether it is a margin loss whose link ends: scores may go on, and φ has its minimum there."""
        return self._form is not None and not self.link.has_real_range

    @property
    def attains_minimum(self) -> bool:
        """Whether each label has a score of least loss, so that a fit to separated classes is finite too."""
        return self.whole_line and not self.link.has_real_range

    def inverse(self, F: ArrayLike) -> Any:
        """Probability of the score."""
        return self.link.inverse(F)

    def derivatives(
        self,
        y: ArrayLike,
        F: ArrayLike,
        *,
        curvature: str = "fisher",
        out: tuple[Array, Array] | None = None,
        n_jobs: int | None = None,
        table: bool | None = None,
    ) -> tuple[Array, Array]:
        """Gradient and curvature in one compiled pass over arrays, on `n_jobs` threads.

        Parameters
        ----------
        y, F : arrays of one length
            Labels in [0, 1] (not checked here) and scores.
        curvature : {"fisher", "newton"}
            The Fisher weight ω p′², or the Hessian.
        out : pair of float64 arrays, optional
            Where to write.
        table : bool, optional
            Whether to look the values up in a table, good to 1e-12, or to compute them by the formulas. By
            default a table is made where there are many rows; True pays for few rows asked for often.

        Examples
        --------
        >>> from propriety import losses
        >>> g, h = losses.Log().composite().derivatives([1.0, 0.0], [0.0, 0.0])
        >>> g, h
        (array([-0.5,  0.5]), array([0.25, 0.25]))
        """
        from propriety.losses import fused

        return fused.derivatives(self, y, F, curvature, out, n_jobs, table)

    def values(
        self, y: ArrayLike, F: ArrayLike, *, n_jobs: int | None = None, table: bool | None = None
    ) -> Array:
        """`value` in a compiled pass over arrays of one length; labels are not checked, `table` is as above.

        >>> from propriety import losses
        >>> losses.Squared().composite().values([1.0, 0.0], [0.0, 0.0])
        array([0.25, 0.25])
        """
        from propriety.losses import fused

        return fused.values(self, y, F, n_jobs, table)

    def values_and_gradients(
        self, y: ArrayLike, F: ArrayLike, *, n_jobs: int | None = None, table: bool | None = None
    ) -> tuple[Array, Array]:
        """`value` and `gradient` in one pass over arrays of one length; labels are not checked.

        `table` as in `derivatives`.

        >>> from propriety import losses
        >>> losses.Squared().composite().values_and_gradients([1.0, 0.0], [0.0, 0.0])
        (array([0.25, 0.25]), array([-0.25,  0.25]))
        """
        from propriety.losses import fused

        return fused.values_and_gradients(self, y, F, n_jobs, table)

    def _pointwise(self, y: ArrayLike, F: ArrayLike, formula: Any) -> Any:
        y, F = check_probability("y", y), as_float("F", F)
        with np.errstate(all="ignore"):
            return plain(formula(y, self._parts(F)))

    def _parts(self, F: Array) -> Any:
        if self._form is not None:
            return F
        t, slope, bend = self.link._log_odds(F)
        x = at_log_odds(t)
        if self._canonical_factor is None:
            log_rate = self.loss._log_rate(self.link, F)
            if log_rate is None:
                log_rate = self.loss._log_relative(x) + np.log(slope)
            return _Parts(x, slope, bend, log_rate, np.zeros_like(t))
        over = np.maximum(F - self.link.high, 0.0) - np.maximum(self.link.low - F, 0.0)
        return _Parts(x, slope, bend, np.full_like(t, np.log(self._canonical_factor)), over)

    def _value(self, y: Array, at: Any) -> Array:
        if self._form is not None:
            return self._form.value(y, at)
        inside = product(y, self.loss._partial1(at.x)) + product(1 - y, self.loss._partial0(at.x))
        if self._canonical_factor is None:
            return inside
        # The conjugate of −H goes on with slope p − y, p at its end, or beyond it for the parabola.
        wrong, rate = np.where(at.over > 0, 1 - y, y), self.link._rate_beyond
        return inside + self._canonical_factor * (wrong * np.abs(at.over) + 0.5 * rate * at.over**2)

    def _gradient(self, y: Array, at: Any) -> Array:
        if self._form is not None:
            return self._form.gradient(y, at)
        down = product(y, np.exp(at.x.lq + at.log_rate))
        up = product(1 - y, np.exp(at.x.lp + at.log_rate))
        if self._canonical_factor is None:
            return up - down
        return up - down + self._canonical_factor * self.link._rate_beyond * at.over

    def _fisher(self, at: Any) -> Array:
        if self._form is not None:
            return self._form.fisher(at)
        fisher = np.exp(at.x.lp + at.x.lq + at.log_rate + np.log(at.slope))
        beyond = 0.0 if self._canonical_factor is None else self._canonical_factor * self.link._rate_beyond
        return np.where(at.over == 0, fisher, beyond)

    def _hessian(self, y: Array, at: Any) -> Array:
        if self._form is not None:
            return self._form.hessian(y, at)
        if self._canonical_factor is not None:
            return np.broadcast_to(
                self._fisher(at), np.broadcast_shapes(np.shape(y), np.shape(at.x.t))
            ).copy()
        # One factor t′ goes with r in the rate, so that its square cannot overflow.
        x, growth = at.x, self.loss._dlog_relative(at.x)
        one = product(np.exp(x.lq + at.log_rate), (x.p - growth) * at.slope - at.bend / at.slope)
        zero = product(np.exp(x.lp + at.log_rate), (x.q + growth) * at.slope + at.bend / at.slope)
        return product(y, one) + product(1 - y, zero)

    @cached_property
    def _canonical_factor(self) -> float | None:
        """The constant ω p′ if the link is canonical for the loss, up to scale and shift; else None.

        Decided at 161 log-odds from −20 to 20. There log r of the loss is compared with −log t′ of the link,
        taken from the formula of the link's own loss where that is how the link is known.
        """
        x = at_log_odds(np.linspace(-20, 20, 161))
        with np.errstate(all="ignore"):
            if isinstance(self.link, Canonical):
                log_slope = -self.link.loss._log_relative(x) - np.log(self.link.scale)
            else:
                log_slope = np.log(self.link._log_odds(self.link._score(x)).slope)
            log_rate = self.loss._log_relative(x) + log_slope
        if not np.all(np.isfinite(log_rate)) or np.ptp(log_rate) > 1e-6:
            return None
        return float(np.exp(log_rate[80]))

    # -- the margin form -------------------------------------------------------------------------------

    @cached_property
    def has_margin_form(self) -> bool:
        """Whether the loss depends on y and F through the margin v = (2y − 1) F alone."""
        if self._form is not None:
            return True
        x = at_log_odds(np.linspace(-20, 20, 161))
        with np.errstate(all="ignore"):
            log_r = self.loss._log_relative(x)
        return np.allclose(log_r, log_r[::-1], rtol=0, atol=1e-9) and self.link.symmetric

    def _check_margin(self, what: str) -> None:
        if not self.has_margin_form:
            raise ValueError(
                f"{self!r} has no {what}: a margin form needs a loss symmetric about p = 1/2 "
                "and a link with p(-F) = 1 - p(F)"
            )

    def margin_loss(self, v: ArrayLike) -> Any:
        """φ(v) = ℓ(1, p(v)), the loss as a function of the margin v = (2y − 1) F. [M (24)]"""
        self._check_margin("margin loss")
        return self.value(1.0, v)

    def balanced_surrogate(self, v: ArrayLike) -> Any:
        """F_φ(v) = (φ*(−v) − a)/b with a = H(0) and b = H(½) − a, so that F_φ(0) = 1. [N9 (16)]

        The margin loss of a permissible loss with its canonical link: for the squared loss (1 − v)², for
        Matsushita's √(1 + v²) − v. With s times the canonical link −H′ it is F_φ(v/s).

        >>> from propriety import losses
        >>> loss = losses.Squared()
        >>> loss.with_link(loss.canonical_link).balanced_surrogate([-1.0, 0.0, 0.5])
        array([4.  , 1.  , 0.25])
        """
        self._check_margin("balanced surrogate")
        if self._canonical_factor is None:
            raise ValueError(
                f"{self!r} has no balanced surrogate: that is of the canonical link; take "
                "loss.with_link(loss.canonical_link)"
            )
        a = float(self.loss.entropy(0.0))
        return plain((np.asarray(self.margin_loss(v)) - a) / (float(self.loss.entropy(0.5)) - a))

    def example_weight(self, v: ArrayLike) -> Any:
        """w(v) = −φ′(v): the weight boosting gives an example of margin v."""
        self._check_margin("example weight")
        return plain(-self.gradient(1.0, v))

    def binding(self, v: ArrayLike) -> Any:
        """β(v) = H′(p(v)), odd and decreasing; it decides how outliers count. [M Thm 5]"""
        self._check_margin("binding")
        v = as_float("v", v)
        with np.errstate(all="ignore"):
            return plain(-self.loss._slope(at_log_odds(self.link._log_odds(v).t)))

    def regularization_strength(self, v: ArrayLike) -> Any:
        """ρ(v) = 1/p′(v): how much score a change of probability takes. [M §3]"""
        dp = self.link.curve(v).dp
        with np.errstate(divide="ignore", over="ignore"):
            return plain(1 / dp)

    @property
    def loss_margin(self) -> float:
        """μ = −φ′(0)/φ″(0) = ρ(0)/2; the loss regularizes iff μ ≥ ½. [M Thm 4]"""
        return float(self.regularization_strength(0.0)) / 2

    @cached_property
    def growth(self) -> float:
        """L = sup −φ″(v)/φ′(v), on 4801 log-odds from −30 to 30; infinite if it still grows at an end.

        Of a loss known by differences, from −12 to 12, where they keep their digits.

        It is what the convergence proofs of the Bregman updates [C] ask of a convex margin loss, and infinite
        for any other loss: with L finite,

            φ(v + δ) ≤ φ(v) + (w(v)/L)(e^{−Lδ} − 1),   w = −φ′,

        because (log w)′ ≥ −L makes w(v + s) ≥ w(v) e^{−Ls} for s > 0 and ≤ for s < 0: integrate −w from v to
        v + δ. L = 1 for the exponential and the logistic loss.

        >>> from propriety import losses
        >>> round(losses.Log().composite().growth, 9), losses.GGauss(1).composite().growth
        (1.0, inf)
        """
        if not self.has_convex_margin_form:
            return np.inf
        end = min(30.0, self.link._known_log_odds)
        x = at_log_odds(np.linspace(-end, end, 4801))
        with np.errstate(all="ignore"):
            v = self.link._score(x)
            if self._form is not None and not self.link.has_real_range:
                v = np.concatenate([self.link.low * np.linspace(20, 1, 400), v])
            slope, bend = self.gradient(1.0, v), self.hessian(1.0, v)
            ratio = np.where(slope < 0, bend / -slope, np.nan)
        ratio = ratio[np.isfinite(ratio)]
        if len(ratio) < 100:
            return np.inf
        tenth = len(ratio) // 10
        rounding = 1e-6 * float(ratio.max())
        still_grows = (
            ratio[-1] > 1.001 * ratio[-tenth] + rounding or ratio[0] > 1.001 * ratio[tenth] + rounding
        )
        return np.inf if still_grows else float(ratio.max())

    @cached_property
    def has_convex_margin_form(self) -> bool:
        """Whether the loss is a convex function of the margin alone."""
        return self.has_margin_form and bool(self.properties()["convex"])

    @cached_property
    def _largest_curvature(self) -> float:
        """sup φ″, on 5601 log-odds from −700 to 700; infinite if it still grows there."""
        unit = float(self.link(0.75) - self.link(0.25))
        with np.errstate(all="ignore"):
            known = self.link._score(at_log_odds(np.linspace(-700, 700, 5601)))
            v = known if self._form is None else unit * np.linspace(-700, 700, 5601)
            bend = np.asarray(self.hessian(1.0, v))
            near = np.asarray(self.hessian(1.0, unit * np.linspace(-4, 4, 8001)))
        bend = bend[~np.isnan(bend)]
        tenth = len(bend) // 10
        rise = max(bend[0] - bend[tenth], bend[-1] - bend[-1 - tenth], 0.0)
        top = max(float(bend.max()), float(np.nanmax(near)))
        if not rise <= 0.1 * top:
            return np.inf
        # A bounded curvature rises by less than ten times the last rise beyond, even if it does like 1/t.
        return top + 10 * float(rise)

    def rounds_by_weak_learning(self, rows: float, square: float, total: float, edge: float) -> float:
        """Rounds of boosting that suffice for the least loss, if every weak learner has an edge. [N8 Thm 2]

        4 m b a_m²/(a_φ a_Z² a_γ²) with b = φ(0) − inf φ and a_φ = 1/sup φ″, the least curvature of the dual
        of φ. For a canonical link it is the bound of [N9 (43)].

        Parameters
        ----------
        rows : float
            m, the number of examples.
        square : float
            a_m², the largest sum of squares of a weak learner's outputs.
        total : float
            a_Z, the least sum of weights −φ′ before a round.
        edge : float
            a_γ, the mean edge.

        Returns
        -------
        float
            nan for a loss that is no convex function of the margin, infinite if φ″ is not bounded.

        Examples
        --------
        >>> from propriety import losses
        >>> round(losses.Log().with_link("Probit").rounds_by_weak_learning(100, 100, 50, 0.2))
        278
        """
        if not self.has_convex_margin_form:
            return float("nan")
        if edge <= 0 or total <= 0:
            return float("inf")
        b = float(self.value(1.0, 0.0)) - float(self.loss.loss(1.0, 1.0))
        return 4 * rows * b * square * self._largest_curvature / (total**2 * edge**2)

    def bregman(self, a: ArrayLike, b: ArrayLike) -> Any:
        """B(a ‖ b) ≥ 0, the Bregman distance between example weights that the margin loss defines. [C §3]

        With F(w) = sup_v (−w v − φ(v)), it is F(a) − F(b) − F′(b)(a − b): for the exponential loss
        a log(a/b) − a + b, for the log loss the binary relative entropy. At margins u and v of weights a and
        b it is φ(v) − φ(u) − φ′(u)(v − u). It needs a convex margin loss; weights that no margin has are
        infinitely far from all others.

        >>> from propriety import losses
        >>> round(losses.Exponential().composite().bregman(0.3, 0.6), 6)
        0.092056
        """
        a, b = np.broadcast_arrays(as_float("a", a), as_float("b", b))
        u, v = self._margin_of(a), self._margin_of(b)
        with np.errstate(all="ignore"):
            least = float(self.loss.loss(1.0, 1.0))
            at_u = np.where(a == 0, least, self.value(1.0, u))
            at_v = np.where(b == 0, least, self.value(1.0, v))
            distance = at_v - at_u + product(a, v - u)
        impossible = np.isnan(u) | np.isnan(v)
        return plain(np.where(a == b, 0.0, np.where(impossible, np.inf, np.maximum(distance, 0.0))))

    def legendre(self, a: ArrayLike, v: ArrayLike) -> Any:
        """a ⋄ v, the weight of an example of weight `a` after its margin has grown by v. [C §3]

        >>> from propriety import losses
        >>> round(losses.Exponential().composite().legendre(0.5, 1.0), 6)
        0.18394
        """
        return self.example_weight(self._margin_of(as_float("a", a)) + as_float("v", v))

    def _margin_of(self, weight: Array) -> Array:
        """The margin whose example weight is given; nan if there is none."""
        if not self.has_convex_margin_form:
            raise ValueError(
                f"{self!r} has no Bregman distance between weights: that needs a convex margin loss, with "
                "properties()['convex'] true and has_margin_form"
            )
        if np.any(weight < 0):
            raise ValueError(f"weights of examples must not be negative, found {np.min(weight):.6g}")
        spread = float(self.link(0.75) - self.link(0.25))
        end = 1400.0 * spread if self._form is not None else min(1400.0 * spread, self.link.high)

        def minus_log_weight(v: Array) -> Array:
            return -np.log(np.maximum(-self.gradient(1.0, v), 0.0))

        with np.errstate(all="ignore"):
            # −log w is straight for the exponential loss, and nearly so in the tail of most others.
            margin = invert_increasing(
                minus_log_weight,
                lambda v: self.hessian(1.0, v) / -self.gradient(1.0, v),
                -np.log(np.where(weight > 0, weight, 1.0)),
                limit=end,
            )
        margin = np.where(margin <= -end * (1 - 1e-12), np.nan, margin)
        return np.where(weight > 0, margin, self.link.high)

    # -- gain ------------------------------------------------------------------------------------------

    def with_gain(self, sigma: float) -> Composite:
        """The same loss through the link stretched by σ: the loss margin grows σ times. [M §5]"""
        return Composite(self.loss, self.link.scaled(positive("sigma", sigma)))

    def shrunk(self, sigma: float) -> Composite:
        """φ_σ(v) = σ φ(v/σ): boosting with it is boosting φ with learning rate 1/σ. [M (51)]

        Unlike a learning rate alone, its link knows of the shrinkage, and its probabilities are right.
        """
        sigma = positive("sigma", sigma)
        scaled = sigma * self.loss
        assert isinstance(scaled, SmoothLoss)
        return Composite(scaled, self.link.scaled(sigma))

    def properties(self) -> Properties:
        """What holds of this composite, each with the fact that decides it."""
        from propriety.losses import properties

        return properties.of_composite(self)
