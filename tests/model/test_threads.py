"""One model used by many threads, pickled meanwhile, and used again after a fork."""

import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from propriety import BoostingClassifier, ForestClassifier, LinearClassifier, RuleClassifier, TreeClassifier

MODELS = [
    BoostingClassifier(max_iter=5, max_leaf_nodes=8),
    BoostingClassifier(algorithm="additive", max_iter=5),
    TreeClassifier(max_leaf_nodes=8),
    ForestClassifier(n_estimators=5, random_state=0),
    RuleClassifier(n_rules=3),
    LinearClassifier(),
]


def name_of(model):
    return repr(model).partition("(")[0] + ("-curves" if "histogram" in repr(model) else "")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    return X, X[:, 0] + 0.5 * rng.normal(size=3000) > 0


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_sixteen_threads_predict_with_one_model(model, rows):
    X, y = rows
    model = model.fit(X, y)
    expected, parts = model.predict_proba(X), model.predict_contributions(X[:100])
    fresh = pickle.loads(pickle.dumps(model))  # nothing is computed and kept before the threads start

    def use(k):
        if k % 4 == 3:
            return np.array_equal(pickle.loads(pickle.dumps(fresh)).predict_proba(X), expected)
        if k % 4 == 2:
            return np.array_equal(fresh.predict_contributions(X[:100]), parts)
        return np.array_equal(fresh.predict_proba(X), expected)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(use, range(64)))


def test_sixteen_threads_fit_at_once(rows):
    X, y = rows
    expected = BoostingClassifier(max_iter=3).fit(X, y).predict_proba(X)
    with ThreadPoolExecutor(16) as pool:
        fits = pool.map(lambda _: BoostingClassifier(max_iter=3).fit(X, y).predict_proba(X), range(16))
        assert all(np.array_equal(p, expected) for p in fits)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_a_model_works_after_a_fork(model, rows):
    X, y = rows
    model = model.fit(X, y)
    expected = model.predict_proba(X)  # threads have been at work
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks in a process with threads
        warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)  # JAX, if another test has loaded it
        child = os.fork()
    if child == 0:
        same = np.array_equal(model.predict_proba(X), expected)
        again = np.array_equal(model.fit(X, y).predict_proba(X), expected)
        os._exit(0 if same and again else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_linear_fit_that_is_interrupted_says_so_and_nothing_else(tmp_path):
    script = tmp_path / "interrupt.py"
    script.write_text(
        "import _thread, signal, threading, numpy as np\n"
        "from propriety import LinearClassifier\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # one in the background ignores it\n"
        "X = np.random.default_rng(0).normal(size=(200_000, 40))\n"
        "y = X[:, 0] > 0\n"
        "LinearClassifier().fit(X[:100], np.arange(100) % 2)\n"
        "done = threading.Event()\n"
        "def knock():\n"
        "    for pause in (0.5, 10, 10):  # a second knock must not come while the first is answered\n"
        "        if done.wait(pause):\n"
        "            return\n"
        "        _thread.interrupt_main()\n"
        "threading.Thread(target=knock, daemon=True).start()\n"
        "try:\n"
        "    for _ in range(100):  # a fast machine may be done before\n"
        "        model = LinearClassifier(tol=1e-300, max_iter=10**6, alpha=1e-9)\n"
        "        model.fit(X, y)\n"
        "except KeyboardInterrupt:\n"
        "    done.set()\n"
        "    print('interrupted', sorted(k for k in vars(model) if k.endswith('_')))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "interrupted []", done.stderr[-2000:]
    assert "AttributeError" not in done.stderr
