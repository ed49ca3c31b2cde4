"""The package in environments other than the developer's: ``python3 run.py check-oldest`` and the like.

Each makes a fresh environment, installs the package into it as a user would, and runs `smoke.py` there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SMOKE = ROOT / ".ci" / "smoke.py"
TYPED = ROOT / ".ci" / "typed_client.py"
OLDEST = ROOT / "constraints" / "oldest.txt"
#: Tests that need pytest and Hypothesis only, besides the package.
TESTS = ["tests/model", "tests/storage/test_golden.py"]
NOBODY = "65534"


def run(*command: object, **environment: str) -> None:
    """Run a command in the project's folder; stop at the first failure."""
    # The checkout must not stand in for what was installed.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    settings = {"MPLBACKEND": "Agg", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    result = subprocess.run(
        [str(part) for part in command], cwd=ROOT, env=inherited | settings | environment, check=False
    )
    if result.returncode:
        sys.exit(result.returncode)


@contextmanager
def fresh(interpreter: Path, *requirements: object) -> Iterator[Path]:
    """The Python of a new environment with the package, which is deleted afterwards.

    It stands in the project's folder: `check_confined` has another temporary one.
    """
    with tempfile.TemporaryDirectory(prefix=".venv-", dir=ROOT) as name:
        os.chmod(name, 0o755)
        run(interpreter, "-m", "venv", name)
        python = Path(name) / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        run(python, "-m", "pip", "install", "--quiet", ".[plot,cli]", *requirements)
        yield python


def check_oldest() -> None:
    """The oldest versions that pyproject.toml allows."""
    check_bounds()
    with fresh(Path(sys.executable), "pandas", "pytest", "hypothesis", "--constraint", OLDEST) as python:
        cache = str(python.parent.parent / "numba-cache")
        run(python, SMOKE, NUMBA_CACHE_DIR=cache)
        run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, NUMBA_CACHE_DIR=cache)


def check_newest() -> None:
    """The newest Python on this machine, with the newest version of everything."""
    interpreter = max(interpreters(), key=lambda entry: entry[0])[1]
    print(f"-- {interpreter}", flush=True)
    with fresh(interpreter, "pandas", "pytest", "hypothesis", "mypy", "--upgrade") as python:
        cache = str(python.parent.parent / "numba-cache")
        run(python, SMOKE, NUMBA_CACHE_DIR=cache)
        run(python, "-m", "mypy", "--follow-imports=silent", "--warn-unused-ignores", TYPED)
        run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, NUMBA_CACHE_DIR=cache)


def check_confined() -> None:
    """A user without privileges or a home, who can write to nothing but an empty /tmp."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        sys.exit("check-confined changes the mounts of its own process, so it needs Linux and root")
    interpreter = next((path for _, path in interpreters() if open_to_others(path)), None)
    if interpreter is None or not open_to_others(SMOKE):
        sys.exit(
            f"check-confined needs {ROOT} and a Python of 3.11 or later in folders that others may enter"
        )
    with fresh(interpreter) as python:
        run(
            *("unshare", "--mount", "sh", "-ec"),
            "mount -o remount,ro,bind /; mount -t tmpfs -o mode=1777 tmpfs /tmp; "
            f'exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --no-new-privs "$@"',
            *("sh", "env", "-i", f"PATH={os.environ['PATH']}", "HOME=/nonexistent", "MPLBACKEND=Agg"),
            *(python, SMOKE),
        )


def check_bounds() -> None:
    """Every pin is the lower bound in pyproject.toml: the file cannot fall behind."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    stated = dict(
        re.fullmatch(r"([\w-]+)>=([\w.]+)", requirement).groups()
        for requirement in [*project["dependencies"], *extras["plot"], *extras["cli"], *extras["test"]]
        if not requirement.startswith("propriety")
    )
    pins = dict(line.split("==") for line in OLDEST.read_text(encoding="utf-8").splitlines() if "==" in line)
    runtime = [*project["dependencies"], *extras["plot"], *extras["cli"]]
    missing = {re.split(">=", requirement)[0] for requirement in runtime} - pins.keys()
    wrong = [name for name, pin in pins.items() if not f"{pin}.".startswith(f"{stated.get(name)}.")]
    if missing or wrong:
        sys.exit(f"{OLDEST} is not what pyproject.toml says: missing {sorted(missing)}, wrong {wrong}")


def interpreters() -> Iterator[tuple[tuple[int, ...], Path]]:
    """Pythons of 3.11 or later on this machine, with their versions."""
    names = [f"python3.{minor}" for minor in range(11, 30)]
    places = [shutil.which(name) for name in names] + [sys.executable, "/usr/bin/python3"]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for place in dict.fromkeys([*filter(None, places), *sorted(pyenv.glob("3.*/bin/python"))]):
        answer = subprocess.run([str(place), "-V"], capture_output=True, text=True, check=False)
        version = re.fullmatch(r"Python (\d+)\.(\d+)\.(\d+)\s*", answer.stdout)
        if version and (numbers := tuple(map(int, version.groups()))) >= (3, 11):
            yield numbers, Path(place)


def open_to_others(path: Path) -> bool:
    """Whether any user may come to a file, and to what it is a link to."""
    return all(parent.stat().st_mode & 0o001 for end in (path, path.resolve()) for parent in end.parents)


JOBS = {"check-oldest": check_oldest, "check-newest": check_newest, "check-confined": check_confined}

if __name__ == "__main__":
    JOBS[sys.argv[1]]()
