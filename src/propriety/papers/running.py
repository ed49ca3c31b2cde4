"""Running experiments: what is done is kept, so that a second run goes on; how long the rest takes."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from propriety import parallel
from propriety.papers.data import Data, MissingData
from propriety.papers.experiment import CANNOT_BE, Experiment, Outcome, Verdict
from propriety.version import __version__

T = TypeVar("T")
FULL, QUICK, TOY = SIZES = ("full", "quick", "toy")
#: Share of a full run's time that others take, about.
_SHARE = {FULL: 1.0, QUICK: 0.1, TOY: 0.01}


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
    kept : Kept, optional
        Where results are kept; for this run alone if not given.
    pool : executor, optional
        Runs the items; without one they run here, one after the other.
    tell : function of (part, done, items), optional
    """

    data: Data
    size: str = FULL
    kept: Kept = field(default_factory=lambda: Kept(None, ""))
    pool: ProcessPoolExecutor | None = None
    tell: Callable[[str, int, int], None] = field(default=lambda part, done, items: None)

    def choose(self, full: T, quick: T, toy: T) -> T:
        """The value for the size of this run."""
        return {FULL: full, QUICK: quick, TOY: toy}[self.size]

    def map(self, part: str, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """``function(item)`` for each item, in order; what an earlier run kept is not run again.

        Items and results are numbers, texts, and lists, tuples and dictionaries of them; `function` must be
        one that can be sent to another process: a function of a module, perhaps with `functools.partial`. A
        tuple comes back as the list that JSON has in its place.
        """
        known = self.kept.of(part)
        keys = [json.dumps(plain(item)) for item in items]
        left = [(key, item) for key, item in zip(keys, items, strict=True) if key not in known]
        done = len(items) - len(left)
        self.tell(part, done, len(items))
        for key, (value, seconds) in self._results(function, left):
            self.kept.add(part, key, value, seconds)
            done += 1
            self.tell(part, done, len(items))
        return [known[key] for key in keys]

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


def plain(value: Any) -> Any:
    """The same in dictionaries, lists, numbers and texts.

    >>> plain({"a": np.array([1.0, 2.0]), "b": (np.int64(3), None)})
    {'a': [1.0, 2.0], 'b': [3, None]}
    """
    if isinstance(value, dict):
        return {str(key): plain(content) for key, content in value.items()}
    if isinstance(value, list | tuple):
        return [plain(content) for content in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return value.item() if isinstance(value, np.generic) else value


class Kept:
    """Results of one experiment in a file of lines, written as they come.

    A line that an interrupted run left unfinished is dropped. The first says which protocol it is; results
    of another protocol, or of another version, are not used.
    """

    def __init__(self, path: Path | None, protocol: str) -> None:
        self.path = path
        self.parts: dict[str, dict[str, Any]] = {}
        self.seconds = 0.0  # of computing, in all runs
        if path is None:  # for this run alone
            return
        lines = _whole_lines(path)
        if not lines or lines[0] != {"protocol": protocol}:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"protocol": protocol}) + "\n", encoding="utf-8")
            return
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        for line in lines[1:]:
            self.of(line["part"])[line["item"]] = line["value"]
            self.seconds += line.get("seconds", 0.0)

    def of(self, part: str) -> dict[str, Any]:
        """Results of a part, by the JSON of their items."""
        return self.parts.setdefault(part, {})

    def add(self, part: str, item: str, value: Any, seconds: float) -> None:
        """Keep one more, with what it took."""
        self.of(part)[item] = value
        self.seconds += seconds
        if self.path is None:
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"part": part, "item": item, "value": value, "seconds": seconds}) + "\n")


def _whole_lines(path: Path) -> list[Any]:
    lines: list[Any] = []
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                lines.append(json.loads(line))
            except json.JSONDecodeError:
                break
    return lines


def protocol_of(experiment: Experiment, size: str) -> str:
    """A fingerprint of what an experiment does: results are used again only if it is the same."""
    settings = [asdict(setting) for setting in experiment.protocol]
    content = json.dumps([__version__, experiment.name, size, settings, list(experiment.tried)])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


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
    n_jobs: int | None = 1,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> list[Result]:
    """Run experiments one after the other; one whose data are missing says so, and the others go on.

    Parameters
    ----------
    folder : Path, optional
        Results are kept there; those that are there are used, unless `again`.
    n_jobs : int, optional
        Processes; None is every core.
    """
    results: list[Result] = []
    begun, spent = time.monotonic(), 0.0
    stated = [experiment.minutes * 60 * _SHARE[size] for experiment in experiments]
    with _pool(parallel.n_threads(n_jobs)) as pool:
        for number, experiment in enumerate(experiments, 1):
            rest = sum(stated[number:])
            # How much slower or faster than stated things are here, once that can be told.
            before = sum(stated[: number - 1])
            pace = spent / before if spent > 30 and before > 0 else 1.0
            began = time.monotonic()

            def say(
                part: str,
                done: int,
                items: int,
                *,
                name: str = experiment.name,
                number: int = number,
                own: float = stated[number - 1],
                rest: float = rest,
                pace: float = pace,
                began: float = began,
            ) -> None:
                here = max(own * pace - (time.monotonic() - began), 0.0)
                tell(Progress(name, number, len(experiments), part, done, items, here + rest * pace))

            say("", 0, 0)
            results.append(_run_one(experiment, data, size, folder, again, pool, say))
            spent = time.monotonic() - begun
    return results


def _run_one(
    experiment: Experiment,
    data: Data,
    size: str,
    folder: Path | None,
    again: bool,
    pool: ProcessPoolExecutor | None,
    tell: Callable[[str, int, int], None],
) -> Result:
    """Run one, or read what an earlier run found."""
    protocol = protocol_of(experiment, size)
    stem = None if folder is None else folder / f"{experiment.name}.{size}"
    ended = None if stem is None else stem.with_name(stem.name + ".json")
    if ended is not None and ended.is_file() and not again:
        document = json.loads(ended.read_text(encoding="utf-8"))
        if document["protocol"] == protocol:
            return Result(experiment, Outcome.from_json(document["outcome"]), document["seconds"], size)
    lines = None if stem is None else stem.with_name(stem.name + ".jsonl")
    if lines is not None and again:
        lines.unlink(missing_ok=True)
    kept = Kept(lines, protocol)
    try:
        outcome = experiment.run(Context(data, size, kept, pool, tell))
    except MissingData as error:
        return Result(experiment, Outcome((), (Verdict(experiment.title, CANNOT_BE, str(error)),)), 0.0, size)
    content = plain(outcome.as_json())
    if ended is not None:
        document = {
            "experiment": experiment.name,
            "protocol": protocol,
            "seconds": kept.seconds,
            "outcome": content,
        }
        ended.write_text(json.dumps(document), encoding="utf-8")
    return Result(experiment, Outcome.from_json(content), kept.seconds, size)


@contextmanager
def _pool(n_jobs: int) -> Iterator[ProcessPoolExecutor | None]:
    """Processes to run items in; none for one job. They are spawned: a fork could inherit a held lock."""
    if n_jobs == 1:
        yield None
        return
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
