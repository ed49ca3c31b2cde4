"""Frozen values: losses and links compare, hash, print, pickle and search by their parameters."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Self


class Value:
    """A frozen dataclass that prints as the shortest call that makes it, and behaves in scikit-learn.

    ``get_params`` lets scikit-learn see the parameters (``loss__alpha``), ``__sklearn_clone__`` lets it
    reuse the object: values never change, so a copy is the thing itself.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep`, those of parts too, as ``part__name``."""
        params: dict[str, Any] = {}
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            params[f.name] = value
            if deep and isinstance(value, Value):
                params |= {f"{f.name}__{k}": v for k, v in value.get_params().items()}
        return params

    def replace(self, **params: Any) -> Self:
        """The same value with some parameters changed; ``part__name`` reaches into parts.

        >>> from propriety import losses
        >>> losses.Beta(6, 14).replace(beta=2)
        Beta(6, 2)
        """
        own = self.get_params(deep=False)
        changes: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in own:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(own) or 'none'}"
                )
            if rest:
                nested.setdefault(name, {})[rest] = value
            else:
                changes[name] = value
        for name, inner in nested.items():
            changes[name] = changes.get(name, own[name]).replace(**inner)
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def __sklearn_clone__(self) -> Self:
        return self

    def __repr__(self) -> str:
        positional, named = [], []
        in_order = True
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if f.default is not dataclasses.MISSING and value == f.default:
                in_order = in_order and f.kw_only is True
            elif in_order and not f.kw_only:
                positional.append(show(value))
            else:
                named.append(f"{f.name}={show(value)}")
        return f"{type(self).__name__}({', '.join(positional + named)})"


def has_function(value: object) -> bool:
    """Whether a function is among the parameters of a value, or of those that it is made of."""
    if isinstance(value, Value):
        return any(has_function(getattr(value, field.name)) for field in dataclasses.fields(value))  # type: ignore[arg-type]
    return any(map(has_function, value)) if isinstance(value, tuple) else callable(value)


def show(value: object) -> str:
    """Shortest text that reads back as the same value: 6 for 6.0."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, tuple):
        return f"({', '.join(show(v) for v in value)}{',' if len(value) == 1 else ''})"
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return repr(value)


def number(name: str, value: Any, low: float, high: float, closed: str = "neither") -> float:
    """`value` as a float between `low` and `high`, or an error that names it; `closed` as in pandas."""
    brackets = {"neither": "()", "both": "[]", "left": "[)", "right": "(]"}[closed]
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a number, got {value!r}") from error
    above = number >= low if brackets[0] == "[" else number > low
    below = number <= high if brackets[1] == "]" else number < high
    if not (above and below and math.isfinite(number)):
        interval = f"{brackets[0]}{show(low)}, {show(high)}{brackets[1]}"
        raise ValueError(f"{name} must be a finite number in {interval}, got {value!r}")
    return number


def positive(name: str, value: object) -> float:
    """`value` as a positive float, or an error that names it."""
    return number(name, value, 0, math.inf)
