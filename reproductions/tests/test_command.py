"""The command: its list, its errors, and the page that it brings up to date."""

import re

import pytest

from propriety.version import __version__
from reproductions import command, registry
from reproductions.text import updated

PAGE = command.RESULTS.read_text(encoding="utf-8")


def test_without_a_name_it_lists_every_experiment(capsys):
    assert command.main([]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if " min " in line]
    assert listed == registry.names()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["nope"], "there is no experiment 'nope'; there are buja-4"),
        (["all"], "all needs --out FOLDER"),
        (["buja-4", "--quick", "--update"], "--update needs a full run, without --quick"),
        (["buja-4", "--adopt"], "--adopt needs --out FOLDER"),
        (["buja-4", "--jobs", "0"], "--jobs must be at least 1"),
        (["buja-4", "--data", "/there/is/none"], "--data: there is no folder"),
        (["buja-4", "--out", __file__], "is not a folder"),
        (["buja-4", "--again", "--adopt"], "not allowed with"),
    ],
)
def test_what_cannot_be_meant_is_an_error(line, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main(line)
    assert stopped.value.code == 2
    assert message in re.sub(r"\s+", " ", capsys.readouterr().err)


def test_help_has_examples_that_name_experiments(capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main(["--help"])
    assert stopped.value.code == 0
    named = re.findall(r"python -m reproductions ([a-z]\S+)", capsys.readouterr().out)
    assert named
    assert set(named) <= {*registry.names(), "all"}


def test_an_experiment_without_its_data_says_so_and_leaves_the_page(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("PROPRIETY_DATA", raising=False)
    page = tmp_path / "RESULTS.md"
    page.write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(command, "RESULTS", page)
    line = ["buja-5", "--data", str(tmp_path), "--out", str(tmp_path / "out"), "--update"]
    assert command.main(line) == 1
    told = capsys.readouterr()
    assert "pima-indians-diabetes.data is not in" in told.out
    assert "no data for buja-5" in told.err
    assert page.read_text(encoding="utf-8") == PAGE
    assert f"propriety {__version__}" in (tmp_path / "out" / "buja-5.html").read_text(encoding="utf-8")


def test_the_page_is_taken_apart_and_put_together():
    assert updated(PAGE, []) == PAGE
