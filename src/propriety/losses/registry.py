"""Names of losses, links and losses on the simplex, and reading them back from text.

``repr`` of any of them, or of a composite, can be parsed back; nothing but the registered names, numbers and
the operators of the cone is ever evaluated.
"""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

if TYPE_CHECKING:
    from propriety.losses.base import Loss
    from propriety.losses.composite import Composite
    from propriety.losses.links import Link
    from propriety.losses.simplex import SimplexLoss

#: What a loss, or a link, may be given as; text is that of the registry, such as ``"Beta(2, 3)"``.
LossLike: TypeAlias = "Loss | Composite | SimplexLoss | str"
LinkLike: TypeAlias = "Link | str"
T = TypeVar("T", bound=type)

#: What other libraries call a loss of ours.
ALIASES = {
    "AdaBoost": "Exponential",
    "BinaryCrossEntropy": "Log",
    "Brier": "Squared",
    "CrossEntropy": "Log",
    "Deviance": "Log",
    "Entropy": "Log",
    "Gini": "Squared",
    "LogLoss": "Log",
    "Logistic": "Log",
    "Tsallis": "DensityPower",
    "ZeroOne": "Misclassification",
}

#: Losses that people ask for and that are not proper, with the reason.
IMPROPER = {
    "Absolute": "the absolute deviation |y - p| is least at p = 0 or 1, never at a probability between",
    "CressieRead": "no loss of y and p has a Cressie-Read divergence from the unknown truth as its regret",
    "Focal": "the focal loss (1 - p)^g (-log p) is least at a probability nearer to 1/2 than the true one",
    "Hinge": "the hinge loss is least at a score of -1 or 1, which tells the likelier class only",
    "PowerDeviation": "|y - p|^r is proper only for r = 2, which is Squared()",
}


class Registry:
    """The classes of one kind by name, each with examples that the laws of its kind are tested on."""

    def __init__(self, kind: str, prefix: str = "") -> None:
        self.kind, self.prefix = kind, prefix
        self.classes: dict[str, type] = {}
        self._examples: dict[str, tuple[str, ...]] = {}

    @overload
    def register(self, *target: T) -> T: ...
    @overload
    def register(self, *target: str) -> Callable[[T], T]: ...
    def register(self, *target: Any) -> Any:
        """Add a class to the registry, with examples that the laws are tested on.

        ``@register`` suits a class that needs no parameters; ``@register("Beta(6, 14)")`` names values to
        test.
        """

        def add(cls: type, examples: tuple[str, ...]) -> type:
            self.classes[cls.__name__] = cls
            self._examples[cls.__name__] = examples or (f"{self.prefix}{cls.__name__}()",)
            _parse.cache_clear()  # a name may stand for another class now
            return cls

        if len(target) == 1 and isinstance(target[0], type):
            return add(target[0], ())
        return lambda cls: add(cls, target)

    def names(self) -> list[str]:
        """Names of the registered classes.

        >>> from propriety import links, losses
        >>> "Tailored" in losses.names(), "Probit" in links.names()
        (True, True)
        """
        return sorted(self.classes)

    def examples(self, name: str | None = None) -> list[Any]:
        """One value or more of the named class, or of every class: what the laws are tested on.

        >>> from propriety import losses
        >>> losses.examples("Tailored")
        [Tailored(0.1, 20), Tailored(0.3, by='mode')]
        """
        chosen = self.names() if name is None else [_known(name, self.classes, self.kind)]
        return [parse(text) for key in chosen for text in self._examples[key]]


LOSSES, LINKS = Registry("loss"), Registry("link")
#: Losses on the simplex share names with binary ones, and are written simplex.Log().
SIMPLEX = Registry("simplex loss", prefix="simplex.")

register, names, examples = LOSSES.register, LOSSES.names, LOSSES.examples


def parse(text: str) -> Any:
    """The loss, link, composite or loss on the simplex that `text` denotes; the inverse of ``repr``.

    >>> from propriety import losses
    >>> losses.parse("2 * Log() + Tailored(0.1, 20)")
    2 * Log() + Tailored(0.1, 20)
    >>> losses.parse("Squared().with_link(Probit())")
    Squared().with_link(Probit())
    >>> losses.parse("simplex.Power(0.5)")
    simplex.Power(0.5)
    """
    if not isinstance(text, str):
        raise TypeError(f"a loss must be a loss, a composite or a string, got {text!r}")
    return _parse(text)


