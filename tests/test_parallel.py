import threading
import time

import numpy as np
import pytest

from propriety import parallel


@pytest.mark.parametrize("n_jobs", [1, 2, 5, None, -1])
def test_blocks_cover_every_row_once(n_jobs):
    seen = np.zeros(1001, dtype=int)

    def block(start, stop):
        seen[start:stop] += 1

    parallel.for_blocks(block, 1001, n_jobs=n_jobs, block=37)
    assert np.all(seen == 1)


def test_an_error_in_a_block_reaches_the_caller_and_the_pool_lives_on():
    def block(start, stop):
        if start >= 500:
            raise RuntimeError("broken block")

    with pytest.raises(RuntimeError, match="broken block"):
        parallel.for_blocks(block, 1000, n_jobs=2, block=10)
    parallel.for_blocks(lambda start, stop: None, 1000, n_jobs=2, block=10)


def test_after_an_error_no_task_begins_and_waiting_ones_give_up():
    waits, later = threading.Event(), []

    def task():
        if threading.current_thread() is threading.main_thread():
            assert waits.wait(20)
            raise RuntimeError("broken task")
        waits.set()
        while not parallel.is_given_up():
            time.sleep(0.001)
        raise KeyboardInterrupt

    with pytest.raises(RuntimeError, match="broken task"):
        parallel.run([task, task, *[lambda: later.append(1)] * 5], n_jobs=2)
    assert not later
    assert not parallel.is_given_up()


def test_many_callers_at_once():
    totals = []

    def caller():
        seen = []
        parallel.run([lambda i=i: seen.append(i) for i in range(50)], n_jobs=4)
        totals.append(sorted(seen) == list(range(50)))

    threads = [threading.Thread(target=caller) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == [True] * 20


@pytest.mark.parametrize("bad", [0, 1.5, True])
def test_bad_n_jobs(bad):
    with pytest.raises(ValueError, match="n_jobs must be a non-zero integer or None"):
        parallel.n_threads(bad)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_come_in_order_and_few_items_are_asked_for_ahead(n_jobs):
    asked = []

    def items():
        for i in range(50):
            asked.append(i)
            yield i

    results = parallel.in_order(lambda i: -i, items(), n_jobs)
    for i, result in enumerate(results):
        assert result == -i
        assert len(asked) <= i + 1 + n_jobs
    assert len(asked) == 50


def test_an_error_comes_in_its_turn_and_ends_what_was_begun():
    done = []

    def check(i):
        if i == 5:
            raise RuntimeError("broken item")
        done.append(i)
        return i

    results = parallel.in_order(check, range(1000), 3)
    assert [next(results) for _ in range(5)] == list(range(5))
    with pytest.raises(RuntimeError, match="broken item"):
        next(results)
    assert len(done) < 12
