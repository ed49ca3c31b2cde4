"""Ray: datasets as training data, and actors as the processes that fit them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import ray
from numpy.typing import ArrayLike
from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from propriety.communicator import Disconnected
from propriety.data.labels import as_labels
from propriety.distributed.driver import WorkerLost, fit_on
from propriety.distributed.estimates import words_of
from propriety.distributed.tree_allreduce import FAN_IN, Send
from propriety.distributed.worker import PartOfRows, Worker
from propriety.model.following import follower_of, has_callbacks, with_callbacks

if TYPE_CHECKING:
    from propriety.model.base import ProperClassifier

_AT_ONCE = FAN_IN + 4  # methods of a worker that run at once: parts of those below it, and the driver's looks


def fit(model: ProperClassifier, X: ray.data.Dataset, y: ArrayLike, given: dict[str, Any]) -> Any:
    """Fit a model to a dataset, on actors; bit for bit as in one process.

    ``y``, and ``sample_weight`` in ``given``, name columns of the dataset; all others are features.
    """
    given = {name: value for name, value in given.items() if value is not None}
    columns = list(X.schema().names)
    named = {"y": y} | {name: given.pop(name) for name in ("sample_weight",) if name in given}
    for name, column in named.items():
        if not isinstance(column, str) or column not in columns:
            told = f"{column!r:.60}" if isinstance(column, str) else f"a {type(column).__name__}"
            raise ValueError(
                f"X is a Ray Dataset, so {name} must name one of its columns, {columns}, got {told}"
            )
    for name, value in given.items():
        if not name.endswith("_val") and np.ndim(value) > 0 and name != "costs":
            raise TypeError(f"{name} is given by row, and X is a Ray Dataset: leave {name} out")
    if not ray.is_initialized():
        raise ValueError("X is a Ray Dataset, and Ray is not running here: call ray.init first")
    pool = _RayPool(X, named, model.n_jobs)
    sizes, threads = [float(n) for n in pool.sizes], [pool.threads] * len(pool.nodes)
    words = words_of(model, sizes, len(columns) - len(named), threads, len(set(pool.nodes)))
    run = with_callbacks(fit_on) if has_callbacks(model) else fit_on
    return run(model, pool, given, words, follower_of(model, X, y))


class _RayPool:
    """Actors as a pool: one for each node with all its processors, or as many as have ``n_jobs`` of them."""

    def __init__(self, dataset: ray.data.Dataset, named: dict[str, str], n_jobs: int | None) -> None:
        self._named, schema = named, dataset.schema()
        self._types = dict(zip(schema.names, schema.types, strict=True))
        self._blocks = dataset.materialize().to_arrow_refs()
        processors = {
            node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]
        }
        most = max(processors.values(), default=0)
        if n_jobs is not None and not 1 <= n_jobs <= most:
            raise ValueError(f"n_jobs={n_jobs} is not between 1 and {most}, the processors of a Ray node")
        each = n_jobs or min(n for n in processors.values() if n)
        self.threads, self.nodes = each, [node for node, n in processors.items() for _ in range(n // each)]
        self.sizes = self._count()
        self.rows = sum(self.sizes)

    def _count(self) -> list[int]:
        """Rows of each block; blocks that were lost are made anew."""
        rows_of = ray.remote(_rows_of)
        return ray.get([rows_of.remote(block) for block in self._blocks])

    def workers(self) -> list[_RemoteWorker]:
        """Actors with all rows, the largest blocks first to the one that has fewest."""
        self.sizes = self._count()  # while no actor holds the processors that lost blocks need
        if not self.rows:
            raise ValueError("X has no rows")
        held: list[list[int]] = [[] for _ in self.nodes[: sum(size > 0 for size in self.sizes)]]
        load = [0] * len(held)
        for block in sorted(range(len(self.sizes)), key=lambda k: -self.sizes[k]):
            fewest = load.index(min(load))
            held[fewest].append(block)
            load[fewest] += self.sizes[block]
        workers = [_RemoteWorker(node, self.threads) for node, _ in zip(self.nodes, held, strict=False)]
        try:
            waits = [
                worker.start("take_blocks", self._named, self._types, *(self._blocks[k] for k in blocks))
                for worker, blocks in zip(workers, held, strict=True)
            ]
            for wait in waits:
                wait()
        except BaseException:
            self.dismiss(workers)
            raise
        return workers

    def dismiss(self, workers: Sequence[Any]) -> None:
        """Let actors go."""
        for worker in workers:
            ray.kill(worker.where)

    def collect(self) -> PartOfRows:
        """All rows, here, as one table."""
        blocks = [_typed(block, self._types) for block in ray.get(self._blocks) if block.num_rows]
        return _part_of(pa.concat_tables(blocks, promote_options="permissive"), self._named, self._types)

    def release(self) -> None:
        """Let the blocks go."""
        self._blocks = []


class _RemoteWorker:
    """A `Worker`, an actor, as the driver sees it."""

    def __init__(self, node: str, processors: int) -> None:
        near = NodeAffinitySchedulingStrategy(node, soft=True)
        actor = ray.remote(_RayWorker)
        self.where = actor.options(
            num_cpus=processors, max_concurrency=_AT_ONCE, scheduling_strategy=near
        ).remote()

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method and wait for what it returns."""
        return self.start(method, *arguments)()

    def start(self, method: str, *arguments: Any) -> Callable[[], Any]:
        """Call a method, and return a function that waits for what it returns."""
        return partial(self._result, getattr(self.where, method).remote(*arguments))

    def _result(self, reference: Any) -> Any:
        try:
            return ray.get(reference)
        except RayTaskError as error:
            raise error.cause from None
        except RayActorError as error:
            raise WorkerLost(f"an actor is gone: {error}") from None


class _RayWorker(Worker):
    """The process of an actor, whose methods run in threads of it."""

    def take_blocks(self, named: dict[str, str], types: dict[str, Any], *blocks: Any) -> int:
        """Hold the rows of these blocks."""
        return self.take([_part_of(block, named, types) for block in blocks])

    def take_in(self, rank: int, kind: str, part: Any) -> Any:
        """Take the part of a machine below; returns the total when it is there."""
        assert self._relay is not None, "only those that speak for a machine are sent parts"
        return self._relay.receive(rank, kind, part).result()

    def way_to(self, where: Any) -> Send:
        """From actor to actor."""
        sender = ThreadPoolExecutor(1)

        def ask(*message: Any) -> Any:
            try:
                return ray.get(where.take_in.remote(*message))
            except RayTaskError as error:
                raise error.cause from None
            except RayError as error:
                raise Disconnected(f"an actor is gone: {error}") from None

        return lambda *message: sender.submit(ask, *message)


def _rows_of(block: Any) -> int:
    return block.num_rows


def _part_of(block: Any, named: dict[str, str], types: dict[str, Any]) -> PartOfRows:
    """The rows of a block: features, labels and weights."""
    block = _typed(block, types)
    by_row = {name: block.column(column).to_numpy() for name, column in named.items()}
    labels = as_labels(by_row.pop("y"))
    return block.drop_columns(list(named.values())), labels, by_row


def _typed(block: Any, types: dict[str, Any]) -> Any:
    """A block with the dataset's types: where all values are missing it does not know them."""
    for i, field in enumerate(block.schema):
        if pa.types.is_null(field.type) and isinstance(types.get(field.name), pa.DataType):
            block = block.set_column(i, field.name, block.column(i).cast(types[field.name]))
    return block
