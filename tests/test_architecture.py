"""The direction of imports, and what importing the package costs."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from propriety.model import catalogue

ROOT = Path(__file__).resolve().parents[1] / "src" / "propriety"

#: From the ground up. A part may import those of the floors below, and itself; nothing else, at any place.
FLOORS = (
    (
        "version",
        "parallel",
        "communicator",
        "memory",
        "progress",
        "demonstration",
        "cached_properties",
        "errors",
        "formatting",
        "aliases",
    ),
    ("compilation", "numba_import"),
    ("caching",),
    ("losses",),
    ("weights", "costs", "solve"),
    ("data",),
    ("storage",),
    ("export",),
    ("model",),
    ("algorithms",),
    ("evaluation",),
    ("trees",),
    ("distributed",),
    ("separators",),
    ("linear", "boosting", "forest", "tree", "rules"),
    ("kernel", "scorecard"),
    ("auto",),
    ("tuning", "interop", "dask", "ray"),
    ("study",),
    ("tables",),
    ("plots",),
    ("report",),
    ("explore",),
    ("cli",),
    ("__init__", "__main__"),
)
FLOOR = {part: floor for floor, parts in enumerate(FLOORS) for part in parts}
FILES = sorted(ROOT.rglob("*.py"))


def part_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_parts(path):
    """Parts that a file imports, in functions too; a name of the package itself is that of ``__init__``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            modules = (
                [f"propriety.{alias.name}" for alias in node.names]
                if node.module == "propriety"
                else [node.module]
            )
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        for module in modules:
            package, _, rest = module.partition(".")
            if package == "propriety":
                part = rest.partition(".")[0]
                yield part if part in FLOOR else "__init__"


def test_every_part_has_its_floor():
    assert {part_of(path) for path in FILES} == set(FLOOR)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path):
    part = part_of(path)
    wrong = {other for other in imported_parts(path) if other != part and FLOOR[other] >= FLOOR[part]}
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


def test_cached_properties_have_no_lock():
    for path in FILES:
        if part_of(path) != "cached_properties":
            found = re.search(
                r"functools import .*cached_property|functools\.cached_property", path.read_text()
            )
            assert not found, f"{path.relative_to(ROOT)}: take it from propriety.cached_properties"


#: Private names of other packages that are imported, with the reason why no public one does.
PRIVATE = {
    "sklearn.utils.validation._check_feature_names": "its own check of names, with its messages",
    "sklearn.utils.validation._check_n_features": "its own check of the number of columns",
    "sklearn.utils.validation._get_feature_names": "the names that it takes from a frame of any library",
    "sklearn.utils.validation._num_samples": "the rows of whatever it takes, with its messages",
    "sklearn.utils._safe_indexing": "rows of arrays, frames, sparse matrices and lists, as it takes them",
    "sklearn.utils._missing.is_pandas_na": "tells pandas' NA without importing pandas",
    "sklearn.utils._missing.is_scalar_nan": "tells NaN among labels of any type",
    "sklearn.utils._array_api.get_namespace": "whose array it is, under its array API dispatch",
    "sklearn.utils._array_api.get_namespace_and_device": "the same, with the device to answer on",
    "sklearn.utils._array_api._convert_to_numpy": "arrays of each library to NumPy's, as it converts them",
    "_imp": "the lock of imports, which a fork must hold",
    "importlib._bootstrap": "who is importing, for whom a fork must wait",
    "sklearn.utils.extmath._approximate_mode": "the split of train_test_split, which makes lists of all rows",
}


def test_private_names_of_others_are_these():
    used = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            others = [name for name in names if name.partition(".")[0] not in ("propriety", "__future__")]
            used |= {name for name in others if any(part.startswith("_") for part in name.split("."))}
    assert used == set(PRIVATE)


def imported(code, *modules):
    """Which of the modules a fresh process has imported after running some code."""
    code = f"import sys; {code}; print([m for m in {modules} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ast.literal_eval(out.stdout)


def test_the_command_line_imports_what_it_runs():
    run = "import contextlib, io; from propriety.cli.app import app\n"
    run += "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): app(%s)\n"
    run += "len(sys.modules)"
    libraries = ("numpy", "scipy", "sklearn", "pyarrow", "pandas", "numba", "joblib", "matplotlib")
    assert imported(run % ["--help"], *libraries, "propriety.tables", "propriety.cli.fit") == []
    assert imported(run % ["fir"], *libraries) == []
    heavy = ("sklearn", "pyarrow", "pandas", "numba", "propriety.cli.fit", "propriety.report")
    assert imported(run % ["losses", "--help"], *heavy) == []
    assert imported(run % ["warm", "--help"], *heavy, "scipy", "propriety.losses") == []
    assert imported(run % ["predict", "--help"], "numba", "propriety.cli.fit", "propriety.report") == []
    assert imported(run % ["fit", "--help"], "numba", "matplotlib", "propriety.report") == []
    assert imported(run % ["explain", "--help"], "numba", "propriety.study", "propriety.report") == []


def test_import_is_light():
    assert imported("import propriety", "numpy", "scipy", "sklearn", "numba", "matplotlib", "pandas") == []
    assert imported("from propriety import losses, links", "sklearn", "numba", "pandas", "polars") == []
    fitted = ", ".join(row.name for row in catalogue.ESTIMATORS)
    assert imported(f"from propriety import {fitted}", "numba", "matplotlib", "polars") == []
