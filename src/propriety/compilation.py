"""How a process compiles kernels: out of reach of interrupts, and not while it forks.

Numba's compiler does not survive an exception between two of its steps, such as the KeyboardInterrupt that
Python raises in the main thread: later compilations fail or crash. So a thread of its own compiles, and who
asked for the kernel waits and can be interrupted; it is finished all the same, for whoever needs it next.

A child process inherits locks without the threads that would release them. So a fork waits until no kernel is
being compiled, and no module imported, whose lock is as much of a lock.
"""

from __future__ import annotations

import _imp
import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from importlib import _bootstrap
from typing import Any

from llvmlite.binding import ffi
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from propriety import parallel

_here = threading.local()
_idle = threading.Condition()  # whose lock a fork holds
_running = 0  # compilations
_LONGEST_IMPORT = 10.0  # seconds that a fork waits for one
#: Held while a kernel is made, which is not compiled yet.
making = threading.Lock()


def guarded(kernel: Any) -> Any:
    """Compile a kernel once, whichever threads ask for it, and as this module says."""
    if not isinstance(kernel, Dispatcher):  # nothing is compiled
        return kernel
    lock, compile_ = threading.RLock(), kernel.compile

    def compile_once(kinds: Any) -> Any:
        if global_compiler_lock.is_locked():  # by this thread, for a kernel that calls this one
            return compile_(kinds)
        return parallel.uninterrupted(work, kinds)

    def work(kinds: Any) -> Any:
        with _without_fork(), lock:
            return compile_(kinds)

    kernel.__dict__["compile"] = compile_once
    return kernel


@contextmanager
def _without_fork() -> Iterator[None]:
    """Let no thread fork meanwhile; wait for one that does."""
    global _running  # noqa: PLW0603
    with _idle:
        _running += 1
        _here.running = getattr(_here, "running", 0) + 1
    try:
        yield
    finally:
        with _idle:
            _running -= 1
            _here.running -= 1
            _idle.notify_all()


def _hold() -> None:
    """Wait until no other thread compiles, be it another package's function, or imports; let none begin."""
    end = time.monotonic() + _LONGEST_IMPORT
    while True:
        with ExitStack() as locks:
            locks.enter_context(_idle)
            _idle.wait_for(lambda: _running == getattr(_here, "running", 0))
            locks.enter_context(global_compiler_lock)
            locks.enter_context(getattr(ffi.lib, "_lock", nullcontext()))
            locks.enter_context(making)
            _imp.acquire_lock()  # without it no import begins
            locks.callback(_imp.release_lock)
            if not _others_import() or time.monotonic() > end:
                _here.held = locks.pop_all()
                return
        time.sleep(0.001)  # an import may need each of these locks


def _others_import() -> bool:
    """Whether other threads are importing modules, and none that wait for one that this thread imports."""
    locks = [reference() for reference in list(getattr(_bootstrap, "_module_locks", {}).values())]
    owners = {getattr(lock, "owner", None) for lock in locks} - {None}
    return bool(owners) and threading.get_ident() not in owners


def _release() -> None:
    """Let threads compile, after the fork, or after a wait for it that was interrupted."""
    held, _here.held = getattr(_here, "held", None), None
    if held is not None:
        held.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)
