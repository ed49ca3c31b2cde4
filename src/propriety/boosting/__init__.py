"""Boosting for any proper loss.

- ``classifier`` is for users, ``algorithm`` names the ways to take a round, ``settings`` checks what they
  give, ``learning`` weighs, holds out and bins the rows, ``fitting`` is one fit, ``state`` is what a file
  keeps.
- ``objective`` has the gradients of the loss, ``constraints`` and ``compatibility`` what is forbidden.
- ``rounds`` fits one round after the other with the weak learners of ``learners`` and ``histograms``;
  ``draws`` says by which rows and features, ``leaves`` finds their values, ``coefficients`` their
  coefficients. ``folding`` counts the rounds by folds.
- ``curves`` and ``shapes`` are additive models.
- ``paths`` tries many gains at once.
- ``validation`` follows held-out rows and ``progress`` tells of it.
"""

from propriety.boosting.algorithm import Algorithm
from propriety.boosting.classifier import BoostingClassifier
from propriety.boosting.paths import gain_path

__all__ = ["Algorithm", "BoostingClassifier", "gain_path"]
