"""Small tables, and the command line called in the test's own process."""

import csv
import io
import json

import numpy as np
from typer.testing import CliRunner

from propriety.cli.app import app

ROWS = 160


def run(*args, input=None, code=0):
    """The result of a command; its exit code is checked, and nothing but an exit may end it."""
    result = CliRunner().invoke(app, [str(a) for a in args], input=input)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, (result.exit_code, result.stdout, result.stderr)
    assert "Traceback" not in result.stdout + result.stderr
    return result


def as_json(*args, **kwargs):
    return json.loads(run(*args, "--json", **kwargs).stdout)


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
