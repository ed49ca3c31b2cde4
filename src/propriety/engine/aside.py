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
from threading import Lock, RLock, Thread, local
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi
from numba import typeof
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

_ROOM = 66_000  # places of eight bytes: more than 512 KiB, so the piece has 1 MiB
_here = local()
_lock = Lock()
_threads: dict[Any, Thread] = {}  # that have begun
_meanwhile: list[Callable[[], object]] = []  # what those who wait for a thread can do


def is_needed() -> bool:
    """Whether LLVM is to leave the locks to other threads: those that were made to compile a kernel."""
    return any(thread.is_alive() for thread in tuple(_threads.values()))


def by_one_thread(kernel: Any) -> Any:
    """Let one thread compile a kernel and the others wait for it: Numba's lock is free in the meantime."""
    if not isinstance(kernel, Dispatcher):  # nothing is compiled
        return kernel
    lock, compile_ = RLock(), kernel.compile

    def compile_once(kinds: Any) -> Any:
        if global_compiler_lock.is_locked():  # by this thread, for a kernel that calls this one
            return compile_(kinds)
        with lock:
            return _with_room(compile_, kinds)

    kernel.__dict__["compile"] = compile_once
    return kernel


def _call(function: Callable[[Any], Any], value: Any) -> Any:
    return function(value)


#: Calls a function with room for all frames that Python makes for it. These are kept in pieces of 16 KiB, and
#: where a loop calls a function that does not fit any more, it asks the system for a piece in every turn: a
#: compilation did so 60,000 times, for up to a second. A frame that says it needs more gets a piece that is
#: larger by far than itself.
_with_room = FunctionType(_call.__code__.replace(co_stacksize=_ROOM), globals())


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
        if kernel not in _threads and kinds not in kernel.overloads:
            thread = Thread(target=_compile, args=(kernel, kinds), name="propriety-compiler")
            thread.start()
            _threads[kernel] = thread


def _compile(kernel: Any, kinds: tuple[Any, ...]) -> None:
    with suppress(Exception):  # Whoever calls the kernel will compile it then, and meet the error.
        kernel.compile(kinds)


def meanwhile(task: Callable[[], object]) -> None:
    """Leave something, such as to compile a kernel that is needed later, to one who must wait."""
    _meanwhile.append(task)


def wait(kernel: Any) -> None:
    """Return when a kernel that is being compiled is."""
    thread = _threads.get(kernel)
    if thread is not None:
        while _meanwhile and thread.is_alive():
            with suppress(Exception):  # taken by another thread; or who needs it will meet the error
                _meanwhile.pop()()
        _meanwhile.clear()
        thread.join()
        _threads.pop(kernel, None)


def _wait_for_all() -> None:
    for kernel in tuple(_threads):
        wait(kernel)


# A child would inherit Numba's lock without the thread that gives it back.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_all)


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
