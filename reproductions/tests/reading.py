"""Where the papers' data and the text that their numbers were taken from may be."""

import os
import re
from pathlib import Path

import pytest

from reproductions.data import VARIABLE, Data

_NUMBER = re.compile(r"(?:[-−]\s?)?(?:\d{1,3}(?:,\d{3})+|\d+\.?\d*|\.\d+)")


def data_folder():
    """The folder that the variable names, else ``shared/data`` above this one, or None."""
    above = Path(__file__).resolve().parents
    named = [Path(os.environ[VARIABLE])] if VARIABLE in os.environ else []
    return next((path for path in [*named, *(a / "shared" / "data" for a in above)] if path.is_dir()), None)


def protocol_text():
    """The text with the printed values, beside the folder of data, or None."""
    folder = data_folder()
    path = None if folder is None else folder.parent / "REPRODUCE.md"
    return path if path is not None and path.is_file() else None


def shared_data():
    """The folder of data sets, or the test is skipped."""
    folder = data_folder()
    if folder is None:
        pytest.skip(f"the data sets of the UCI repository are not here: ${VARIABLE}")
    return Data((folder,))


def specification():
    """All numbers of the text with the printed values, in order, or the test is skipped."""
    path = protocol_text()
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
