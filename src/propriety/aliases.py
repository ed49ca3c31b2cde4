"""Types that signatures share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

#: A label of a class, as it stands in y.
Label: TypeAlias = str | int | float | bool | np.generic
#: An integer or a generator of NumPy's; None is the same as 0.
RandomState: TypeAlias = int | np.random.RandomState | None


class Shaped(Protocol):
    """What has rows and columns: data frames, sparse matrices and arrays of any library."""

    @property
    def shape(self) -> Any:
        """Rows and columns."""
        ...


class Distribution(Protocol):
    """A frozen distribution of SciPy, of a cost that is known only roughly."""

    def ppf(self, q: Any, /) -> Any:
        """The quantile at each q."""
        ...

    def support(self) -> Any:
        """The lowest and the highest value."""
        ...


class Splitter(Protocol):
    """What splits rows into folds, as scikit-learn's splitters do."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[Any, Any]]:
        """Places of training and of test rows, fold by fold."""
        ...


#: Rows of features: an array, a data frame, a sparse matrix, or lists of numbers.
MatrixLike: TypeAlias = ArrayLike | Shaped
#: A cost or a benefit: a number, one for each row, a pair (low, high), a distribution, the name of a column
#: of X, or a function of X.
CostTerm: TypeAlias = ArrayLike | Distribution | Callable[[Any], ArrayLike]
#: Folds of cross-validation: how many, a splitter, or the places of training and test rows.
Folds: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]]
#: Shares of the classes: that of the positive one, one for each class, or by label.
Shares: TypeAlias = ArrayLike | Mapping[Any, float]
#: What classes are called: in their order, or by label.
ClassNames: TypeAlias = Sequence[str] | Mapping[Any, str]
