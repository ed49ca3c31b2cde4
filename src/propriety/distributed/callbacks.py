"""Callbacks of a fit on workers: called where the fit was asked for, after each round and before the next.

A process tells of a round at its `RemoteFollower` and waits; the driver, which looks in, lets the
callbacks answer.
"""

from __future__ import annotations

import pickle
import queue
from collections.abc import Callable
from typing import Any, NamedTuple

from propriety.communicator import Disconnected
from propriety.model.following import Follower

_LOOK = 0.2  # seconds between two looks at whether it is over


class Event(NamedTuple):
    """What whoever follows a fit is told: that it begins, with so many rounds, or that a round is done."""

    kind: str
    number: int


class RemoteFollower:
    """Where a process tells of its rounds: a follower of the fit that passes it on."""

    def __init__(self) -> None:
        self.event: Event | None = None
        self.so_far: Callable[[], dict[str, Any]] = dict
        self._answers: queue.Queue[bool] = queue.Queue()
        self._closed = False

    def _tell(self, event: Event) -> bool:
        self.event = event
        while not self._closed:
            try:
                return self._answers.get(timeout=_LOOK)
            except queue.Empty:
                continue
        raise Disconnected("the fit was told to stop")

    def answer(self, stop: bool) -> None:
        """What the driver says."""
        self.event = None
        self._answers.put(stop)

    def close(self) -> None:
        """Whoever waits for an answer waits no longer."""
        self._closed = True

    def begin(self, rounds: int) -> None:
        """Tell that at most so many rounds follow."""
        self._tell(Event("begin", rounds))

    def after_round(self, number: int, so_far: Callable[[], dict[str, Any]]) -> bool:
        """Tell that a round is done; True if it is to be the last."""
        self.so_far = so_far
        return self._tell(Event("round", number))

    def end(self) -> None:
        """The driver knows."""


def forward(event: Event, worker: Any, follower: Follower) -> None:
    """Let whoever follows the fit answer a worker."""
    stop = False
    if event.kind == "begin":
        follower.begin(event.number)
    else:
        stop = follower.after_round(event.number, lambda: pickle.loads(worker.call("so_far")))
    worker.call("answer", stop)
