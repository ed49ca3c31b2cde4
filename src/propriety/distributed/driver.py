"""Driving a fit: workers that fit together are begun, watched, and begun again if one is lost.

Knows nothing of Dask or Ray: a `WorkerPool` has the workers, wherever they are.
"""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from sklearn.base import clone

from propriety.communicator import NotDistributable
from propriety.distributed.callbacks import forward
from propriety.distributed.out_of_core import FEW, share
from propriety.distributed.progress import ProgressBar, step_of
from propriety.distributed.tree_allreduce import parent
from propriety.distributed.worker import PartOfRows, Placement, Status
from propriety.model.fit_context import in_context
from propriety.model.following import Follower

if TYPE_CHECKING:
    from propriety.model.base import ProperClassifier

#: Seconds that a look at a worker takes if there is nothing new.
_LOOK = 0.25
#: How often a fit is begun again.
_ATTEMPTS = 10


class WorkerLost(RuntimeError):
    """A worker does not answer any more."""


class RemoteWorker(Protocol):
    """A worker as the driver sees it; every method may raise `WorkerLost`."""

    @property
    def where(self) -> Any:
        """By which another worker finds the way to this one."""
        ...

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method and wait for what it returns."""
        ...

    def start(self, method: str, *arguments: Any) -> Callable[[], Any]:
        """Call a method, and return a function that waits for what it returns."""
        ...


class WorkerPool(Protocol):
    """The workers of a fit."""

    rows: int  # of all workers, once there were some

    @property
    def threads(self) -> int:
        """Of each worker."""
        ...

    def collect(self) -> PartOfRows:
        """All rows, here, as one table."""
        ...

    def release(self) -> None:
        """Let the rows go."""
        ...

    def workers(self) -> Sequence[RemoteWorker]:
        """New workers with all rows, none without any: those that were lost are read again."""
        ...

    def dismiss(self, workers: Sequence[RemoteWorker]) -> None:
        """Let workers go."""
        ...


class FitInterrupted(Exception):
    """The fit was broken off; what was learned so far is there."""

    def __init__(self, learned: dict[str, Any] | None) -> None:
        super().__init__("the fit was broken off")
        self.learned = learned


def fit_on(
    model: Any, pool: WorkerPool, given: dict[str, Any], words: str, follower: Follower | None = None
) -> Any:
    """Fit a model to the rows of a pool; bit for bit as in one process.

    Parameters
    ----------
    model : estimator
    pool : WorkerPool
    given : dict
        What `fit` is given besides the rows of the pool.
    words : str
        What the fit will be about, for ``verbose=1``.
    follower : Follower, optional
        Told of each round.
    """
    bar = ProgressBar(bool(getattr(model, "verbose", 0)))
    bar.say(words)

    def told(news: Status) -> None:
        if news.of:
            bar.draw(step_of(model), news.done, news.of, news.score)

    try:
        learned = drive(pool, _copy_of(model, pool), partial(share, given), _rounds, told, follower)
    except NotDistributable:
        if pool.rows > FEW:
            raise
        X, y, rows = pool.collect()
        return model.fit(X, y, **rows, **given)
    except FitInterrupted as interrupted:
        vars(model).update(interrupted.learned or {})
        cause = interrupted.__cause__
        if not isinstance(cause, Exception):
            raise KeyboardInterrupt from None
        if interrupted.learned:
            cause.add_note("the rounds fitted so far are kept")
        raise cause from None
    finally:
        bar.end()
        pool.release()
    vars(model).pop("feature_names_in_", None)
    vars(model).update(learned)
    if follower is not None:
        follower.end()
    return model


def _copy_of(model: Any, pool: WorkerPool) -> Any:
    """What the workers fit."""
    ours = copy.copy(model) if getattr(model, "warm_start", False) else clone(model)
    ours._fit_context = model._fit_context
    for name in ("_skl_callbacks", "_parent_callback_ctx"):  # they are called here
        vars(ours).pop(name, None)
    if model.n_jobs is None:
        ours.n_jobs = pool.threads
    if hasattr(model, "verbose"):
        ours.verbose = 0
    return ours


def _rounds(learned: dict[str, Any]) -> list[Any]:
    """The learners of a fit that was broken off."""
    return learned["_forest"].split() if "_forest" in learned else []


def drive(
    pool: WorkerPool,
    model: ProperClassifier,
    extra: Callable[[int, int], dict[str, Any]],
    known: Callable[[dict[str, Any]], Sequence[Any]],
    report: Callable[[Status], None],
    follower: Follower | None = None,
) -> dict[str, Any]:
    """Fit the model over the rows of a pool, and return what it has learned.

    Parameters
    ----------
    pool : WorkerPool
    model : estimator
        Not changed; its copies are fitted.
    extra : callable
        What `fit` of the process with this rank, of so many, is given besides its rows.
    known : callable
        The rounds that are in what was learned by a fit that was broken off.
    report : callable
        Is told how far it is.
    follower : Follower, optional
        Told of each round.
    """
    learned: dict[str, Any] | None = None
    for attempt in range(_ATTEMPTS):
        try:
            workers = pool.workers()
        except BaseException as error:
            if learned is None:
                raise
            raise FitInterrupted(learned) from error
        try:
            _begin(workers, model, extra, follower is not None)
            return _watch(workers, report, follower)
        except (WorkerLost, _Parted) as error:
            learned = _longest([learned, *_stop(workers)], known)
            if learned is not None:
                in_context(model, known_rounds=known(learned))
            if attempt == _ATTEMPTS - 1:
                raise FitInterrupted(learned) from error
        except KeyboardInterrupt:
            learned = _longest([learned, *_stop(workers)], known)
            raise FitInterrupted(learned) from None
        except BaseException:
            _stop(workers)
            raise
        finally:
            pool.dismiss(workers)
    raise AssertionError("unreachable")


class _Parted(Exception):
    """The workers have broken off."""


def _begin(
    workers: Sequence[RemoteWorker],
    model: Any,
    extra: Callable[[int, int], dict[str, Any]],
    followed: bool,
) -> None:
    """Tell every worker its place; the first of each machine speaks for it."""
    marks = _all(workers, "machine")
    machines = list(dict.fromkeys(marks))
    crews = [[s for s, mark in zip(workers, marks, strict=True) if mark == machine] for machine in machines]
    # All speakers can be sent parts before anyone begins.
    opened = [crew[0].start("open", len(crew), k, len(crews)) for k, crew in enumerate(crews)]
    paths = [wait() for wait in opened]
    content, waits, rank = pickle.dumps(model), [], 0
    for k, crew in enumerate(crews):
        for here, worker in enumerate(crew):
            up = crews[parent(k)][0].where if k and not here else None
            place = Placement(rank, len(workers), k, len(crews), here, len(crew), paths[k], up, followed)
            waits.append(worker.start("begin", content, place, extra(rank, len(workers))))
            rank += 1
    for wait in waits:
        wait()


def _all(workers: Sequence[RemoteWorker], method: str, *arguments: Any) -> list[Any]:
    """Call a method of all workers at once."""
    waits = [worker.start(method, *arguments) for worker in workers]
    return [wait() for wait in waits]


def _watch(
    workers: Sequence[RemoteWorker], report: Callable[[Status], None], follower: Follower | None
) -> dict[str, Any]:
    """Look at the workers until they have done."""
    while (learned := _look(workers, report, follower)) is None:
        pass
    return learned


def _look(
    workers: Sequence[RemoteWorker], report: Callable[[Status], None], follower: Follower | None
) -> dict[str, Any] | None:
    """See how the workers are; returns what was learned, if they have done."""
    first: Status = workers[0].call("state", _LOOK)  # the one that has events
    news = [first, *_all(workers[1:], "state", 0.0)]
    report(max(news, key=lambda one: one.done))
    for worker, one in zip(workers, news, strict=True):
        if one.state == "failed":
            raise pickle.loads(worker.call("result"))
        if one.event is not None and follower is not None:
            forward(one.event, worker, follower)
    if any(one.state == "parted" for one in news):
        raise _Parted
    if not all(one.state == "done" for one in news):
        return None
    results = _all(workers, "result")
    return pickle.loads(next(result for result in results if result))


def _stop(workers: Sequence[RemoteWorker]) -> list[dict[str, Any] | None]:
    """Break off, and return what each worker that is left has learned so far."""
    found: list[dict[str, Any] | None] = []
    for worker in workers:
        try:
            worker.call("stop")
        except WorkerLost:
            continue
    end = time.monotonic() + 60.0
    for worker in workers:
        try:
            while worker.call("state", _LOOK).state == "working" and time.monotonic() < end:
                pass
            if worker.call("state", 0.0).state == "parted":
                found.append(pickle.loads(worker.call("result")))
        except WorkerLost:
            continue
    return found


def _longest(
    learned: list[dict[str, Any] | None], known: Callable[[dict[str, Any]], Sequence[Any]]
) -> dict[str, Any] | None:
    some = [one for one in learned if one]
    return max(some, key=lambda one: len(known(one)), default=None)
