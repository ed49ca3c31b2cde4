"""The cheapest decisions out of the box: a stack of models that share their folds.

``classifier`` is what users see; ``settings`` checks what they give, ``learning`` climbs the ladder of
``members`` while there is time, ``stacking`` weighs them, ``judgement`` says what the whole is worth,
``state`` is what a file keeps.
"""

from propriety.auto.classifier import AutoClassifier

__all__ = ["AutoClassifier"]
