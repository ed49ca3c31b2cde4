"""Gradient boosting for any proper loss.

``classifier`` is what users see; ``parameters`` checks what they give; ``objective`` has the gradients of the
loss, ``constraints`` what is forbidden; ``rounds`` fits one round after the other, ``leaves`` finds the leaf
values; ``validation`` follows held-out rows and ``progress`` tells of it.
"""

from propriety.boosting.classifier import BoostingClassifier

__all__ = ["BoostingClassifier"]
