"""What scikit-learn expects of a scorer: a call with weights and costs, and a request for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest

from propriety.aliases import MatrixLike

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


class Scorer(ABC):
    """A callable ``scorer(estimator, X, y, sample_weight=None)``, larger is better."""

    #: What it takes for each row.
    takes: ClassVar[tuple[str, ...]] = ("sample_weight",)

    def __init__(self) -> None:
        self._requests: dict[str, Any] = dict.fromkeys(self.takes)

    def __call__(
        self,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **of_rows: Any,
    ) -> float:
        """Score of a fitted estimator on the rows given."""
        self._check(of_rows)
        return self._score(estimator, X, y, sample_weight, **of_rows)

    @abstractmethod
    def _score(self, estimator: Any, X: Any, y: Any, sample_weight: Any, **of_rows: Any) -> float: ...

    def set_score_request(self, **requests: Any) -> Self:
        """Ask for weights or costs where scikit-learn routes metadata: True, False, None or another name."""
        self._check(requests)
        self._requests |= {name: alias for name, alias in requests.items() if alias != UNCHANGED}
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """What it asks for."""
        request = MetadataRequest(owner=self)
        for name, alias in self._requests.items():
            request.score.add_request(param=name, alias=alias)
        return request

    def _check(self, names: Any) -> None:
        unknown = [name for name in names if name not in self.takes]
        if unknown:
            raise TypeError(f"{self!r} takes {', '.join(self.takes)} for each row, not {', '.join(unknown)}")
