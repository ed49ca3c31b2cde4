"""From costs that are known only roughly to a loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from propriety import losses
from propriety.aliases import CostTerm
from propriety.data import uncertain
from propriety.losses.value import number
from propriety.tuning.criteria import show_distribution

#: Focus for costs that are known exactly, where knowledge alone asks for an infinite one.
_KNOWN_FOCUS = 10.0


@dataclass(frozen=True)
class Recommendation:
    """A loss for uncertain costs, and why; made by `recommend`.

    Attributes
    ----------
    loss : Tailored
        The loss whose weight lies where the decisions will be made.
    threshold : float
        The one threshold to decide at if the costs never become known: E fp/(E fp + E fn).
    low, high : float
        Range of thresholds that the costs imply: all of it, or its central 95 % where it is unbounded.
    costs : tuple of str
        The costs as they were given.
    """

    loss: losses.Tailored
    threshold: float
    low: float
    high: float
    costs: tuple[str, str]

    @property
    def known(self) -> bool:
        """Whether the costs are known exactly."""
        return self.low == self.high

    def explain(self) -> str:
        """The recommendation in words."""
        fp, fn = self.costs
        start = f"A false alarm costs {fp}, a miss {fn}: "
        search = "LossSearchCV with losses='tailored'"
        if self.known:
            return (
                f"{start}decide for class 1 from probability {self.threshold:.3g} on. Only the side of that "
                f"threshold matters, so the weight sits around it: {self.loss!r}. How tightly, here with "
                f"focus {self.loss.focus:g}, is a matter of data, not of costs: the tighter, the fewer rows "
                f"count. Let {search} choose, and expect little for flexible models such as boosted trees."
            )
        spread = np.sqrt(self.threshold * (1 - self.threshold) / (self.loss.focus + 1))
        return (
            f"{start}the right threshold lies between {self.low:.3g} and {self.high:.3g}. If one threshold "
            f"must serve in all cases, use {self.threshold:.3g}, that of the expected costs; nothing else "
            "about the uncertainty matters then. If costs differ from case to case, or are known when you "
            "decide, probabilities must be right over the range. The mean cost is then a proper loss, "
            "whose weight at c is the density of the threshold there times the stakes; with its mean "
            f"{self.threshold:.3g} and standard deviation {spread:.2g}, as a Beta weight, it is "
            f"{self.loss!r}. Judge models by it as it is. To fit it, remember that the higher the focus, "
            f"the fewer rows count: let {search} and this as the criterion choose."
        )

    def __str__(self) -> str:
        return self.explain()


def recommend(fp_cost: CostTerm, fn_cost: CostTerm, *, uncertainty: float | None = None) -> Recommendation:
    """The loss for costs that are known only within a range, explained.

    With costs fp and fn a decision at c = fp/(fp + fn) has the mean cost (fp + fn) ℓ_c. Over uncertain costs
    that is the proper loss with weight ω(c) = density(c) · E[fp + fn | c]. Its mean is
    E fp/(E fp + E fn), its second moment E[fp²/(fp + fn)]/(E fp + E fn); the recommended loss has the Beta
    weight with the same two moments [B §12].

    Parameters
    ----------
    fp_cost, fn_cost : float, pair (low, high) or frozen SciPy distribution
        Cost of a false alarm and of a miss. A pair is a range in which every order of magnitude is as likely
        as another (log-uniform).
    uncertainty : float ≥ 1, optional
        The factor by which the ratio of two costs given as numbers may be off in either direction: 2 is half
        to double.

    Returns
    -------
    Recommendation
        With ``loss``, ``threshold`` and ``explain()``, which is also what it prints as. It can be given to
        `LossSearchCV` as the criterion.

    Examples
    --------
    >>> from propriety import recommend
    >>> advice = recommend(1, 9, uncertainty=2)
    >>> advice.loss, round(advice.threshold, 12)
    (Tailored(0.1, 137), 0.1)
    >>> print(recommend(1, (5, 20)))  # doctest: +ELLIPSIS
    A false alarm costs 1, a miss 5 to 20: the right threshold lies between 0.0476 and 0.167...
    """
    fp, fn = uncertain.read("fp_cost", fp_cost), uncertain.read("fn_cost", fn_cost)
    if uncertainty is not None:
        factor = number("uncertainty", uncertainty, 1, np.inf, closed="left")
        if not (isinstance(fp, float) and isinstance(fn, float)):
            raise ValueError("uncertainty is for costs given as numbers: give it or ranges, not both")
        if factor > 1:
            names = (f"{fp:g}", f"{fn:g}, their ratio being right within a factor of {factor:g}")
            return _from(_around(fp, factor), _around(fn, factor), names)
    return _from(fp, fn, (_show(fp), _show(fn)))


def _from(fp: Any, fn: Any, names: tuple[str, str]) -> Recommendation:
    (x, a), (y, b) = uncertain.nodes(fp), uncertain.nodes(fn)
    weight = np.outer(a, b)
    total = x[:, None] + y[None, :]
    mean_fp, mean = float(a @ x), float(np.sum(weight * total))
    threshold = uncertain.threshold(mean_fp, mean - mean_fp)
    second = float(np.sum(weight * x[:, None] ** 2 / total)) / mean
    variance = second - threshold**2
    if isinstance(fp, float) and isinstance(fn, float):
        return Recommendation(
            losses.Tailored(threshold, _KNOWN_FOCUS), threshold, threshold, threshold, names
        )
    focus = threshold * (1 - threshold) / variance - 1
    (fp_low, fp_high), (fn_low, fn_high) = uncertain.ends(fp), uncertain.ends(fn)
    low, high = uncertain.threshold(fp_low, fn_high), uncertain.threshold(fp_high, fn_low)
    loss = losses.Tailored(_rounded(threshold, 4), _rounded(max(focus, 0.0), 3))
    return Recommendation(loss, threshold, low, high, names)


def _rounded(value: float, digits: int) -> float:
    """Digits enough for a weight, and few enough to read."""
    return float(f"{value:.{digits}g}")


def _around(cost: float, factor: float) -> Any:
    """Half of the factor's logarithm on either cost makes the whole of it on their ratio."""
    return uncertain.between(cost / np.sqrt(factor), cost * np.sqrt(factor))


def _show(cost: Any) -> str:
    if isinstance(cost, float):
        return f"{cost:g}"
    if cost.dist.name in ("loguniform", "reciprocal"):
        low, high = cost.support()
        return f"{low:.3g} to {high:.3g}"
    return f"{cost.mean():.3g} in the mean ({show_distribution(cost)})"
