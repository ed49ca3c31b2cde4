"""A model file of a table that was tampered with is refused."""

import hashlib
import json

import pytest
from safetensors.numpy import load, save

from propriety.model import files
from propriety.storage import ModelFileError


def forged(data, change):
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    content = json.loads(header["__metadata__"]["propriety"])
    content["sha256"] = "0" * 64
    change(content["state"])
    new = save(load(data), metadata={"propriety": json.dumps(content)})
    start = new.index(b"0" * 64)
    return new[:start] + hashlib.sha256(new).hexdigest().encode() + new[start + 64 :]


def column(**changes):
    return lambda s: s["columns"][0].update(changes)


def term(**changes):
    return lambda s: s["numbers"][0].update(changes)


COSTS = {"fp_cost": "1", "fn_cost": "5", "tp_benefit": "0", "tn_benefit": "0"}
CHANGES = {
    "a column of no kind": (column(kind="code"), "of the kind 'code'"),
    "a column twice": (lambda s: s["columns"][1].update(name=s["columns"][0]["name"]), "occur twice"),
    "no columns": (lambda s: s.update(columns=[]), "no columns"),
    "a number with parts": (column(parts=["days"]), "parts of a date"),
    "a column with more": (column(more=1), "more than it should"),
    "a decimal sign of text": (lambda s: s.update(decimal="x"), "decimal sign"),
    "one class": (lambda s: s["target"].update(negatives=[]), "no two classes"),
    "a term of no feature": (term(feature=99), "of no feature"),
    "a term of feature -1": (term(feature=-1), "of no feature"),
    "a term of no kind": (term(kind="code"), "of no feature"),
    "a level of a number": (term(kind="level"), "does not suit"),
    "a scale of zero": (term(scale=0.0), "not finite"),
    "a model inside that is none": (lambda s: s.update(model=[]), "no model"),
    "a table inside a table": (lambda s: s["model"].update(estimator="TableModel"), "not valid"),
    "a negative cost": (lambda s: s["model"]["parameters"].update(fn_cost=-1.0), "fn_cost must be positive"),
    "costs of each row": (
        lambda s: s["model"]["parameters"].update(fn_cost={"array": [1.0, 2.0], "dtype": "float64"}),
        "an entry for each of 2 rows",
    ),
    "a cost of a column in the model inside": (
        lambda s: s["model"]["parameters"].update(fn_cost="age"),
        "costs are not numbers|for the table",
    ),
    "costs that are no texts": (lambda s: s.update(costs={"fp_cost": 1}), "no texts"),
    "costs that are code": (
        lambda s: s.update(costs={**COSTS, "fn_cost": "__import__('os')"}),
        "not valid",
    ),
    "costs without a column": (lambda s: s.update(costs=COSTS), "do not differ by row"),
    "an offset of a model without one": (lambda s: s.update(offset="age"), "not that of the model inside"),
    "several classes of a model of two": (
        lambda s: s.update(target={"name": "y", "because": "", "several": ["a", "b", "c"]}),
        "other classes",
    ),
    "one class of several": (
        lambda s: s.update(target={"name": "y", "because": "", "several": ["a"]}),
        "no several classes",
    ),
    "a summary of text": (lambda s: s.update(summary="x"), "summary"),
    "more": (lambda s: s.update(more=1), "no use: more"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_hostile_table_model_is_refused(models, tmp_path, name):
    change, match = CHANGES[name]
    data = files.to_bytes(models["linear"])
    (tmp_path / "m").write_bytes(forged(data, lambda s: None))
    files.load(tmp_path / "m")
    (tmp_path / "m").write_bytes(forged(data, change))
    with pytest.raises(ModelFileError, match=match):
        files.load(tmp_path / "m")
