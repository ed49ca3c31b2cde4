"""One tree, any entropy; boosted rules; readable both.

``classifier`` is what users see; ``parameters`` checks what they give, and ``problem`` is what is left to
solve; ``measure`` is what a tree reads of a loss; ``columns`` puts the table in the form in which ``search``
finds cuts; ``growing`` makes the splits of a tree of ``nodes``, ``leaves`` its probabilities, ``pruning`` its
subtrees; ``conditions`` puts it in words, ``export`` on paper, ``linearize`` in the form of a linear model.

``rules`` is the classifier of boosted rules; ``rules_growing`` grows a monomial on the weights of a round,
``rules_leveraging`` finds coefficients, ``rules_boosting`` is the rounds and the choice of the loss,
``rules_text`` and ``monomials`` put what was found in words, ``rules_kernels`` has the compiled loops.
"""

from propriety.tree.classifier import TreeClassifier
from propriety.tree.rules import RuleClassifier

__all__ = ["RuleClassifier", "TreeClassifier"]
