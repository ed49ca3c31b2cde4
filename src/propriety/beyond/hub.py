"""Totals of processes on several machines, over whoever drives them.

A process *asks* for a total and waits; the driver collects what all have asked, answers everybody the same,
and looks for the next questions. So a total is one round trip, and there are no ports but the driver's own.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.collective import Part, Parted

_LOOK = 0.2  # seconds between two looks at whether it is over


class Post:
    """One of several processes that a driver answers.

    Parameters
    ----------
    rank, size : int
    """

    ahead = 4

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.asked: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._answers: queue.Queue[Any] = queue.Queue()
        self._over = False

    def stop(self) -> None:
        """Whoever waits for an answer waits no longer."""
        self._over = True

    def answer(self, total: Any) -> None:
        """What the driver says."""
        self._answers.put(total)

    def _ask(self, kind: str, part: Any) -> Any:
        self.asked.put((kind, part))
        while not self._over:
            try:
                return self._answers.get(timeout=_LOOK)
            except queue.Empty:
                continue
        raise Parted("the fit was told to stop")

    def sum(self, parts: NDArray[Any]) -> NDArray[Any]:
        """Sum of the processes' arrays."""
        return self._ask("sum", parts)

    def max(self, tops: tuple[float, ...]) -> tuple[float, ...]:
        """Largest of the processes' numbers, place by place."""
        return self._ask("max", tops)

    def gather(self, part: Part) -> list[Part]:
        """The processes' parts, in the order of their ranks."""
        return self._ask("gather", part)

    def tell(self, done: int, of: int, score: float | None) -> None:
        """The driver looks at the stations for that."""


def combined(kind: str, parts: Sequence[Any]) -> Any:
    """The answer to what all have asked.

    >>> combined("sum", [np.array([1, 2]), np.array([3, 4])]), combined("max", [(1.0,), (2.0,)])
    (array([4, 6]), (2.0,))
    """
    if kind == "sum":
        total = np.array(parts[0])
        for part in parts[1:]:
            total += part
        return total
    if kind == "max":
        return tuple(max(column) for column in zip(*parts, strict=True))
    return list(parts)


class Nested:
    """Processes of several machines: those of a machine come together first, and one speaks for them.

    Parameters
    ----------
    inner : Collective
        Of the machine.
    outer : Collective or None
        Of the machines; None for processes that do not speak.
    rank, size : int
        Of all processes.
    """

    ahead = 4

    def __init__(self, inner: Any, outer: Post | None, rank: int, size: int) -> None:
        self._inner, self._outer, self.rank, self.size = inner, outer, rank, size

    def stop(self) -> None:
        """Tell everybody that it is over."""
        self._inner.stop()
        if self._outer is not None:
            self._outer.stop()

    def _through(self, ask: Callable[[Any], Any]) -> Any:
        """What the speaker is answered, for all processes of the machine."""
        return self._inner.gather(None if self._outer is None else ask(self._outer))[0]

    def sum(self, parts: NDArray[Any]) -> NDArray[Any]:
        """Sum of the processes' arrays."""
        part = self._inner.sum(parts)
        return self._through(lambda outer: outer.sum(part))

    def max(self, tops: tuple[float, ...]) -> tuple[float, ...]:
        """Largest of the processes' numbers, place by place."""
        part = self._inner.max(tops)
        return self._through(lambda outer: outer.max(part))

    def gather(self, part: Part) -> list[Part]:
        """The processes' parts, machine by machine."""
        own = self._inner.gather(part)
        everyone = self._through(lambda outer: outer.gather(own))
        return [part for machine in everyone for part in machine]

    def tell(self, done: int, of: int, score: float | None) -> None:
        """Pass it on."""
        self._inner.tell(done, of, score)
