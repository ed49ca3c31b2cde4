"""Arrays of other libraries under scikit-learn's array API dispatch: what comes out is theirs too.

The computing is NumPy's, whoever the arrays belong to; on the CPU nothing is copied on the way in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from propriety.aliases import MatrixLike


def _is_foreign(array: Any) -> bool:
    """Whether this is another library's array, and scikit-learn was told to answer in kind."""
    if array is None or isinstance(array, np.ndarray) or not get_config()["array_api_dispatch"]:
        return False
    return hasattr(array, "__dlpack__") and hasattr(array, "ndim")


def as_numpy(array: Any) -> Any:
    """Another library's array as NumPy's; anything else, and without the dispatch anything, as it is.

    >>> as_numpy([1.0])
    [1.0]
    """
    if not _is_foreign(array):
        return array
    from sklearn.utils._array_api import _convert_to_numpy, get_namespace

    return _convert_to_numpy(array, get_namespace(array)[0])


def in_kind(values: NDArray[Any], X: MatrixLike) -> Any:
    """Numbers as an array of X's library, on its device, if that is how X came in; text stays NumPy's.

    >>> in_kind(np.array([0.5]), [[1.0]])
    array([0.5])
    """
    if not _is_foreign(X) or values.dtype.kind not in "biuf":
        return values
    from sklearn.utils._array_api import get_namespace_and_device

    namespace, _, device = get_namespace_and_device(X)
    return namespace.asarray(values, device=device)
