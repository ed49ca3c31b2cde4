"""``propriety warm``, and what is told while kernels are compiled."""

import io
import json
import sys
from concurrent.futures import Future

import pytest
from running import run

from propriety import caching
from propriety.cli import warm
from propriety.trees import apply_bins, quantiles, selection, sorting


class InThisProcess:
    """Runs what it is given at once."""

    def __init__(self, *_, **__):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def submit(self, function, *args):
        done = Future()
        done.set_result(function(*args))
        return done


def test_every_part_is_used_and_told(monkeypatch):
    used = []
    monkeypatch.setattr(warm, "ProcessPoolExecutor", InThisProcess)
    monkeypatch.setattr(
        warm, "PARTS", {name: lambda X, score, name=name: used.append((name, X.shape)) for name in warm.PARTS}
    )
    told = json.loads(run("warm", "--json").stdout)
    assert used == [(name, (60, 3)) for name in ("boosting", "forest", "readable", "linear")]
    assert set(told["parts"]) == {"boosting", "forest", "readable", "linear"}


@pytest.mark.parametrize("part", warm.PARTS)
def test_a_part_can_be_fitted(part):
    assert warm.run(part) > 0


def test_kernels_of_many_rows_are_used(monkeypatch):
    used = set()

    def noting(kernel, where):
        def call(*args):
            used.add((where, args[0].dtype.name))
            return kernel(*args)

        return call

    kernels = {
        (selection, "_select"): {"float32", "float64"},
        (quantiles, "_end_bins"): {"float32", "float64"},
        (sorting, "_sort_bits"): {"uint32", "uint64"},
        (apply_bins, "_tabulate"): {"float64"},
    }
    for module, name in kernels:
        monkeypatch.setattr(module, name, noting(getattr(module, name), name))
    warm.run("boosting")
    assert used == {(name, dtype) for (_, name), dtypes in kernels.items() for dtype in dtypes}


def test_it_says_so_where_nothing_can_be_kept(monkeypatch):
    monkeypatch.setattr(caching, "CACHE", False)
    assert "set NUMBA_CACHE_DIR" in run("warm", code=2).stderr


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "lines"), [(Terminal, 1), (io.StringIO, 0)])
def test_long_compilations_are_told_once_on_a_terminal(stream, lines, monkeypatch):
    class Compiled:
        @staticmethod
        def py_func():
            pass

    Compiled.py_func.__module__ = "propriety.trees.gradient_grower"
    happening = type("Event", (), {"data": {"dispatcher": Compiled}})
    seconds = iter(range(100))
    monkeypatch.setattr(caching.time, "perf_counter", lambda: float(next(seconds)))
    monkeypatch.setattr("sys.stderr", stream())
    progress = caching._Progress()
    for _ in range(4):
        progress.on_start(happening)
        progress.on_end(happening)

    assert sys.stderr.getvalue().count("\n") == lines
    assert ("once on this machine" in sys.stderr.getvalue() or not caching.CACHE) == bool(lines)
