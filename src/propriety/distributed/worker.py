"""Where a process does its part of a fit, and whoever drives it looks in."""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any
from weakref import finalize

import numpy as np

from propriety.communicator import Communicator, Disconnected, Single
from propriety.data.table import Stacked
from propriety.distributed.callbacks import Event, RemoteFollower
from propriety.distributed.shared_memory import SharedMemory, create_segment, remove_segment
from propriety.distributed.tree_allreduce import Hierarchical, Send, TreeAllreduce
from propriety.model.fit_context import ATTRIBUTE as FIT_CONTEXT
from propriety.model.fit_context import in_context

_LOOK = 0.02
_UNWATCHED = 600.0  # seconds after which a fit that nobody looks at ends


@dataclass(frozen=True)
class Placement:
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
    above : object
        Where the process is that it sends its parts to, if it speaks for a machine that is not the first.
    followed : bool
        Whether the driver is to be told of each round, and answers.
    """

    rank: int
    size: int
    machine: int
    machines: int
    here: int
    together: int
    path: str
    above: Any = None
    followed: bool = False


@dataclass(frozen=True)
class Status:
    """What the driver learns when it looks in.

    Attributes
    ----------
    state : {"working", "done", "parted", "failed"}
    done, of, score : the rounds so far, of how many, and the score of the last
    event : what whoever follows the rounds is to be told, and to answer
    """

    state: str
    done: int = 0
    of: int = 0
    score: float | None = None
    event: Event | None = None


#: Features, labels, and what else is given by row.
PartOfRows = tuple[Any, Any, dict[str, Any]]


class Worker(ABC):
    """Holds the rows of one process and fits a model to them, together with the others."""

    def __init__(self, worker: Any = None) -> None:
        self._worker = worker
        self._thread: Thread | None = None
        self._communicator: Communicator = Single()
        self._relay: TreeAllreduce | None = None
        self._looked = time.monotonic()
        self._progress: tuple[int, int, float | None] = (0, 0, None)
        self._state, self._result = "working", b""
        self._rows: list[PartOfRows] = []
        self._remote_follower = RemoteFollower()

    def machine(self) -> tuple[str, ...]:
        """What processes have in common that can share memory and see each other's numbers."""
        marks = [socket.gethostname(), str(os.getuid()) if hasattr(os, "getuid") else ""]
        with suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            marks.append(file.read().strip())
        with suppress(OSError):
            marks.append(os.readlink("/proc/self/ns/pid"))
        return tuple(marks)

    def take(self, rows: list[PartOfRows]) -> int:
        """Hold these rows, and say how many there are."""
        self._rows = [part for part in rows if part[0].shape[0]]
        return sum(part[0].shape[0] for part in self._rows)

    def open(self, together: int, machine: int, machines: int) -> str:
        """Make the memory that the processes of this machine will share, and speak for them to others."""
        if machines > 1:
            self._relay = TreeAllreduce(machine, machines)
        elif together == 1:  # who is alone shares nothing
            return ""
        path = create_segment(together)
        finalize(self, remove_segment, path)  # where the fit never begins
        return path

    def begin(self, model: bytes, place: Placement, extra: dict[str, Any]) -> None:
        """Start to fit, and return at once."""
        if self._relay is not None:
            self._relay.join(None if place.above is None else self.way_to(place.above))
        self._looked = time.monotonic()
        self._thread = Thread(target=self._run, args=(model, place, extra), daemon=True)
        self._thread.start()

    @abstractmethod
    def way_to(self, where: Any) -> Send:
        """How parts get to `take_in` of another worker."""

    async def take_in(self, rank: int, kind: str, part: Any) -> Any:
        """Take the part of a machine below; returns the total when it is there."""
        assert self._relay is not None, "only those that speak for a machine are sent parts"
        return await asyncio.wrap_future(self._relay.receive(rank, kind, part))

    def _join(self, place: Placement) -> Communicator:
        if place.size == 1:
            return Single(self._tell)
        shared = SharedMemory(place.path, place.here, place.together, self._tell)
        self._communicator = (
            shared if place.machines == 1 else Hierarchical(shared, self._relay, place.rank, place.size)
        )
        return self._communicator

    def _tell(self, done: int, of: int, score: float | None) -> None:
        self._progress = done, of, score
        if time.monotonic() - self._looked > _UNWATCHED:
            raise Disconnected("nobody has looked at the fit for a long time")

    def _run(self, model: bytes, place: Placement, extra: dict[str, Any]) -> None:
        try:
            estimator = pickle.loads(model)
            follower = self._remote_follower if place.followed and place.rank == 0 else None
            in_context(estimator, communicator=self._join(place), follower=follower)
            X, y, given = joined(self._rows)
            estimator.fit(X, y, **given, **extra)
            state = "done"
        except Disconnected:
            state = "parted"
        except BaseException as error:
            self._result = pickle.dumps(_portable(error))
            self.stop()
            self._state = "failed"
            return
        finally:
            self._rows = []
        # Everybody has the same model: the first one's is enough; of one that was broken off, the longest is.
        own = {*estimator.get_params(deep=False), FIT_CONTEXT}
        learned = {name: value for name, value in vars(estimator).items() if name not in own}
        if state == "parted" or place.rank == 0:
            self._result = pickle.dumps(learned)
        self._state = state

    def stop(self) -> None:
        """Break off, here and, where it can be told, in the others."""
        self._remote_follower.close()
        self._communicator.stop()

    def state(self, patience: float) -> Status:
        """How far it is, after a little while if it is still working."""
        self._looked = time.monotonic()
        end = self._looked + patience
        while self._state == "working" and not self._remote_follower.event and time.monotonic() < end:
            time.sleep(_LOOK)
        return Status(self._state, *self._progress, self._remote_follower.event)

    def so_far(self) -> bytes:
        """The attributes of the model after the round that was told of, pickled."""
        return pickle.dumps(self._remote_follower.so_far())

    def answer(self, stop: bool) -> None:
        """Say what whoever follows the rounds has said."""
        self._remote_follower.answer(stop)

    def result(self) -> bytes:
        """What was learned, or the error, pickled."""
        return self._result


def joined(parts: Sequence[PartOfRows]) -> PartOfRows:
    """The rows of several partitions; their tables stay where they are."""
    parts = [part for part in parts if part[0].shape[0]] or parts[:1]
    X = parts[0][0] if len(parts) == 1 else Stacked([part[0] for part in parts])
    y = np.concatenate([part[1] for part in parts])
    return X, y, {name: np.concatenate([part[2][name] for part in parts]) for name in parts[0][2]}


def _portable(error: BaseException) -> BaseException:
    """The error, or its words if it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
