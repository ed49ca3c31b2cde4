"""Kernels that are compiled beside others are the same, on disk too; the guess of their types is right."""

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from numba import typeof

from propriety import parallel
from propriety.boosting import BoostingClassifier
from propriety.engine import ahead, aside, grower
from propriety.engine.compiling import COMPILED, FAMILIAR, inner, kernel

pytestmark = pytest.mark.skipif(
    not (COMPILED and FAMILIAR), reason="nothing is compiled, or in Numba's own way"
)

_FIT = """
import numpy as np
from propriety.boosting import BoostingClassifier
from propriety import parallel
from propriety.engine import aside
from propriety.engine.grower import grow_tree
from propriety.engine.predictor import _score
parallel.n_cores = lambda: 2
threads, begin = [], aside.Thread.start
aside.Thread.start = lambda self: (threads.append(self), begin(self))
X = np.random.default_rng(0).normal(size=(300, 3))
model = BoostingClassifier(n_jobs=2, max_iter=3, random_state=0).fit(X, X[:, 0] > 0)
compilers = [thread for thread in threads if thread.name == "propriety-compiler"]
print(len(compilers), len(grow_tree.overloads), sum(grow_tree.stats.cache_hits.values()))
print(float(model.decision_function(X).sum()), len(_score.overloads))
"""


def _twice(x):
    return 2.0 * x


_inner_twice = inner(_twice)


def _sum_twice(values):
    total = 0.0
    for i in range(values.size):
        total += _inner_twice(values[i])
    return total


def test_a_kernel_compiled_aside_is_the_same():
    values, beside = np.arange(5.0), kernel(_sum_twice)
    aside.compile_aside(beside, values)
    aside.wait(beside)
    assert len(beside.overloads) == 1
    assert beside(values) == 20.0
    assert len(beside.overloads) == 1
    assert not aside.is_needed()


def test_others_compile_while_llvm_works(monkeypatch):
    """The lock is free in the meantime: a kernel that is compiled there does not wait for this one."""
    found, plain, begun = [], aside._unlocked, []

    def during():
        with plain():
            if not begun:  # else it is the other kernel's turn
                begun.append(True)
                other = threading.Thread(target=lambda: found.append(kernel(lambda x: x + 1)(2)))
                other.start()
                other.join(60)
                found.append(other.is_alive())
            yield

    monkeypatch.setattr(aside, "_unlocked", aside.contextmanager(during))
    factor = np.random.default_rng().random()  # or an earlier run would have left the kernel on disk
    beside = kernel(lambda x: x * factor)
    aside.compile_aside(beside, 1.0)
    aside.wait(beside)
    assert found == [3, False]
    assert beside(2.0) == 2.0 * factor


def test_those_who_wait_compile_other_kernels():
    done, compiled = [], threading.Event()
    aside._begun["a kernel"] = compiled
    aside.meanwhile(lambda: done.append("after"))
    aside.meanwhile(lambda: (done.append("before"), compiled.set()))
    aside.wait("a kernel")
    assert done == ["before"]  # nobody waits any more, so that the rest is left to those who need it
    assert not aside._meanwhile


def test_threads_that_need_the_same_kernel_compile_it_once(monkeypatch):
    """Though LLVM leaves the lock to others: these wait for the one that has begun."""
    monkeypatch.setattr(aside, "is_needed", lambda: True)
    compiled, plain = [], aside.optimize
    monkeypatch.setattr(aside, "optimize", lambda *given: compiled.append(True) or plain(*given))
    term = np.random.default_rng().random()
    one, results = kernel(lambda x: x + term), []
    threads = [threading.Thread(target=lambda: results.append(one(1.0))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1.0 + term] * 4
    assert len(compiled) == 1


@pytest.mark.parametrize("collecting", [False, True])
def test_garbage_is_collected_as_before(monkeypatch, collecting):
    monkeypatch.setattr(aside, "is_needed", lambda: True)
    before = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        factor = np.random.default_rng().random()
        assert kernel(lambda x: _inner_twice(x) * factor)(1.0) == 2.0 * factor
        assert gc.isenabled() == collecting
    finally:
        (gc.enable if before else gc.disable)()


def test_errors_are_left_to_the_caller():
    broken = kernel(lambda x: x.nothing)
    aside.compile_aside(broken, 1.0)
    aside.wait(broken)
    assert not broken.overloads
    with pytest.raises(Exception, match="Unknown attribute"):
        broken(1.0)


def test_a_fit_compiles_its_grower_once_and_keeps_it(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", _FIT]
    told = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    ]
    assert told[0][:3] == ["3", "1", "0"]  # the grower, and two parts of it that it calls by their addresses
    assert told[1][:3] == ["3", "1", "1"]
    assert told[0][3] == told[1][3]
    assert told[0][4] == told[1][4] == "1"  # what gives scores is compiled for the table's numbers alone


@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_types_are_guessed_before_the_table_is_binned(monkeypatch, categories, weighted):
    guessed, met, grow_tree = [], set(), grower.grow_tree

    class _New:
        overloads = ()

    def record(*values):
        met.add(tuple(map(typeof, values)))
        return grow_tree(*values)

    monkeypatch.setattr(parallel, "n_cores", lambda: 2)
    monkeypatch.setattr(ahead, "grow_tree", _New)
    monkeypatch.setattr(grower, "grow_tree", record)

    def guess(kernel, *values):
        if kernel is _New:  # whose arguments name the types of those of its parts
            guessed.append(tuple(map(typeof, values)))

    monkeypatch.setattr(aside, "compile_aside", guess)
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(200, 3)))
    if categories:
        X[1] = pd.Categorical(random.integers(0, 5, 200))
    weights = random.random(200) if weighted else None
    BoostingClassifier(n_jobs=2, max_iter=2).fit(X, X[0] > 0, sample_weight=weights)
    BoostingClassifier(n_jobs=2, max_iter=2, subsample=0.5).fit(X, X[0] > 0, sample_weight=weights)
    assert len(guessed) == 2
    assert met == set(guessed)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_waits_for_kernels_that_are_being_compiled(monkeypatch):
    # The child would inherit the compiler's lock, and nobody would give it back.
    compiled = threading.Event()
    monkeypatch.setitem(aside._begun, "a kernel", compiled)
    threading.Timer(0.2, compiled.set).start()
    child = os.fork()
    if child == 0:
        os._exit(0 if compiled.is_set() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
