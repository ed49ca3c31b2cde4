"""Fit, predict, save and load every estimator, and run the command line on a small table.

Needs the package with its extras `plot` and `cli`, and no test library: for environments where the suite is
too slow or cannot be installed. It ends with an error if anything is not as it should be.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

import propriety
from propriety import losses
from propriety.model.catalogue import ESTIMATORS, Entry

PACKAGES = ["numpy", "scipy", "scikit-learn", "numba", "narwhals", "safetensors", "matplotlib", "pyarrow"]


def table(n_rows: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Two columns that matter, one that does not, and labels that are words."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    score = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n_rows)
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, np.array(["good", "poor", "sad"])[np.digitize(score, cuts)]


def check(condition: bool, what: str) -> None:
    """Stop with what is wrong: an assertion that no option of Python switches off."""
    if not condition:
        sys.exit(f"smoke: {what}")


def check_estimator(row: Entry, n_classes: int, folder: Path) -> None:
    """Fit, predict, save and load."""
    X, y = table(300, n_classes)
    model = row.type().fit(X, y)
    P = model.predict_proba(X)
    name = f"{row.name} with {n_classes} classes"
    check(np.allclose(P.sum(axis=1), 1), f"{name}: probabilities do not sum to 1")
    right = np.mean(model.predict(X) == y)
    check(right > 0.6, f"{name}: only {right:.0%} of its own training rows are right")
    path = folder / f"{row.key}-{n_classes}.propriety"
    model.save(path)
    again = propriety.load(path)
    check(np.array_equal(again.predict_proba(X), P), f"{name}: another model came back from its file")


def check_command_line(folder: Path) -> None:
    """Fit, predict and explain a table on disk, by `python -m propriety`."""
    X, y = table(200, 2)
    source, model = folder / "table.csv", folder / "model.propriety"
    lines = [f"{a:.4f},{b:.4f},{c:.4f},{label}" for (a, b, c), label in zip(X, y, strict=True)]
    source.write_text("\n".join(["a,b,c,outcome", *lines]) + "\n", encoding="utf-8")
    for row in ESTIMATORS:
        propriety_command("fit", source, "--target", "outcome", "--model", row.key, "--save", model)
        predictions = folder / f"{row.key}.csv"
        propriety_command("predict", model, source, "--out", predictions)
        written = len(predictions.read_text(encoding="utf-8").splitlines())
        check(written == 201, f"predict wrote {written} lines for 200 rows and a header")
        said = json.loads(propriety_command("explain", model, "--json"))
        check(said["model"] == row.name, f"explain took {row.name} for {said['model']}")


def propriety_command(*arguments: object) -> str:
    """What a command prints; an error of the command is ours."""
    command = [sys.executable, "-m", "propriety", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    check(result.returncode == 0, f"{' '.join(command[2:])} ended with\n{result.stdout}{result.stderr}")
    return result.stdout


def main() -> None:
    """Run it all."""
    print(f"Python {platform.python_version()},", ", ".join(f"{name} {version(name)}" for name in PACKAGES))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for row in ESTIMATORS:
            for n_classes in (2, 3):
                check_estimator(row, n_classes, folder)
        own = losses.from_weight(lambda p: 1 / (p * (1 - p)))
        X, y = table(100, 2)
        P = propriety.BoostingClassifier(own, max_iter=3).fit(X, y).predict_proba(X)
        check(bool(np.isfinite(P).all()), "a loss of one's own gives no probabilities")
        check_command_line(folder)
    print("smoke: everything works")


if __name__ == "__main__":
    main()
