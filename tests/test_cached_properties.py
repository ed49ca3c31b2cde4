import threading

from propriety.cached_properties import cached_property


class Waiting:
    """An object whose value is ready when that of another one is."""

    def __init__(self, other=None):
        self.other, self.begun, self.times = other, threading.Event(), 0

    @cached_property
    def value(self):
        """How many objects it waited for."""
        self.times += 1
        self.begun.set()
        if self.other is None:
            return 0
        assert self.other.begun.wait(20)
        return 1


def test_objects_do_not_wait_for_each_other():
    first = Waiting()
    second = Waiting(first)
    thread = threading.Thread(target=lambda: second.value, daemon=True)
    thread.start()
    assert second.begun.wait(20)
    asked = threading.Thread(
        target=lambda: first.value, daemon=True
    )  # while the value of `second` is computed
    asked.start()
    asked.join(20)
    assert not asked.is_alive()
    assert (first.value, second.value) == (0, 1)
    thread.join()


def test_a_value_is_computed_once():
    one = Waiting()
    assert one.value == one.value == 0
    assert one.times == 1
    del one.value
    assert one.value == 0
    assert one.times == 2
    assert isinstance(Waiting.value, cached_property)
