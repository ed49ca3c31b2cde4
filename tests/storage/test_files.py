"""Models come back from a file as they were; what cannot be written is refused."""

import dataclasses
import importlib
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from models import MODELS, fitted, rows
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import propriety
from propriety import BoostingClassifier, LinearClassifier, losses, storage
from propriety.model import files
from propriety.model.catalogue import SAVED
from propriety.storage import container

NAMES = list(MODELS)


def learned(model):
    return {k: v for k, v in vars(model).items() if k.endswith("_") and not k.startswith("_")}


def alike(a, b):
    """Whether two values are the same, array by array; a scalar of NumPy is as good as its own."""
    a, b = (v.item() if isinstance(v, np.generic) else v for v in (a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(
            alike(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a)
        )
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    return type(a) is type(b) and (a == b or (isinstance(a, float) and np.isnan(a) and np.isnan(b)))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_comes_back_bit_for_bit(name, tmp_path):
    model, X = fitted(name)
    model.save(tmp_path / "m")
    again = propriety.load(tmp_path / "m")
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.predict(X).dtype == model.predict(X).dtype
    assert repr(again.get_params()) == repr(model.get_params())
    assert set(learned(again)) == set(learned(model))
    for key, value in learned(model).items():
        assert alike(getattr(again, key), value), key


@pytest.mark.parametrize("name", NAMES)
def test_a_model_that_was_loaded_is_written_to_the_same_bytes(name, tmp_path):
    fitted(name)[0].save(tmp_path / "a")
    propriety.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_a_loaded_model_explains_and_goes_on_from_is_the_same(tmp_path):
    X, score = rows()
    model = BoostingClassifier(max_iter=3, warm_start=True, random_state=0).fit(X, score > 0)
    model.save(tmp_path / "m")
    again = propriety.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_contributions(X), model.predict_contributions(X))
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
    for m in (model, again):
        m.set_params(max_iter=5).fit(X, score > 0)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("loss", [*losses.examples(), *losses.simplex.examples()], ids=repr)
def test_every_loss_of_the_registry_is_written_by_value(loss):
    from propriety.storage.values import decode, encode

    assert decode(json.loads(json.dumps(encode(loss, "loss")))) == loss


@pytest.mark.parametrize(
    "value",
    [
        losses.Log().with_link("Probit"),
        losses.Power(0.3).canonical_link,
        losses.simplex.OneVsRest("Beta(6, 14)"),
        losses.simplex.Power(0.5),
        (1, 2.5, None, True, "x", [float("inf")], {3: {"a"}}),
    ],
)
def test_values_come_back_equal(value):
    from propriety.storage.values import decode, encode

    assert decode(json.loads(json.dumps(encode(value, "value")))) == value


@pytest.mark.parametrize(
    ("written", "loss"),
    [
        ({"simplex": "Power", "parameters": {"gamma": 0.5}}, losses.simplex.Power(0.5)),
        (
            {"simplex": "OneVsRest", "parameters": {"loss_": {"loss": "Log().with_link(Probit())"}}},
            losses.simplex.OneVsRest(losses.Log().with_link("Probit")),
        ),
    ],
)
def test_losses_for_several_classes_of_0_1_are_read(written, loss):
    from propriety.storage.values import decode

    assert decode(written) == loss


def test_every_estimator_of_the_package_can_be_saved():
    classes = [getattr(propriety, name) for name in propriety.__all__ if name.endswith("Classifier")]
    assert classes
    assert {cls.__name__ for cls in classes} <= {row.name for row in SAVED}
    for row in SAVED:
        assert callable(row.type.save), row.name
        assert callable(row.type.from_state), row.name


@pytest.mark.parametrize("name", ["boosting", "boosting, three classes", "linear", "tree", "rules"])
def test_pickle_and_skops_keep_a_model_too(name):
    model, X = fitted(name)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)
    data = skops.io.dumps(model)
    assert set(skops.io.get_untrusted_types(data=data)) <= set(propriety.TRUSTED)
    np.testing.assert_array_equal(skops.io.loads(data, trusted=propriety.TRUSTED).predict_proba(X), expected)


def test_every_trusted_name_is_a_type_of_the_library():
    for name in propriety.TRUSTED:
        module, _, kind = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), kind), type), name
        assert name.startswith("propriety.")


# --- what is refused when writing ---------------------------------------------------------------------


