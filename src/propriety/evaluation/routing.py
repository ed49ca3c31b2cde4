"""What scikit-learn expects of a scorer: a call with weights, and a request for them where it routes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest


class Scorer(ABC):
    """A callable ``scorer(estimator, X, y, sample_weight=None)``, larger is better."""

    def __init__(self) -> None:
        self._sample_weight: Any = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of a fitted estimator on the rows given."""
        return self._score(estimator, X, y, sample_weight)

    @abstractmethod
    def _score(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> float: ...

    def set_score_request(self, *, sample_weight: Any = UNCHANGED) -> Self:
        """Ask for weights where scikit-learn routes metadata: True, False, None or another name."""
        if sample_weight != UNCHANGED:
            self._sample_weight = sample_weight
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """The request for weights."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._sample_weight)
        return request
