"""The commands in the documentation run."""

import re
import shlex
from pathlib import Path

import pytest
from running import run

import propriety
from propriety.demonstration import write_table

DOCS = Path(__file__).parents[2] / "docs"
COSTS = (DOCS / "costs.md").read_text(encoding="utf-8")


def commands_of(page):
    return re.findall(r"^\$ propriety (.*)$", page, flags=re.MULTILINE)


COMMANDS = commands_of((DOCS / "command-line.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    write_table(str(folder / "tumours.csv"))
    return folder


def test_the_commands_are_found():
    assert {line.split()[0] for line in COMMANDS} == {
        "demo",
        "fit",
        "predict",
        "compare",
        "validate",
        "monitor",
        "adapt",
        "explain",
        "export",
        "losses",
    }


# The demonstration is run by the test of the README.
@pytest.mark.parametrize("line", [line for line in COMMANDS if not line.startswith("demo")])
def test_a_command_of_the_page_runs(line, place, monkeypatch):
    monkeypatch.chdir(place)
    if line.startswith("export"):
        pytest.importorskip("onnx")
    if "tumours.propriety" in line and not line.startswith("fit"):
        first = next(c for c in COMMANDS if c.startswith("fit"))
        if not (place / "tumours.propriety").exists():
            run(*shlex.split(first))
    run(*shlex.split(line))


def test_the_commands_of_the_page_of_costs_run(tmp_path, monkeypatch):
    """One after the other, on the tables that the page makes in Python; its matrix is on the page."""
    names = {}
    for block in re.findall(r"```pycon\n(.*?)```", COSTS, flags=re.DOTALL):
        if "loans = " in block or "state = " in block or "customers = " in block:
            made = block.split(">>> doctor")[0].split(">>> model")[0].split(">>> mailing")[0]
            exec("\n".join(line[4:] for line in made.splitlines() if line[:4] in (">>> ", "... ")), names)
    monkeypatch.chdir(tmp_path)
    names["loans"].assign(paid=names["paid"]).to_csv("loans.csv", index=False)
    names["customers"].assign(buys=names["buys"]).to_csv("customers.csv", index=False)
    names["pd"].DataFrame(names["x"], columns=["a", "b"]).assign(state=names["state"]).to_csv(
        "patients.csv", index=False
    )
    Path("costs.csv").write_text(re.search(r"```text\n(.*?)```", COSTS, flags=re.DOTALL)[1])
    lines = commands_of(COSTS)
    assert len(lines) == 13
    for line in lines:
        run(*shlex.split(line))
    for page in ("loans", "patients", "mailing", "rough"):
        assert "<svg" in Path(f"{page}.html").read_text(encoding="utf-8")
    letters = propriety.tables.open_source("letters.csv").read().column("decision").to_pylist()
    assert letters.count("1") == 50
    advice = propriety.tables.open_source("advice.csv").read().column("decision").to_pylist()
    assert set(advice) == {"abstain", "cancer", "healthy", "polyp"}
