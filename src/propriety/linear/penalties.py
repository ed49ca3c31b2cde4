"""The elastic net on all coefficients but the intercepts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propriety.cached_properties import cached_property
from propriety.linear.design import Design
from propriety.separators.linalg import Floats


@dataclass(frozen=True)
class Penalty:
    """α (l1_ratio Σ|b| + ½ (1 − l1_ratio) Σb²) over the slopes b, in the design's own coordinates.

    It is on the coefficients of X or, `scaled`, on those of columns of unit standard deviation.
    ``l1`` and ``l2`` are of shape (p, 1): factors of |θ| and ½ θ², zero for the intercept. [B §15] advises
    to shrink the slopes alone when a loss is tailored, so that the level can follow the cost.
    """

    l1: Floats
    l2: Floats

    @classmethod
    def make(
        cls, design: Design, alpha: float, l1_ratio: float, scaled: bool = False, free: int = 0
    ) -> Penalty:
        """The penalty, written for the standardized coefficients; none of the last `free` columns."""
        l1, l2 = np.zeros((design.p, 1)), np.zeros((design.p, 1))
        inverse = (design.inverse_scale > 0).astype(np.float64) if scaled else design.slopes
        d = design.d - free
        l1[:d, 0] = alpha * l1_ratio * inverse[:d]
        l2[:d, 0] = alpha * (1 - l1_ratio) * inverse[:d] ** 2
        return cls(l1, l2)

    @cached_property
    def has_l1(self) -> bool:
        """Whether there is a part that is not smooth."""
        return bool(np.any(self.l1 > 0))

    @cached_property
    def is_zero(self) -> bool:
        """Whether nothing is penalized."""
        return not (self.has_l1 or np.any(self.l2 > 0))

    def value(self, theta: Floats) -> float:
        """The whole penalty."""
        if self.is_zero:
            return 0.0
        absolute = np.sum(self.l1 * np.abs(theta)) if self.has_l1 else 0.0
        return float(absolute + 0.5 * np.sum(self.l2 * theta**2))

    def violation(self, theta: Floats, gradient: Floats) -> Floats:
        """Distance of 0 from the subgradient, coordinate by coordinate; `gradient` has the smooth parts."""
        if not self.has_l1:
            return np.abs(gradient)
        at_zero = np.maximum(np.abs(gradient) - self.l1, 0.0)
        return np.where((theta == 0) & (self.l1 > 0), at_zero, np.abs(gradient + self.l1 * np.sign(theta)))

    def restrict(self, rows: NDArray[np.intp]) -> Penalty:
        """The penalty of some rows of θ."""
        return Penalty(self.l1[rows], self.l2[rows])
