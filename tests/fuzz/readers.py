"""What the fuzz drivers have in common: one input to one reader, which gives a table or a TableError.

A driver is run by hand, with a Python that has atheris and the package's own requirements::

    python -m venv /tmp/fuzz && /tmp/fuzz/bin/pip install atheris '.[cli]'
    PYTHONPATH=src /tmp/fuzz/bin/python tests/fuzz/fuzz_csv.py corpus_folder -max_total_time=300

It stops with a file ``crash-…`` at the first input that raises anything else. Mend that, and put the input,
if it is small, into tests/tables/corpus, where a test replays it: its ending says which reader it is for.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from types import SimpleNamespace
from unittest import mock


def read_bytes(data: bytes, format: str | None, **options: object) -> object:
    """The table of these bytes, or None where they are refused as they should be."""
    from propriety.tables import TableError, open_source

    given = SimpleNamespace(buffer=io.BytesIO(data))
    with mock.patch.object(sys, "stdin", given), contextlib.suppress(TableError):
        return open_source("-", format=format, **options).read()
    return None


def run(target: Callable[[bytes], object]) -> None:
    """Fuzz a target until it fails or the time is over."""
    import atheris

    with atheris.instrument_imports(include=["propriety.tables", "openpyxl"]):
        import openpyxl  # noqa: F401

        import propriety.tables  # noqa: F401
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
