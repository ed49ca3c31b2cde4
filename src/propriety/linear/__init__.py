"""Linear models for any proper loss: Fisher scoring, universal linear separators, Bregman updates."""

from propriety.linear.classifier import LinearClassifier
from propriety.linear.paths import LinearPath, path
from propriety.linear.tailoring import SlopeWarning
from propriety.separators.projection import bregman_projection
from propriety.separators.separation import SeparationWarning, separating_direction

__all__ = [
    "LinearClassifier",
    "LinearPath",
    "SeparationWarning",
    "SlopeWarning",
    "bregman_projection",
    "path",
    "separating_direction",
]
