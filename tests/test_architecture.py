"""The direction of imports, and what importing the package costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "src" / "propriety"

# A part may import the parts before it in the drawing of the architecture, and itself.
SHARED = {"parallel", "frames", "estimator", "weights"}
LEARNERS = {"engine", "linear", "tree", "boosting", "tuning", "evaluation"}
ALLOWED = {
    "losses": {"parallel"},
    "parallel": set(),
    "weights": set(),
    "costs": {"losses"},
    "frames": {"losses"},
    "estimator": {"losses", "parallel", "storage"},  # save and load, when they are called
    "engine": {"losses", *SHARED},
    "linear": {"losses", *SHARED},
    "evaluation": {"losses", *SHARED},
    "tree": {"losses", "engine", "linear", "evaluation", *SHARED},  # rules are separators with margins
    "boosting": {"losses", "engine", *SHARED},
    "tuning": {"losses", *SHARED, *LEARNERS},
    "tables": {"losses", "storage", *SHARED, *LEARNERS},  # storage: save, when it is called
    "storage": {"losses", "tables", *SHARED, *LEARNERS},
    "plots": {"losses", *SHARED, *LEARNERS},
    "report": {"losses", "plots", "tables", "storage", *SHARED, *LEARNERS},
    "cli": {"losses", "plots", "report", "tables", "storage", "demonstration", *SHARED, *LEARNERS},
    "__init__": {"losses", "plots", "storage", *LEARNERS},
    "__main__": {"cli"},
    "demonstration": {"losses", *SHARED, *LEARNERS},
}
FILES = sorted(ROOT.rglob("*.py"))


def part_of(path):
    top = path.relative_to(ROOT).parts[0]
    return top.removesuffix(".py")


def is_part(name):
    return (ROOT / name).exists() or (ROOT / f"{name}.py").exists()


def imported_parts(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        for module in modules:
            pieces = module.split(".")
            if pieces[0] == "propriety" and len(pieces) > 1 and is_part(pieces[1]):
                yield pieces[1]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    part = part_of(path)
    assert part in ALLOWED, f"{part} has no place in the architecture: add it to ALLOWED"
    wrong = set(imported_parts(path)) - ALLOWED[part] - {part}
    assert not wrong, f"{path.relative_to(ROOT)} imports {', '.join(sorted(wrong))}"


def test_only_kernels_know_numba_and_only_plots_know_matplotlib():
    for path in FILES:
        names = {
            (node.module if isinstance(node, ast.ImportFrom) else alias.name).split(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }
        if "numba" in names:
            assert part_of(path) != "losses" or path.stem == "kernels", path
        if "matplotlib" in names:
            assert part_of(path) in ("plots", "report"), path


def test_import_is_light():
    heavy = ("numba", "matplotlib", "pandas", "polars")
    code = f"import sys, propriety; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
