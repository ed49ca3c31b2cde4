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
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import memory
from propriety.communicator import Communicator, Disconnected, Part, Report
from propriety.trees import work_queue
from propriety.trees.jit import kernel

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX = "propriety-shared-"
_YOUNG = 60.0  # seconds in which a file that nobody has locked may still be
_opened: dict[str, int] = {}  # the files that this process has made, which are still to be opened by others
_BANKS = 2  # a place is written again only when everybody has read what was in it
_LINE = 8  # numbers of a line of the cache, so that two counters never share one
Bytes = NDArray[np.uint8]
_ALIGNED = 8  # bytes: numbers begin where they can be read at once
_ZEROS = np.zeros(_ALIGNED, dtype=np.uint8)
_NOTHING = np.empty(0, dtype=np.int64)
_HEAD = 2 * _LINE  # numbers before the counters: whether it is over
_SPINS = 200  # looks before a process that waits sleeps: some hundred microseconds
_NAP, _LONG_NAP = 5e-5, 1e-3  # seconds between two looks after that
_LOOK = 0.01  # seconds between two looks at whether the others are alive
_PATIENCE = 600.0  # seconds that a process which is alive may take for its share of the work
_PLACE = 1 << 22  # bytes
_FEW = 1 << 16  # numbers, of all processes together, that everybody adds up alone


@kernel
def _give(mine, place, board, at, count):
    """Put numbers in a place, and tell that they are there."""
    for i in range(mine.size):
        place[i] = mine[i]
    work_queue.put(board, at, count)


@kernel
def _wait(board, first, members, count):
    """Spin until all members have arrived, for a little while; returns who has not, or −1."""
    late = 0
    for _ in range(_SPINS):
        while late < members and work_queue.get(board, first + late * 8) >= count:
            late += 1
        if late == members:
            return -1
        work_queue.breathe()
    return late


@kernel
def _add_up(bank, first, last, total):
    """Sum of what all members have shown at the places first … last−1."""
    for i in range(np.uint64(first), np.uint64(last)):
        total[i] = bank[0, i]
    for member in range(1, bank.shape[0]):
        for i in range(np.uint64(first), np.uint64(last)):
            total[i] += bank[member, i]


def create_segment(members: int) -> str:
    """Make the file that so many processes will share, and return its path; `remove_segment` removes it."""
    folder = "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else None
    _remove_abandoned(Path(folder or tempfile.gettempdir()))
    handle, path = tempfile.mkstemp(prefix=_PREFIX, dir=folder)
    _opened[path] = handle
    try:
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_SH)
        memory.allocate(handle, _bytes(members))  # or the first write would be the end of the process
    except BaseException:
        remove_segment(path)
        raise
    return path


def remove_segment(path: str) -> None:
    """Remove a file that `create_segment` has made in this process; those who have opened it keep it."""
    handle = _opened.pop(path, None)
    if handle is not None:
        with suppress(OSError):
            os.unlink(path)
        os.close(handle)


