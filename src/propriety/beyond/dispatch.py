"""How ``fit`` finds out that rows are not in one place, without importing what reads them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from propriety.data.lazy import is_dask

Method = TypeVar("Method", bound=Callable[..., Any])


def over_spread_rows(fit: Method) -> Method:
    """Let ``fit`` take Dask collections as well: every worker then fits the same model to its own rows."""
    signature = inspect.signature(fit)

    @functools.wraps(fit)
    def either(self: Any, *args: Any, **kwargs: Any) -> Any:
        X = args[0] if args else kwargs.get("X")
        if not is_dask(X):
            return fit(self, *args, **kwargs)
        from propriety.beyond import dask

        given = signature.bind(self, *args, **kwargs).arguments
        rest = {name: value for name, value in given.items() if name not in ("self", "X", "y")}
        return dask.fit(self, X, given.get("y"), rest)

    return cast(Method, either)
