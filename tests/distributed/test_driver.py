"""A fit that is driven: whatever is lost, the rounds that there are stay, and no wait is without an end."""

import pickle
from types import SimpleNamespace

import pytest

from propriety.distributed import dask
from propriety.distributed.driver import FitInterrupted, WorkerLost, drive
from propriety.distributed.worker import Status

ROUNDS = ["first", "second"]


class Broken:
    """A worker that has two rounds when it breaks off."""

    where = None

    def call(self, method, *arguments):
        return self.start(method, *arguments)()

    def start(self, method, *arguments):
        answers = {
            "machine": ("here",),
            "open": "",
            "state": Status("parted"),
            "result": pickle.dumps(ROUNDS),
        }
        return lambda: answers.get(method)


class WorkerPool:
    """Its workers break off, and cannot be had again."""

    def __init__(self, error):
        self.error, self.asked, self.dismissed = error, 0, 0

    def workers(self):
        self.asked += 1
        if self.asked > 1:
            raise self.error
        return [Broken(), Broken()]

    def dismiss(self, workers):
        self.dismissed += len(workers)


@pytest.mark.parametrize(
    "error", [WorkerLost("no worker"), OSError("a bad disk"), KeyboardInterrupt()], ids=repr
)
def test_rounds_are_kept_when_rows_cannot_be_had_again(error):
    pool = WorkerPool(error)
    with pytest.raises(FitInterrupted, match="the fit was broken off") as raised:
        drive(pool, SimpleNamespace(), lambda rank, size: {}, lambda learned: learned, lambda news: None)
    assert raised.value.learned == ROUNDS
    assert raised.value.__cause__ is error
    assert pool.dismissed == 2


def test_what_goes_wrong_at_first_is_raised_as_it_is():
    pool = WorkerPool(OSError("a bad disk"))
    pool.asked = 1
    with pytest.raises(OSError, match="a bad disk"):
        drive(pool, SimpleNamespace(), lambda rank, size: {}, lambda learned: learned, lambda news: None)


@pytest.mark.parametrize("rows", [0, 10])
def test_a_cluster_without_workers_is_not_waited_for_for_ever(rows, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="dask is not installed")

    def late(futures, timeout):
        raise TimeoutError

    monkeypatch.setattr(distributed, "wait", late)
    monkeypatch.setattr(dask, "_COMING" if rows == 0 else "_GONE", 0.2)
    client = SimpleNamespace(compute=list, scheduler_info=lambda n_workers: {"workers": {}})
    workers = dask._DaskPool(client, [])
    workers.rows = rows
    with pytest.raises(WorkerLost, match=r"no worker for 0\.2 seconds"):
        workers.collect()
