"""What the command line calls an argument."""

from __future__ import annotations

from propriety.data.arguments import ArgumentError

#: What the command line calls arguments that have another name here.
_NAMES = {"cv": "--folds", "sample_weight": "--weights", "settings": "--set", "y": "the target"}


def option(term: str) -> str:
    """What the command line calls a term of the costs."""
    return "--" + term.replace("_", "-")


def named_option(error: ArgumentError) -> str:
    """What is wrong with an argument, by its name on the command line.

    >>> named_option(ArgumentError("fn_cost", "must not be negative"))
    '--fn-cost must not be negative'
    """
    if error.argument == "model":
        return error.problem
    return f"{_NAMES.get(error.argument, option(error.argument))} {error.problem}"
