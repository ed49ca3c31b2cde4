"""Where a process does its part of a fit, and whoever drives it looks in."""

from __future__ import annotations

import os
import pickle
import queue
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any

import numpy as np

from propriety.beyond.following import Event, Window
from propriety.beyond.host import Host, open_place
from propriety.beyond.hub import Nested, Post
from propriety.collective import ALONE, Collective, Parted
from propriety.data.table import Stacked

_LOOK = 0.02
#: What an estimator has while it is fitted, and not afterwards.
_OF_THE_FIT = ("_collective", "_known_rounds", "_known_classes", "_followed", "_follower")


@dataclass(frozen=True)
class Place:
    """A process's place among those that fit together.

    Attributes
    ----------
    rank, size : int
        Of all processes.
    machine : int
        Number of its machine.
    machines : int
        Number of machines.
    here, together : int
        Its rank on its machine, and the number of processes there.
    path : str
        The memory that these share.
    """

    rank: int
    size: int
    machine: int
    machines: int
    here: int
    together: int
    path: str


@dataclass(frozen=True)
class News:
    """What the driver learns when it looks in.

    Attributes
    ----------
    state : {"working", "asking", "done", "parted", "failed"}
    asked : what it wants a total of
    done, of, score : the rounds so far, of how many, and the score of the last
    event : what whoever follows the rounds is to be told, and to answer
    """

    state: str
    asked: tuple[str, Any] | None = None
    done: int = 0
    of: int = 0
    score: float | None = None
    event: Event | None = None


class Station:
    """Holds the rows of one process and fits a model to them, together with the others."""

    def __init__(self, worker: Any = None) -> None:
        self._worker = worker
        self._thread: Thread | None = None
        self._collective: Any = ALONE
        self._post: Post | None = None
        self._progress: tuple[int, int, float | None] = (0, 0, None)
        self._state, self._result = "working", b""
        self._rows: list[tuple[Any, Any, dict[str, Any]]] = []
        self._window = Window()

    def machine(self) -> tuple[str, ...]:
        """What processes have in common that can share memory and see each other's numbers."""
        marks = [socket.gethostname(), str(os.getuid()) if hasattr(os, "getuid") else ""]
        with suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            marks.append(file.read().strip())
        with suppress(OSError):
            marks.append(os.readlink("/proc/self/ns/pid"))
        return tuple(marks)

    def take(self, rows: list[tuple[Any, Any, dict[str, Any]]]) -> int:
        """Hold these rows, and say how many there are."""
        self._rows = [part for part in rows if part[0].shape[0]]
        return sum(part[0].shape[0] for part in self._rows)

    def open(self, together: int) -> str:
        """Make the memory that the processes of this machine will share."""
        return open_place(together)

    def begin(self, model: bytes, place: Place, extra: dict[str, Any]) -> None:
        """Start to fit, and return at once."""
        if place.machines > 1 and place.here == 0:
            self._post = Post(place.machine, place.machines)
        self._thread = Thread(target=self._run, args=(model, place, extra), daemon=True)
        self._thread.start()

    def _join(self, place: Place) -> Collective:
        if place.size == 1:
            return _Told(self._tell)
        host = Host(place.path, place.here, place.together, self._tell)
        self._collective = host if place.machines == 1 else Nested(host, self._post, place.rank, place.size)
        return self._collective

    def _tell(self, done: int, of: int, score: float | None) -> None:
        self._progress = done, of, score

    def _run(self, model: bytes, place: Place, extra: dict[str, Any]) -> None:
        estimator = pickle.loads(model)
        try:
            estimator._collective = self._join(place)
            if place.rank == 0 and getattr(estimator, "_followed", False):
                estimator._follower = self._window
            X = self._rows[0][0] if len(self._rows) == 1 else Stacked([part[0] for part in self._rows])
            y = np.concatenate([part[1] for part in self._rows])
            given = {
                name: np.concatenate([part[2][name] for part in self._rows]) for name in self._rows[0][2]
            }
            estimator.fit(X, y, **given, **extra)
            state = "done"
        except Parted:
            state = "parted"
        except BaseException as error:
            self._result = pickle.dumps(_portable(error))
            self.stop()
            self._state = "failed"
            return
        finally:
            self._rows = []
        # Everybody has the same model: the first one's is enough; of one that was broken off, the longest is.
        own = {*estimator.get_params(deep=False), *_OF_THE_FIT}
        learned = {name: value for name, value in vars(estimator).items() if name not in own}
        if state == "parted" or place.rank == 0:
            self._result = pickle.dumps(learned)
        self._state = state

    def stop(self) -> None:
        """Break off, here and, where it can be told, in the others."""
        self._window.close()
        if self._collective is not ALONE:
            self._collective.stop()

    def look(self, answer: Any, patience: float) -> News:
        """Take the answer to what was asked, wait a little for the next question, and pass it on."""
        assert self._post is not None, "only a speaker is asked for its questions"
        if answer is not None:
            self._post.answer(answer[0])
        end = time.monotonic() + patience
        while True:
            with suppress(queue.Empty):
                return News("asking", self._post.asked.get(timeout=_LOOK), *self._progress)
            if self._state != "working" or self._window.event or time.monotonic() > end:
                return News(self._state, None, *self._progress, self._window.event)

    def state(self, patience: float) -> News:
        """How far it is, after a little while if it is still working."""
        end = time.monotonic() + patience
        while self._state == "working" and not self._window.event and time.monotonic() < end:
            time.sleep(_LOOK)
        return News(self._state, None, *self._progress, self._window.event)

    def so_far(self) -> bytes:
        """The attributes of the model after the round that was told of, pickled."""
        return pickle.dumps(self._window.so_far())

    def answer(self, stop: bool) -> None:
        """Say what whoever follows the rounds has said."""
        self._window.answer(stop)

    def result(self) -> bytes:
        """What was learned, or the error, pickled."""
        return self._result


class _Told:
    """One process alone, whose driver wants to know how far it is."""

    size, rank, ahead = 1, 0, 1
    sum, max, gather = ALONE.sum, ALONE.max, ALONE.gather

    def __init__(self, told: Any) -> None:
        self.tell = told

    def stop(self) -> None:
        """It cannot be told: what it does is done soon enough."""


def _portable(error: BaseException) -> BaseException:
    """The error, or its words if it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
