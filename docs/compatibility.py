"""The table of clients: which programs of others are tested with the library, where, and in which version."""

from __future__ import annotations

import ast
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
    ("statsmodels", "statsmodels", "coefficients and standard errors of linear models agree"),
)


def page(tests: Path) -> str:
    """The table as Markdown; the tests are those files that import the client."""
    users = {package: [] for package, _, _ in CLIENTS}
    for path in sorted(tests.rglob("test_*.py")):
        for package in imported(path) & users.keys():
            users[package].append(path.relative_to(tests).as_posix())
    lines = ["| client | version | what is tested | tests |", "|---|---|---|---|"]
    for package, distribution, what in CLIENTS:
        where = users[package]
        shown = ", ".join(f"`{name}`" for name in where[:3])
        rest = f" and {len(where) - 3} more" if len(where) > 3 else ""
        lines.append(f"| {distribution} | {version(distribution)} | {what} | {shown}{rest} |")
    return "\n".join(lines) + "\n"


def imported(path: Path) -> set[str]:
    """Packages that a file imports, at any place, by ``pytest.importorskip`` too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "importorskip":
            found |= {str(getattr(a, "value", "")).partition(".")[0] for a in node.args[:1]}
    return found


def version(distribution: str) -> str:
    """The version that this page was made with."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed here"
