"""Totals of processes on one machine, over memory that they share.

A sum takes some microseconds, where a message between processes takes milliseconds. The processes map one
file; each has a place there for what it gives, and a counter of what it has given. The file has no name any
more when all have opened it, so that nothing is left of it when they end, however they end.

A process that waits looks after the others: one that is gone is noticed at once, by its number.
"""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.collective import Part, Parted
from propriety.engine import team
from propriety.engine.compiling import kernel

_BANKS = 2  # a place is written again only when everybody has read what was in it
_LINE = 8  # numbers of a line of the cache, so that two counters never share one
_HEAD = 2 * _LINE  # numbers before the counters: whether it is over
_SPINS = 20_000
_PATIENCE = 600.0  # seconds that a process which is alive may take for its share of the work
_PLACE = 1 << 22  # bytes
_FEW = 1 << 12  # numbers that everybody adds up alone


@kernel
def _arrive(board, at, count):
    team.put(board, at, count)


@kernel
def _wait(board, first, members, count, spins):
    """Spin until all members have arrived, at most so many times; returns who has not, or −1."""
    late = 0
    for _ in range(spins):
        while late < members and team.get(board, first + late * 8) >= count:
            late += 1
        if late == members:
            return -1
        team.breathe()
    return late


def open_place(members: int) -> str:
    """Make the file that so many processes will share, and return its path; the last to join removes it."""
    folder = "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else None
    handle, path = tempfile.mkstemp(prefix="propriety-", dir=folder)
    try:
        os.posix_fallocate(handle, 0, _bytes(members))  # or the first write would be the end of the process
    finally:
        os.close(handle)
    return path


def _bytes(members: int) -> int:
    return 8 * (_HEAD + members * _LINE) + (members * _BANKS + 1) * _PLACE


class Host:
    """One of several processes of a machine.

    Parameters
    ----------
    path : str
        What `open_place` has returned.
    rank, size : int
    told : callable, optional
        What `tell` calls.
    """

    ahead = 1

    def __init__(
        self, path: str, rank: int, size: int, told: Callable[[int, int, float | None], None] | None = None
    ) -> None:
        self.rank, self.size, self._told = rank, size, told
        with open(path, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _bytes(size))
        numbers = np.frombuffer(self._memory, dtype=np.int64)
        self._board = numbers[: _HEAD + size * _LINE]
        places = numbers[len(self._board) :].reshape(-1, _PLACE // 8)
        self._places, self._total = places[:-1].reshape(_BANKS, size, -1), places[-1]
        self._count = 0
        self._board[_HEAD + rank * _LINE + 1] = os.getpid()
        self._meet()
        if rank == 0:
            os.unlink(path)

    def stop(self) -> None:
        """Tell everybody that it is over."""
        self._board[0] = 1

    def _meet(self) -> None:
        """Wait for all to come to the same point."""
        self._count += 1
        _arrive(self._board, _HEAD + self.rank * _LINE, self._count)
        began = time.monotonic()
        while True:
            late = _wait(self._board, _HEAD, self.size, self._count, _SPINS)
            if self._board[0]:
                raise Parted("the fit was told to stop")
            if late < 0:
                return
            pid = int(self._board[_HEAD + late * _LINE + 1])
            if pid and not _alive(pid):
                self.stop()
                raise Parted(f"process {pid} is gone")
            waited = time.monotonic() - began
            if waited > _PATIENCE:
                self.stop()
                raise Parted(f"process {pid} has not come within {_PATIENCE:g} seconds")
            if waited > 1e-3:
                time.sleep(min(1e-3, waited / 100))

    def _shown(self, mine: NDArray[Any]) -> NDArray[Any]:
        """What everybody shows, one row each; at most as much as a place holds."""
        bank, n = self._places[self._count % _BANKS], len(mine)
        bank[self.rank, :n] = mine.view(np.int64)
        self._meet()
        return bank[:, :n].view(mine.dtype)

    def sum(self, parts: NDArray[Any]) -> NDArray[Any]:
        """Sum of the processes' arrays."""
        flat = np.ascontiguousarray(parts).ravel()
        total = np.empty_like(flat)
        for start in range(0, max(len(flat), 1), _PLACE // 8):
            piece = flat[start : start + _PLACE // 8]
            shown = self._shown(piece)
            if len(piece) <= _FEW or self.size == 1:
                total[start : start + len(piece)] = shown.sum(axis=0)
                continue
            # Each adds up one part of it for all.
            ends = np.linspace(0, len(piece), self.size + 1).astype(int)
            own, everyone = (
                slice(*ends[self.rank : self.rank + 2]),
                self._total[: len(piece)].view(flat.dtype),
            )
            shown[:, own].sum(axis=0, out=everyone[own])
            self._meet()
            total[start : start + len(piece)] = everyone
            self._meet()
        return total.reshape(np.shape(parts))

    def max(self, tops: tuple[float, ...]) -> tuple[float, ...]:
        """Largest of the processes' numbers, place by place."""
        found: list[float] = []
        for start in range(0, len(tops), _PLACE // 8):
            shown = self._shown(np.array(tops[start : start + _PLACE // 8], dtype=np.float64))
            found += shown.max(axis=0).tolist()
        return tuple(found)

    def gather(self, part: Part) -> list[Part]:
        """The processes' parts, in the order of their ranks."""
        mine = pickle.dumps(part, protocol=pickle.HIGHEST_PROTOCOL)
        lengths = self._shown(np.array([len(mine)]))[:, 0].copy()
        pieces: list[list[bytes]] = [[] for _ in range(self.size)]
        for start in range(0, int(lengths.max()), _PLACE):
            piece = np.zeros(-(-min(_PLACE, int(lengths.max()) - start) // 8), dtype=np.int64)
            own = mine[start : start + _PLACE]
            piece.view(np.uint8)[: len(own)] = np.frombuffer(own, dtype=np.uint8)
            shown = self._shown(piece).view(np.uint8)
            for rank, length in enumerate(lengths.tolist()):
                pieces[rank].append(shown[rank, : max(0, min(_PLACE, length - start))].tobytes())
        return [pickle.loads(b"".join(bytes_)) for bytes_ in pieces]

    def tell(self, done: int, of: int, score: float | None) -> None:
        """Pass it on."""
        if self._told is not None:
            self._told(done, of, score)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _zombie(pid)


def _zombie(pid: int) -> bool:
    """Whether a process has ended and its parent has not asked for it yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False
