"""Install into .venv and run: ``python3 run.py demo`` or ``python3 run.py check``.

Needs Python 3.11 or later and nothing else. ``check`` is what continuous integration runs: lint, formatting,
types, the tests with the doctests, and the documentation with its gallery. ``check-oldest``, ``check-newest``
and ``check-confined`` try the package in other environments (.ci/environments.py), some minutes each.
``check-bounds`` runs the tests of all that is compiled with every index of an array tested. ``check-long``
draws new cases of the relations between fits (tests/laws/relations.py) for an hour.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BOUNDS = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(VENV / "numba-cache-bounds")}
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
    *(f"tests/{part}" for part in ("trees", "boosting", "forest", "tree", "rules", "linear")),
    *("tests/separators", "tests/distributed", "tests/laws", "tests/losses", "tests/test_parallel.py"),
    "tests/test_caching.py",
]
#: How cases of relations are drawn, each for a share of the time; the second with every index tested.
DRAWN = {
    "as they are": [],
    "bounds": [],
    "in forked processes": ["--forked"],
    "after interrupts": ["--interrupted"],
}
ENVIRONMENTS = ["check-oldest", "check-newest", "check-confined"]


def run(*arguments: str, **settings: str) -> None:
    """Run the environment's Python in the project's folder; stop at the first failure."""
    if code := code_of(*arguments, **settings):
        sys.exit(code)


def code_of(*arguments: str, **settings: str) -> int:
    """Run it, and return what it returns."""
    environment = os.environ | {"MPLBACKEND": "Agg"} | settings
    # One cache of compiled kernels for everything that is run here.
    environment.setdefault("NUMBA_CACHE_DIR", str(VENV / "numba-cache"))
    return subprocess.run([str(PYTHON), *arguments], cwd=ROOT, env=environment, check=False).returncode


def install(extra: str) -> None:
    """Make .venv if there is none, and install the package into it."""
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit(f"propriety needs Python 3.11 or later; this is {sys.version.split()[0]}")
    if not PYTHON.exists():
        venv.create(VENV, with_pip=True)
    run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", f".[{extra}]")


def check_bounds() -> None:
    """Run the kernels with a test of every index; where one hangs is shown after a while."""
    run("-m", "pytest", "-q", "-o", "faulthandler_timeout=900", *KERNELS, **BOUNDS)


def check_long(minutes: float, seed: int) -> None:
    """Draw cases of the relations between fits, in every way, and say which of them found some broken."""
    seconds, found = 60 * minutes / len(DRAWN), []
    for name, (how, settings) in DRAWN.items():
        print(f"-- relations, {name}: seed {seed}, {seconds / 60:.0f} minutes", flush=True)
        drawing = ["-m", "tests.laws.relations", "--seed", str(seed), "--seconds", str(seconds), *how]
        if code := code_of(*drawing, **settings):
            found.append(name if code > 0 else f"{name} (died of signal {-code})")
    if found:
        sys.exit(f"relations are broken: {', '.join(found)}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["demo", "check", "check-bounds", "check-long", *ENVIRONMENTS])
    parser.add_argument("--minutes", type=float, default=60.0, help="how long check-long draws")
    parser.add_argument("--seed", type=int, default=date.today().toordinal(), help="of check-long; the day")
    given = parser.parse_args()
    what = given.what
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
    if what == "check-long":
        check_long(given.minutes, given.seed)
        return
    for name, arguments in CHECKS.items():
        print(f"-- {name}", flush=True)
        run(*arguments)


if __name__ == "__main__":
    main()