def _remove_abandoned(folder: Path) -> None:
    """Remove the files of processes that were killed before others had opened them: nobody locks those."""
    if fcntl is None:
        return
    for path in folder.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # of another user, or just gone
            if time.time() - path.stat().st_mtime < _YOUNG:  # perhaps not locked yet
                continue
            with open(path, "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


def _bytes(members: int) -> int:
    return 8 * (_HEAD + members * _LINE) + (members * _BANKS + 1) * _PLACE


class SharedMemory(Communicator):
    """One of several processes of a machine.

    Parameters
    ----------
    path : str
        What `create_segment` has returned.
    rank, size : int
    report : callable, optional
        What is told of the rounds.
    """

    def __init__(self, path: str, rank: int, size: int, report: Report | None = None) -> None:
        super().__init__(rank, size, report)
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
            with suppress(FileNotFoundError):
                os.unlink(path)
            remove_segment(path)

    def stop(self) -> None:
        """Tell everybody that it is over."""
        self._board[0] = 1

    def _meet(self, mine: NDArray[np.int64] = _NOTHING) -> NDArray[np.int64]:
        """Wait for all to come to the same point; returns the places where they show something."""
        # Whoever is here has read what was shown two meetings ago, or it could not have come to the last one.
        bank = self._places[self._count % _BANKS]
        self._count += 1
        _give(mine, bank[self.rank], self._board, _HEAD + self.rank * _LINE, self._count)
        late = _wait(self._board, _HEAD, self.size, self._count)
        if late >= 0:
            self._sleep()
        elif self._board[0]:
            raise Disconnected("the fit was told to stop")
        return bank

    def _sleep(self) -> None:
        """Wait for somebody who takes longer, and look after the others."""
        began = looked = time.monotonic()
        while (late := _wait(self._board, _HEAD, self.size, self._count)) >= 0 and not self._board[0]:
            now = time.monotonic()
            if now - looked > _LOOK:
                looked, pid = now, int(self._board[_HEAD + late * _LINE + 1])
                if pid and not _alive(pid):
                    self.stop()
                    raise Disconnected(f"process {pid} is gone")
                if now - began > _PATIENCE:
                    self.stop()
                    raise Disconnected(f"process {pid} has not come within {_PATIENCE:g} seconds")
            time.sleep(min(_LONG_NAP, max(_NAP, (now - began) / 10)))
        if self._board[0]:
            raise Disconnected("the fit was told to stop")

    def _shown(self, mine: NDArray[Any]) -> NDArray[Any]:
        """What everybody shows, one row each; at most as much as a place holds."""
        return self._meet(mine.view(np.int64))[:, : len(mine)].view(mine.dtype)

    def sum(self, parts: NDArray[Any]) -> NDArray[Any]:
        """Sum of the processes' arrays."""
        flat = np.ascontiguousarray(parts).ravel()
        total = np.empty_like(flat)
        for start in range(0, max(len(flat), 1), _PLACE // 8):
            self._sum(flat[start : start + _PLACE // 8], total[start : start + _PLACE // 8])
        return total.reshape(np.shape(parts))

    def _sum(self, piece: NDArray[Any], total: NDArray[Any]) -> None:
        """Sum of the processes' arrays that fit in a place; of long ones each adds up one part for all."""
        n, bank = len(piece), self._meet(piece.view(np.int64)).view(piece.dtype)
        if n * self.size <= _FEW:
            _add_up(bank, 0, n, total)
            return
        everyone, each = self._total[:n].view(piece.dtype), -(-n // self.size)
        _add_up(bank, min(n, self.rank * each), min(n, (self.rank + 1) * each), everyone)
        self._meet()
        total[:] = everyone

    def max(self, values: tuple[float, ...]) -> tuple[float, ...]:
        """Largest of the processes' numbers, place by place."""
        found: list[float] = []
        for start in range(0, len(values), _PLACE // 8):
            shown = self._shown(np.array(values[start : start + _PLACE // 8], dtype=np.float64))
            found += shown.max(axis=0).tolist()
        return tuple(found)

    def gather(self, part: Part) -> list[Part]:
        """The processes' parts, in the order of their ranks."""
        mine = _flat(part)
        lengths = self._shown(np.array([_length(mine)]))[:, 0].tolist()
        parts = self._read(mine, [0] * self.size, lengths, max(lengths))
        return [part if rank == self.rank else _part_of(parts[rank]) for rank in range(self.size)]

    def exchange(self, parts: list[Part]) -> list[Part]:
        """What each process has for this one."""
        empty = np.empty(0, dtype=np.uint8)
        mine = [[empty] if rank == self.rank else _flat(part) for rank, part in enumerate(parts)]
        lengths = self._shown(np.array([_length(pieces) for pieces in mine])).copy()
        ends = lengths.cumsum(axis=1)
        stops = ends[:, self.rank]
        starts = stops - lengths[:, self.rank]
        pieces = [piece for part in mine for piece in part]
        read = self._read(pieces, starts.tolist(), stops.tolist(), int(ends[:, -1].max()))
        return [parts[rank] if rank == self.rank else _part_of(read[rank]) for rank in range(self.size)]

    def _read(self, mine: list[Bytes], starts: list[int], stops: list[int], longest: int) -> list[Bytes]:
        """Show bytes, place by place, and read what of the others' lies between start and stop."""
        found = [np.empty(stop - start, dtype=np.uint8) for start, stop in zip(starts, stops, strict=True)]
        for first in range(0, longest, _PLACE):
            _copy(mine, first, self._places[self._count % _BANKS, self.rank].view(np.uint8))
            shown = self._meet().view(np.uint8)
            for rank, (start, stop) in enumerate(zip(starts, stops, strict=True)):
                begin, end = max(start, first), min(stop, first + _PLACE)
                if begin < end and rank != self.rank:
                    found[rank][begin - start : end - start] = shown[rank, begin - first : end - first]
        return found


def _flat(part: Any) -> list[Bytes]:
    """A part as bytes: how long its pieces are, its pickle, and the arrays in it as they lie in memory."""
    arrays: list[pickle.PickleBuffer] = []
    content = pickle.dumps(part, protocol=5, buffer_callback=arrays.append)
    pieces = [memoryview(content), *(array.raw() for array in arrays)]
    flat = [np.array([len(pieces), *map(len, pieces)]).view(np.uint8)]
    for piece in pieces:
        flat += [np.frombuffer(piece, dtype=np.uint8), _ZEROS[: -len(piece) % _ALIGNED]]
    return flat


def _part_of(flat: Bytes) -> Any:
    """The part again; its arrays are not copied."""
    n = int(flat[:8].view(np.int64)[0])
    start, pieces = 8 * (n + 1), []
    for length in flat[8:start].view(np.int64).tolist():
        pieces.append(flat[start : start + length].data)
        start += length + -length % _ALIGNED
    return pickle.loads(pieces[0], buffers=pieces[1:])


def _length(pieces: list[Bytes]) -> int:
    return sum(map(len, pieces))


def _copy(pieces: list[Bytes], first: int, place: Bytes) -> None:
    """Copy what there is in a place's length of bytes, from the byte ``first`` on."""
    start = -first
    for piece in pieces:
        begin, end = max(start, 0), min(start + len(piece), len(place))
        if begin < end:
            place[begin:end] = piece[begin - start : end - start]
        start += len(piece)


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
