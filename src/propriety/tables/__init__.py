"""Tables from files, and models over them: columns of known kind, read the same way whenever they are read.

A file becomes Arrow tables (`sources`); the columns of the training table are worked out once (`inference`)
and kept (`columns`); a model over them reads any later table by the same rules (`model`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from propriety.tables.columns import Column, Columns
    from propriety.tables.costs import LabelledMatrix, TableCosts
    from propriety.tables.errors import TableError
    from propriety.tables.inference import Findings, Overrides, infer
    from propriety.tables.model import TableModel
    from propriety.tables.offsets import TableOffset
    from propriety.tables.sources import Source, open_source
    from propriety.tables.targets import Target

__all__ = [
    "Column",
    "Columns",
    "Findings",
    "LabelledMatrix",
    "Overrides",
    "Source",
    "TableCosts",
    "TableError",
    "TableModel",
    "TableOffset",
    "Target",
    "infer",
    "open_source",
]

# Imported when first asked for: pyarrow, pandas and scikit-learn take a second.
_LATER = {
    "Column": "propriety.tables.columns",
    "Columns": "propriety.tables.columns",
    "LabelledMatrix": "propriety.tables.costs",
    "TableCosts": "propriety.tables.costs",
    "TableError": "propriety.tables.errors",
    "Findings": "propriety.tables.inference",
    "Overrides": "propriety.tables.inference",
    "infer": "propriety.tables.inference",
    "TableModel": "propriety.tables.model",
    "TableOffset": "propriety.tables.offsets",
    "Source": "propriety.tables.sources",
    "open_source": "propriety.tables.sources",
    "Target": "propriety.tables.targets",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'propriety.tables' has no attribute {name!r}")
    value = getattr(import_module(_LATER[name]), name)
    globals()[name] = value
    return value