def test_a_loss_made_of_a_function_is_refused_and_nothing_is_written(tmp_path):
    X, score = rows()
    model = LinearClassifier(losses.from_weight(lambda p, q: 1 / (p * q))).fit(X, score > 0)
    with pytest.raises(ValueError, match=r"made of a Python function.*pickle"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_parameter_that_is_no_value_is_refused_by_name(tmp_path):
    X, score = rows()
    model = BoostingClassifier(max_iter=1, random_state=np.random.RandomState(0)).fit(X, score > 0)
    with pytest.raises(ValueError, match="the parameter random_state is RandomState"):
        model.save(tmp_path / "m")


def test_an_unfitted_model_and_a_pipeline_are_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted yet"):
        BoostingClassifier().save(tmp_path / "m")
    with pytest.raises(TypeError, match="save its last step"):
        files.save(make_pipeline(StandardScaler(), LinearClassifier()), tmp_path / "m")
    X, score = rows()
    search = propriety.LossSearchCV(LinearClassifier(alpha=0.1), "gain", cv=2).fit(X, score > 0)
    with pytest.raises(TypeError, match="save its best_estimator_"):
        files.save(search, tmp_path / "m")


def test_load_of_a_class_wants_that_class(tmp_path):
    fitted("linear")[0].save(tmp_path / "m")
    assert isinstance(LinearClassifier.load(tmp_path / "m"), LinearClassifier)
    with pytest.raises(TypeError, match="holds a LinearClassifier, not a BoostingClassifier"):
        BoostingClassifier.load(tmp_path / "m")


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    fitted("linear")[0].save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def full(self, data):
        with self.open("wb") as file:
            file.write(data[: len(data) // 2])
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space"):
        fitted("boosting")[0].save(tmp_path / "m")
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m").read_bytes() == before


def test_the_header_can_be_read_without_the_model(tmp_path):
    fitted("boosting")[0].save(tmp_path / "m")
    header = files.describe(tmp_path / "m")
    assert header["format"] == storage.FORMAT
    assert header["estimator"] == "BoostingClassifier"
    assert header["parameters"]["fn_cost"] == 9
    assert header["state"]["columns"]["names"] == ["a", "b", "c", "kind"]
    assert header["state"]["columns"]["categories"][3] == ["blue", "green", "red"]


# --- parameters of other versions -----------------------------------------------------------------------


def changed(name, change):
    """The bytes of a model whose document has been changed."""
    document, arrays = container.unpack(files.to_bytes(fitted(name)[0]))
    change(document)
    return container.pack({k: v for k, v in document.items() if k not in ("format", "sha256")}, arrays)


@pytest.mark.parametrize("name", ["boosting", "linear", "tree", "rules"])
def test_a_parameter_that_a_file_does_not_name_has_its_default(name):
    model, X = fitted(name)
    data = changed(name, lambda document: document["parameters"].pop("n_jobs"))
    again = files.from_bytes(data)
    assert again.n_jobs is None
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", ["boosting", "linear", "tree", "rules"])
def test_a_parameter_of_no_version_is_refused_by_name(name):
    data = changed(name, lambda document: document["parameters"].update(quantum=3))
    with pytest.raises(storage.ModelFileError, match="Classifier has no parameter quantum"):
        files.from_bytes(data)


def test_what_cannot_be_loaded_is_not_saved(tmp_path):
    model = pickle.loads(pickle.dumps(fitted("linear")[0]))
    model.coef_ = np.full_like(model.coef_, np.inf)
    with pytest.raises(
        ValueError, match=r"cannot be saved.*coef holds a number that is not finite.*keep it with pickle"
    ):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


# --- what cannot be loaded is not saved ---------------------------------------------------------------


def test_categories_that_are_tuples_are_kept(tmp_path):
    _, X = fitted("boosting")
    pairs = pd.Categorical([("red", i % 3) for i in range(len(X))])
    X = X.assign(kind=pairs)
    model = BoostingClassifier(max_iter=4).fit(X, np.arange(len(X)) % 3 == 0)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(propriety.load(tmp_path / "m").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", ["boosting", "linear", "tree", "rules"])
@pytest.mark.parametrize("size", [1e98, 1e308])
def test_huge_weights_are_kept(tmp_path, name, size):
    make, table, labels = MODELS[name]
    X, y = table(), labels()
    weight = np.where(np.arange(len(X)) % 2, size, size / 3)
    model = make().fit(X, y, weight)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(propriety.load(tmp_path / "m").predict_proba(X), model.predict_proba(X))
