"""How far long work has come: those who work say it in parts within parts, and whoever listens is told.

>>> def listener(share, text):
...     print(f"{share:.0%} {text}")
>>> with heard_by(listener):
...     for k in range(2):
...         with part(f"fold {k + 1}", k, 2):
...             with part("trees", 1, 2):
...                 pass
0% fold 1
25% fold 1, trees
50% fold 2
75% fold 2, trees
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Told the share that is done and what is being done.
Listener = Callable[[float, str], None]

_listeners: list[Listener] = []


class _Work(threading.local):
    """The parts within parts that a thread is at."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, int, int]] = []


_work = _Work()


@contextmanager
def part(text: str, done: int, of: int) -> Iterator[None]:
    """One of several parts of what is being done, of which some are done already; nobody need listen."""
    _work.parts.append((text, done, of))
    try:
        if _listeners:
            _tell(_listeners[-1])
        yield
    finally:
        _work.parts.pop()


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Let a listener be told of what is done inside."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def is_heard() -> bool:
    """Whether anybody listens.

    >>> is_heard()
    False
    """
    return bool(_listeners)


def _tell(listener: Listener) -> None:
    share, width = 0.0, 1.0
    for _, done, of in _work.parts:
        share, width = share + width * done / of, width / of
    listener(share, ", ".join(text for text, _, _ in _work.parts))
