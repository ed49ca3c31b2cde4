"""Totals of processes on several machines, over a tree of them.

A process adds what the few below it send to its own part, sends that up, and hands the answer down. So no
machine carries more than the parts of its neighbours, whatever their number, and whoever drives the fit
carries none. How a part gets from one process to another is not known here.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.communicator import Communicator, Disconnected, Part, total_of

#: How many processes send their parts to one.
FAN_IN = 4
_LOOK = 0.2  # seconds between two looks at whether it is over
_PATIENCE = 600.0  # seconds that a process may take for its share of the work
Send = Callable[[int, str, Any], "Future[Any]"]


def parent(k: int) -> int:
    """The process to which process ``k`` > 0 sends its part.

    >>> [parent(k) for k in (1, 4, 5, 20)]
    [0, 0, 1, 4]
    """
    return (k - 1) // FAN_IN


def n_children(k: int, size: int) -> int:
    """How many of ``size`` processes send their parts to process ``k``.

    >>> [n_children(k, 7) for k in range(7)]
    [4, 2, 0, 0, 0, 0, 0]
    """
    return max(0, min(size - 1, FAN_IN * k + FAN_IN) - FAN_IN * k)


class TreeAllreduce(Communicator):
    """One process of a tree.

    Parameters
    ----------
    rank, size : int
    """

    speculative_splits = 8

    def __init__(self, rank: int, size: int) -> None:
        super().__init__(rank, size)
        self._send: Send | None = None
        self._received: queue.Queue[tuple[int, str, Any, Future[Any]]] = queue.Queue()
        self._lock, self._over = Lock(), False
        self._open: set[Future[Any]] = set()

    def join(self, send: Send | None) -> None:
        """Take the way to the process above; the first has none."""
        self._send = send

    def stop(self) -> None:
        """Nobody waits any longer."""
        with self._lock:
            self._over, waiting, self._open = True, self._open, set()
        for answer in waiting:
            answer.set_exception(Disconnected("the fit was told to stop"))

    def receive(self, rank: int, kind: str, part: Any) -> Future[Any]:
        """Take the part of a process below, and return where its answer will be."""
        answer: Future[Any] = Future()
        with self._lock:
            if self._over:
                answer.set_exception(Disconnected("the fit was told to stop"))
                return answer
            self._open.add(answer)
        self._received.put((rank, kind, part, answer))
        return answer

    def _ask(self, kind: str, part: Any) -> Any:
        end = time.monotonic() + _PATIENCE
        parts, answers = {self.rank: part}, []
        for _ in range(n_children(self.rank, self.size)):
            rank, asked, other, answer = self._waited(
                lambda: self._received.get(timeout=_LOOK), queue.Empty, end
            )
            if asked != kind:
                raise RuntimeError(f"processes {self.rank} and {rank} ask for a {kind} and a {asked} at once")
            parts[rank] = other
            answers.append(answer)
        each = [parts[rank] for rank in sorted(parts)]
        total = total_of(each) if kind == "sum" else [pair for part in each for pair in part]
        if self._send is not None:
            try:
                sent = self._send(self.rank, kind, total)
                total = self._waited(lambda: sent.result(timeout=_LOOK), TimeoutError, end)
            except (OSError, EOFError) as error:
                raise Disconnected(f"process {parent(self.rank)} is gone: {error}") from None
        with self._lock:
            answers = [answer for answer in answers if answer in self._open]
            self._open.difference_update(answers)
        for answer in answers:
            answer.set_result(total)
        return total

    def _waited(self, ask: Callable[[], Any], late: type[Exception], end: float) -> Any:
        """Ask until there is an answer, it is over, or patience is."""
        while not self._over:
            try:
                return ask()
            except late:
                if time.monotonic() > end:
                    raise Disconnected(
                        f"other processes have not come within {_PATIENCE:g} seconds"
                    ) from None
        raise Disconnected("the fit was told to stop")

    def sum(self, parts: NDArray[Any]) -> NDArray[Any]:
        """Sum of the processes' arrays."""
        return np.array(self._ask("sum", parts))  # a copy: the answer is still on its way to others

    def gather(self, part: Part) -> list[Part]:
        """The processes' parts, in the order of their ranks."""
        return [own for _, own in sorted(self._ask("gather", [(self.rank, part)]), key=lambda pair: pair[0])]


class Hierarchical(Communicator):
    """Processes of several machines: those of a machine come together first, and one speaks for them.

    Parameters
    ----------
    inner : Communicator
        Of the machine.
    outer : Communicator or None
        Of the machines; None for processes that do not speak.
    rank, size : int
        Of all processes.
    """

    speculative_splits = TreeAllreduce.speculative_splits

    def __init__(self, inner: Communicator, outer: TreeAllreduce | None, rank: int, size: int) -> None:
        super().__init__(rank, size, inner.report)
        self._inner, self._outer = inner, outer

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

    def gather(self, part: Part) -> list[Part]:
        """The processes' parts, machine by machine."""
        own = self._inner.gather(part)
        everyone = self._through(lambda outer: outer.gather(own))
        return [part for machine in everyone for part in machine]
