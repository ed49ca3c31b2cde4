"""Errors that carry the argument they are about, for callers that have another name for it."""

from __future__ import annotations


class ArgumentError(ValueError):
    """An argument that cannot be meant: its name, and what is wrong with it.

    A command line says ``--fn-cost`` where a function says ``fn_cost``: it writes the message anew from
    ``argument`` and ``problem``, and never edits a sentence.

    >>> error = ArgumentError("holdout", "must be between 0 and 1, got 2")
    >>> error.argument, str(error)
    ('holdout', 'holdout must be between 0 and 1, got 2')
    """

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(argument, problem)
        self.argument, self.problem = argument, problem

    def __str__(self) -> str:
        return f"{self.argument} {self.problem}"
