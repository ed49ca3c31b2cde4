"""The board on which threads find their tasks."""

import numpy as np
import pytest

from propriety import parallel
from propriety.trees import gradient_growth, work_queue
from propriety.trees.binned import Binned
from propriety.trees.fixed_point import row_weights
from propriety.trees.gradient_growth import GradientGrower
from propriety.trees.gradients import Quantizer
from propriety.trees.jit import kernel
from propriety.trees.split_score import SplitParameters
from propriety.weights import Weights


@kernel
def _lead(board, rounds, n_tasks, counts):
    """Post phases, take part in them, and leave the counts of a phase as they are when it has ended."""
    for phase in range(rounds):
        work_queue.post(board, phase, phase + 10, n_tasks)
        while True:
            task = work_queue.claim(board)
            if task < 0:
                break
            counts[phase, task] += board[work_queue.ARGUMENT] - 9
            work_queue.finish(board)
        work_queue.wait(board)
        for task in range(n_tasks):
            counts[rounds, task] += counts[phase, task]


@kernel
def _help(board, tree, counts):
    if work_queue.join(board, tree) < 0:
        return
    spins = 0
    while True:
        task = work_queue.claim(board)
        if task == -2:
            work_queue.leave(board)
            return
        if task < 0:
            spins += 1
            work_queue.rest(spins)
            continue
        counts[board[work_queue.PHASE], task] += board[work_queue.ARGUMENT] - 9
        work_queue.finish(board)


@pytest.mark.parametrize("helpers", [0, 1, 7])
@pytest.mark.parametrize("n_tasks", [1, 5, 300])
def test_every_task_is_done_once_and_before_the_phase_ends(helpers, n_tasks):
    board, rounds = work_queue.new_board(), 40
    counts = np.zeros((rounds + 1, n_tasks), dtype=np.int64)
    tree = work_queue.open_board(board)

    def lead():
        _lead(board, rounds, n_tasks, counts)
        work_queue.close_board(board)

    parallel.run([lead, *[lambda: _help(board, tree, counts)] * helpers], helpers + 1)
    np.testing.assert_array_equal(counts[:rounds], np.arange(1, rounds + 1)[:, None] * np.ones((1, n_tasks)))
    np.testing.assert_array_equal(counts[rounds], counts[:rounds].sum(axis=0))


def test_a_late_helper_finds_a_closed_board():
    board, counts = work_queue.new_board(), np.zeros((1, 1), dtype=np.int64)
    tree = work_queue.open_board(board)
    work_queue.close_board(board)
    _help(board, tree, counts)
    assert work_queue.open_board(board) == tree + 1
    _help(board, tree, counts)  # and not one that is open for the next tree
    work_queue.close_board(board)


@pytest.fixture
def growing():
    """A grower with helpers, and what it grows a tree from."""
    rng = np.random.default_rng(0)
    n, d = 40_000, 4
    rows = rng.integers(0, 100, (n, d)).astype(np.uint8)
    binned = Binned(
        rows,
        np.ascontiguousarray(rows.T),
        np.full(d, 100),
        np.zeros(d, dtype=np.uint8),
        np.zeros((d, 256)),
        np.ones(d),
    )
    signal = Quantizer(n, row_weights(Weights(n)))(rng.normal(size=n), np.ones(n), 1)
    none, features = np.zeros((0, d), dtype=np.uint8), np.ones(d, dtype=np.uint8)
    signs = np.zeros(d, dtype=np.int8)
    parameters = SplitParameters(
        8, 99, 20, 0.0, 0.0, 0.0, 1.0, signs, none, features, d, False, np.uint64(0), np.zeros(d)
    )
    return GradientGrower(binned, 8, 0, 2), signal, parameters


def test_an_error_sends_the_helpers_home(growing, monkeypatch):
    tree, signal, parameters = growing
    if tree.n_workers == 1:
        pytest.skip("one core has no helpers")
    expected = tree.grow(signal, parameters).tolist()
    compiled = gradient_growth.advance

    def fail(*tree):
        if tree[-1] < 0:  # of a helper, it is the number of the tree
            raise MemoryError("no room")
        return compiled(*tree)

    with monkeypatch.context() as patch:
        patch.setattr(gradient_growth, "advance", fail)
        with pytest.raises(MemoryError, match="no room"):
            tree.grow(signal, parameters)
    assert tree.grow(signal, parameters).tolist() == expected


def test_small_work_wakes_nobody(growing):
    tree, *_ = growing
    few = tree.binned._replace(
        rows=tree.binned.rows[:100], columns=np.ascontiguousarray(tree.binned.columns[:, :100])
    )
    assert GradientGrower(few, 8, 0, 4).n_workers == 1
