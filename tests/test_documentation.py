"""Every block of code in the documents is run, here or by the test that `ELSEWHERE` names."""

import re
import shlex
import tomllib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import run

from propriety import demonstration
from propriety.cli.app import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
#: Blocks in ``pycon`` are doctests of plots/test_documents.py, on any page.
ELSEWHERE = {
    ("README.md", "sh"): "test_readme.py",
    ("README.md", "text"): "test_readme.py",
    ("command-line.md", "console"): "cli/test_document.py",
    ("costs.md", "console"): "cli/test_document.py",
    ("costs.md", "text"): "cli/test_document.py",
    ("deploying.md", "python"): "export/test_document.py",
    ("scale.md", "python"): "distributed/test_dask.py",
}
HERE = {
    ("command-line.md", "sh"),
    ("command-line.md", "dockerfile"),
    ("other-trainers.md", "python"),
    *((page.name, "console") for page in PAGES),
}
#: Packages without which a block cannot run.
OPTIONAL = ("torch", "jax", "xgboost", "catboost", "lightgbm")


def blocks(page):
    """Language and text of each block of a page that is no part of a list, and no directive of Sphinx."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^```(\S*)[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [(kind, code) for kind, code in found if not kind.startswith("{")]


def commands(page, language):
    """The lines of a page that a shell is given, without prompts and comments."""
    lines = "\n".join(text for kind, text in blocks(page) if kind == language).splitlines()
    return [re.sub(r"^\$ |\s+# .*$", "", line) for line in lines if line.strip()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_is_run(page):
    kinds = {(page.name, kind) for kind, _ in blocks(page)} - {(page.name, "pycon")}
    assert kinds <= ELSEWHERE.keys() | HERE, "say in this file where the block is run"


def test_the_tests_elsewhere_read_these_pages():
    for (page, _), test in ELSEWHERE.items():
        assert page in (ROOT / "tests" / test).read_text(encoding="utf-8")
        assert page in {path.name for path in PAGES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The tables that the pages speak of."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    amount, kind = rng.lognormal(size=300), rng.choice(["car", "home"], 300)
    late = rng.random(300) < 0.1 + 0.6 * (amount > 1.5)
    loans = pd.DataFrame({"amount": amount, "kind": kind, "late": late})
    (folder / "loans").mkdir()
    for k in range(3):
        loans[100 * k : 100 * (k + 1)].to_parquet(folder / "loans" / f"{k}.parquet")
    loans.rename(columns={"late": "default"}).to_csv(folder / "loans.csv", index=False)
    loans.drop(columns="late").to_csv(folder / "new.csv", index=False)
    demonstration.write_table(str(folder / "tumours.csv"))
    return folder


def check_install(line):
    """Whether the extras are there that ``pip install`` is told of."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for names in re.findall(r"(?:propriety|\.)\[([\w,]+)\]", line):
        assert set(names.split(",")) <= extras.keys(), line


@pytest.mark.parametrize(
    "page", [page for page in PAGES if (page.name, "console") not in ELSEWHERE], ids=lambda page: page.name
)
def test_the_commands_of_a_page_run(page, folder, monkeypatch):
    served = []
    monkeypatch.setattr(
        "propriety.explore.server.serve", lambda _, listening: served.append(listening.close())
    )
    monkeypatch.setattr("webbrowser.open", lambda address: None)
    monkeypatch.chdir(folder)
    lines = commands(page, "console")
    for line in lines:
        words = shlex.split(line)
        if words[:2] == ["pip", "install"]:
            check_install(line)
        elif words[0] == "propriety":
            run(*words[1:])
        else:
            assert words[0] == "python", line
            assert words[1:3] == ["-m", "venv"] or (ROOT / words[1]).exists(), line
    assert len(served) == sum(line.startswith("propriety explore") for line in lines)


def test_the_pipe_and_the_image_of_the_page_on_the_command_line(folder, monkeypatch):
    page = ROOT / "docs" / "command-line.md"
    monkeypatch.chdir(folder)
    (line,) = commands(page, "sh")
    made, command = line.split(" | ")
    assert made == "zcat new.csv.gz"
    words, out = shlex.split(command.split(" > ")[0]), command.split(" > ")[1]
    run("fit", "tumours.csv", "-t", "diagnosis", "--model", "linear", "--save", words[2])
    scored = run(*words[1:], input=(folder / "tumours.csv").read_bytes()).stdout
    assert out == "scored.csv"
    assert "probability" in scored.splitlines()[0]
    (image,) = (text for kind, text in blocks(page) if kind == "dockerfile")
    assert "NUMBA_CACHE_DIR=" in image
    assert image.rstrip().endswith("propriety warm")
    assert "warm" in {name for name, *_ in COMMANDS}
    check_install(image)


@pytest.mark.filterwarnings("default")
def test_other_trainers_run_as_their_page_says(tmp_path, monkeypatch):
    """Each block by itself: which trainers are installed differs."""
    monkeypatch.chdir(tmp_path)
    page, ran = ROOT / "docs" / "other-trainers.md", 0
    rng = np.random.default_rng(0)
    for kind, text in blocks(page):
        if kind == "python":
            X = rng.normal(size=(60, 3))
            names = {"X": X, "y": (X[:, 0] > 0).astype(float), "np": np}
            (trainer,) = {m for m in re.findall(r"^import (\w+)", text, re.MULTILINE) if m in OPTIONAL}
            if find_spec(trainer) is None:
                continue
            exec(compile(text, "other-trainers", "exec"), names)
            p = np.asarray(names["p"])
            assert p.shape[0] == 60
            assert np.all((p >= 0) & (p <= 1))
            ran += 1
    if not ran:
        pytest.skip("none of the trainers is installed")
