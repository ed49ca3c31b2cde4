"""Errors that carry the argument they are about, for callers that have another name for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class Argument(str):
    """The name of an argument, as a part of what is said of another one or of a table."""

    __slots__ = ()


def told(parts: Iterable[str], name: Callable[[str], str]) -> str:
    """A message of parts, with the arguments called by other names.

    >>> told(["there is no column 'fn_cost' for ", Argument("fn_cost")], lambda name: "--fn-cost")
    "there is no column 'fn_cost' for --fn-cost"
    """
    return "".join(name(part) if isinstance(part, Argument) else part for part in parts)


class ArgumentError(ValueError):
    """An argument that cannot be meant: its name, and what is wrong with it.

    A command line says ``--fn-cost`` where a function says ``fn_cost``: it writes the message anew, and never
    edits a sentence. The problem may be in parts, of which an `Argument` is another argument.

    >>> error = ArgumentError("holdout", "must be between 0 and 1, got 2")
    >>> error.argument, str(error), error.told("--{}".format)
    ('holdout', 'holdout must be between 0 and 1, got 2', '--holdout must be between 0 and 1, got 2')
    """

    def __init__(self, argument: str, *problem: str) -> None:
        super().__init__(argument, *problem)
        self.argument, self._parts = argument, problem

    def __str__(self) -> str:
        return self.told(str)

    @property
    def problem(self) -> str:
        """What is wrong with it."""
        return "".join(self._parts)

    def told(self, name: Callable[[str], str]) -> str:
        """The message, with the arguments called by other names."""
        problem = told(self._parts, name)
        return f"{name(self.argument)}{'' if problem[:1] in ':=' else ' '}{problem}"
