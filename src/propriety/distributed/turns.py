"""Totals of threads of one process, one of which works at a time: for rows that do not fit in memory at once.

Each thread has its own rows, in files; where they meet, the next one goes on. So at any time the rows of one
thread are in memory, whatever their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Condition, Thread
from typing import Any, TypeVar

from propriety.communicator import Communicator, Disconnected, Part, Report

Result = TypeVar("Result")


class Turns:
    """Threads that take turns: one works until it needs a total, then the next one."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._turn, self._round = 0, 0
        self._parts: list[Any] = [None] * size
        self._everyone: list[Any] = []
        self._changed = Condition()
        self.error: BaseException | None = None
        self._left = 0

    def fail(self, error: BaseException) -> None:
        """Send everybody home."""
        with self._changed:
            self.error = self.error or error
            self._changed.notify_all()

    def wait_for_turn(self, rank: int) -> None:
        """Wait until the others have done their part."""
        with self._changed:
            self._changed.wait_for(lambda: self._turn == rank or self.error is not None)
            if self.error is not None:
                raise Disconnected("another part of the rows has failed") from self.error

    def show(self, rank: int, part: Any) -> list[Any]:
        """Show a part, let the others work, and return the parts of all."""
        with self._changed:
            self._parts[rank] = part
            if self._left:
                self.error = self.error or RuntimeError("one thread asks for a total, and another has done")
            if rank == self.size - 1:
                self._everyone, self._parts = self._parts, [None] * self.size
            self._next(rank)
            self._changed.wait_for(lambda: self._turn == rank or self.error is not None)
            if self.error is not None:
                raise Disconnected("another part of the rows has failed") from self.error
            return self._everyone

    def leave(self, rank: int) -> None:
        """Let the next one work; this one has done."""
        with self._changed:
            self._left += 1
            self._next(rank)

    def _next(self, rank: int) -> None:
        self._turn = (rank + 1) % self.size
        self._changed.notify_all()


class TurnTaking(Communicator):
    """One of the threads that take turns; ``rest`` is called before it waits for the others."""

    speculative_splits = 4

    def __init__(
        self,
        turns: Turns,
        rank: int,
        report: Report | None = None,
        rest: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(rank, turns.size, report)
        self._turns, self._rest = turns, rest

    def gather(self, part: Part) -> list[Part]:
        """The threads' parts, in the order of their ranks."""
        if self._rest is not None:
            self._rest()
        return self._turns.show(self.rank, part)


def take_turns(tasks: Sequence[Callable[[TurnTaking], Result]], **options: Any) -> list[Result]:
    """Run the tasks as members of one `Turns`; returns what they return.

    The first error is raised when all have ended.

    >>> take_turns([lambda member: member.max((float(rank),)) for rank in range(3)])
    [(2.0,), (2.0,), (2.0,)]
    """
    turns = Turns(len(tasks))
    results: list[Any] = [None] * len(tasks)
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            turns.wait_for_turn(rank)
            results[rank] = tasks[rank](TurnTaking(turns, rank, **options))
            turns.leave(rank)
        except BaseException as error:
            errors.append(error)
            turns.fail(error)

    threads = [Thread(target=run, args=(rank,), daemon=True) for rank in range(len(tasks))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt as interrupt:
        turns.fail(interrupt)
        for thread in threads:
            thread.join()
        raise
    if errors:
        raise next((e for e in errors if not isinstance(e, Disconnected)), turns.error or errors[0])
    return results
