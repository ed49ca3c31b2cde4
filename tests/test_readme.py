"""The commands, output and table of the README; ``python -m tests.test_readme`` records the output."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import run as runner
from tests.cli.running import run

import propriety
from propriety import demonstration

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| `(.+)` \|$", README, flags=re.MULTILINE)
COMMAND, SHOWN = re.search(r"`propriety (fit [^`]+)` prints.*?```text\n(.*?)```", README, re.DOTALL).groups()


def test_it_is_one_screen():
    assert len(README.splitlines()) <= 70
    assert len([word for word in README.split() if re.search(r"\w", word)]) <= 500


def test_the_commands_exist():
    commands = re.findall(r"^python3 run\.py (\w+)", README, flags=re.MULTILINE)
    assert commands == ["demo", "check"]
    assert "python3 run.py check" in (ROOT / ".ci" / "run").read_text()
    assert {"lint", "formatting", "types", "tests", "documentation"} == set(runner.CHECKS)


def test_the_demonstration_runs(tmp_path):
    assert '"-m", "propriety", "demo"' in (ROOT / "run.py").read_text()
    done = subprocess.run(
        [sys.executable, "-m", "propriety", "demo", "--folder", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    rows = re.finditer(r"^(\S.*?)  +([\d.,]+)  +[\d,]+ – ", done.stdout, re.MULTILINE)
    cost = {m[1]: float(m[2].replace(",", "")) for m in rows}
    # Every model must be cheaper than deciding without one.
    models = [cost[name] for name in ("propriety linear", "propriety boosting", "logistic regression")]
    assert max(models) < cost["always 'malignant'"] < cost["never 'malignant'"]
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if str(tmp_path) not in line)
    assert (tmp_path / "tumours.propriety").exists()
    assert "<svg" in (tmp_path / "report.html").read_text(encoding="utf-8")


def printed():
    """What the command of the README prints: the threshold, the table of costs, and the verdict."""
    demonstration.write_table("tumours.csv")
    lines = [line.rstrip() for line in run(*shlex.split(COMMAND)).stdout.splitlines()]
    first, last = (next(i for i, line in enumerate(lines) if line.startswith(words)) for words in _ENDS)
    verdict = next(i for i, line in enumerate(lines) if line.startswith("Propriety auto"))
    return [*lines[first:last], *lines[verdict : verdict + 2]]


_ENDS = ("threshold for", "Confidence intervals")


def test_the_output_is_that_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert SHOWN.splitlines() == printed(), "if it is meant: python -m tests.test_readme"


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """A folder with the tables of the README, and what its code may use."""
    folder = tmp_path_factory.mktemp("readme")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"amount": rng.lognormal(size=400), "age": rng.normal(40, 9, 400).round()})
    y = (rng.random(400) < 0.1 + 0.6 * (X["amount"] > 1.5)).to_numpy().astype(int)
    loans = X.assign(default=y)
    loans.to_csv(folder / "loans.csv", index=False)
    (folder / "loans").mkdir()
    for k in range(2):
        loans[200 * k : 200 * (k + 1)].to_parquet(folder / "loans" / f"{k}.parquet")
    public = {name: getattr(propriety, name) for name in propriety.__all__}
    given = {"X": X, "y": y, "p": np.where(y, 0.6, 0.2), "propriety": propriety}
    return folder, public | given


def test_the_table_is_short():
    assert 1 <= len(ROWS) <= 8


@pytest.mark.parametrize("line", [line for _, line in ROWS], ids=[name for name, _ in ROWS])
def test_a_row_of_the_table_runs(line, names, monkeypatch, capsys):
    folder, public = names
    monkeypatch.chdir(folder)
    if line.startswith("propriety "):
        run(*shlex.split(line)[1:])
        assert "<svg" in Path("loans.html").read_text(encoding="utf-8")
        return
    if "onnx" in line:
        pytest.importorskip("onnx")
    exec(compile(line, "README.md", "exec"), dict(public))
    assert ("print(" in line) == bool(capsys.readouterr().out)


if __name__ == "__main__":
    import os
    import tempfile

    os.chdir(tempfile.mkdtemp())
    new = README.replace(f"```text\n{SHOWN}```", "```text\n" + "\n".join(printed()) + "\n```")
    (ROOT / "README.md").write_text(new, encoding="utf-8")
