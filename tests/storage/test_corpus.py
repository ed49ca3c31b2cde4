"""Files and texts that the drivers in tests/fuzz made, one for each way in which they are refused or read."""

import os
from pathlib import Path

import pytest
from tests.fuzz import fuzz_load, fuzz_parse

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(CORPUS.glob("*.propriety"))
TEXTS = (CORPUS / "losses.txt").read_text(encoding="utf-8").splitlines()
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the drivers set an alarm")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_changed_file_is_refused_or_its_model_works(path):
    assert fuzz_load.attempt(path.read_bytes()) is None


@pytest.mark.parametrize("text", TEXTS)
def test_a_strange_text_is_refused_or_is_a_loss(text):
    assert fuzz_parse.attempt(text) is None


def test_the_corpus_is_small():
    assert 10 < len(FILES) < 40
    assert all(path.stat().st_size < 2048 for path in FILES)
