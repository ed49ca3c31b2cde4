"""Models kept by MLflow."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propriety import AutoClassifier, BoostingClassifier, LinearClassifier
from propriety.evaluation import mean_loss

mlflow = pytest.importorskip("mlflow")
pytest.importorskip("mlflow.sklearn")
ours = pytest.importorskip("propriety.interop.mlflow")
pytestmark = pytest.mark.filterwarnings("ignore")  # of what MLflow itself imports


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).normal(size=(80, 3))
    return BoostingClassifier(max_iter=3, fn_cost=9, min_samples_leaf=5).fit(X, (X[:, 0] > 0).astype(int)), X


def labels(X):
    return (X[:, 0] > 0).astype(int)


@pytest.fixture
def tracked(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())  # the slim package has files only
    ours.autolog()
    yield lambda: mlflow.search_runs(search_all_experiments=True, output_format="list")
    ours.autolog(disable=True)
    mlflow.set_tracking_uri(None)


def test_a_model_is_saved_with_the_types_it_is_made_of(fitted, tmp_path):
    model, X = fitted
    # The dependencies are named: else MLflow asks the network for them.
    ours.save_model(model, tmp_path / "m", pip_requirements=["propriety"])
    again = mlflow.sklearn.load_model(str(tmp_path / "m"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    served = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    np.testing.assert_array_equal(served.predict(X), model.predict(X))


def test_a_pipeline_is_saved(fitted, tmp_path):
    _, X = fitted
    pipeline = make_pipeline(StandardScaler(), LinearClassifier()).fit(X, labels(X))
    ours.save_model(pipeline, tmp_path / "m", pip_requirements=["propriety"])
    again = mlflow.sklearn.load_model(str(tmp_path / "m"))
    np.testing.assert_array_equal(again.predict_proba(X), pipeline.predict_proba(X))


def test_without_the_names_mlflow_refuses(fitted, tmp_path):
    # When this fails, MLflow or skops lets packages be trusted by default: save_model and log_model can go.
    with pytest.raises(mlflow.MlflowException, match="untrusted types"):
        mlflow.sklearn.save_model(fitted[0], tmp_path / "m", pip_requirements=["propriety"])


def test_a_fit_is_logged(fitted, tracked):
    _, X = fitted
    model = BoostingClassifier(max_iter=3, fn_cost=9, min_samples_leaf=5).fit(X, labels(X))
    (run,) = tracked()
    assert run.data.params["fn_cost"] == "9"
    assert run.data.params["fitted_loss"] == repr(model.loss_)
    assert run.data.metrics["threshold"] == pytest.approx(0.1)
    decided = model.predict(X) != labels(X)
    assert run.data.metrics["training_cost"] == pytest.approx(np.mean(decided * np.where(labels(X), 9, 1)))
    curve = mlflow.MlflowClient().get_metric_history(run.info.run_id, "training_loss")
    expected = [mean_loss(labels(X), p) for p in model.staged_predict_proba(X)]
    np.testing.assert_allclose([point.value for point in sorted(curve, key=lambda m: m.step)], expected)


def test_fits_inside_a_fit_are_part_of_it_and_a_second_one_has_its_own_run(fitted, tracked):
    _, X = fitted
    with mlflow.start_run():
        AutoClassifier().fit(X, labels(X))
        LinearClassifier("Squared").fit(X, labels(X), np.arange(1.0, 81))
    runs = {run.data.params["estimator"]: run for run in tracked()}
    assert len(tracked()) == 2
    assert runs["LinearClassifier"].data.tags["mlflow.parentRunId"] == runs["AutoClassifier"].info.run_id
    ours.autolog(disable=True)
    LinearClassifier().fit(X, labels(X))
    assert len(tracked()) == 2
