"""Scorecards: points for the bins of a few columns, which add up to a score.

>>> from propriety import ScorecardClassifier
>>> model = ScorecardClassifier().fit([[1.0], [2.0], [3.0], [4.0]] * 10, [0, 0, 1, 1] * 10)
>>> model.columns_
('x0',)
"""

from propriety.scorecard.classifier import ScorecardClassifier

__all__ = ["ScorecardClassifier"]
