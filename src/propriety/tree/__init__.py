"""One tree, any entropy; readable.

``classifier`` is what users see; ``parameters`` checks what they give; ``measure`` is what a tree reads of a
loss; ``columns`` puts the table in the form that ``search`` finds cuts in; ``growing`` makes the splits of a
tree of ``nodes``, ``leaves`` its probabilities, ``pruning`` its subtrees; ``conditions`` puts it in words,
``export`` on paper, ``linearize`` in the form of a linear model.
"""

from propriety.tree.classifier import TreeClassifier

__all__ = ["TreeClassifier"]
