"""How far a fit over many rows is, in one line."""

from __future__ import annotations

import sys
import time

_WIDTH = 30
_OFTEN = 0.2  # seconds between two drawings


def step_of(model: object) -> str:
    """What a fit takes one after the other: rounds, or the trees of a forest."""
    return "tree" if hasattr(model, "n_estimators") else "round"


class ProgressBar:
    """A line that tells how much of reading, or of boosting, is done, and how long the rest may take."""

    def __init__(self, shown: bool) -> None:
        self._shown, self._began, self._drawn, self._what = shown, time.monotonic(), 0.0, ""
        self._done = -1

    def say(self, text: str) -> None:
        """Write a sentence above the line."""
        if self._shown:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def draw(self, what: str, done: int, of: int, score: float | None = None, *, last: bool = False) -> None:
        """Draw it, if it is the last time or the one before was long enough ago."""
        now = time.monotonic()
        if what != self._what:
            self._began, self._what, self._done = now, what, -1
        if not self._shown or done == self._done or (now - self._drawn < _OFTEN and done < of and not last):
            return
        self._drawn, self._done, seconds = now, done, now - self._began
        filled = min(_WIDTH, _WIDTH * done // max(of, 1))
        left = seconds / max(done, 1) * max(of - done, 0)
        more = "" if score is None else f", validation {score:.5f}"
        bar = "#" * filled + "." * (_WIDTH - filled)
        sys.stderr.write(
            f"\r[{bar}] {what} {done:,}/{of:,}{more}, {seconds:.0f} s, about {left:.0f} s left   "
        )
        sys.stderr.flush()

    def end(self) -> None:
        """Leave the line."""
        if self._shown and self._what:
            sys.stderr.write("\n")
            sys.stderr.flush()
