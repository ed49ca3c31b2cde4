"""Peak memory of a fit against a budget, by rows, columns, classes and leaves.

    python benchmarks/scaling.py                # along each of the four, one at a time
    python benchmarks/scaling.py --full         # all of them together, up to a million rows

Each fit has a process of its own, which first fits a small table: neither imports nor compilation
count. What counts is how far the process grows over the data it was given. The budget is stated below for
each estimator; the script ends with an error if a fit needs more.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np
from measuring import Column, Options, Part, Table

from propriety.model.catalogue import ESTIMATORS, entry

MB = 2**20
#: Cells of a fit that --full still waits for: rows × columns × scores.
PATIENCE = 4e8
#: Rows of the fit before: enough for every kernel that a large table needs.
WARM = 12_000


@dataclass(frozen=True)
class Size:
    """A table, and the model to fit to it."""

    key: str
    rows: int
    columns: int
    classes: int
    leaves: int

    @property
    def scores(self) -> int:
        """Numbers that the model predicts for a row."""
        return 1 if self.classes == 2 else self.classes

    @property
    def budget(self) -> float:
        """Bytes that a fit may take besides its data."""
        return 16 * MB + BUDGETS[self.key](self)


#: Bytes besides the data and 16 MB: what each term is for.
BUDGETS = {
    # A copy of the table, its bins twice, a byte each; scores, gradients, rows; a histogram for each leaf.
    "boosting": lambda s: s.rows * (12 * s.columns + 64 * s.scores) + 16 * 256 * s.leaves * s.columns,
    "tree": lambda s: s.rows * (12 * s.columns + 64 * s.scores) + 16 * 256 * s.leaves * s.columns,
    # Bins, in two orders; the nodes of each tree, twice while they are joined.
    "forest": lambda s: s.rows * (14 * s.columns + 128) + 5 * 2 * s.leaves * (128 + 16 * s.classes),
    # A copy of the table, scores and gradients; curvatures of each pair of scores.
    "linear": lambda s: s.rows * (12 * s.columns + 64 * s.scores) + 64 * (s.columns * s.scores) ** 2,
    "rules": lambda s: s.rows * (12 * s.columns + 64 * s.scores),
    # The largest member's, over a copy of the folds' rows; scores of each member in and out of the folds; of
    # each tree of the forest up to a leaf a row.
    "auto": lambda s: s.rows * (32 * s.columns + 256 * s.scores + 5 * 64) + 64 * (s.columns * s.scores) ** 2,
}


def parameters(size: Size) -> dict[str, object]:
    """Few rounds: memory does not grow with them."""
    return {
        "boosting": {"max_iter": 5, "max_leaf_nodes": size.leaves},
        "tree": {"max_leaf_nodes": size.leaves},
        "forest": {"n_estimators": 5, "max_leaf_nodes": size.leaves},
        "linear": {"max_iter": 5, "alpha": 0.01},
        "rules": {"n_rules": 3},
        "auto": {"n_estimators": 5, "n_folds": 2, "time_budget": 20},
    }[size.key]


def table(size: Size) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((size.rows, size.columns))
    score = X[:, 0] - X[:, 1] + 0.3 * rng.random(size.rows)
    cuts = np.quantile(score, np.arange(1, size.classes) / size.classes)
    return X, np.digitize(score, cuts)


def resident(peak: bool = False) -> int:
    """Bytes of this process that are in memory now, or were at most since `forget_peak`."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)" if peak else r"VmRSS:\s+(\d+)", status)[1])


def forget_peak() -> None:
    """Give freed memory back, and count the peak from here: rusage would keep that of the compilation."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measure(size: Size) -> dict[str, float]:
    """Fit in this process: seconds, and bytes over what was there before."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    warnings.simplefilter("ignore", ConvergenceWarning)
    make = entry(size.key).type
    small = Size(size.key, min(size.rows, WARM), size.columns, size.classes, size.leaves)
    make(**parameters(small)).fit(*table(small))
    X, y = table(size)
    forget_peak()
    before, start = resident(), time.perf_counter()
    make(**parameters(size)).fit(X, y)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "bytes": max(resident(peak=True) - before, 0)}


def in_own_process(size: Size) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", json.dumps(asdict(size))]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{size} ended with\n{result.stderr}")
    return json.loads(result.stdout)


def sizes(full: bool) -> Iterator[Size]:
    """The whole grid, or what lies on the axes through one size."""
    centre = (50_000, 20, 2, 31)
    axes = ((1_000, 100_000, 1_000_000), (5, 50, 200), (2, 3, 20), (31, 1_000))
    if full:
        grid = list(product(*axes))
    else:
        axes = ((1_000,), (5, 100), (3, 20), (1_000,))
        grid = [centre]
        grid += [(*centre[:i], value, *centre[i + 1 :]) for i, axis in enumerate(axes) for value in axis]
    for row in ESTIMATORS:
        without_leaves = row.key not in ("boosting", "forest", "tree")
        for n, d, k, leaves in grid:
            size = Size(row.key, n, d, k, leaves)
            if n * d * size.scores <= PATIENCE and not (without_leaves and leaves != 31):
                yield size


def memory(given: Options) -> Iterator[Table]:
    """Every size; an error at the end if one needs more than its budget."""
    rows, exceeded = [], []
    for size in list(sizes(given.full))[: 2 if given.quick else None]:
        found = in_own_process(size)
        exceeded += [size] if found["bytes"] > size.budget else []
        row = [size.key, f"{size.rows:,}", size.columns, size.classes, size.leaves]
        row += [8 * size.rows * size.columns / MB, found["seconds"], found["bytes"] / MB, size.budget / MB]
        rows.append(row)
        print(*row, file=sys.stderr, flush=True)
    counts = [Column(name, format=".0f") for name in ("columns", "classes", "leaves")]
    sizes_of = [Column("data MB", format=".1f"), Column("fit s", "s", ".2f")]
    sizes_of += [Column("over the data MB", "MB", ".1f"), Column("budget MB", format=".1f")]
    yield Table("memory", "Memory of fits", ["model", "rows", *counts, *sizes_of], rows)
    if exceeded:
        sys.exit(f"{len(exceeded)} fits need more memory than their budget: {exceeded}")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The grid."""
    parser.add_argument("--full", action="store_true", help="up to a million rows and 200 columns")


PART = Part(__doc__, {"memory": memory}, arguments=arguments)

if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(Size(**json.loads(sys.argv[2])))))
    else:
        PART.main()
