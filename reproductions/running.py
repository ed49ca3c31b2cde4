"""Running experiments: what is done is kept, so that a second run goes on; how long the rest takes."""

from __future__ import annotations

import json
import math
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from propriety import parallel
from reproductions import registry
from reproductions.data import Data, MissingData
from reproductions.experiment import CANNOT_BE, Experiment, Outcome, Verdict
from reproductions.fingerprint import fingerprint, plain, read_code

T = TypeVar("T")
FULL, QUICK, TOY = SIZES = ("full", "quick", "toy")
#: Share of a full run's time that others take, about.
_SHARE = {FULL: 1.0, QUICK: 0.1, TOY: 0.01}
_TOLD = 30.0  # seconds after which it can be told how much slower or faster than stated things are
ADOPTED = 3  # items of a part that are run again before results of other code are used


class OtherNumbers(Exception):
    """Results that other code kept are not those of the code as it is."""


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    experiment: str
    number: int  # of this experiment, from 1
    total: int
    part: str
    done: int  # items of this part
    items: int
    seconds_left: float | None

    def __str__(self) -> str:
        where = f"{self.experiment} ({self.number} of {self.total})"
        what = f", {self.part} {self.done} of {self.items}" if self.part else ""
        return f"{where}{what}{remaining(self.seconds_left)}"


def remaining(seconds: float | None) -> str:
    """Time left, in words.

    >>> remaining(30.0), remaining(200.0), remaining(None)
    (', less than a minute left', ', about 4 minutes left', '')
    """
    if seconds is None:
        return ""
    if seconds < 60:
        return ", less than a minute left"
    return f", about {int(np.ceil(seconds / 60))} minutes left"


