"""Small rows to fit in no time, and the explorer running in a thread of the test."""

import json
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from urllib.parse import urlencode

import numpy as np

from propriety.explore.datasets import DataSet


def small(name="small", *, plane=True, n=80):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(np.intp)
    return DataSet(name, "Small", "Drawn at random.", X, y, "1", ("a", "b"), plane=plane)


class Client:
    """Asks a server, as a browser does."""

    def __init__(self, address):
        self.address = address

    def get(self, path, query=None, **more):
        """Status, headers and text of an answer."""
        address = self.address + path + ("?" + urlencode(query) if query else "")
        try:
            with urllib.request.urlopen(urllib.request.Request(address, **more)) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read().decode()

    def json(self, path, query=None):
        """The document of an answer, whatever its status."""
        return json.loads(self.get(path, query)[2])


@contextmanager
def running(explorer):
    """The address of an explorer, while it is served."""
    from propriety.explore import server

    listening = server.listen(0)
    serving = server.made(explorer)
    thread = threading.Thread(target=serving.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield server.address(listening)
    finally:
        serving.should_exit = True
        thread.join()
        listening.close()
