"""Dask: collections as training data, and workers as the processes that fit them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from propriety import memory
from propriety.data.labels import as_labels
from propriety.data.lazy import is_dask, partitions, sizes_of
from propriety.data.table import Stacked
from propriety.distributed.driver import WorkerLost, fit_on
from propriety.distributed.estimates import words_of
from propriety.distributed.out_of_core import in_memory
from propriety.distributed.scan import Scan
from propriety.distributed.tree_allreduce import Send
from propriety.distributed.worker import PartOfRows, Worker, joined
from propriety.model.following import follower_of, has_callbacks, with_callbacks

if TYPE_CHECKING:
    from distributed import Client

    from propriety.model.base import ProperClassifier

_ANSWER = 60.0  # seconds that a worker which is there may take to answer
_LOOK = 1.0
_COMING, _GONE = 600.0, 10.0  # seconds to wait for a first worker, and for another after the last was lost
_PARTITION = 1_000_000  # rows of a scan that are read at once


# --- the workers ----------------------------------------------------------------------------------


class _RemoteWorker:
    """A `Worker`, an actor of a Dask worker, as the driver sees it."""

    def __init__(self, client: Client, address: str) -> None:
        self._client, self.address = client, address
        self._future = client.submit(
            _new_worker, actor=True, workers=[address], allow_other_workers=False, pure=False
        )
        self._actor: Any = None

    @property
    def where(self) -> tuple[str, Any]:
        """By which another worker finds the way to this one."""
        return self.address, self._future.key

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method and wait for what it returns."""
        return self.start(method, *arguments)()

    def start(self, method: str, *arguments: Any) -> Callable[[], Any]:
        """Call a method, and return a function that waits for what it returns."""
        if self._actor is None:
            self._actor = self._wait(lambda: self._future.result(timeout=_LOOK))
        try:
            future = getattr(self._actor, method)(*arguments)
        except (RuntimeError, OSError) as error:
            raise WorkerLost(f"the worker {self.address} is gone: {error}") from None
        return lambda: self._wait(lambda: future.result(timeout=_LOOK))

    def _wait(self, ask: Callable[[], Any]) -> Any:
        """Ask until there is an answer, while the worker is there."""
        end = time.monotonic() + _ANSWER
        while True:
            try:
                return ask()
            except TimeoutError:
                if not self._there():
                    raise WorkerLost(f"the worker {self.address} is gone") from None
                if time.monotonic() > end and self._heard() > _ANSWER:
                    raise WorkerLost(f"the worker {self.address} does not answer") from None
            except OSError as error:
                raise WorkerLost(f"the worker {self.address} is gone: {error}") from None

    def _there(self) -> bool:
        return self.address in self._client.scheduler_info(n_workers=-1)["workers"]

    def _heard(self) -> float:
        """Seconds since the worker was heard of."""
        known = self._client.scheduler_info(n_workers=-1)["workers"].get(self.address)
        return time.time() - known["last_seen"] if known else np.inf

    def dismiss(self) -> None:
        """Let the worker go."""
        self._actor = None
        self._client.cancel([self._future], force=True)


def _new_worker() -> _DaskWorker:
    return _DaskWorker()


class _DaskWorker(Worker):
    """The process of a Dask worker, which finds its rows among the results that it holds."""

    def __init__(self) -> None:
        from distributed import get_worker

        super().__init__()
        self._worker = get_worker()
        memory.hold_to(self._worker.memory_manager.memory_limit)

    def way_to(self, where: tuple[str, Any]) -> Send:
        """From worker to worker, by the connections that Dask keeps for its own results."""
        from distributed.protocol import to_serialize

        address, key = where
        loop = self._worker.loop.asyncio_loop

        async def ask(rank: int, kind: str, part: Any) -> Any:
            answer = await self._worker.rpc(address).actor_execute(
                function="take_in", actor=key, args=[rank, kind, to_serialize(part)]
            )
            if answer["status"] != "OK":
                raise answer["exception"]
            return answer["result"]

        return lambda rank, kind, part: asyncio.run_coroutine_threadsafe(ask(rank, kind, part), loop)

    def take_results(self, keys: list[str]) -> int:
        """Hold the rows of these results; −1 if one of them is not here any more."""
        try:
            return self.take([self._worker.data[key] for key in keys])
        except KeyError:
            return -1


