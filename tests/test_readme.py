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


def test_the_demonstration_runs(tmp_path):
    assert '"-m", "propriety", "demo"' in (ROOT / "run.py").read_text()
    done = subprocess.run(
        [sys.executable, "-m", "propriety", "demo", "--folder", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    rows = re.finditer(r"│ (\S[^│]*?) +│ +([\d.,]+) │", done.stdout)
    cost = {m[1]: float(m[2].replace(",", "")) for m in rows}
    # Every model must be cheaper than deciding without one.
    models = [cost[name] for name in ("propriety linear", "propriety boosting", "logistic regression")]
    assert max(models) < cost["always 'malignant'"] < cost["never 'malignant'"]
    assert (tmp_path / "tumours.propriety").exists()
    assert "<svg" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_readme_code_runs():
    for block in re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL):
        exec(compile(block, "README.md", "exec"), {})
