"""Models kept by MLflow."""

import numpy as np
import pytest

import propriety
from propriety import BoostingClassifier

mlflow = pytest.importorskip("mlflow")
pytest.importorskip("mlflow.sklearn")
pytestmark = pytest.mark.filterwarnings("ignore")  # of what MLflow itself imports


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).normal(size=(80, 3))
    return BoostingClassifier(max_iter=3, fn_cost=9, min_samples_leaf=5).fit(X, (X[:, 0] > 0).astype(int)), X


def test_a_model_is_saved_with_the_types_it_is_made_of(fitted, tmp_path):
    model, X = fitted
    # The dependencies are named: else MLflow asks the network for them.
    mlflow.sklearn.save_model(
        model, tmp_path / "m", skops_trusted_types=propriety.TRUSTED, pip_requirements=["propriety"]
    )
    again = mlflow.sklearn.load_model(str(tmp_path / "m"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
