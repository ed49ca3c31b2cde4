"""The commands in the documentation run."""

import re
import shlex
from pathlib import Path

import pytest
from running import run

from propriety.demonstration import write_table

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
COMMANDS = re.findall(r"^\$ propriety (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)


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
        "explain",
        "losses",
    }


# The demonstration is run by the test of the README.
@pytest.mark.parametrize("line", [line for line in COMMANDS if not line.startswith("demo")])
def test_a_command_of_the_page_runs(line, place, monkeypatch):
    monkeypatch.chdir(place)
    if "tumours.propriety" in line and not line.startswith("fit"):
        first = next(c for c in COMMANDS if c.startswith("fit"))
        if not (place / "tumours.propriety").exists():
            run(*shlex.split(first))
    run(*shlex.split(line))
