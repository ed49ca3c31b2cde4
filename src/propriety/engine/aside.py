"""Compiling kernels in threads of their own, while other kernels are compiled.

Numba holds a lock of its own while it compiles, and one of LLVM while that optimizes and writes machine code,
for which Python's is released. While a thread of :func:`compile_aside` is there, LLVM's part, two fifths of
the time, holds none of them, whoever compiles: its module is a copy in a context that no other thread sees,
and LLVM lets threads work on contexts of their own. So another thread can compile meanwhile.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ctypes import string_at
from threading import Event, Lock, Thread, local
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi
from numba import typeof
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

_TURN = 0.1  # seconds: on Windows an interrupt does not end a wait, so each is short
_here = local()
_lock = Lock()
_begun: dict[Any, Event] = {}  # compilations, and when each is done
_meanwhile: list[Callable[[], object]] = []  # what those who wait for a thread can do


def is_needed() -> bool:
    """Whether LLVM is to leave the locks to other threads: those that were made to compile a kernel.

    A thread that infers the types of a kernel holds Numba's lock on the call stack, which others need before
    they give back the one of the compiler: a kernel that is compiled for its caller keeps both.
    """
    inferring = cpu_target.typing_context.callstack._lock._is_owned()
    return not inferring and not all(done.is_set() for done in tuple(_begun.values()))


@contextmanager
def without_garbage() -> Iterator[None]:
    """Collect no garbage while this thread holds Numba's lock: it makes many objects that live on."""
    if not gc.isenabled():  # by the user, or because this is done for another function
        yield
        return
    gc.disable()
    _here.collecting = True
    try:
        yield
    finally:
        _here.collecting = False
        gc.enable()


def compile_aside(kernel: Any, *values: Any) -> None:
    """Begin to compile a kernel for values of these types, unless that has been done or begun."""
    kinds = tuple(map(typeof, values))
    with _lock:
        if kernel not in _begun and kinds not in kernel.overloads:
            done = Event()
            Thread(target=_compile, args=(kernel, kinds, done), name="propriety-compiler").start()
            _begun[kernel] = done


def _compile(kernel: Any, kinds: tuple[Any, ...], done: Event) -> None:
    try:
        with suppress(Exception):  # Whoever calls the kernel will compile it then, and meet the error.
            kernel.compile(kinds)
    finally:
        done.set()


def meanwhile(task: Callable[[], object]) -> None:
    """Leave something, such as to compile a kernel that is needed later, to one who must wait."""
    _meanwhile.append(task)


def wait(kernel: Any) -> None:
    """Return when a kernel that is being compiled is."""
    done = _begun.get(kernel)
    if done is not None:
        while _meanwhile and not done.is_set():
            with suppress(Exception):  # taken by another thread; or who needs it will meet the error
                _meanwhile.pop()()
        _meanwhile.clear()
        while not done.wait(_TURN):
            pass
        _begun.pop(kernel, None)


def _hold() -> None:
    _lock.acquire()
    for done in tuple(_begun.values()):
        done.wait()


# A child would wait for ever for what a thread of its parent compiles.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_lock.release, after_in_child=_lock.release)


@contextmanager
def _unlocked() -> Iterator[None]:
    """Leave Numba's lock to other threads, however many times this one holds it, and garbage too."""
    collecting = getattr(_here, "collecting", False)
    if collecting:
        gc.enable()
    lock = global_compiler_lock._lock
    held = lock._release_save()
    try:
        yield
    finally:
        lock._acquire_restore(held)
        if collecting:
            gc.disable()


def optimize(codegen: Any, module: Any) -> tuple[bytes, Any]:
    """The machine code of a module, and the optimized module."""
    copy = llvm.parse_bitcode(module.as_bitcode(), context=llvm.create_context())
    own = type(codegen)("propriety.aside")  # a machine of its own: LLVM's keeps notes while it works
    manager, builder = own._module_pass_manager()
    with ffi.OutputString() as error:
        with _unlocked():
            ffi.lib.LLVMPY_RunNewModulePassManager._cfn(manager, copy, builder)
            code = ffi.lib.LLVMPY_TargetMachineEmitToMemory._cfn(own._tm, copy, 1, error)
        if not code:
            raise RuntimeError(str(error))
    try:
        written = string_at(ffi.lib.LLVMPY_GetBufferStart(code), ffi.lib.LLVMPY_GetBufferSize(code))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(code)
    return written, llvm.parse_bitcode(copy.as_bitcode())
