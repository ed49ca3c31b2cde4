"""The seam between one process and many: every total over rows that decides the model passes through here.

Rows may be spread over processes that each fit the same model. What a process sums over its own rows is a
*part*; a `Communicator` turns the parts of all processes into the total, the same for every one of them.
Parts are whole numbers, or weights, whose float sums are exact (`propriety.weights`), so that a total does
not depend on how the rows are spread. All processes must ask for the same totals in the same order; so
nobody asks from inside a thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Part = TypeVar("Part")
Report = Callable[[int, int, float | None], None]


class Disconnected(RuntimeError):
    """A process has left the others, or they were told to stop: there will be no more totals."""


class NotDistributable(ValueError):
    """What is asked for cannot be done over rows that are spread over processes."""


class Communicator(ABC):
    """Totals over the rows of all processes. A subclass states `gather`, and others if it has a faster way.

    Attributes
    ----------
    size : int
        Number of processes.
    rank : int
        Which of them this is, from 0 on.
    speculative_splits : int
        How many splits of a tree are worth one sum: more, the longer it takes.
    """

    speculative_splits = 1

    def __init__(self, rank: int = 0, size: int = 1, report: Report | None = None) -> None:
        self.rank, self.size, self._report = rank, size, report

    @abstractmethod
    def gather(self, part: Part) -> list[Part]:
        """The processes' parts, small objects, in an order that is the same everywhere."""

    def sum(self, parts: NDArray[Any]) -> NDArray[Any]:
        """Sum of the processes' arrays, of whole numbers or of weights; may be written in place."""
        return total_of(self.gather(parts))

    def max(self, values: tuple[float, ...]) -> tuple[float, ...]:
        """Largest of the processes' numbers, place by place."""
        return tuple(max(column) for column in zip(*self.gather(values), strict=True))

    def exchange(self, parts: list[Part]) -> list[Part]:
        """What each process has for this one: part number ``rank`` of everybody's."""
        return [theirs[self.rank] for theirs in self.gather(parts)]

    def report(self, done: int, of: int, score: float | None) -> None:
        """Let whoever waits for the fit know how far it is."""
        if self._report is not None:
            self._report(done, of, score)

    def stop(self) -> None:  # noqa: B027 (nothing to do by default)
        """Tell everybody that it is over; who is not waiting for others cannot be told."""


class Single(Communicator):
    """One process: its part is the total.

    >>> SINGLE.max((1.0, 2.0)), SINGLE.gather("part")
    ((1.0, 2.0), ['part'])
    """

    def __init__(self, report: Report | None = None) -> None:
        super().__init__(report=report)

    def gather(self, part: Part) -> list[Part]:
        """The only part."""
        return [part]

    def sum(self, parts: NDArray[Any]) -> NDArray[Any]:
        """The array itself."""
        return parts


def total_of(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Sum of arrays, a new one.

    >>> total_of([np.array([1, 2]), np.array([3, 4])])
    array([4, 6])
    """
    total = np.array(parts[0])
    for part in parts[1:]:
        total += part
    return total


SINGLE = Single()


def refuse_if_spread(
    communicator: Communicator,
    asked: Mapping[str, bool],
    instead: str = "leave it out",
    *,
    parts: bool = False,
) -> None:
    """Refuse what needs all rows in one place, if they are spread over processes or read in ``parts``.

    >>> refuse_if_spread(SINGLE, {"groups": True})
    >>> refuse_if_spread(SINGLE, {"groups": True}, parts=True)
    Traceback (most recent call last):
    propriety.communicator.NotDistributable: groups needs all rows in one place, and they are read in parts;
    leave it out, or give a table that is in memory
    """
    if communicator.size == 1 and not parts:
        return
    where = "read in parts" if parts else f"spread over {communicator.size} processes"
    for name, given in asked.items():
        if given:
            raise NotDistributable(
                f"{name} needs all rows in one place, and they are {where}; {instead}, or give a table that "
                "is in memory"
            )
