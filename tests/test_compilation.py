"""Interrupts and forks while a kernel is compiled."""

import os
import subprocess
import sys

import pytest

from propriety.trees.jit import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")

# A kernel whose types are inferred only when `go` is set.
KERNEL = """
import os, signal, sys, threading, time
from numba.extending import overload
from propriety.compilation import guarded
from numba import njit

begun, go, times = threading.Event(), threading.Event(), []

def plus_one(x):
    return x + 1

@overload(plus_one)
def _(x):
    times.append(x)
    begun.set()
    go.wait(20)
    return lambda x: x + 1

def kernel(x):
    return plus_one(x)

kernel = guarded(njit(kernel))
other = guarded(njit(lambda x: x + 2))
"""
INTERRUPTED = """
def interrupt():
    begun.wait()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    kernel(1)
except KeyboardInterrupt:
    assert not go.is_set() and not kernel.overloads
else:
    raise AssertionError("the interrupt came to nothing")
go.set()
assert kernel(1) == 2 and other(1) == 3
assert len(times) == 1, times  # what was begun was finished
"""
FORKED = """
compiler = threading.Thread(target=kernel, args=(1,))
compiler.start()
begun.wait()
threading.Timer(0.3, go.set).start()
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(0 if other(1) == 3 and kernel(1) == 2 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
compiler.join()
assert other(1) == 3 and len(times) == 1
"""
# A module that makes kernels, and is being imported while another thread forks.
FORKED_IN_AN_IMPORT = """
import pathlib, tempfile
from propriety.caching import njit

folder = tempfile.TemporaryDirectory()
sys.path.insert(0, folder.name)
pathlib.Path(folder.name, "slow.py").write_text(
    "from __main__ import begun, go, njit\\n"
    "begun.set()\\n"
    "go.wait(20)\\n"
    "kernel = njit()(lambda x: x + 1)\\n"
)
importer = threading.Thread(target=__import__, args=("slow",))
importer.start()
begun.wait()
threading.Timer(0.3, go.set).start()
child = os.fork()
if child == 0:
    signal.alarm(20)
    import slow
    os._exit(0 if callable(slow.kernel) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
importer.join()
import slow
assert callable(slow.kernel)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals and forks are those of POSIX")
@pytest.mark.parametrize(
    "script",
    [INTERRUPTED, FORKED, FORKED_IN_AN_IMPORT],
    ids=["interrupted", "forked", "forked in an import"],
)
def test_a_compilation_survives(script):
    done = subprocess.run(
        [sys.executable, "-c", KERNEL + script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


IMPORTED = """
import os, signal, sys
import propriety

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.config":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
try:
    import propriety.trees.jit
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("the interrupt came to nothing")
from propriety.trees import jit
assert "numba" in sys.modules
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_an_import_of_the_compiler_survives_an_interrupt():
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