@lru_cache(maxsize=256)
def _parse(text: str) -> Any:
    """Kept, since every fit reads its loss anew, and values never change.

    >>> parse("Log()") is parse("Log()")
    True
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or str(error) or "it is too deep"
        raise ValueError(
            f"cannot read {text!r} as a loss: {reason}; write for example 'Beta(6, 14)'"
        ) from None
    try:
        return _read(tree.body, text)
    except (AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"cannot read {text!r} as a loss: {error}") from None


def as_loss(loss: Loss | str) -> Loss:
    """`loss` as a loss, read from text if need be."""
    from propriety.losses.base import Loss

    if isinstance(loss, str):
        loss = parse(loss)
    if not isinstance(loss, Loss):
        raise TypeError(f"loss must be a proper loss or its name, got {loss!r}; see propriety.losses.names()")
    return loss


def as_link(link: Link | str) -> Link:
    """`link` as a link, read from text if need be."""
    from propriety.losses.links import Link

    if isinstance(link, str):
        link = parse(link)
    if not isinstance(link, Link):
        raise TypeError(f"link must be a link or its name, got {link!r}; see propriety.links")
    return link


def as_composite(loss: Loss | Composite | str, link: Link | str | None = None) -> Composite:
    """The composite of `loss` and `link`; a composite is itself, and then no link may be given.

    >>> from propriety import losses
    >>> losses.as_composite("Log", "Probit")
    Log().with_link(Probit())
    """
    from propriety.losses.composite import Composite

    if isinstance(loss, str):
        loss = parse(loss)
    if isinstance(loss, Composite):
        if link is not None:
            raise ValueError(f"loss={loss!r} has a link already; give link=None, or the loss without a link")
        return loss
    return as_loss(loss).composite(link)


def _read(node: ast.expr, text: str) -> Any:  # noqa: C901, PLR0911
    match node:
        case ast.Constant(value=int() | float() as value):
            if not math.isfinite(value):
                raise ValueError(f"cannot read {text!r} as a loss: it has a number beyond every float")
            return value
        case ast.Constant(value=str() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_read(operand, text)
        case ast.Tuple(elts=elements):
            return tuple(_read(e, text) for e in elements)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _term(left, text) + _term(right, text)
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return _term(left, text) * _term(right, text)
        case ast.Name() | ast.Attribute(value=ast.Name(id="simplex")):
            return _make(node, (), {})
        case ast.Call(
            func=ast.Name() | ast.Attribute(value=ast.Name(id="simplex")) as made,
            args=args,
            keywords=keywords,
        ):
            return _make(made, *_arguments(args, keywords, text))
        case ast.Call(
            func=ast.Attribute(value=owner, attr="with_link" | "with_gain" | "shrunk" | "tilted" as method),
            args=args,
            keywords=keywords,
        ):
            positional, named = _arguments(args, keywords, text)
            return getattr(_read(owner, text), method)(*positional, **named)
    raise ValueError(
        f"cannot read {ast.unparse(node)!r} in {text!r}: a loss is a name with parameters, such as "
        "'Beta(6, 14)', or a sum of such"
    )


def _term(node: ast.expr, text: str) -> Any:
    """What may be added or multiplied: losses and numbers, but not texts, which would be repeated."""
    value = _read(node, text)
    if isinstance(value, (str, tuple)):
        raise ValueError(f"cannot add or multiply {ast.unparse(node)!r} in {text!r}: only losses and numbers")
    return value


def _arguments(
    args: list[ast.expr], keywords: list[ast.keyword], text: str
) -> tuple[list[Any], dict[str, Any]]:
    return [_read(a, text) for a in args], {str(k.arg): _read(k.value, text) for k in keywords}


def _make(written: ast.Name | ast.Attribute, args: Any, kwargs: dict[str, Any]) -> Any:
    if isinstance(written, ast.Attribute):
        name, kind, known = written.attr, SIMPLEX.kind, SIMPLEX.classes
    else:
        name, kind, known = ALIASES.get(written.id, written.id), "loss or link", _without_prefix()
        improper = {key.lower(): key for key in IMPROPER}.get(name.lower())
        if improper is not None:
            raise ValueError(f"{improper} is not a proper loss: {IMPROPER[improper]}")
    try:
        return known[_known(name, known, kind)](*args, **kwargs)
    except TypeError as error:
        raise ValueError(f"cannot make {name} from these parameters: {error}") from None


def _without_prefix() -> dict[str, type]:
    """What a bare name may stand for."""
    from propriety.losses.algebra import Tilted
    from propriety.losses.from_functions import CanonicalFor

    return {**LOSSES.classes, **LINKS.classes, "Tilted": Tilted, "CanonicalFor": CanonicalFor}


def _known(name: str, known: dict[str, type], kind: str) -> str:
    if name not in known:
        by_lower = {k.lower(): k for k in [*known, *ALIASES]}
        near = difflib.get_close_matches(name.lower(), by_lower, n=1)
        hint = (
            f"; did you mean {by_lower[near[0]]!r}?"
            if near
            else f"; the names are {', '.join(sorted(known))}"
        )
        raise ValueError(f"unknown {kind} {name!r}{hint}")
    return name
