"""Boosting on Dask workers of this machine: ours beside our own threads, LightGBM and XGBoost.

    python benchmarks/workers.py --rows 1000000 --workers 2 --repeats 3

Rows are generated on the workers. Fits alternate, the best of several counts: a table of seconds, of
processor seconds of the workers and the client together, and the ratio of each to that of our own threads. On
a busy machine only processor time can be compared. That our model has the same bits on workers and in one
process is checked in every run.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import dask.array as da
import numpy as np
from distributed import Client
from measuring import Column, Options, Part, Table, best_of
from out_of_core import BINS, LEAVES, RATE, D, block

import propriety.dask
from propriety import BoostingClassifier

PARTITIONS = 8
OURS = ("ours, workers", "ours, threads")


def rows_of(n: int) -> tuple[da.Array, da.Array]:
    """Features and labels in partitions, made where they are."""
    size = n // PARTITIONS

    def part(block_id: tuple[int, ...], which: int) -> np.ndarray:
        return block(size, seed=block_id[0])[which]

    chunks = (size,) * PARTITIONS
    X = da.map_blocks(lambda block_id=None: part(block_id, 0), chunks=(chunks, (D,)), dtype=np.float32)
    y = da.map_blocks(lambda block_id=None: part(block_id, 1), chunks=(chunks,), dtype=np.int8)
    return X.persist(), y.persist()


def contenders(rounds: int, n_workers: int) -> dict[str, Callable[..., object]]:
    """What is fitted to (X, y) in partitions and to the same here."""
    ours = {"max_iter": rounds, "learning_rate": RATE, "max_leaf_nodes": LEAVES, "max_bins": BINS}

    def lightgbm(client, X, y, here):  # type: ignore[no-untyped-def]
        from lightgbm import DaskLGBMClassifier

        model = DaskLGBMClassifier(
            n_estimators=rounds,
            learning_rate=RATE,
            num_leaves=LEAVES,
            max_bin=BINS,
            client=client,
            verbose=-1,
        )
        return model.fit(X, y)

    def xgboost(client, X, y, here):  # type: ignore[no-untyped-def]
        from xgboost import dask as xgb

        parameters = {
            "objective": "binary:logistic", "tree_method": "hist", "grow_policy": "lossguide", "eta": RATE,
            "max_leaves": LEAVES, "max_depth": 0, "max_bin": BINS + 1,
        }  # fmt: skip
        return xgb.train(client, parameters, xgb.DaskQuantileDMatrix(client, X, y), num_boost_round=rounds)

    return {
        "ours, workers": lambda client, X, y, here: BoostingClassifier(**ours).fit(X, y),
        "ours, threads": lambda client, X, y, here: BoostingClassifier(**ours, n_jobs=n_workers).fit(*here),
        "LightGBM, workers": lightgbm,
        "XGBoost, workers": xgboost,
    }


def processor_time(client: Client) -> float:
    """Seconds that the workers, and this process with the scheduler, have computed so far."""
    return time.process_time() + sum(client.run(time.process_time).values())


def chosen(rounds: int, given: Options) -> dict[str, Callable[..., object]]:
    """What is fitted."""
    fits = contenders(rounds, given.workers)
    return {name: fit for name, fit in fits.items() if name in OURS or not given.ours}


def measured(
    client: Client, fits: dict[str, Callable[..., object]], X: da.Array, y: da.Array, here: object, times: int
) -> tuple[dict[str, float], dict[str, float], dict[str, object]]:
    """Seconds and processor seconds of each fit, the best of several, and what it has made."""
    busy = dict.fromkeys(fits, np.inf)

    def call(name: str) -> object:
        used = processor_time(client)
        model = fits[name](client, X, y, here)
        busy[name] = min(busy[name], processor_time(client) - used)
        return model

    best, models = best_of({name: partial(call, name) for name in fits}, times)
    return best, busy, models


def boosting(given: Options) -> Iterator[Table]:
    """One fit on the workers, ours beside our threads and the others; and what one round takes: the start."""
    warnings.simplefilter("ignore")
    client = propriety.dask.local(given.workers)
    n = given.size(given.rows)
    X, y = rows_of(n)
    here = X.compute(), y.compute()
    for fit in chosen(1, given).values():  # to compile and import
        fit(client, X, y, here)
    for key, rounds in (("start", 1), ("boosting", given.rounds)):
        best, busy, models = measured(client, chosen(rounds, given), X, y, here, given.times(3))
        scores = [models[name].decision_function(here[0][:10_000]) for name in best if name in OURS]
        assert np.array_equal(*scores), "the model depends on where its rows are"
        title = f"{n:,} × {D}, {rounds} round{'s' * (rounds > 1)}, {given.workers} workers"
        columns = ["fit", Column("seconds", "s", ".2f"), Column("÷ our threads", format=".2f")]
        columns += [Column("processor", "s", ".2f"), Column("processor ÷ our threads", format=".2f")]
        base = OURS[1]
        rows = [[k, best[k], best[k] / best[base], busy[k], busy[k] / busy[base]] for k in best]
        yield Table(key, title, columns, rows)
    client.close()
    client.cluster.close()


def arguments(parser: argparse.ArgumentParser) -> None:
    """Sizes."""
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--ours", action="store_true", help="leave the others out")


PART = Part(__doc__, {"boosting": boosting}, packages=("lightgbm", "xgboost"), arguments=arguments)


if __name__ == "__main__":
    PART.main()
