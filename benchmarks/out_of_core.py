"""Rows beyond memory: time and peak memory of fits from Parquet files, and XGBoost's external memory beside.

    python benchmarks/out_of_core.py parquet --rows 10000000 100000000 --memory 2GB --xgboost 20000000
    python benchmarks/out_of_core.py budget --rows 4000000 --rounds 5
    python benchmarks/out_of_core.py latency

Writes its own files to a temporary folder (about 115 bytes a row), or takes those of --files, and fits each
in a process of its own: a table of seconds and processor seconds of all threads, microseconds of each a row,
the ratio of processor time to the first line's, peak resident memory in GiB, and a hash of the model file,
which is the same for the same rows. On a busy machine only processor time can be compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Column, Options, Part, Table

from propriety.communicator import Communicator
from propriety.distributed.tree_allreduce import FAN_IN, TreeAllreduce, parent
from propriety.model.fit_context import in_context

D, LEAVES, RATE, BINS, FILE_ROWS = 28, 31, 0.1, 255, 1_000_000


# --- files ------------------------------------------------------------------------------------------


def block(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that depend on all columns, smoothly and by interactions."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D), dtype=np.float32)
    W = (np.random.default_rng(99).normal(size=(D, 8)) / np.sqrt(D / 3)).astype(np.float32)
    F = np.tanh(X @ W) @ np.array([1.5, -1, 1, 2, -1, 0.5, -1.5, 1], dtype=np.float32)
    F += X[:, 0] * (X[:, 1] > 0)
    return X, (rng.random(n, dtype=np.float32) < 1 / (1 + np.exp(-F))).astype(np.int8)


def write(folder: Path, rows: int) -> None:
    """Parquet files of a million rows each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for k, start in enumerate(range(0, rows, FILE_ROWS)):
        if (folder / f"{k:04d}.parquet").exists():
            continue
        X, y = block(min(FILE_ROWS, rows - start), seed=k)
        columns = {f"x{f}": X[:, f] for f in range(D)} | {"y": y}
        pq.write_table(
            pa.table(columns), folder / f"{k:04d}.parquet", row_group_size=250_000, use_dictionary=["y"]
        )


