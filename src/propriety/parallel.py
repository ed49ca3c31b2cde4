"""Threads over compiled kernels that release the GIL.

One pool of ordinary Python threads serves the whole process. Numba's own threading layers abort the
host when two Python threads enter parallel kernels at once (workqueue) or when a process forks after
using them (OpenMP); a pool over ``nogil`` kernels does neither, and costs some tens of microseconds a
section.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, partial
from threading import Event, Lock, Thread, local
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")
_TURN = 0.1  # seconds: on Windows an interrupt does not end a wait, so each is short
_pool: ThreadPoolExecutor | None = None
_lock = Lock()
_here = local()


@cache
def n_cores() -> int:
    """Cores that this process may use, asked once: joblib reads several files of the system to know."""
    return int(joblib.cpu_count())


def n_threads(n_jobs: int | None) -> int:
    """Number of threads that ``n_jobs`` stands for: None and −1 mean every core this process may use.

    >>> n_threads(2)
    2
    """
    if n_jobs is None or n_jobs == -1:
        return n_cores()
    if isinstance(n_jobs, bool) or int(n_jobs) != n_jobs or n_jobs == 0:
        raise ValueError(f"n_jobs must be a non-zero integer or None, got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, n_cores() + 1 + int(n_jobs))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Products of matrices by one thread each, while our own threads share the rows.

    On a busy machine the threads of a BLAS that waits for each other can take a hundred times as long for a
    small product. The libraries are looked for once: that takes milliseconds.
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def run(tasks: Iterable[Callable[[], object]], n_jobs: int | None) -> None:
    """Run the tasks, at most ``n_jobs`` at a time, and return when all have ended.

    The calling thread works too, so a pool that is busy with other callers delays nobody for ever.
    After an exception no task begins; the first one is raised once every running task has ended.
    """
    queue = iter(list(tasks))
    threads = n_threads(n_jobs)
    queue_lock, over = Lock(), Event()

    def work() -> None:
        while not over.is_set():
            with queue_lock:
                task = next(queue, None)
            if task is None:
                return
            try:
                task()
            except BaseException:
                over.set()
                raise

    if threads == 1:
        work()
        return
    helpers = [_executor().submit(_until, over, work) for _ in range(threads - 1)]
    try:
        work()
    finally:
        # A helper that has not started finds an empty queue; cancelling it spares the wait.
        errors = [h.exception() for h in helpers if not h.cancel()]
    # Before the error of one, the others have given up what they waited for.
    for error in sorted(filter(None, errors), key=lambda error: isinstance(error, KeyboardInterrupt)):
        raise error


def _until(over: Event, function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in this thread; what it waits for may be given up once `over` is set."""
    _here.over = over
    try:
        return function(*arguments)
    finally:
        del _here.over


def is_given_up() -> bool:
    """Whether nobody wants any more what this thread works on: the caller was interrupted, or has failed."""
    over: Event | None = getattr(_here, "over", None)
    return over is not None and over.is_set()


def uninterrupted(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a thread that no interrupt reaches; an interrupt ends the wait, not the call."""
    outcome: Future[Result] = Future()
    Thread(target=_settle, args=(outcome, function, *arguments), name="propriety-uninterrupted").start()
    while not wait([outcome], _TURN).done:
        if is_given_up():
            raise KeyboardInterrupt
    return outcome.result()


def _settle(outcome: Future[Any], function: Callable[..., Any], *arguments: Any) -> None:
    try:
        outcome.set_result(function(*arguments))
    except BaseException as error:
        outcome.set_exception(error)


@contextmanager
def helped_by(task: Callable[[], object], times: int) -> Iterator[None]:
    """Hand a task so many times to threads that are free, and wait for none of them.

    The caller must know when those that have begun are done; the others never begin. Their errors are lost.
    """
    helpers = [_executor().submit(task) for _ in range(times)]
    try:
        yield
    finally:
        for helper in helpers:
            helper.cancel()


def for_blocks(function: Callable[[int, int], object], n: int, *, n_jobs: int | None, block: int) -> None:
    """Call ``function(start, stop)`` on consecutive blocks that cover ``range(n)``."""
    if n <= block:
        function(0, n)
        return
    run([partial(function, start, min(start + block, n)) for start in range(0, n, block)], n_jobs)


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None
) -> Iterator[Result]:
    """Yield the function's value of each item, in their order, while the next ones are worked on.

    The items are asked for by the calling thread, ``n_jobs`` of them ahead. It only waits, so it must not be
    one of the threads that do the work.

    >>> list(in_order(abs, [-1, 2, -3], 2))
    [1, 2, 3]
    """
    threads = n_threads(n_jobs)
    if threads == 1:
        yield from map(function, items)
        return
    ahead: deque[Future[Result]] = deque()
    over = Event()
    try:
        for item in items:
            if len(ahead) == threads:
                yield ahead.popleft().result()
            ahead.append(_executor().submit(_until, over, function, item))
        while ahead:
            yield ahead.popleft().result()
    finally:
        over.set()
        wait([future for future in ahead if not future.cancel()])


def _executor() -> ThreadPoolExecutor:
    global _pool  # noqa: PLW0603
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(32, n_cores()), thread_name_prefix="propriety")
        return _pool


def _forget_pool() -> None:
    global _pool, _lock
    _pool, _lock = None, Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
