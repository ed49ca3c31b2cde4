"""How ``fit`` finds out that rows are not in one place, without importing what reads them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar, cast

from propriety.data.lazy import is_dask, is_ray
from propriety.data.stream import Stream

Method = TypeVar("Method", bound=Callable[..., Any])
#: What knows its rows, and the module whose ``fit(model, X, y, given)`` fits a model to them.
BACKENDS: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (is_dask, "propriety.distributed.dask"),
    (is_ray, "propriety.distributed.ray"),
)


def distributed_fit(fit: Method) -> Method:
    """Let ``fit`` take Dask collections and Ray datasets: every worker fits the same model to its own rows.

    And a `propriety.scan`, if the estimator can: in memory if that suffices, else part after part.
    """
    signature = inspect.signature(fit)

    @functools.wraps(fit)
    def either(self: Any, *args: Any, **kwargs: Any) -> Any:
        X = args[0] if args else kwargs.get("X")
        backend = next((module for knows, module in BACKENDS if knows(X)), None)
        if isinstance(X, Stream) and X.whole and self.capabilities.scans:
            backend = "propriety.distributed.out_of_core"
        if backend is None:
            return fit(self, *args, **kwargs)
        given = signature.bind(self, *args, **kwargs).arguments
        rest = {name: value for name, value in given.items() if name not in ("self", "X", "y")}
        return import_module(backend).fit(self, X, given.get("y"), rest)

    return cast(Method, either)
