"""Values as JSON and back: a closed list of types, losses and links among them by the text that makes them.

Plain JSON values stand for themselves. Everything else is an object with one key that names its type:
``{"tuple": [1, 2]}``, ``{"loss": "Beta(6, 14)"}``, ``{"array": [0, 1], "dtype": "int64"}``.
"""

from __future__ import annotations

import ast
import math
from typing import Any, TypeVar

import numpy as np

from propriety import losses
from propriety.data.costs import Costs
from propriety.losses import simplex
from propriety.losses.links import FromDistribution, Link
from propriety.losses.value import Value
from propriety.storage.checks import ModelFileError

_LONGEST_LOSS = 20_000
_KINDS = "biuf"  # of arrays: truth values, whole numbers, floats
#: Distributions on the whole line that are known in closed form: a row takes microseconds, never seconds.
DISTRIBUTIONS = (
    "cauchy",
    "dgamma",
    "dweibull",
    "genlogistic",
    "gennorm",
    "gumbel_l",
    "gumbel_r",
    "hypsecant",
    "johnsonsu",
    "laplace",
    "laplace_asymmetric",
    "loggamma",
    "logistic",
    "moyal",
    "norm",
    "powernorm",
    "skewcauchy",
    "t",
)
#: Parameters that an older release called otherwise.
_RENAMED = {"OneVsRest": {"loss_": "composite"}}
#: Values that parameters may be, each held by its own parameters.
_BY_VALUE: dict[str, type[Value]] = {"Costs": Costs}
_V = TypeVar("_V", bound=Value)


def by_value(type_: type[_V]) -> type[_V]:
    """Have model files hold the values of a class, by their parameters, which the class must check."""
    _BY_VALUE[type_.__name__] = type_
    return type_


