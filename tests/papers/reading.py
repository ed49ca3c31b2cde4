"""Where the papers' data and the text that their numbers were taken from may be."""

import re
from pathlib import Path

import pytest

from propriety.papers.data import Data

_NUMBER = re.compile(r"(?:[-−]\s?)?(?:\d{1,3}(?:,\d{3})+|\d+\.?\d*|\.\d+)")


def _shared(name):
    above = Path(__file__).resolve().parents
    return next((path / "shared" / name for path in above if (path / "shared" / name).exists()), None)


def shared_data():
    """The folder of data sets, or the test is skipped."""
    folder = _shared("data")
    if folder is None:
        pytest.skip("the data sets of the UCI repository are not here")
    return Data((folder,))


def specification():
    """All numbers of the text with the printed values, in order, or the test is skipped."""
    path = _shared("REPRODUCE.md")
    if path is None:
        pytest.skip("the text with the printed numbers is not here")
    text = path.read_text(encoding="utf-8")
    plain = (number.replace("−", "-").replace(" ", "").replace(",", "") for number in _NUMBER.findall(text))
    return [float(number) for number in plain]


def printed_rows(printed, most=None):
    """Rows of what was printed with their first numbers, without cells that are empty."""
    for row, values in printed.rows.items():
        numbers = [float(value) for value in values[:most] if value is not None]
        if numbers:
            yield row, numbers


def sequence_in(numbers, text):
    """Whether the numbers stand in the text, one after the other."""
    n = len(numbers)
    return any(
        all(abs(a - b) < 1e-9 for a, b in zip(numbers, text[k : k + n], strict=True))
        for k in range(len(text) - n + 1)
    )
