"""Install into .venv and run: ``python3 run.py demo`` or ``python3 run.py check``.

Needs Python 3.11 or later and nothing else. ``check`` is what continuous integration runs: lint, formatting,
types, the tests with the doctests, and the documentation with its gallery. ``check-oldest``, ``check-newest``
and ``check-confined`` try the package in other environments (.ci/environments.py), some minutes each.
``check-bounds`` runs the tests of all that is compiled with every index of an array tested.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

CHECKS = {
    "lint": ["-m", "ruff", "check", "."],
    "formatting": ["-m", "ruff", "format", "--check", "."],
    "types": ["-m", "mypy"],
    "tests": ["-m", "pytest", "-q", "-n", "2"],
    "documentation": ["-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "docs/_build/html"],
}
#: The tests that run kernels; those of `test_caching` run them uncompiled as well.
KERNELS = [
    *(f"tests/{part}" for part in ("engine", "boosting", "forest", "tree", "rules", "linear", "separators")),
    *("tests/distributed", "tests/laws", "tests/losses", "tests/test_parallel.py", "tests/test_caching.py"),
]
ENVIRONMENTS = ["check-oldest", "check-newest", "check-confined"]


def run(*arguments: str, **settings: str) -> None:
    """Run the environment's Python in the project's folder; stop at the first failure."""
    environment = os.environ | {"MPLBACKEND": "Agg"} | settings
    # One cache of compiled kernels for everything that is run here.
    environment.setdefault("NUMBA_CACHE_DIR", str(VENV / "numba-cache"))
    result = subprocess.run([str(PYTHON), *arguments], cwd=ROOT, env=environment, check=False)
    if result.returncode:
        sys.exit(result.returncode)


def install(extra: str) -> None:
    """Make .venv if there is none, and install the package into it."""
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit(f"propriety needs Python 3.11 or later; this is {sys.version.split()[0]}")
    if not PYTHON.exists():
        venv.create(VENV, with_pip=True)
    run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", f".[{extra}]")


def check_bounds() -> None:
    """Run the kernels with a test of every index; where one hangs is shown after a while."""
    settings = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(VENV / "numba-cache-bounds")}
    run("-m", "pytest", "-q", "-o", "faulthandler_timeout=900", *KERNELS, **settings)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["demo", "check", "check-bounds", *ENVIRONMENTS])
    what = parser.parse_args().what
    if what in ENVIRONMENTS:
        sys.exit(
            subprocess.run([sys.executable, ROOT / ".ci" / "environments.py", what], check=False).returncode
        )
    if what == "demo":
        install("cli,plot")
        run("-m", "propriety", "demo")
        return
    install("dev")
    if what == "check-bounds":
        check_bounds()
        return
    for name, arguments in CHECKS.items():
        print(f"-- {name}", flush=True)
        run(*arguments)


if __name__ == "__main__":
    main()
