"""Experiments use what a user may use: if one needed a private name, the library would lack something."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from reproductions import registry

FOLDER = Path(registry.__file__).parent
#: Those of the experiments; the others run them and show what came of them.
MODULES = sorted({*registry.MODULES, "coding", "data", "masnadi_sets", "nock_sets"})
#: Where public names are, each with its `__all__`.
PUBLIC = {
    "propriety",
    "propriety.algorithms",
    *(f"propriety.{name}" for name in ("boosting", "evaluation", "linear", "losses", "rules", "tree")),
    "propriety.evaluation.theory",
    "propriety.losses.links",
}
#: What the documents name by its module: types of results, and measures of the papers alone.
BY_MODULE = {
    "propriety.evaluation.calibration": {"calibration_cross_entropy", "mse_to_truth"},
    "propriety.evaluation.comparison": {"Comparison"},
    "propriety.evaluation.traces": {"Trace"},
}
PRIVATE = re.compile("_(?!_)")


def tree_of(name):
    return ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", MODULES)
def test_only_public_names_are_imported(name):
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("propriety") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module.startswith("propriety"):
            if node.module.startswith("reproductions"):
                continue
            assert node.module in PUBLIC | BY_MODULE.keys(), f"{name} imports from {node.module}"
            exported = BY_MODULE.get(node.module) or set(import_module(node.module).__all__)
            missing = {alias.name for alias in node.names} - exported
            assert not missing, f"{name} imports {missing} from {node.module}, which does not export them"


@pytest.mark.parametrize("name", MODULES)
def test_no_private_attribute_is_used(name):
    private = {
        ast.unparse(node)
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.Attribute) and PRIVATE.match(node.attr) and ast.unparse(node.value) != "self"
    }
    assert not private


def test_every_module_of_an_experiment_is_looked_at():
    shown = {
        "__init__",
        "__main__",
        "command",
        "axes",
        "experiment",
        "fingerprint",
        "page",
        "registry",
        "running",
        "text",
    }
    assert {path.stem for path in FOLDER.glob("*.py")} == shown | set(MODULES)
