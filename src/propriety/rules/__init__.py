"""Boosted rules that a person can read and check by hand.

``classifier`` is what users see; ``growing`` grows a monomial on the weights of a round, ``leveraging`` finds
coefficients, ``boosting`` is the rounds and the choice of the loss; ``text`` and ``monomials`` put what was
found in words, ``kernels`` has the compiled loops, ``state`` is what a file keeps.
"""

from propriety.rules.classifier import RuleClassifier

__all__ = ["RuleClassifier"]
