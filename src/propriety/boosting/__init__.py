"""Gradient boosting for any proper loss.

``classifier`` is what users see; ``objective`` gives the gradients of a loss, ``constraints`` reads what the user
forbids, ``rounds`` fits one round after the other, ``leaves`` finds the leaf values, ``validation`` decides when to
stop.
"""

from propriety.boosting.classifier import BoostingClassifier

__all__ = ["BoostingClassifier"]
