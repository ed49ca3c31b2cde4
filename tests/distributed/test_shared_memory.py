"""Processes of one machine share memory; one that dies is noticed by the others."""

import os
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from propriety.communicator import Disconnected
from propriety.distributed.shared_memory import SharedMemory, create_segment, remove_segment

pytestmark = pytest.mark.skipif(
    not hasattr(os, "posix_fallocate"), reason="memory is shared by POSIX systems"
)


def totals(path, rank, size, results):
    memory = SharedMemory(path, rank, size)
    numbers = np.random.default_rng(rank).integers(-(2**40), 2**40, 700_000)
    large, small = memory.sum(numbers), memory.sum(np.array([[0.5, rank]]))
    gathered = memory.gather({"rank": rank, "text": "x" * (9_000_000 if rank == 1 else 3)})
    # Of odd lengths, longer than a place.
    swapped = memory.exchange([(rank, to, np.arange(to * 700_001.0), np.ones(3, bool)) for to in range(size)])
    results.put(
        (
            int(large.sum()),
            small.tolist(),
            memory.max((float(rank), -float(rank))),
            [(part["rank"], len(part["text"])) for part in gathered],
            [memory.sum(np.array([k]))[0].item() for k in range(50)],
            [(*part[:2], part[2].sum(), part[2].flags.aligned, part[3].tolist()) for part in swapped],
        )
    )


def dies(path, rank, size, results):
    memory = SharedMemory(path, rank, size)
    began = time.monotonic()
    try:
        memory.max((1.0,))
        if rank == 1:
            os._exit(9)
        memory.sum(np.arange(3))
    except Disconnected as error:
        results.put((str(error), time.monotonic() - began < 30))


def run(task, size):
    context = get_context("spawn")
    results, path = context.Queue(), create_segment(size)
    processes = [context.Process(target=task, args=(path, rank, size, results)) for rank in range(size)]
    for process in processes:
        process.start()
    return processes, results, path


@pytest.mark.parametrize("size", [2, 3])
def test_totals_are_the_same_for_all(size):
    processes, results, path = run(totals, size)
    answers = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(60)
    expected = sum(np.random.default_rng(r).integers(-(2**40), 2**40, 700_000).sum() for r in range(size))
    lengths = [(rank, 9_000_000 if rank == 1 else 3) for rank in range(size)]
    sums = [np.arange(to * 700_001.0).sum() for to in range(size)]
    exchanged = [[(r, to, sums[to], True, [True] * 3) for r in range(size)] for to in range(size)]
    assert sorted(answer[-1] for answer in answers) == exchanged
    for large, small, largest, gathered, many, _ in answers:
        assert large == expected
        assert small == [[0.5 * size, sum(range(size))]]
        assert largest == (size - 1.0, 0.0)
        assert gathered == lengths
        assert many == [k * size for k in range(50)]
    assert not Path(path).exists()


def test_who_waits_for_a_process_that_died_is_told():
    processes, results, _ = run(dies, 3)
    for error, soon in [results.get(timeout=120) for _ in range(2)]:
        assert "is gone" in error or "told to stop" in error
        assert soon
    for process in processes:
        process.join(60)


def is_killed(results):
    results.put(create_segment(2))
    time.sleep(60)


def test_files_of_a_process_that_was_killed_are_removed():
    context = get_context("spawn")
    results = context.Queue()
    process = context.Process(target=is_killed, args=(results,))
    process.start()
    abandoned, mine = Path(results.get(timeout=60)), Path(create_segment(2))
    process.kill()
    process.join(60)
    try:
        assert abandoned.exists()
        for path in (abandoned, mine):
            os.utime(path, (1.0, 1.0))
        other = create_segment(2)
        assert not abandoned.exists()
        assert mine.exists()  # somebody may still open it
        remove_segment(other)
        assert not Path(other).exists()
    finally:
        remove_segment(str(mine))
    assert not mine.exists()
