"""Totals over a tree of machines: threads stand for the machines, and a call for the network."""

from threading import Thread

import numpy as np
import pytest

from propriety.communicator import Disconnected
from propriety.distributed import tree_allreduce
from propriety.distributed.tree_allreduce import TreeAllreduce, n_children, parent


def tree(size):
    """Machines that send their parts to the ones above them."""
    relays = [TreeAllreduce(k, size) for k in range(size)]
    for k, relay in enumerate(relays):
        relay.join(relays[parent(k)].receive if k else None)
    return relays


def run(relays, task):
    """What each has returned, or the error that it has raised."""
    results = [None] * len(relays)

    def go(k):
        try:
            results[k] = task(relays[k])
        except Exception as error:
            results[k] = error

    threads = [Thread(target=go, args=(k,)) for k in range(len(relays))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


@pytest.mark.parametrize("size", [1, 2, 7, 23])
def test_totals_are_the_same_for_all(size):
    def ask(relay):
        seen = []
        for k in range(5):
            total = relay.sum(np.array([relay.rank, k]))
            seen += total.tolist()
            total += 1  # may be written in place: nobody else sees it
            seen += [relay.max((float(relay.rank), -1.0)), relay.gather(str(relay.rank))]
            seen.append(relay.exchange([f"{relay.rank} to {k}" for k in range(size)]))
        return seen

    everyone = [str(k) for k in range(size)]
    for rank, seen in enumerate(run(tree(size), ask)):
        mine = [f"{k} to {rank}" for k in range(size)]
        once = [(size * (size - 1) // 2, size * k, (size - 1.0, -1.0), everyone, mine) for k in range(5)]
        assert seen == [x for line in once for x in line]


def test_every_process_but_the_first_is_below_one():
    for size in (1, 5, 6, 40):
        assert [n_children(k, size) for k in range(size)] == [
            sum(parent(j) == k for j in range(1, size)) for k in range(size)
        ]


def test_who_is_told_to_stop_waits_no_longer():
    relays = tree(6)  # the last does not come

    def ask(relay):
        return relay.sum(np.arange(2))

    stop = Thread(target=lambda: [relay.stop() for relay in relays])
    stop.start()
    results = run(relays[:-1], ask)
    stop.join()
    assert [type(result) for result in results] == [Disconnected] * 5
    assert isinstance(relays[0].receive(1, "sum", np.arange(2)).exception(timeout=1), Disconnected)


def test_patience_has_an_end(monkeypatch):
    monkeypatch.setattr(tree_allreduce, "_PATIENCE", 0.3)
    relays = tree(3)
    results = run(relays[:2], lambda relay: relay.max((1.0,)))
    assert all(isinstance(result, Disconnected) and "not come" in str(result) for result in results)


def test_a_process_above_that_is_gone_is_no_total():
    def send(rank, kind, part):
        raise OSError("connection closed")

    relay = TreeAllreduce(1, 2)
    relay.join(send)
    with pytest.raises(Disconnected, match="process 0 is gone: connection closed"):
        relay.max((1.0,))


def test_processes_that_ask_for_different_totals_are_told():
    relays = tree(2)
    relays[0].receive(1, "max", (1.0,))
    with pytest.raises(RuntimeError, match="a sum and a max"):
        relays[0].sum(np.arange(2))
