"""Kernel machines for any proper loss: Nyström features of a Gaussian kernel, fitted as linear models are.

``classifier`` is what users see; ``features`` draws the landmarks, ``learning`` chooses width and ridge by
folds, ``shapley`` shares a score out among the columns, ``state`` is what a file keeps.
"""

from propriety.kernel.classifier import KernelClassifier

__all__ = ["KernelClassifier"]
