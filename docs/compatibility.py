"""The table of clients: which programs of others are tested with the library, where, and in which version.

The documentation shows it with the versions that it was built with. ``python docs/compatibility.py`` prints
it for this environment, and with ``--run`` runs the tests of each client first and says how many passed.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

#: Package, name of its distribution, and what is tested with it.
CLIENTS = (
    ("sklearn", "scikit-learn", "its checks of estimators, pipelines, searches"),
    ("pandas", "pandas", "tables with categories and missing values, nullable labels"),
    ("polars", "polars", "tables; a LazyFrame is refused with what to do"),
    ("pyarrow", "pyarrow", "tables"),
    ("duckdb", "duckdb", "relations are refused with what to do, their data frames are read"),
    ("onnxruntime", "onnxruntime", "runs what `to_onnx` and `propriety export` write"),
    ("onnx", "onnx", "checks what they write"),
    ("skl2onnx", "skl2onnx", "converts pipelines after `register_skl2onnx`"),
    ("shap", "shap", "`TreeExplainer(model.to_shap())`, `Explainer(model, X)`"),
    ("skops", "skops", "keeps models, with `propriety.TRUSTED`"),
    ("mlflow", "mlflow-skinny", "`interop.mlflow`: keeps models, logs fits"),
    ("lightgbm", "lightgbm", "its scores as an offset, and beside it in comparisons"),
    ("xgboost", "xgboost", "`interop.xgboost`, `XGBoostProper`"),
    ("catboost", "catboost", "`interop.catboost`"),
    ("torch", "torch", "`interop.torch.ProperLoss`; tensors under scikit-learn's array API dispatch"),
    ("jax", "jax", "`interop.jax.loss`: jit, grad, vmap"),
    ("statsmodels", "statsmodels", "coefficients and standard errors of linear models agree"),
)


#: Test files shown of a client, and run by ``--run``.
_SHOWN = 3


def page(tests: Path, run: bool = False) -> str:
    """The table as Markdown; the tests are those files that import the client."""
    users = {package: [] for package, _, _ in CLIENTS}
    for path in sorted(tests.rglob("test_*.py")):
        for package in imported(path) & users.keys():
            users[package].append(path.relative_to(tests).as_posix())
    heads = ["client", "version", "what is tested", "tests", *(["outcome"] if run else [])]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for package, distribution, what in CLIENTS:
        where = users[package]
        shown = ", ".join(f"`{name}`" for name in where[:_SHOWN])
        rest = f" and {len(where) - _SHOWN} more" if len(where) > _SHOWN else ""
        outcome = f" {outcome_of([tests / name for name in where[:_SHOWN]])} |" if run else ""
        lines.append(f"| {distribution} | {version(distribution)} | {what} | {shown}{rest} |{outcome}")
    return "\n".join(lines) + "\n"


def outcome_of(files: list[Path]) -> str:
    """What pytest says of some files of tests, in its own numbers."""
    command = [sys.executable, "-m", "pytest", "-q", *map(str, files)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    counts = re.findall(r"\d+ (?:passed|failed|skipped|errors?)", said.strip().splitlines()[-1])
    return ", ".join(counts) or "nothing ran"


def imported(path: Path) -> set[str]:
    """Packages that a file imports, at any place, by ``pytest.importorskip`` too.

    Where that is given a variable, what it holds is one of the texts in the file.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "importorskip":
            asked = node.args[0]
            texts = [asked] if isinstance(asked, ast.Constant) else ast.walk(tree)
            found |= {str(t.value).partition(".")[0] for t in texts if isinstance(t, ast.Constant)}
    return found


def version(distribution: str) -> str:
    """The version that this page was made with."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed here"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Print the table of clients.")
    parser.add_argument("--run", action="store_true", help="run their tests, and say how many passed")
    print(page(Path(__file__).resolve().parents[1] / "tests", parser.parse_args().run), end="")