class _DaskPool:
    """Dask workers as a pool: partitions are computed where Dask likes, and each stays there."""

    def __init__(self, client: Client, parts: Sequence[Any]) -> None:
        self._client, self._parts = client, parts
        self._futures = client.compute(list(parts))
        self.rows = 0

    @property
    def threads(self) -> int:
        """Of each worker."""
        return min(self._client.nthreads().values(), default=1)

    def workers(self) -> list[_RemoteWorker]:
        """Workers with all rows, when they have been computed."""
        self._await_rows()
        self._even_out()
        while True:
            self._await_rows()
            holders: dict[str, list[str]] = {}
            for key, address in self._holders().items():
                holders.setdefault(address, []).append(key)
            workers = [_RemoteWorker(self._client, address) for address in holders]
            try:
                waits = [s.start("take_results", holders[s.address]) for s in workers]
                counts = [wait() for wait in waits]
            except WorkerLost:
                self.dismiss(workers)
                continue
            if min(counts, default=-1) < 0 or sum(map(len, holders.values())) < len(self._futures):
                self.dismiss(workers)  # a partition was moved, or lost, in between
                continue
            self.rows = sum(counts)
            if not self.rows:
                self.dismiss(workers)
                raise ValueError("X has no rows in any of its partitions")
            self.dismiss([s for s, count in zip(workers, counts, strict=True) if not count])
            return [s for s, count in zip(workers, counts, strict=True) if count]

    def _holders(self) -> dict[str, str]:
        """The worker of each partition; of several, the one that holds the fewest."""
        found: dict[str, str] = {}
        for key, addresses in self._client.who_has(self._futures).items():
            if addresses:
                held = list(found.values())
                found[key] = min(addresses, key=held.count)
        return found

    def _even_out(self) -> None:
        """Have partitions moved to workers that hold less, if that saves much waiting.

        All workers wait for the one that has most in every round, and Dask places results by other lights.
        """
        sizes, holders = self._client.nbytes([f.key for f in self._futures], summary=False), self._holders()
        if any(f.key not in sizes or f.key not in holders for f in self._futures):
            return  # one was lost in between
        moves = even_moves(sizes, holders, self._client.nthreads())
        for k, future in enumerate(self._futures):
            if future.key in moves:
                # It may go elsewhere if that worker is gone by then: nothing waits for one worker.
                self._futures[k] = self._client.submit(
                    _same, future, workers=[moves[future.key]], allow_other_workers=True, pure=False
                )

    def _await_rows(self) -> None:
        """Wait until every partition is computed, as long as there are workers."""
        from distributed import wait

        heard = time.monotonic()
        while True:
            try:
                wait(self._futures, timeout=_LOOK)
            except TimeoutError:
                patience, now = (_GONE if self.rows else _COMING), time.monotonic()
                heard = now if self._client.scheduler_info(n_workers=-1)["workers"] else heard
                if now - heard > patience:
                    raise WorkerLost(f"the Dask cluster has had no worker for {patience:g} seconds") from None
                continue
            for number, future in enumerate(self._futures):
                if future.status == "error":
                    error = future.exception()
                    error.add_note(f"in partition {number} of X")
                    raise error
                if future.status in ("cancelled", "lost"):
                    self._futures = self._client.compute(list(self._parts))
                    break
            else:
                return

    def dismiss(self, workers: Sequence[Any]) -> None:
        """Let workers go."""
        for worker in workers:
            worker.dismiss()

    def collect(self) -> PartOfRows:
        """All rows, here, as one table."""
        from dask.dataframe.dispatch import concat
        from scipy import sparse

        self._await_rows()
        X, y, rows = joined(self._client.gather(self._futures))
        if not isinstance(X, Stacked):
            return X, y, rows
        if isinstance(X.parts[0], np.ndarray):
            return np.concatenate(X.parts), y, rows
        if sparse.issparse(X.parts[0]):
            return sparse.vstack(X.parts, format="csr"), y, rows
        return concat(list(X.parts)), y, rows

    def release(self) -> None:
        """Let the partitions go."""
        for future in self._futures:
            future.release()
        self._futures = []


def _same(part: PartOfRows) -> PartOfRows:
    return part


def even_moves(sizes: dict[str, int], holders: dict[str, str], threads: dict[str, int]) -> dict[str, str]:
    """Which partitions go to which workers, so that none has far more for its threads than others.

    A partition moves only if that takes a tenth of a fair share off the worker with most.

    >>> even_moves({"a": 5, "b": 5, "c": 1}, {"a": "one", "b": "one", "c": "one"}, {"one": 1, "two": 1})
    {'a': 'two'}
    >>> even_moves({"a": 5, "b": 5}, {"a": "one", "b": "two"}, {"one": 1, "two": 1})
    {}
    """
    held: dict[str, list[str]] = {address: [] for address in threads}
    for key, address in holders.items():
        held.setdefault(address, []).append(key)
    each = {address: threads.get(address, 1) for address in held}
    load = {address: sum(sizes[key] for key in keys) / each[address] for address, keys in held.items()}
    slack = 0.1 * sum(sizes.values()) / max(1, sum(threads.values()))
    moves: dict[str, str] = {}
    while held:
        most, least = max(load, key=load.__getitem__), min(load, key=load.__getitem__)
        tops = {
            key: max(load[most] - sizes[key] / each[most], load[least] + sizes[key] / each[least])
            for key in held[most]
        }
        best = min(tops, key=tops.__getitem__, default=None)
        if best is None or tops[best] >= load[most] - slack:
            break
        held[most].remove(best)
        held[least].append(best)
        load[most] -= sizes[best] / each[most]
        load[least] += sizes[best] / each[least]
        moves[best] = least
    return moves


