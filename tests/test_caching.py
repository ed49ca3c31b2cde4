"""Kernels run where nothing can be written, as in most containers, and where they are not compiled."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.uncompiled import predictions

import propriety
from propriety.caching import SOURCES, fingerprint, own_folder

SOURCE = Path(propriety.__file__).parent
MODELS = """
import sys
import numpy as np
import propriety
from propriety import LinearClassifier, TreeClassifier, caching
assert propriety.__file__.startswith(sys.argv[1]), propriety.__file__
rng = np.random.default_rng(0)
n = int(sys.argv[3])
X = rng.normal(size=(n, 3))
y = X[:, 0] + 0.3 * rng.normal(size=n) > 0
models = {"tree": TreeClassifier(max_leaf_nodes=4), "linear": LinearClassifier()}
for name in sys.argv[4].split():
    path = f"{sys.argv[2]}/{name}"
    model = models[name].fit(X, y)
    model.save(path)
    p = propriety.load(path).predict_proba(X)
    assert np.array_equal(p, model.predict_proba(X)), name
    model.predict_contributions(X[:5])
    assert np.mean((p[:, 1] > 0.5) == y) > 0.8, name
print(caching.CACHE)
"""


def run(package, folder, models, rows=60, unprivileged=False, **environment):
    """Fit, save and load models by the package in a process that sees these variables and no others."""
    command = [sys.executable, "-c", MODELS, str(package), str(folder), str(rows), models]
    if unprivileged and os.name == "posix" and os.getuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("the superuser may write everywhere, and there is no setpriv to give that up")
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    wanted = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=wanted | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.fixture
def place(tmp_path):
    """An installation and a home that cannot be written, and a temporary folder that can."""
    package = tmp_path / "site" / "propriety"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "home").mkdir()
    (tmp_path / "temporary").mkdir()
    closed = [tmp_path / "home", package.parent, *(p for p in package.rglob("*") if p.is_dir()), package]
    for folder in closed:
        folder.chmod(0o555)
    yield tmp_path
    for folder in closed:
        folder.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="folders are closed by their mode")
def test_a_closed_installation_keeps_its_kernels_in_a_temporary_folder(place):
    homes = {"HOME": str(place / "home"), "TMPDIR": str(place / "temporary")}
    models = "tree linear"
    said = run(place / "site" / "propriety", place / "temporary", models, unprivileged=True, **homes)
    assert said == "True"
    (kept,) = place.glob("temporary/propriety-kernels-*")
    assert kept.stat().st_mode & 0o777 == 0o700
    assert list(kept.rglob("*.nbi"))
    assert not list((place / "site").rglob("*.nbi"))


@pytest.mark.skipif(os.name != "posix", reason="folders are closed by their mode")
def test_a_folder_that_others_can_write_is_not_used(place):
    open_to_all = place / "temporary" / f"propriety-kernels-{os.getuid()}"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    homes = {"HOME": str(place / "home"), "TMPDIR": str(place / "temporary")}
    said = run(place / "site" / "propriety", place / "temporary", "linear", unprivileged=True, **homes)
    assert said == "False"
    assert not list(open_to_all.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="folders are closed by their mode")
def test_the_folder_that_the_user_names_comes_first(place):
    chosen = place / "chosen"
    homes = {"HOME": str(place / "home"), "TMPDIR": str(place / "temporary"), "NUMBA_CACHE_DIR": str(chosen)}
    said = run(place / "site" / "propriety", place / "temporary", "tree", unprivileged=True, **homes)
    assert said == "True"
    assert list(chosen.rglob("*.nbi"))
    assert not list(place.glob("temporary/propriety-kernels-*"))


@pytest.mark.skipif(os.name != "posix", reason="links and owners")
def test_a_folder_of_ones_own(tmp_path):
    folder = own_folder(tmp_path)
    assert folder == own_folder(tmp_path)
    folder.rmdir()
    folder.symlink_to(tmp_path / "elsewhere")
    assert own_folder(tmp_path) is None  # of nobody
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    assert own_folder(tmp_path) is None  # a link may lead anywhere
    assert own_folder(tmp_path / "nowhere") is None


#: A kernel in one file that calls a function in another.
INNER = """
import numpy as np
from propriety.boosting.leaves import _add_values, _mark_others
from propriety.trees.gradient_layout import NODE
nodes = np.zeros(3, NODE)
nodes["left"], nodes["right"], nodes["by_set"] = [1, -1, -1], [2, -1, -1], 1
sets, leaf_of = np.zeros((3, 8), np.uint32), np.full(1, 9, np.uint16)
sets[0, 0] = 1
bins, numbers = np.zeros((1, 1), np.uint8), np.array([0, 1, 2])
_mark_others(bins, np.ones(1, np.int64), nodes, sets, numbers, 0, 1, leaf_of)
_add_values(leaf_of, 0, 1, np.zeros(3), np.zeros(1))
print(leaf_of[0], sum(len(kernel.stats.cache_hits) for kernel in (_mark_others, _add_values)))
"""


def test_kernels_are_compiled_anew_when_what_they_call_has_changed_or_a_file_is_cut_off(tmp_path):
    package, kernels = tmp_path / "site" / "propriety", tmp_path / "kernels"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    wanted = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(kernels)}

    def answer():
        command = [sys.executable, "-c", INNER]
        done = subprocess.run(command, env=wanted, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.strip()

    assert answer() == "1 0"
    for pattern in ("*_mark_others*.nbi", "*_add_values*.nbc"):
        (file,) = kernels.rglob(pattern)
        file.write_bytes(file.read_bytes()[:-20])
    assert answer() == "1 0"
    assert answer() == "1 2"  # kept
    inner = package / "trees" / "quickscorer.py"
    source = inner.read_text(encoding="utf-8")
    held = "return (sets[which, bin_ >> 5] >> np.uint32(bin_ & 31)) & np.uint32(1) != 0"
    assert source.count(held) == 1
    changed = source.replace(held, held.replace("!= 0", "== 0  # changed"))
    inner.write_text(changed, encoding="utf-8")
    assert answer() == "2 0"


def test_the_folder_of_kernels_belongs_to_what_is_compiled(tmp_path):
    package = tmp_path / "propriety"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    seen = {fingerprint(package)}
    (package / "cli" / "fit.py").write_text("")
    assert fingerprint(package) in seen
    for name in ("trees/layout.py", "linear/kernels.py", "trees/search.py"):
        (package / name).write_text("")
        assert fingerprint(package) not in seen
        seen.add(fingerprint(package))


def test_no_source_of_kernels_is_left_out():
    covered = {path for name in SOURCES for path in [SOURCE / name, *(SOURCE / name).rglob("*.py")]}
    assert _compiled() <= covered, "add these to propriety.caching.SOURCES"


def _compiled():
    """Files with compiled functions, and those that these take names from."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
        origin = {a.asname or a.name: node.module for node in imports for a in node.names}
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        compiled = [f for f in functions if any(_compiles(d, origin) for d in f.decorator_list)]
        if compiled or any(isinstance(n, ast.Call) and _compiles(n, origin) for n in ast.walk(tree)):
            found.add(path)
        for name in {n.id for f in compiled for n in ast.walk(f) if isinstance(n, ast.Name)} & origin.keys():
            module = origin[name]
            if module.split(".")[0] == "propriety":
                found.add(_file_of(module, name))
    return found


def _compiles(decorator, origin):
    """Whether this is a decorator that compiles."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    module = origin.get(called.id, "") if isinstance(called, ast.Name) else ""
    if module == "propriety.caching":
        return called.id == "njit"
    ours = module in ("propriety.trees.jit",)
    return module.split(".")[0] == "numba" or (ours and called.id != "records")


def _file_of(module, name):
    base = SOURCE.joinpath(*module.split(".")[1:])
    return next(
        path for path in (base / f"{name}.py", base.with_suffix(".py"), base / "__init__.py") if path.exists()
    )


def test_kernels_that_are_not_compiled_learn_the_same(tmp_path):
    script = Path(__file__).parent / "uncompiled.py"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(SOURCE.parent)}
    command = [sys.executable, "-W", "ignore::RuntimeWarning", str(script), str(tmp_path / "p.npz")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    plain = np.load(tmp_path / "p.npz")
    for name, compiled in predictions().items():
        np.testing.assert_allclose(plain[name], compiled, rtol=1e-6, atol=1e-9, err_msg=name)