def encode(value: object, where: str) -> Any:  # noqa: C901, PLR0911
    """`value` as JSON; `where` names it in the error if it cannot be written by value.

    >>> encode((1, losses.Beta(6, 14)), "x")
    {'tuple': [1, {'loss': 'Beta(6, 14)'}]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else {"float": repr(value)}
        case list():
            return [encode(v, where) for v in value]
        case tuple():
            return {"tuple": [encode(v, where) for v in value]}
        case set() | frozenset():
            return {"set": [encode(v, where) for v in sorted(value, key=repr)]}
        case dict():
            return {"map": [[encode(k, where), encode(v, where)] for k, v in value.items()]}
        case np.ndarray() if value.dtype.kind in _KINDS:
            return {"array": encode(value.tolist(), where), "dtype": value.dtype.name}
        case np.ndarray() if value.dtype.kind in "UOT":
            kind = "object" if value.dtype.kind == "O" else "str"
            return {"array": encode(value.tolist(), where), "dtype": kind}
        case losses.Loss() | losses.Composite() | Link() | simplex.SimplexLoss():
            return {"loss": _text(value, where)}
        case Value() if type(value).__name__ in _BY_VALUE:
            stated = value.get_params(deep=False)
            parameters = {name: encode(v, f"{where}__{name}") for name, v in stated.items()}
            return {"value": type(value).__name__, "parameters": parameters}
    raise ValueError(
        f"{where} is {value!r}, of type {type(value).__name__}, which a model file cannot hold by value; set "
        "it to a plain value before saving, or keep the model with pickle"
    )


def _text(value: Any, where: str) -> str:
    """The text of a loss, if it says everything."""
    text = repr(value)
    try:
        if losses.parse(text) == value and len(text) <= _LONGEST_LOSS:
            return text
    except (ValueError, TypeError):
        pass
    raise ValueError(
        f"{where} is {text}, which is made of a Python function: a model file holds values only, never code. "
        "Fit with one of the families in losses.names() or a sum of them, or keep this model with pickle and "
        "the function in a module that can be imported"
    )


def decode(given: Any) -> Any:  # noqa: C901, PLR0911
    """The value of what :func:`encode` wrote.

    >>> decode({"tuple": [1, {"loss": "Beta(6, 14)"}]})
    (1, Beta(6, 14))
    """
    if given is None or isinstance(given, bool | int | float | str):
        return given
    if isinstance(given, list):
        return [decode(v) for v in given]
    match given:
        case {"float": "inf" | "-inf" | "nan" as text} if len(given) == 1:
            return float(text)
        case {"tuple": list() as items} if len(given) == 1:
            return tuple(decode(v) for v in items)
        case {"set": list() as items} if len(given) == 1:
            return {decode(v) for v in items}
        case {"map": list() as items} if len(given) == 1:
            return {decode(k): decode(v) for k, v in items}
        case {"array": list() as items, "dtype": str() as dtype} if len(given) == 2:
            return _array(decode(items), dtype)
        case {"value": str() as name, "parameters": dict() as stated} if len(given) == 2:
            if name not in _BY_VALUE:
                raise ModelFileError(f"there is no value {name[:60]!r}")
            return _BY_VALUE[name](**{key: decode(v) for key, v in stated.items()})
        case {"loss": str() as text} if len(given) == 1:
            return _loss(text)
        case {"simplex": str() as name, "parameters": dict() as params} if len(given) == 2:
            return _simplex_of_0_1(name, params)
    raise ModelFileError(f"a value of the file is of no known type: {str(given)[:80]}")


def _simplex_of_0_1(name: str, params: dict[str, Any]) -> simplex.SimplexLoss:
    """A loss for several classes as release 0.1 wrote it; now it is a text like every loss."""
    if name not in simplex.names():
        raise ModelFileError(f"there is no loss {name!r} for several classes")
    renamed = _RENAMED.get(name, {})
    return getattr(simplex, name)(**{renamed.get(k, k): decode(v) for k, v in params.items()})


def _array(items: list[Any], dtype: str) -> Any:
    if dtype == "object":
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array
    if dtype == "str":
        if not all(isinstance(v, str) for v in items):
            raise ModelFileError("an array of text holds something else")
        return np.array(items, dtype=str)
    if dtype not in {np.dtype(t).name for t in np.typecodes["AllInteger"] + "?efd"}:
        raise ModelFileError(f"an array has the type {dtype[:40]!r}")
    array = np.array(items)
    result = array.astype(dtype)
    if array.dtype.kind not in _KINDS or (array.size and not np.array_equal(array, result, equal_nan=True)):
        raise ModelFileError(f"an array holds values that are not of its type {dtype}")
    return result


def _loss(text: str) -> Any:
    """The loss, link or composite that a text denotes: names, numbers and the operators of the cone."""
    if len(text) > _LONGEST_LOSS or _deepest(text) > 50:
        raise ModelFileError("the text of a loss is too long or too deep")
    for node in ast.walk(ast.parse(text, mode="eval")):
        # A factor is a number: text or a tuple times a number would be a large piece of memory.
        if isinstance(node, ast.BinOp) and any(
            isinstance(side, ast.Tuple) or isinstance(getattr(side, "value", None), str)
            for side in (node.left, node.right)
        ):
            raise ModelFileError(f"cannot read {text[:80]!r} as a loss")
    value = losses.parse(text)
    if not isinstance(value, losses.Loss | losses.Composite | Link | simplex.SimplexLoss):
        raise ModelFileError(f"{text[:80]!r} is not a loss, a link or a composite")
    check_links(value)
    return value


def check_links(value: object) -> None:
    """Refuse links that take seconds a row, wherever they are in a loss."""
    if isinstance(value, FromDistribution) and value.dist not in DISTRIBUTIONS:
        raise ModelFileError(
            f"a link is made of the distribution {str(value.dist)[:40]!r}; a model file can hold those with "
            f"a closed form: {', '.join(DISTRIBUTIONS)}"
        )
    if isinstance(value, tuple):
        for part in value:
            check_links(part)
    elif isinstance(value, Value):
        for part in value.get_params(deep=False).values():
            check_links(part)


def _deepest(text: str) -> int:
    depth = most = 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        most = max(most, depth)
    return most
