"""Small tables, as columns, as text and as files."""

import csv
import io

import numpy as np
import pyarrow as pa

from propriety.tables import Overrides, infer

ROWS = 160
#: Parameters that keep the estimators small.
SMALL = {"boosting": {"max_iter": 4}, "tree": {"max_leaf_nodes": 4}, "rules": {"n_rules": 3}}


def columns(n=ROWS, seed=0):
    """Columns of every kind; the target depends on age and color."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    color = np.array(["red", "green", "blue"])[rng.integers(3, size=n)]
    score = (age - 50) / 10 + 2 * (color == "red") - 0.7 + rng.logistic(size=n)
    day = np.datetime64("2024-01-01") + rng.integers(0, 700, n)
    size = np.round(rng.normal(size=n), 3).astype(str)
    size[::9] = "NA"
    return {
        "id": [f"r{i}" for i in range(n)],
        "age": age.tolist(),
        "color": color.tolist(),
        "size": size.tolist(),
        "when": day.astype(str).tolist(),
        "same": [1] * n,
        "sick": np.where(score > 0, "yes", "no").tolist(),
    }


def text(data, delimiter=","):
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow(data)
    writer.writerows(zip(*data.values(), strict=True))
    return buffer.getvalue()


def write(path, data=None, delimiter=","):
    path.write_text(text(columns() if data is None else data, delimiter), encoding="utf-8")
    return path


def inferred(data, target="y", **options):
    positive = options.pop("positive", None)
    strings = {
        k: pa.array([None if v is None else str(v) for v in vs], pa.string()) for k, vs in data.items()
    }
    return infer(pa.table(strings), target, positive=positive, overrides=Overrides(**options))
