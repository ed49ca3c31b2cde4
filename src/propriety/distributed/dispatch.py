"""How ``fit`` finds out that rows are not in one place, without importing what reads them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from propriety.data.lazy import is_dask
from propriety.data.stream import Stream

Method = TypeVar("Method", bound=Callable[..., Any])


def distributed_fit(fit: Method) -> Method:
    """Let ``fit`` take Dask collections as well: every worker then fits the same model to its own rows.

    And a `propriety.scan`, if the estimator can: in memory if that suffices, else part after part.
    """
    signature = inspect.signature(fit)

    @functools.wraps(fit)
    def either(self: Any, *args: Any, **kwargs: Any) -> Any:
        X = args[0] if args else kwargs.get("X")
        scanned = isinstance(X, Stream) and X.whole and self._reads_streams
        if not is_dask(X) and not scanned:
            return fit(self, *args, **kwargs)
        given = signature.bind(self, *args, **kwargs).arguments
        rest = {name: value for name, value in given.items() if name not in ("self", "X", "y")}
        if scanned:
            from propriety.distributed import out_of_core

            return out_of_core.fit(self, cast(Any, X), given.get("y"), rest)
        from propriety.distributed import dask

        return dask.fit(self, X, given.get("y"), rest)

    return cast(Method, either)
