"""Linear models for any proper loss: Fisher scoring, universal linear separators, Bregman updates."""

from propriety.linear.classifier import LinearClassifier
from propriety.linear.separation import SeparationWarning

__all__ = ["LinearClassifier", "SeparationWarning"]
