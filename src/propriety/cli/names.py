"""What the command line calls an argument."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from propriety.errors import ArgumentError
    from propriety.tables.errors import TableError

#: What the command line calls arguments that have another name here.
_NAMES = {
    "cv": "--folds",
    "pos_label": "--positive",
    "sample_weight": "--weights",
    "settings": "--set",
    "y": "the target",
}


def option(term: str) -> str:
    """What the command line calls a term of the costs."""
    return "--" + term.replace("_", "-")


def named_option(error: ArgumentError | TableError, options: Container[str] = ()) -> str:
    """What is wrong, with arguments by their names on the command line.

    `options` are the names of the parameters of the command; arguments that are none of them keep theirs.

    >>> from propriety.errors import ArgumentError
    >>> named_option(ArgumentError("fn_cost", "must not be negative"), {"fn_cost"})
    '--fn-cost must not be negative'
    >>> named_option(ArgumentError("max_iter", "must not be negative"), {"fn_cost"})
    'max_iter must not be negative'
    """
    if getattr(error, "argument", None) == "model":
        return error.problem

    def name(argument: str) -> str:
        if argument in options:
            return _NAMES.get(argument, option(argument))
        known = _NAMES.get(argument, argument)
        there = not known.startswith("--") or known[2:].replace("-", "_") in options
        return known if there else argument

    return error.told(name)
