"""Choosing the loss from data, and from costs that are known only roughly.

>>> from propriety import recommend
>>> recommend(1, 9).threshold
0.1
"""

from propriety.tuning.recommendation import recommend
from propriety.tuning.search import LossSearchCV

__all__ = ["LossSearchCV", "recommend"]
