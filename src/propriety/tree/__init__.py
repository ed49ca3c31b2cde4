"""One tree, any entropy.

``classifier`` is what users see; ``settings`` checks what they give, and ``learning`` grows and prunes;
``columns`` bins or ranks the table, ``growing`` has a tree of ``nodes`` grown (:mod:`~propriety.trees`),
``leaves`` are its probabilities, ``pruning`` its subtrees;
``conditions`` puts it in words, ``export`` on paper, ``linearize`` in the form of a linear model;
``state`` is what a file keeps.
"""

from __future__ import annotations

from propriety.tree.classifier import TreeClassifier

__all__ = ["TreeClassifier"]
