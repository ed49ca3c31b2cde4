"""Random forests and extra trees, any entropy.

``classifier`` is what users see; ``settings`` checks what they give, ``learning`` grows the trees, ``state``
is what a file keeps. ``sample`` puts the rows in an order of their own, ``growing`` draws those of a tree and
has it grown (:mod:`~propriety.trees`). ``joining`` puts ``trees`` side by side, ``spread`` over processes,
``votes`` are what the grown forest says, ``explaining`` puts what columns add to them on the scale of the
score.
"""

from propriety.forest.classifier import ForestClassifier

__all__ = ["ForestClassifier"]
