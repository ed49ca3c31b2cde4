"""Where grown trees wait until all are grown.

Memory that is asked for tree by tree comes from the system in small pages, each of which costs a call of it;
that took a fifth of the time of extra trees. Large blocks come in large pages.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 23  # bytes; from half of this on NumPy asks for large pages
_ALIGNED = 64


class Shelf:
    """Copies of arrays side by side in large blocks of memory.

    >>> shelf = Shelf()
    >>> shelf.keep(np.arange(3)), shelf.keep(np.zeros((0, 2))).shape
    (array([0, 1, 2]), (0, 2))
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._block, self._used = np.empty(0, dtype=np.uint8), 0

    def keep(self, array: NDArray[Any]) -> NDArray[Any]:
        """A copy of an array, with C's order."""
        if array.nbytes < _ALIGNED or array.nbytes > _BLOCK // 4:
            return array.copy()
        with self._lock:
            start = self._used
            if start + array.nbytes > len(self._block):
                self._block, start = np.empty(_BLOCK, dtype=np.uint8), 0
            self._used = -(-(start + array.nbytes) // _ALIGNED) * _ALIGNED
            place = self._block[start : start + array.nbytes]
        copy = place.view(array.dtype).reshape(array.shape)
        copy[...] = array
        return copy
