"""Results are used again where the code that gives them, and what it is given, are the same."""

import importlib
import sys
from functools import partial
from textwrap import dedent

import numpy as np
import pytest

from reproductions import fingerprint as module
from reproductions import masnadi_sets, nock2008
from reproductions.data import Data
from reproductions.fingerprint import fingerprint

CODE = """
    from reproductions.nock_sets import separator

    RATE = 2
    OTHER = 3

    def helper(x):
        return RATE * x

    def fit(item, gain=1.0):
        "What it does."
        return helper(item) + gain

    def verdict(item):
        return "so it is"
"""


@pytest.fixture
def key(tmp_path, monkeypatch):
    """The fingerprint of `fit` in a module of that text, with these arguments."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(module, "_library", lambda: "the library")

    def of(text=CODE, **given):
        module._module.cache_clear()
        sys.modules.pop("an_experiment", None)
        (tmp_path / "an_experiment.py").write_text(dedent(text))
        importlib.invalidate_caches()
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            return fingerprint(partial(importlib.import_module("an_experiment").fit, **given))
        finally:
            sys.dont_write_bytecode = before

    yield of
    module._module.cache_clear()
    sys.modules.pop("an_experiment", None)


@pytest.mark.parametrize(
    ("old", "new"),
    [("so it is", "it is not so"), ("What it does.", "In other words."), ("OTHER = 3", "OTHER = 4  # why")],
    ids=["a verdict", "a docstring", "a constant that it does not use"],
)
def test_words_do_not_count(key, old, new):
    assert key(CODE.replace(old, new)) == key()


@pytest.mark.parametrize(
    ("old", "new"),
    [("RATE = 2", "RATE = 2.5"), ("RATE * x", "RATE + x"), ("+ gain", "- gain")],
    ids=["a constant", "a function that it calls", "its own code"],
)
def test_code_counts(key, old, new):
    assert key(CODE.replace(old, new)) != key()


def test_arguments_count_and_folders_do_not(key, tmp_path):
    assert key(gain=2.0) != key() != key(gain=3.0) != key(gain=2.0)
    assert key(gain=np.arange(3)) == key(gain=[0, 1, 2])
    assert key(gain=1.0, data=Data(())) == key(gain=1.0, data=Data((tmp_path,)))


def test_the_library_counts(key, monkeypatch):
    before = key()
    monkeypatch.setattr(module, "_library", lambda: "another")
    assert key() != before


def test_code_that_was_read_is_not_read_again(monkeypatch):
    module.read_code()
    before = fingerprint(nock2008.errors)
    monkeypatch.setattr(module.inspect, "getsource", lambda of: "errors = None")
    assert fingerprint(nock2008.errors) == before
    module._module.cache_clear()
    assert fingerprint(nock2008.errors) != before
    module._module.cache_clear()


def test_definitions_of_other_modules_of_the_papers_are_followed():
    used = {text.split(" ")[0].removeprefix("reproductions.") for text in module._used(nock2008.errors)}
    assert {"nock2008.errors", "nock2008.SINGLE", "nock_sets.separator", "nock_sets.BINS"} <= used
    assert {"data.Data", "data._comma", "coding.indicators"} <= used
    assert not any("draw" in name or "verdict" in name for name in used)


def test_every_module_that_computes_is_of_the_library(monkeypatch):
    read = []
    monkeypatch.setattr(module, "_code", lambda tree: read.append(tree) or "")
    module._library.__wrapped__()
    assert len(read) > 100
    assert fingerprint(masnadi_sets.sweep) == fingerprint(masnadi_sets.sweep)
