"""Bad input is refused with the reason, and nothing brings the process down."""

import multiprocessing
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

from propriety.boosting import BoostingClassifier


@pytest.fixture(scope="module")
def data():
    return make_classification(300, 4, n_informative=3, n_redundant=0, random_state=0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 0),
        ("learning_rate", "fast"),
        ("max_iter", -1),
        ("max_iter", 2.5),
        ("max_leaf_nodes", 1),
        ("early_stopping", "always"),
        ("early_stopping", 1),
        ("max_depth", 0),
        ("min_samples_leaf", -1),
        ("min_weight_leaf", -1),
        ("l2_regularization", -0.1),
        ("min_split_gain", float("inf")),
        ("subsample", 0.0),
        ("subsample", 1.5),
        ("max_features", 0),
        ("max_bins", 256),
        ("max_bins", 1),
        ("algorithm", "leap"),
        ("max_step", 0),
        ("multiclass", "ovo"),
        ("n_iter_no_change", 0),
        ("validation_fraction", 0),
        ("interaction_cst", "some"),
        ("monotonic_cst", [2, 0, 0, 0]),
        ("fn_cost", -1),
        ("fp_cost", 0),
    ],
)
def test_parameters(data, name, value):
    with pytest.raises(ValueError, match=name):
        BoostingClassifier(**{name: value}).fit(*data)


def test_weights(data):
    X, y = data
    with pytest.raises(ValueError, match="zero"):
        BoostingClassifier().fit(X, y, np.zeros(300))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        BoostingClassifier().fit(X, y, np.full(300, -1.0))
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="sample_weight"):
            BoostingClassifier().fit(X, y, np.r_[bad, np.ones(299)])
    with pytest.raises(ValueError, match="shape"):
        BoostingClassifier().fit(X, y, np.ones(10))


def test_labels(data):
    X, y = data
    with pytest.raises(ValueError, match="class"):
        BoostingClassifier().fit(X, np.ones(300))
    with pytest.raises(ValueError, match="class"):
        BoostingClassifier().fit(X, y, (y == 1).astype(float))
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            BoostingClassifier().fit(X, np.r_[bad, y[1:]])
    with pytest.raises(ValueError, match="inconsistent"):
        BoostingClassifier().fit(X, y[:-1])
    with pytest.raises(ValueError, match="y"):
        BoostingClassifier().fit(X, None)


def test_labels_of_rows_without_weight_do_not_count(data):
    X, y = data
    labels = y.copy()
    labels[:10] = 7
    w = np.r_[np.zeros(10), np.ones(290)]
    model = BoostingClassifier(max_iter=3).fit(X, labels, w)
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(
        model.predict_proba(X), BoostingClassifier(max_iter=3).fit(X[10:], y[10:]).predict_proba(X)
    )


def test_losses_that_have_no_gradient(data):
    with pytest.raises((TypeError, ValueError), match="CostWeighted"):
        BoostingClassifier("CostWeighted(0.3)").fit(*data)


def test_constraints_on_missing_columns(data):
    with pytest.raises(ValueError, match="no column"):
        BoostingClassifier(monotonic_cst={9: 1}).fit(*data)
    with pytest.raises(ValueError, match="no column"):
        BoostingClassifier(interaction_cst=[["age", 1]]).fit(*data)
    with pytest.raises(ValueError, match="4 features"):
        BoostingClassifier(monotonic_cst=[1, 0]).fit(*data)
    with pytest.raises(ValueError, match="no column"):
        BoostingClassifier(categorical_features=[7]).fit(*data)
    with pytest.raises(ValueError, match="categorical"):
        BoostingClassifier(categorical_features=[0], monotonic_cst=[1, 0, 0, 0]).fit(*data)


def test_validation_rows(data):
    X, y = data
    model = BoostingClassifier(early_stopping=True, max_iter=2)
    with pytest.raises(ValueError, match="together"):
        model.fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="not in y"):
        model.fit(X, y, X_val=X, y_val=y + 1)
    with pytest.raises(ValueError, match="rows"):
        model.fit(X, y, X_val=X, y_val=y[:-1])


def test_prediction_of_other_tables(data):
    X, y = data
    model = BoostingClassifier(max_iter=2)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        model.importances()
    model.fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="kind"):
        model.importances("split")


def test_warm_start_with_other_classes(data):
    X, y = data
    model = BoostingClassifier(max_iter=2, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(max_iter=4).fit(X, y + 1)


# --- the host survives ----------------------------------------------------------------------------


def big():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 8))
    return X, rng.random(20_000) < 1 / (1 + np.exp(-X[:, 0]))


def fit_and_score(_=None):
    X, y = big()
    return BoostingClassifier(max_iter=4, n_jobs=2).fit(X, y).decision_function(X).tobytes()


def test_several_python_threads_at_once():
    expected = fit_and_score()
    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(fit_and_score, range(12))) == {expected}


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_inside_joblib(backend):
    expected = fit_and_score()
    results = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(fit_and_score)(i) for i in range(4))
    assert set(results) == {expected}


def _child(queue):
    queue.put(fit_and_score())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_forked_child_after_the_parent_has_fitted():
    expected = fit_and_score()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    assert queue.get(timeout=120) == expected
    child.join(timeout=60)
    assert child.exitcode == 0


def test_kernels_stay_within_bounds(tmp_path):
    """Every kernel once with Numba's bounds checks, in a process of its own."""
    code = textwrap.dedent(
        """
        import numpy as np
        from propriety.boosting import BoostingClassifier
        rng = np.random.default_rng(0)
        X = rng.normal(size=(9_000, 5))
        X[:, 4] = rng.integers(0, 300, 9_000)
        X[rng.random(X.shape) < 0.1] = np.nan
        y = rng.random(9_000) < 1 / (1 + np.exp(-np.nan_to_num(X[:, 0])))
        common = dict(max_iter=3, categorical_features=[4], n_jobs=2)
        bound = dict(monotonic_cst=[1, 0, 0, 0, 0], interaction_cst="pairwise")
        model = BoostingClassifier(**bound, **common).fit(X, y)
        model.predict_contributions(X[:50])
        model.predict_proba(X)
        drawn = dict(max_features=0.5, subsample=0.7, early_stopping=True)
        BoostingClassifier(**drawn, **common).fit(X, y, rng.random(9_000))
        exact = BoostingClassifier("Log", algorithm="real_adaboost", **common)
        exact.fit(X[:300], y[:300], rng.integers(0, 3, 300))
        """
    )
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
