"""Arithmetic of columns: numbers, names of columns, + − * / and parentheses; never evaluated as code.

``amount*0.02``, ``(price - cost) / 2``, ``"credit amount" + 5``: a name that is not made of letters, digits,
dots and underscores stands in quotes, of any of three kinds; a quote within is doubled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: What values of columns become; a number is one for every row.
Evaluate = Callable[[Mapping[str, Floats]], Any]
_LONGEST, _DEEPEST = 2000, 50
_NAME = r"[^\W\d][\w.]*"
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    rf"|(?P<name>{_NAME})"
    r"""|(?P<quoted>"(?:[^"]|"")*"|'(?:[^']|'')*'|`(?:[^`]|``)*`)"""
    r"|(?P<sign>[-+*/()−])|(?P<other>\S))",
)
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}


class ExpressionError(ValueError):
    """Text that is no arithmetic of columns."""


@dataclass(frozen=True)
class Expression:
    """Arithmetic of columns; `Expression.parse` and `Expression.of_column` make it, equal by its text.

    Attributes
    ----------
    text : str
    columns : tuple of str
        The columns that it needs, each once.

    Examples
    --------
    >>> fee = Expression.parse('2 + 0.1 * ("credit amount" - paid)')
    >>> fee.columns
    ('credit amount', 'paid')
    >>> fee({"credit amount": np.array([10.0, 30.0]), "paid": np.array([0.0, 10.0])})
    array([3., 4.])
    """

    text: str
    columns: tuple[str, ...] = field(compare=False)
    evaluate: Evaluate = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Read an expression; what is wrong is said with its place.

        >>> Expression.parse("2 * (amount")
        Traceback (most recent call last):
        propriety.tables.expressions.ExpressionError: ')' is lacking at the end of '2 * (amount'
        """
        if len(text) > _LONGEST:
            raise ExpressionError(f"an expression may have {_LONGEST} letters, got {len(text)}")
        parser = _Parser(text)
        evaluate = parser.whole()
        return cls(text.strip(), tuple(dict.fromkeys(parser.columns)), evaluate)

    @classmethod
    def of_column(cls, name: str) -> Expression:
        """The values of one column.

        >>> Expression.of_column("credit amount").text
        '"credit amount"'
        """
        quoted = name if re.fullmatch(_NAME, name) else '"' + name.replace('"', '""') + '"'
        return cls(quoted, (name,), lambda values: values[name])

    def __call__(self, values: Mapping[str, Floats]) -> Any:
        """Its value for each row, or one number; what is divided by 0 is not finite."""
        with np.errstate(all="ignore"):
            return self.evaluate(values)


class _Parser:
    """Sums of products of factors, read from the left."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [
            (match.lastgroup, match[match.lastgroup]) for match in _TOKEN.finditer(text) if match.lastgroup
        ]
        self.at, self.depth = 0, 0
        self.columns: list[str] = []

    def whole(self) -> Evaluate:
        result = self.sum()
        if self.at < len(self.tokens):
            raise self._unexpected()
        return result

    def sum(self) -> Evaluate:
        result = self.product()
        while (sign := self._take("+-−")) is not None:
            result = _joined(_SIGNS[sign.replace("−", "-")], result, self.product())
        return result

    def product(self) -> Evaluate:
        result = self.factor()
        while (sign := self._take("*/")) is not None:
            result = _joined(_SIGNS[sign], result, self.factor())
        return result

    def factor(self) -> Evaluate:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ExpressionError(f"an expression may be {_DEEPEST} signs and parentheses deep")
        try:
            if (sign := self._take("+-−")) is not None:
                inner = self.factor()
                return inner if sign == "+" else lambda values: np.negative(inner(values))
            if self._take("(") is not None:
                inner = self.sum()
                if self._take(")") is None:
                    if self.at < len(self.tokens):
                        raise self._unexpected()
                    raise ExpressionError(f"')' is lacking at the end of {self.text!r}")
                return inner
            return self._value()
        finally:
            self.depth -= 1

    def _value(self) -> Evaluate:
        kind, token = self.tokens[self.at] if self.at < len(self.tokens) else (None, "")
        if kind not in ("number", "name", "quoted"):
            raise self._unexpected()
        self.at += 1
        if kind == "number":
            number = float(token)
            if not np.isfinite(number):
                raise ExpressionError(f"{token} in {self.text!r} is too large")
            return lambda values: number
        name = token if kind == "name" else token[1:-1].replace(token[0] * 2, token[0])
        self.columns.append(name)
        return lambda values: values[name]

    def _take(self, signs: str) -> str | None:
        """The next token, if it is one of these signs."""
        kind, token = self.tokens[self.at] if self.at < len(self.tokens) else (None, "")
        if kind != "sign" or token not in signs:
            return None
        self.at += 1
        return token

    def _unexpected(self) -> ExpressionError:
        if self.at >= len(self.tokens):
            return ExpressionError(f"a number or a column is lacking at the end of {self.text!r}")
        return ExpressionError(
            f"{self.tokens[self.at][1]!r} is not expected in {self.text!r}: give numbers, columns, "
            "+ - * / and "
            "parentheses; a name with other letters stands in quotes"
        )


def _joined(sign: Callable[[Any, Any], Any], left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda values: sign(left(values), right(values))
