"""The commands and the code of the README."""

import re
import subprocess
import sys
from pathlib import Path

import run as runner

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_the_readme_names_the_commands_that_exist():
    commands = re.findall(r"^python3 run\.py (\w+)", README, flags=re.MULTILINE)
    assert commands == ["demo", "check"]
    assert "python3 run.py check" in (ROOT / ".ci" / "run").read_text()
    assert {"lint", "formatting", "types", "tests", "documentation"} == set(runner.CHECKS)


def test_the_demonstration_runs():
    done = subprocess.run(
        [sys.executable, "-m", "propriety"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    rows = [line for line in done.stdout.splitlines() if "threshold" in line or "Classifier(" in line]
    assert len(rows) == 4
    cost = {row[:42].strip(): float(row[42:50]) for row in rows}
    # Deciding by the costs must be cheaper than deciding at one half.
    at_half = cost["logistic regression, threshold 1/2"]
    assert all(
        value < at_half for name, value in cost.items() if name != "logistic regression, threshold 1/2"
    )


def test_the_readme_code_runs():
    for block in re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL):
        exec(compile(block, "README.md", "exec"), {})