# --- fitting --------------------------------------------------------------------------------------


def fit(model: Any, X: Any, y: ArrayLike, given: dict[str, Any]) -> Any:
    """Fit a model to a Dask collection, on the workers that hold it; bit for bit as in one process.

    ``given`` is what `fit` was given besides: collections with the partitions of X, or values for all rows.
    """
    client = _client()
    given = {name: value for name, value in given.items() if value is not None}
    held_out = {name: _here(value) for name, value in given.items() if name.endswith("_val")}
    rows = {name: value for name, value in given.items() if name not in held_out and is_dask(value)}
    plain = {name: value for name, value in given.items() if name not in held_out and name not in rows}
    _refuse_local_rows(plain)
    words = _words(model, client, sizes_of(X), X.shape[1])
    pool, follower = _DaskPool(client, _aligned(X, y, rows)), follower_of(model, X, y)
    run = with_callbacks(fit_on) if has_callbacks(model) else fit_on
    return run(model, pool, plain | held_out, words, follower)


def fit_scan(model: ProperClassifier, scan: Scan, client: Client) -> Any:
    """Fit a model to the rows of a scan, on workers that can open its files: each reads some of the rows."""
    import dask

    read = dask.delayed(_read, pure=False)
    n, size = scan.n_rows, min(_PARTITION, -(-scan.n_rows // max(1, 2 * len(client.nthreads()))))
    ends = [(start, min(start + size, n)) for start in range(0, n, size)]
    parts = [read(scan, *span) for span in ends]
    words = _words(model, client, [stop - start for start, stop in ends], len(scan.features))
    return fit_on(model, _DaskPool(client, parts), {}, words)


def _read(scan: Scan, start: int, stop: int) -> PartOfRows:
    """Some rows of a scan."""
    table, labels, weight = in_memory(scan.part(start, stop))
    return table, labels, {} if weight is None else {"sample_weight": weight}


def _client() -> Client:
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        raise ValueError(
            "X is a Dask collection, and there is no Dask client to fit it on: connect one with "
            "distributed.Client(address), or start workers on this machine with propriety.dask.local()"
        ) from None


def _here(value: Any) -> Any:
    return value.compute() if is_dask(value) else value


def _refuse_local_rows(plain: dict[str, Any]) -> None:
    for name, value in plain.items():
        if np.ndim(value) > 0 and name != "cost_matrix":
            raise TypeError(
                f"{name} is a {type(value).__name__}, and X a Dask collection: give {name} as a Dask Series "
                "or Array with the partitions of X"
            )


def _aligned(X: Any, y: Any, rows: dict[str, Any]) -> list[Any]:
    """One delayed (X, y, rows) for each partition."""
    import dask

    if not is_dask(y):
        raise TypeError(
            f"y is a {type(y).__name__}, and X a Dask collection: give y as a Dask Series or Array with the "
            "partitions of X"
        )
    columns = {"X": partitions(X), "y": partitions(y)} | {k: partitions(v) for k, v in rows.items()}
    counts = {name: len(parts) for name, parts in columns.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(
            f"X, y and whatever else is given by row must have the same partitions, and have {counts}"
        )
    together = dask.delayed(_together, pure=False)
    names = list(rows)
    return [together(names, *parts) for parts in zip(*columns.values(), strict=True)]


def _together(names: list[str], X: Any, y: Any, *rows: Any) -> PartOfRows:
    if X.shape[0] != len(y) or any(X.shape[0] != len(values) for values in rows):
        raise ValueError(
            f"a partition of X has {X.shape[0]} rows, and those that belong to it have {len(y)} labels"
            + "".join(f" and {len(values)} of {name}" for name, values in zip(names, rows, strict=True))
        )
    return X, as_labels(y), dict(zip(names, map(np.asarray, rows), strict=True))


def _words(model: Any, client: Client, sizes: Sequence[float], columns: int) -> str:
    """What the fit will be about."""
    known = client.scheduler_info(n_workers=-1)["workers"].values()
    machines = len({worker["host"] for worker in known})
    told = words_of(model, sizes, columns, list(client.nthreads().values()), machines)
    return f"{told}; dashboard: {client.dashboard_link}"