@dataclass
class Context:
    """What an experiment may use: data, a size, and `map`, which keeps the result of every item.

    Parameters
    ----------
    data : Data
    size : {"full", "quick", "toy"}
        "toy" is for tests: everything runs, nothing is learned.
    store : Store, optional
        Where results are kept; for this run alone if not given.
    pool : executor, optional
        Runs the items; without one they run here, one after the other.
    tell : function of (part, done, items), optional
    """

    data: Data
    size: str = FULL
    store: Store = field(default_factory=lambda: Store(None))
    pool: ProcessPoolExecutor | None = None
    tell: Callable[[str, int, int], None] = field(default=lambda part, done, items: None)
    seconds: float = 0.0  # of computing that no other experiment of this run has counted

    def choose(self, full: T, quick: T, toy: T) -> T:
        """The value for the size of this run."""
        return {FULL: full, QUICK: quick, TOY: toy}[self.size]

    def map(self, part: str, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """``function(item)`` for each item, in order; what an earlier run kept is not run again.

        Items and results are numbers, texts, and lists, tuples and dictionaries of them; `function` must be
        one that can be sent to another process: a function of a module, perhaps with `functools.partial`. A
        tuple comes back as the list that JSON has in its place.
        """
        kept = self.store.of(function)
        keys = [json.dumps(plain(item)) for item in items]
        if self.store.adopt:
            self._adopt(function, kept, dict(zip(keys, items, strict=True)))
        left = [(key, item) for key, item in zip(keys, items, strict=True) if key not in kept.values]
        done = len(items) - len(left)
        self.tell(part, done, len(items))
        for key, (value, seconds) in self._results(function, left):
            kept.add(key, value, seconds)
            done += 1
            self.tell(part, done, len(items))
        self.seconds += sum(kept.count(key) for key in keys)
        return [kept.values[key] for key in keys]

    def _adopt(self, function: Callable[[Any], Any], kept: Kept, items: dict[str, Any]) -> None:
        """Take what other code kept of these items, if some of them, run again, give the same numbers."""
        apart = ""
        for other in self.store.others(function):
            shared = [key for key in items if key in other.values]
            lacking = [key for key in shared if key not in kept.values]
            if not lacking:
                continue
            chosen = [shared[int(k)] for k in np.linspace(0, len(shared) - 1, self.store.adopt)]
            left = [(key, items[key]) for key in dict.fromkeys(chosen) if key not in kept.values]
            for key, (value, seconds) in self._results(function, left):
                kept.add(key, value, seconds)
            differs = [key for key in chosen if not same_numbers(kept.values[key], other.values[key])]
            if differs:
                key = differs[0]
                apart = f"{key}: {kept.values[key]}, and {other.values[key]} was kept"
                continue
            for key in other.values:
                if key not in kept.values:
                    kept.add(key, other.values[key], other.count(key))
            other.forget()
            return
        if apart:
            raise OtherNumbers(
                f"{_called(function).__name__} gives other numbers than before, {apart[:400]}; "
                "run it without --adopt"
            )

    def _results(
        self, function: Callable[[Any], Any], left: Sequence[tuple[str, Any]]
    ) -> Iterator[tuple[str, tuple[Any, float]]]:
        if self.pool is None:
            for key, item in left:
                yield key, _quietly(function, item)
            return
        waiting = {self.pool.submit(_quietly, function, item): key for key, item in left}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            for future in waiting:
                future.cancel()


def _quietly(function: Callable[[Any], Any], item: Any) -> tuple[Any, float]:
    """A result as JSON gives it back, without the warnings of hundreds of fits, and the seconds it took."""
    began = time.process_time()
    with warnings.catch_warnings(), parallel.one_blas_thread():
        warnings.simplefilter("ignore")
        result = json.loads(json.dumps(plain(function(item))))
    return result, time.process_time() - began


class Kept:
    """Results of one function in a file of lines, written as they come.

    A line that an interrupted run left unfinished is dropped.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.values: dict[str, Any] = {}  # by the JSON of their items
        self._seconds: dict[str, float] = {}  # of those that are not counted yet
        if path is None:  # for this run alone
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = _whole_lines(path)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        for line in lines:
            self.values[line["item"]] = line["value"]
            self._seconds[line["item"]] = line["seconds"]

    def add(self, item: str, value: Any, seconds: float) -> None:
        """Keep one more, with what it took."""
        self.values[item], self._seconds[item] = value, seconds
        if self.path is None:
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"item": item, "value": value, "seconds": seconds}) + "\n")

    def forget(self) -> None:
        """Delete the file."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def count(self, item: str) -> float:
        """The seconds that a result took, the first time that it is asked for."""
        return self._seconds.pop(item, 0.0)


class Store:
    """Results of all experiments, a file for each function that computes them.

    Its name has the `fingerprint` of the function: other code, or other settings, make another file. Tables
    that are read from the same fits share them.

    Parameters
    ----------
    folder : Path or None
        None keeps results for this run alone.
    again : bool
        Whether to leave out what is there.
    adopt : int
        How many items are run again before what other code kept is used; 0: it is not used.
    """

    def __init__(self, folder: Path | None, again: bool = False, adopt: int = 0) -> None:
        self.folder, self.again, self.adopt = folder, again, adopt
        self._open: dict[str, Kept] = {}

    def of(self, function: Callable[[Any], Any]) -> Kept:
        """Results of a function."""
        name = f"{_called(function).__name__}-{fingerprint(function)}"
        if name not in self._open:
            path = None if self.folder is None else self.folder / f"{name}.jsonl"
            if path is not None and self.again:
                path.unlink(missing_ok=True)
            self._open[name] = Kept(path)
        return self._open[name]

    def others(self, function: Callable[[Any], Any]) -> Iterator[Kept]:
        """Results of functions of that name that are not this one's: of other code, or other settings."""
        if self.folder is None:
            return
        own = self.of(function).path
        name = re.compile(rf"{re.escape(_called(function).__name__)}-[0-9a-f]{{16}}\.jsonl")
        for path in sorted(self.folder.glob("*.jsonl")):
            if path != own and name.fullmatch(path.name):
                yield Kept(path)


def _called(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return function.func if isinstance(function, partial) else function


def same_numbers(a: Any, b: Any) -> bool:
    """Whether two results are the same but for rounding.

    >>> same_numbers({"a": [1.0, None]}, {"a": [1.0 + 1e-12, None]}), same_numbers([1.0], [1.1])
    (True, False)
    """
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_numbers(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same_numbers(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))
    return bool(a == b)


def _whole_lines(path: Path) -> list[Any]:
    lines: list[Any] = []
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                lines.append(json.loads(line))
            except json.JSONDecodeError:
                break
    return lines


@dataclass(frozen=True)
class Result:
    """An experiment that was run: its outcome, and the seconds of computing that it took."""

    experiment: Experiment
    outcome: Outcome
    seconds: float
    size: str = FULL


def run_all(
    experiments: Sequence[Experiment],
    data: Data,
    *,
    size: str = FULL,
    folder: Path | None = None,
    again: bool = False,
    adopt: int = 0,
    n_jobs: int | None = 1,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> list[Result]:
    """Run experiments one after the other; one whose data are missing says so, and the others go on.

    Parameters
    ----------
    folder : Path, optional
        Results are kept there; those that are there are used, unless `again`.
    adopt : int
        Results of other code are used too, if so many items of each part give the same numbers again.
    n_jobs : int, optional
        Processes; None is every core.
    """
    jobs = parallel.n_threads(n_jobs)
    store = Store(folder, again, adopt)
    if folder is not None:
        read_code()
    results: list[Result] = []
    clock = _Clock([experiment.minutes * 60 * _SHARE[size] / jobs for experiment in experiments])
    with _pool(jobs) as pool:
        for number, experiment in enumerate(experiments, 1):
            clock.begin(number)

            def say(part: str, done: int, items: int, *, experiment: Experiment = experiment) -> None:
                left = clock.left(part, done, items)
                tell(Progress(experiment.name, clock.number, len(experiments), part, done, items, left))

            say("", 0, 0)
            context = Context(data, size, store, pool, say)
            try:
                # As it would be read from a file.
                outcome = Outcome.from_json(plain(experiment.run(context).as_json()))
            except MissingData as error:
                outcome = Outcome((), (Verdict(experiment.title, CANNOT_BE, str(error)),))
            results.append(Result(experiment, outcome, context.seconds, size))
    return results


class _Clock:
    """The time that is left, from what is stated for each experiment and from how fast things are here."""

    def __init__(self, stated: Sequence[float]) -> None:
        self.stated, self.number = list(stated), 0
        self._begun = self._began = self._part_began = time.monotonic()
        self._part, self._first, self._pace = "", 0, 1.0

    def begin(self, number: int) -> None:
        """An experiment begins, the first with number 1."""
        self._began = time.monotonic()
        before, spent = sum(self.stated[: self.number]), self._began - self._begun
        if spent > _TOLD and before > 0:
            self._pace = spent / before
        self.number, self._part = number, ""

    def left(self, part: str, done: int, items: int) -> float:
        """Seconds, when so many items of a part are done.

        Of this experiment it is what the statement leaves, and at least what the rest of the part takes at
        its own speed.
        """
        now = time.monotonic()
        if part != self._part:
            self._part, self._first, self._part_began = part, done, now
        ran = done - self._first
        rest_of_part = (items - done) * (now - self._part_began) / ran if ran else 0.0
        stated = self.stated[self.number - 1] * self._pace - (now - self._began)
        return max(stated, rest_of_part) + sum(self.stated[self.number :]) * self._pace


@contextmanager
def _pool(n_jobs: int) -> Iterator[ProcessPoolExecutor | None]:
    """Processes to run items in; none for one job. They are spawned: a fork could inherit a held lock.

    Each imports all experiments first, so that it runs the code that there was when it began.
    """
    if n_jobs == 1:
        yield None
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(n_jobs, mp_context=context, initializer=registry.every) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
