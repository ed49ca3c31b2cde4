"""What fuzzing has found, and where it began, once more: a table or a TableError, never anything else."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "fuzz"))

from readers import read_bytes

FOLDER = Path(__file__).parent / "corpus"
FILES = sorted(FOLDER.iterdir())


def test_the_corpus_is_small():
    assert 20 <= len(FILES) < 60
    assert max(file.stat().st_size for file in FILES) < 2048


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_an_input_is_a_table_or_a_table_error(file):
    format = file.suffix[1:]
    data = file.read_bytes()
    read_bytes(data, None if format == "any" else format)
    read_bytes(data, None, header=False, chunk_bytes=4096)
