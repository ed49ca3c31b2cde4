"""`propriety fit` of a large CSV file, from text to a judged model, beside pandas' reader and LightGBM.

    python benchmarks/reading.py                      # 500 MB
    python benchmarks/reading.py --megabytes 50

Writes its own file: 20 columns of numbers, 4 of whole numbers with missing values, 4 of categories. Both
programs run in processes of their own, taking turns, on two threads: read the file, fit 100 rounds of 31
leaves to three quarters of the rows, and predict the rest. Ours works out the kinds of columns, judges the
model and measures what columns count for besides; theirs is told which columns are categories. A table of
seconds, of the processor's seconds (of all threads), and of the largest resident memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measuring import Column, Options, Part, Table

NUMBERS, WHOLE, CATEGORIES = 20, 4, 4
LEVELS = ("north", "east", "south", "west", "centre", "islands", "abroad")
ROUNDS, LEAVES, RATE, THREADS = 100, 31, 0.1, 2
BLOCK = 50_000


# --- the file ---------------------------------------------------------------------------------------


def write(path: Path, n_bytes: int) -> int:
    """Write rows until the file is large enough; returns their number."""
    n = 0
    for seed in range(10_000):
        frame = block(seed)
        frame.to_csv(path, mode="a", header=seed == 0, index=False, float_format="%.6g")
        n += len(frame)
        if path.stat().st_size >= n_bytes:
            break
    return n


def block(seed: int):
    """Some rows, as pandas has them."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(BLOCK, NUMBERS))
    whole = rng.poisson(20, size=(BLOCK, WHOLE)).astype(float)
    whole[rng.random(whole.shape) < 0.05] = np.nan
    codes = rng.integers(0, len(LEVELS), size=(BLOCK, CATEGORIES))
    W = np.random.default_rng(99).normal(size=(NUMBERS, 8)) / np.sqrt(NUMBERS / 3)
    F = np.tanh(X @ W) @ np.array([1.5, -1, 1, 2, -1, 0.5, -1.5, 1]) + 0.5 * (codes[:, 0] == 2)
    F += 0.05 * np.nan_to_num(whole[:, 0] - 20)
    columns = {f"x{f}": X[:, f] for f in range(NUMBERS)}
    columns |= {f"n{f}": pd.array(whole[:, f], dtype="Int64") for f in range(WHOLE)}
    columns |= {f"c{f}": np.array(LEVELS)[codes[:, f]] for f in range(CATEGORIES)}
    return pd.DataFrame(columns | {"y": np.where(rng.random(BLOCK) < 1 / (1 + np.exp(-F)), "yes", "no")})


# --- the programs -----------------------------------------------------------------------------------


def ours(path: str) -> list[str]:
    """Our command line."""
    settings = [
        f"max_iter={ROUNDS}",
        f"max_leaf_nodes={LEAVES}",
        f"learning_rate={RATE}",
        "min_samples_leaf=20",
        "early_stopping=False",
    ]
    command = [
        sys.executable,
        "-m",
        "propriety",
        "fit",
        path,
        "--target",
        "y",
        "--model",
        "boosting",
        "--json",
    ]
    return [*command, "--jobs", str(THREADS), *(word for s in settings for word in ("--set", s))]


def theirs(path: str) -> None:
    """What one writes with pandas and LightGBM."""
    import lightgbm as lgb
    import pandas as pd

    table = pd.read_csv(path)
    y = (table.pop("y") == "yes").to_numpy()
    for name in table.columns[NUMBERS + WHOLE :]:
        table[name] = table[name].astype("category")
    test = np.random.default_rng(0).random(len(y)) < 0.25
    settings = {"n_estimators": ROUNDS, "num_leaves": LEAVES, "learning_rate": RATE, "verbose": -1}
    model = lgb.LGBMClassifier(n_jobs=THREADS, **settings).fit(table[~test], y[~test])
    p = model.predict_proba(table[test])[:, 1]
    loss = -np.mean(np.log(np.where(y[test], p, 1 - p)))
    print(json.dumps({"judgements": [{"log_loss": float(loss)}]}))


def measure(command: list[str]) -> dict[str, float]:
    """Seconds of the clock and of the processor, the peak of memory, and the held-out log loss."""
    environment = os.environ | {"OMP_NUM_THREADS": str(THREADS)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # ours is run from its source, theirs as pip compiled it
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"{command[:4]} ended with {child.returncode}")
        out.seek(0)
        found = json.loads(out.read())
    return {
        "wall": time.perf_counter() - began,
        "processor": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss * 1024 / 1e6,
        "loss": found["judgements"][0]["log_loss"],
    }


# --- the table --------------------------------------------------------------------------------------


def csv(given: Options) -> Iterator[Table]:
    """One file, both programs in turn."""
    megabytes = 10 if given.quick else given.megabytes
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "table.csv"
        n = write(path, megabytes * 1_000_000)
        small = Path(folder) / "small.csv"
        write(small, 1)
        measure(ours(str(small)))  # compiles
        commands = {
            "propriety fit": ours(str(path)),
            "pandas.read_csv + LightGBM": [sys.executable, __file__, "theirs", str(path)],
        }
        best: dict[str, dict[str, float]] = {}
        for _ in range(given.times(2)):
            for name, command in commands.items():
                found = measure(command)
                known = best.setdefault(name, found)
                best[name] = {key: min(known[key], value) for key, value in found.items()}
    mine, peer = best.values()
    clock = given.clock
    rows = [
        [
            name,
            b["wall"],
            b["processor"],
            b[clock] / mine[clock],
            b["memory"],
            b["memory"] / mine["memory"],
            b["loss"],
        ]
        for name, b in best.items()
    ]
    ratio = [Column(f"{what} ÷ ours", "peer ÷ ours", ".2f") for what in ("time", "memory")]
    columns = ["program", Column("seconds", "s", ".1f"), Column("processor's seconds", "s", ".1f"), ratio[0]]
    columns += [Column("peak MB", "MB", ".0f"), ratio[1], Column("held-out log loss", "loss", ".5f")]
    goals = {"reading time": peer[clock] / mine[clock], "reading memory": peer["memory"] / mine["memory"]}
    title = f"A CSV file of {megabytes} MB, {n:,} × {NUMBERS + WHOLE + CATEGORIES}"
    yield Table("csv", title, columns, rows, goals=goals if megabytes >= 500 else {})


def arguments(parser: argparse.ArgumentParser) -> None:
    """The size."""
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--folder", default=None, help="where the temporary folder is made")


PART = Part(__doc__, {"csv": csv}, packages=("pandas", "lightgbm", "pyarrow"), arguments=arguments)

if __name__ == "__main__":
    if sys.argv[1:2] == ["theirs"]:
        theirs(sys.argv[2])
    else:
        PART.main()
