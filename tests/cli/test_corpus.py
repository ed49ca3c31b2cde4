"""What fuzzing the arguments has found, and where it began, once more: see `tests/fuzz/arguments.py`."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "fuzz"))

from arguments import arguments_of, names, prepare, run_command

FILES = sorted((Path(__file__).parent / "corpus").iterdir())


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    prepare(folder)
    return folder


def test_the_corpus_is_small_and_has_every_command():
    assert len(FILES) < 80
    assert max(file.stat().st_size for file in FILES) < 1024
    begun = {arguments_of(file.read_bytes())[0][0] for file in FILES}
    assert begun == set(names())


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_command_line_ends_in_order(file, prepared, monkeypatch):
    monkeypatch.chdir(prepared)
    code = run_command(file.read_bytes())
    if file.stem.removesuffix("-people") in names():
        assert code == 0


@pytest.mark.parametrize(
    "arguments", ["losses\n--nope", "fit", "fit\nt.csv", "demo\n--seed\n-1", "fit\n--jobs\n1e9"]
)
def test_wrong_use_is_json_where_json_is_asked_for(arguments, prepared, monkeypatch):
    monkeypatch.chdir(prepared)
    assert run_command(arguments.encode()) == 2
