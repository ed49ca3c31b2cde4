"""Boosted rules that a person can read and check by hand.

``classifier`` is what users see; ``settings`` checks what they give, and ``learning`` is the rounds and the
choice of the loss over the ``rows`` that take part; ``growing`` grows a monomial on the weights of a round,
``leveraging`` finds coefficients; ``rule_lists``, ``monomials`` and ``text`` are what was found and how it
reads, ``kernels`` has the compiled loops, ``state`` is what a file keeps.
"""

from propriety.rules.classifier import RuleClassifier

__all__ = ["RuleClassifier"]
