"""The parameters of KernelClassifier, checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety.data.parameters import Parameters, seed_of

if TYPE_CHECKING:
    from propriety.kernel.classifier import KernelClassifier

Floats = NDArray[np.float64]
#: Widths and strengths that folds choose from. A strength is that of the kernel's norm beside the mean loss.
WIDTHS = np.array([2.0, 1.0, 0.5, 0.25])
ALPHAS = np.logspace(-1.0, -6.6, 9)


@dataclass(frozen=True)
class KernelSettings:
    """The parameters of a fit, checked and resolved."""

    n_landmarks: int
    widths: Floats
    alphas: Floats
    tol: float
    seed: int
    n_jobs: int | None

    @property
    def chosen(self) -> bool:
        """Whether folds have something to choose."""
        return len(self.widths) > 1 or len(self.alphas) > 1

    def without_folds(self, total: float) -> KernelSettings:
        """What is taken if no rows can be held out: a width of 1, and the ridge of one row."""
        widths = self.widths if len(self.widths) == 1 else np.ones(1)
        alphas = self.alphas if len(self.alphas) == 1 else np.array([1.0 / total])
        return replace(self, widths=widths, alphas=alphas)


def settings_of(model: KernelClassifier) -> KernelSettings:
    """Check the parameters of a KernelClassifier."""
    given = Parameters(model)
    given.choice("multiclass", ("auto", "ovr"))
    return KernelSettings(
        given.number("n_landmarks", 1, whole=True),
        WIDTHS if _by_folds(model.width) else np.array([given.number("width", 0, above=True)], dtype=float),
        ALPHAS if _by_folds(model.alpha) else np.array([given.number("alpha", 0, above=True)], dtype=float),
        given.number("tol", 0, above=True),
        seed_of(model.random_state),
        model.n_jobs,
    )


def _by_folds(value: Any) -> bool:
    return isinstance(value, str) and value == "cv"
