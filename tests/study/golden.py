"""Judged numbers that must not change unnoticed; ``python tests/study/golden.py --record`` records them anew.

Each case is one command on a small table. What is kept of it are the numbers that say what decisions cost.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from propriety import AutoClassifier
from propriety.cli.app import app

PATH = Path(__file__).with_name("golden.json")
N = 240
_MATRIX = ",high,low,middle\nhigh,0,20,4\nlow,5,0,2\nmiddle,3,6,0\n"
_ABSTAIN = ",no,yes,abstain\nno,0,1,0.3\nyes,9,0,0.3\n"
_LINEAR, _TREE = ("--model", "linear"), ("--model", "tree", "--set", "max_leaf_nodes=6")
_FIT, _COMPARE = ("fit", "-t", "late"), ("compare", "-t", "late", "--models", "linear,logistic")
_FOLDS, _HELD_OUT = ("--folds", "2"), ("--holdout", "0.4")
_TWO = ("--fn-cost", "4")
_ROWS = ("--fn-cost", "amount", "--fp-cost", "0.5 + 0.1*amount")
#: The arguments of each command, the table left out; @name is a file beside it.
CASES = {
    "plain": (*_FIT, *_LINEAR, *_TWO, *_FOLDS),
    "whole weights": (*_FIT, *_LINEAR, *_TWO, *_HELD_OUT, "--weights", "copies"),
    "fractional weights": (*_FIT, *_LINEAR, *_TWO, *_HELD_OUT, "--weights", "weight"),
    "groups": (*_FIT, *_LINEAR, *_TWO, *_FOLDS, "--groups", "customer"),
    "time": (*_FIT, *_LINEAR, *_TWO, *_FOLDS, "--time", "opened"),
    "row costs": (*_FIT, *_LINEAR, *_ROWS, *_FOLDS),
    "benefits": (*_FIT, *_TREE, "--tp-benefit", "3", "--tn-benefit", "0.5", *_HELD_OUT),
    "matrix": ("fit", "-t", "level", *_TREE, "--cost-matrix", "@matrix.csv", *_FOLDS),
    "abstaining": (*_FIT, *_TREE, "--cost-matrix", "@abstain.csv", *_FOLDS),
    "budget": (*_FIT, *_LINEAR, *_TWO, *_HELD_OUT, "--budget", "0.1"),
    "offset": (*_FIT, *_LINEAR, *_TWO, *_FOLDS, "--offset", "start"),
    "stream": (*_FIT, *_TREE, *_TWO, "--memory", "1GB"),
    "compare plain": (*_COMPARE, *_TWO, *_FOLDS),
    "compare groups and weights": (
        *_COMPARE, *_TWO, *_FOLDS, "--groups", "customer", "--weights", "weight"
    ),
    "compare row costs": (*_COMPARE, *_ROWS, *_HELD_OUT),
    "compare matrix": (
        "compare", "-t", "level", "--models", "tree,logistic", "--cost-matrix", "@matrix.csv", *_FOLDS
    ),
}  # fmt: skip
_KEPT = ("rows", "judged_by", "threshold", "judgements", "differences", "importances")


def columns(seed=0):
    """The table."""
    rng = np.random.default_rng(seed)
    years, amount = rng.integers(0, 20, N), np.round(rng.lognormal(2, 0.7, N), 2)
    size = np.round(rng.normal(size=N), 3)
    late = rng.random(N) < 1 / (1 + np.exp(1 + 0.1 * years - 1.2 * size))
    level = np.array(["low", "middle", "high"])[np.digitize(years + 6 * size, [4, 12])]
    return {
        "years": years,
        "size": size,
        "kind": rng.choice(["a", "b", "c"], N),
        "amount": amount,
        "customer": [f"c{k}" for k in rng.integers(0, 40, N)],
        "opened": (np.datetime64("2024-01-01") + rng.permutation(N)).astype(str),
        "copies": rng.integers(1, 4, N),
        "weight": np.round(rng.uniform(0.2, 2, N), 3),
        "start": np.round(0.5 * size + rng.normal(size=N) / 2 - 1, 3),
        "late": np.where(late, "yes", "no"),
        "level": level,
    }


def write(folder):
    """The files that the cases read."""
    table = columns()
    for target, other in (("late", "level"), ("level", "late")):
        names = [name for name in table if name != other]
        rows = zip(*(table[name] for name in names), strict=True)
        lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
        (folder / f"{target}.csv").write_text("\n".join(lines) + "\n")
    (folder / "matrix.csv").write_text(_MATRIX)
    (folder / "abstain.csv").write_text(_ABSTAIN)


def measured(name, folder):
    """What the command of a case says now."""
    command, _, target, *rest = CASES[name]
    rest = [str(folder / word[1:]) if word.startswith("@") else word for word in rest]
    table = str(folder / f"{target}.csv")
    said = told(command, table, "-t", target, *rest)
    for judgement in said["judgements"]:
        judgement.pop("seconds")
    return {key: said[key] for key in _KEPT if key in said}


def told(*arguments):
    """What a command says to machines."""
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.stdout + result.stderr
    return json.loads(result.stdout)


def measured_auto():
    """What `AutoClassifier` says of itself."""
    table = columns()
    X = np.column_stack([table["years"], table["size"]]).astype(float)
    model = AutoClassifier(fn_cost=4, members=["linear"], random_state=0).fit(X, table["late"])
    return {"verdict": model.verdict}


def record():
    """Write the numbers of all cases."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder)
        found = {name: measured(name, folder) for name in CASES} | {"auto": measured_auto()}
    PATH.write_text(json.dumps(_rounded(found), indent=1) + "\n")


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


if __name__ == "__main__":
    if sys.argv[1:] != ["--record"]:
        sys.exit(__doc__)
    record()
