"""What is installed: a wheel built from the checkout."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import propriety

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder into which the wheel is unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    assert wheel.name == f"propriety-{propriety.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "site")
    return folder / "site"


def test_a_wheel_has_every_file_of_the_package_and_nothing_else(installed):
    source = ROOT / "src"
    files = {p.relative_to(source) for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    packed = {p.relative_to(installed) for p in installed.rglob("*") if p.is_file()}
    assert {p for p in packed if ".dist-info" not in p.parts[0]} == files
    assert Path("propriety/py.typed") in packed


def test_the_version_to_cite_is_that_of_the_package():
    stated = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert stated is not None
    assert stated[1] == propriety.__version__
