"""Threads that stay inside compiled code while a tree grows.

Waking a sleeping thread costs some 70–90 µs, and a tree has a hundred sections of that length. So the
helpers of a tree enter compiled code once and wait there, spinning; the caller posts *phases*, each a
number of tasks, and everybody claims tasks until none is left. A helper that comes late, or never,
delays nobody: the caller claims tasks too, and waits only for those that others have begun.
"""

from __future__ import annotations

import sys

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from propriety.trees.jit import COMPILED, inner, instead, kernel

# Words of a board. The ticket is round · 2³² + tasks · 2¹⁶ + next task, in one word, so that a claim
# made on an outdated ticket fails. The workers are tree · 2¹⁶ + helpers that have come, for the same reason.
# What helpers look at while they wait, and what they write, lie on different lines of the cache: between two
# processors far apart a line takes 150 ns.
TICKET, PHASE, ARGUMENT = range(3)
LAST, DONE = 8, 16  # tasks of all phases: how many there are when this one ends, and so far
WORKERS, LEFT = 24, 25
BOARD_WORDS = 32
_CLOSED = -1
_SPINS = 2000


def new_board() -> NDArray[np.int64]:
    """A board on which nothing is posted."""
    return np.zeros(BOARD_WORDS, dtype=np.int64)


def _address(context, builder, signature, arguments):
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.gep(data, [arguments[1]])


def _plain_store(array, i, value):
    array[i] = value


def _plain_fetch_add(array, i, value):
    array[i] += value
    return array[i] - value


def _plain_swap_if(array, i, old, new):
    same = array[i] == old
    array[i] = new if same else array[i]
    return same


@instead(lambda array, i: array[i])
@intrinsic
def _load(typingctx, array, i):
    signature = types.int64(array, types.int64)

    def codegen(context, builder, signature, arguments):
        return builder.load_atomic(_address(context, builder, signature, arguments), "seq_cst", 8)

    return signature, codegen


@instead(_plain_store)
@intrinsic
def _store(typingctx, array, i, value):
    signature = types.void(array, types.int64, types.int64)

    def codegen(context, builder, signature, arguments):
        builder.store_atomic(arguments[2], _address(context, builder, signature, arguments), "seq_cst", 8)
        return context.get_dummy_value()

    return signature, codegen


@instead(_plain_fetch_add)
@intrinsic
def _fetch_add(typingctx, array, i, value):
    signature = types.int64(array, types.int64, types.int64)

    def codegen(context, builder, signature, arguments):
        address = _address(context, builder, signature, arguments)
        return builder.atomic_rmw("add", address, arguments[2], "seq_cst")

    return signature, codegen


@instead(_plain_swap_if)
@intrinsic
def _swap_if(typingctx, array, i, old, new):
    signature = types.boolean(array, types.int64, types.int64, types.int64)

    def codegen(context, builder, signature, arguments):
        address = _address(context, builder, signature, arguments)
        result = builder.cmpxchg(address, arguments[2], arguments[3], "seq_cst", "seq_cst")
        return builder.zext(builder.extract_value(result, 1), ir.IntType(1))

    return signature, codegen


if sys.platform == "win32" or not COMPILED:

    @inner
    def _breathe():
        return 0

else:
    _breathe = types.ExternalFunction("sched_yield", types.int32())


@inner
def post(board, phase, argument, n_tasks):
    """Offer the tasks 0 … n_tasks−1 of a phase (fewer than 2¹⁶)."""
    board[LAST] = _load(board, DONE) + n_tasks
    board[PHASE], board[ARGUMENT] = phase, argument  # who has claimed a task sees them
    rounds = (_load(board, TICKET) >> 32) + 1
    _store(board, TICKET, (rounds << 32) + (n_tasks << 16))


@inner
def claim(board):
    """The number of a task that is now the caller's; −1 when none is free, −2 when the board is closed."""
    while True:
        ticket = _load(board, TICKET)
        if ticket == _CLOSED:
            return -2
        task = ticket & 0xFFFF
        if task >= (ticket >> 16) & 0xFFFF:
            return -1
        if _swap_if(board, TICKET, ticket, ticket + 1):
            return task


@inner
def tasks(board):
    """Number of tasks of the phase that the caller holds a task of."""
    return (_load(board, TICKET) >> 16) & 0xFFFF


@inner
def finish(board):
    """Report one claimed task as done."""
    _fetch_add(board, DONE, 1)


@inner
def wait(board):
    """Return when all tasks of the phase are done."""
    spins = 0
    while _load(board, DONE) < board[LAST]:
        spins += 1
        if spins % _SPINS == 0:
            _breathe()


@inner
def rest(spins):
    """What a helper does between two looks at the board."""
    if spins % _SPINS == 0:
        _breathe()


@inner
def join(board, tree):
    """A number for a new helper, 1, 2, …; −1 if the tree that it was called for is grown."""
    while True:
        workers = _load(board, WORKERS)
        if workers >> 16 != tree:
            return -1
        if _swap_if(board, WORKERS, workers, workers + 1):
            return (workers & 0xFFFF) + 1


@inner
def leave(board):
    """What a helper does last."""
    _fetch_add(board, LEFT, 1)


@inner
def put(board, i, value):
    """Store a word that other threads or processes look at, after everything that was stored before."""
    _store(board, i, value)


@inner
def get(board, i):
    """Load such a word."""
    return _load(board, i)


@inner
def breathe():
    """Let others have the processor, if they want it."""
    _breathe()


@kernel
def open_board(board):
    """Make the board ready for a tree, and return its number."""
    _store(board, LEFT, 0)
    _store(board, TICKET, 0)
    return _load(board, WORKERS) >> 16


@kernel
def close_board(board):
    """Send the helpers home, and return when those that have come have left.

    Waiting for their threads instead would put this one to sleep, and waking it takes long.
    """
    _store(board, TICKET, _CLOSED)
    workers = _load(board, WORKERS)
    while not _swap_if(board, WORKERS, workers, ((workers >> 16) + 1) << 16):
        workers = _load(board, WORKERS)
    spins = 0
    while _load(board, LEFT) < workers & 0xFFFF:
        spins += 1
        rest(spins)