def files(folder: Path, rows: int) -> list[str]:
    """The first files, of so many rows together."""
    return [str(folder / f"{k:04d}.parquet") for k in range(-(-rows // FILE_ROWS))]


# --- one fit, in a process of its own ---------------------------------------------------------------


def fit_ours(paths: list[str], rounds: int, memory: str | None) -> dict[str, object]:
    from propriety import BoostingClassifier, scan

    model = BoostingClassifier(max_iter=rounds, learning_rate=RATE, max_leaf_nodes=LEAVES, random_state=0)
    model.set_params(verbose=1)
    began, busy = time.perf_counter(), time.process_time()
    model.fit(scan(paths, target="y", memory=memory))
    took = {"seconds": time.perf_counter() - began, "processor": time.process_time() - busy}
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        digest = hashlib.sha256((Path(folder) / "model").read_bytes()).hexdigest()[:16]
    return took | {"model": digest}


def fit_command(paths: list[str], rounds: int, memory: str) -> dict[str, object]:
    """The same by the command line, which judges the model as well."""
    from propriety.cli.app import app

    settings = {"max_iter": rounds, "learning_rate": RATE, "max_leaf_nodes": LEAVES}
    chosen = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    table = str(Path(paths[0]).parent / "*.parquet")
    began, busy = time.perf_counter(), time.process_time()
    given = ["fit", table, "-t", "y", "--fn-cost", "9", "--model", "boosting", *chosen, "--memory", memory]
    app([*given, "--quiet"], standalone_mode=False)
    return {"seconds": time.perf_counter() - began, "processor": time.process_time() - busy, "model": ""}


def fit_xgboost(paths: list[str], rounds: int, cache: str) -> dict[str, object]:
    import pyarrow.parquet as pq
    import xgboost

    class Batches(xgboost.DataIter):
        def __init__(self) -> None:
            self._next = 0
            super().__init__(cache_prefix=os.path.join(cache, "cache"))

        def next(self, input_data) -> bool:  # type: ignore[no-untyped-def]
            if self._next == len(paths):
                return False
            table = pq.read_table(paths[self._next])
            X = np.column_stack([table.column(f"x{f}").to_numpy() for f in range(D)])
            input_data(data=X, label=table.column("y").to_numpy())
            self._next += 1
            return True

        def reset(self) -> None:
            self._next = 0

    began, busy = time.perf_counter(), time.process_time()
    data = xgboost.ExtMemQuantileDMatrix(Batches(), max_bin=BINS + 1)
    parameters = {
        "objective": "binary:logistic", "tree_method": "hist", "grow_policy": "lossguide", "eta": RATE,
        "max_leaves": LEAVES, "max_depth": 0, "max_bin": BINS + 1, "nthread": os.cpu_count(),
    }  # fmt: skip
    xgboost.train(parameters, data, num_boost_round=rounds)
    took = {"seconds": time.perf_counter() - began, "processor": time.process_time() - busy}
    return took | {"model": ""}


def one(kind: str, folder: str, rows: int, rounds: int, memory: str | None) -> None:
    """Fit, and print what it took as JSON."""
    paths = files(Path(folder), rows)
    if kind == "xgboost":
        with tempfile.TemporaryDirectory(dir=folder) as cache:
            result = fit_xgboost(paths, rounds, cache)
    elif kind == "command":
        result = fit_command(paths, rounds, str(memory))
    else:
        result = fit_ours(paths, rounds, memory)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(result | {"peak": peak}))


def run(kind: str, folder: str, rows: int, rounds: int, memory: str | None) -> dict[str, object]:
    command = [sys.executable, __file__, "one", json.dumps([kind, folder, rows, rounds, memory])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


# --- the table --------------------------------------------------------------------------------------


def parquet(args: Options) -> Iterator[Table]:
    """Fits from Parquet, in memory and within a budget, and XGBoost's external memory."""
    sizes = [args.size(rows) for rows in args.rows]
    lines = [("ours, in memory", "ours", rows, None) for rows in sizes]
    lines += [(f'ours, memory="{args.memory}"', "ours", rows, args.memory) for rows in sizes if args.memory]
    if args.xgboost:
        lines += [("ours, in memory", "ours", args.xgboost, None)] * (args.xgboost not in sizes)
        lines += [("XGBoost, external memory", "xgboost", args.xgboost, None)]
    with tempfile.TemporaryDirectory(dir=args.folder) as temporary:
        folder = args.files or temporary
        began = time.perf_counter()
        write(Path(folder), max(rows for _, _, rows, _ in lines))
        print(f"files written in {time.perf_counter() - began:.0f} s", file=sys.stderr)
        # The first fit of a machine compiles; that is measured elsewhere.
        run("ours", folder, FILE_ROWS, 1, None)
        if args.memory:
            run("ours", folder, FILE_ROWS, 1, "650MB")
        table, base = [], None
        for name, kind, rows, memory in lines:
            result = run(kind, folder, rows, args.rounds, memory)
            each, busy = (1e6 * result[part] / rows for part in ("seconds", "processor"))
            base = busy if base is None else base
            row = [name, f"{rows:,}", result["seconds"], each, result["processor"], busy, busy / base]
            table.append([*row, result["peak"] / 2**30, result["model"]])
    columns = ["fit", "rows", Column("seconds", "s", ".1f"), Column("µs a row", "µs", ".3f")]
    columns += [Column("processor", "s", ".1f"), Column("processor µs a row", "µs", ".3f")]
    columns += [Column("ratio", format=".2f"), Column("peak GiB", "MB", ".2f"), "model"]
    yield Table("parquet", f"Fits of {args.rounds} rounds from Parquet files", columns, table)


def budget(args: Options) -> Iterator[Table]:
    """How far the peak of a fit, and of the command line, is beyond the budget that it was given."""
    rows, table = args.size(args.rows[0]), []
    with tempfile.TemporaryDirectory(dir=args.folder) as temporary:
        folder = args.files or temporary
        write(Path(folder), rows)
        for name, kind in (("fit of a scan", "ours"), ("propriety fit", "command")):
            run(kind, folder, FILE_ROWS, 1, "1GB")  # compiles
            for memory in ("1GB", "1.5GB", "2GB"):
                result = run(kind, folder, rows, args.rounds, memory)
                peak, given = result["peak"] / 2**30, float(memory.removesuffix("GB"))
                table.append([name, memory, f"{rows:,}", result["processor"], peak, peak - given])
    columns = ["what", "memory", "rows", Column("processor", "s", ".1f"), Column("peak GiB", "MB", ".2f")]
    columns += [Column("beyond the budget", format="+.2f")]
    yield Table("budget", f"Peak memory of fits to {D} columns against their budget", columns, table)


# --- machines far from each other -------------------------------------------------------------------


class Counted(Communicator):
    """A machine's totals, counted from the first round on."""

    def __init__(self, relay: TreeAllreduce) -> None:
        super().__init__(relay.rank, relay.size)
        self._relay, self.speculative_splits = relay, relay.speculative_splits
        self.trips, self.sent, self.first = 0, 0, 0.0
        self.slept: list[tuple[float, float]] = []  # by each message on its way up, and its answer down

    def sum(self, parts: np.ndarray) -> np.ndarray:
        """The sum, counted."""
        self.trips, self.sent = self.trips + 1, self.sent + parts.nbytes
        return self._relay.sum(parts)

    def gather(self, part: Any) -> list[Any]:
        """What all have shown; of numbers, the bytes are counted."""
        if isinstance(part, tuple):
            self.trips, self.sent = self.trips + 1, self.sent + 8 * len(part)
        return self._relay.gather(part)

    def report(self, done: int, of: int, score: float | None) -> None:
        """Begin to count after the first round."""
        if done == 1:
            self.trips, self.sent, self.first = 0, 0, time.perf_counter()
            self.slept.clear()


def sleep(seconds: float) -> float:
    """How long a sleep of so many seconds has taken."""
    began = time.perf_counter()
    time.sleep(seconds)
    return time.perf_counter() - began


def on_the_way(counted: list[Counted], trips: int) -> float:
    """Seconds that the messages of some trips were on their way, those that others waited for."""

    def slowest(k: int, trip: int, way: int) -> float:
        below = [j for j in range(1, len(counted)) if parent(j) == k]
        return max((counted[j].slept[trip][way] + slowest(j, trip, way) for j in below), default=0.0)

    return sum(slowest(0, trip, way) for trip in range(trips) for way in (0, 1))


def far_apart(
    X: np.ndarray, y: np.ndarray, machines: int, delay: float, rounds: int, leaves: int
) -> tuple[Counted, float]:
    """Fit over machines, each a thread, whose messages take a while; returns the first's totals and time.

    And how long messages were on their way: longer than they should on a busy machine.
    """
    from propriety import BoostingClassifier

    relays = [TreeAllreduce(k, machines) for k in range(machines)]
    network = ThreadPoolExecutor(2 * machines)

    def slow(receive: Callable[..., Any]) -> Callable[..., Any]:
        def send(rank: int, *message: Any) -> Any:
            up = sleep(delay)
            answer = receive(rank, *message).result()
            counted[rank].slept.append((up, sleep(delay)))
            return answer

        return lambda *message: network.submit(send, *message)

    counted = [Counted(relay) for relay in relays]
    for k, relay in enumerate(relays):
        relay.join(slow(relays[parent(k)].receive) if k else None)

    def fit(k: int) -> None:
        model = BoostingClassifier(max_iter=rounds + 1, max_leaf_nodes=leaves, random_state=0, n_jobs=1)
        in_context(model, communicator=counted[k])
        model.fit(X[k::machines], y[k::machines])

    with ThreadPoolExecutor(machines) as machines_:
        for done in [machines_.submit(fit, k) for k in range(machines)]:
            done.result()
    counted[0].first = time.perf_counter() - counted[0].first
    return counted[0], on_the_way(counted, min(len(one.slept) for one in counted[1:]))


def latency(args: Options) -> Iterator[Table]:
    """Time a tree over machines whose messages take 0 to 20 ms each way, and by the model of cost.

    The model has what a tree takes without delays, and trips · 2 · levels · delay; then the same with the
    delays that messages really had.
    """
    X, y = block(args.size(20_000), seed=0)
    table = []
    for machines, leaves in ((3, 31), (7, 31), (7, 127)):
        hops, base = (1 if machines <= FAN_IN + 1 else 2), None
        for delay in (0.0, 0.001, 0.005, 0.02):
            runs = [far_apart(X, y, machines, delay, args.rounds, leaves) for _ in range(args.times(2))]
            found, waited = min(runs, key=lambda run: run[0].first)
            each, trips, waited = found.first / args.rounds, found.trips / args.rounds, waited / args.rounds
            base = each - waited if base is None else base
            row = [f"{machines}", f"{leaves}", f"{1000 * delay:g}", trips, found.sent / args.rounds / 1e6]
            said = base + trips * 2 * hops * delay
            table.append([*row, 1000 * each, 1000 * said, 1000 * (base + waited)])
    columns = ["machines", "leaves", "ms each way", Column("trips a tree", format=".1f")]
    columns += [Column("MB a tree", format=".2f"), Column("ms a tree", "ms", ".0f")]
    columns += [Column("by the model of cost", format=".0f"), Column("with true delays", format=".0f")]
    yield Table("latency", f"{len(X):,} × {D} over machines far from each other", columns, table)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Sizes, and what else is fitted."""
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000_000, 100_000_000])
    parser.add_argument("--memory", default=None, help="also within this budget, such as 2GB")
    parser.add_argument("--xgboost", type=int, default=0, help="rows of XGBoost's external memory; 0: none")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--folder", default=None, help="where the temporary folder is made")
    parser.add_argument("--files", default=None, help="folder of the files; written if missing, and kept")


PART = Part(
    __doc__,
    {"parquet": parquet, "budget": budget, "latency": latency},
    packages=("propriety", "xgboost"),
    arguments=arguments,
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(*json.loads(sys.argv[2]))
    else:
        PART.main()
