"""The seam between one process and many: every total over rows that decides the model passes through here.

Rows may be spread over processes that each fit the same model. What a process sums over its own rows is a
*part*; a `Communicator` turns the parts of all processes into the total, the same for every one of them.
Parts are whole numbers, or weights, whose float sums are exact (`propriety.weights`), so that a total does
not depend on how the rows are spread. All processes must ask for the same totals in the same order; so
nobody asks from inside a thread.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

Part = TypeVar("Part")


class Disconnected(RuntimeError):
    """A process has left the others, or they were told to stop: there will be no more totals."""


class NotDistributable(ValueError):
    """What is asked for cannot be done over rows that are spread over processes."""


class Communicator(Protocol):
    """Totals over the rows of all processes.

    Attributes
    ----------
    size : int
        Number of processes.
    rank : int
        Which of them this is, from 0 on.
    speculative_splits : int
        How many splits of a tree are worth one sum: more, the longer it takes.
    """

    size: int
    rank: int
    speculative_splits: int

    def sum(self, parts: NDArray[Any]) -> NDArray[Any]:
        """Sum of the processes' arrays, of whole numbers or of weights; may be written in place."""
        ...

    def max(self, tops: tuple[float, ...]) -> tuple[float, ...]:
        """Largest of the processes' numbers, place by place."""
        ...

    def gather(self, part: Part) -> list[Part]:
        """The processes' parts, small objects, in an order that is the same everywhere."""
        ...

    def exchange(self, parts: list[Part]) -> list[Part]:
        """What each process has for this one: part number ``rank`` of everybody's."""
        ...

    def report(self, done: int, of: int, score: float | None) -> None:
        """Let whoever waits for the fit know how far it is."""
        ...


class Single:
    """One process: its part is the total.

    >>> SINGLE.max((1.0, 2.0)), SINGLE.gather("part")
    ((1.0, 2.0), ['part'])
    """

    size, rank, speculative_splits = 1, 0, 1

    def sum(self, parts: NDArray[Any]) -> NDArray[Any]:
        """The array itself."""
        return parts

    def max(self, tops: tuple[float, ...]) -> tuple[float, ...]:
        """The numbers themselves."""
        return tops

    def gather(self, part: Part) -> list[Part]:
        """The only part."""
        return [part]

    def exchange(self, parts: list[Part]) -> list[Part]:
        """The only part."""
        return parts

    def report(self, done: int, of: int, score: float | None) -> None:
        """Nobody waits."""


SINGLE = Single()
