"""Tables from files, and models over them: columns of known kind, read the same way whenever they are read.

A file becomes Arrow tables (`sources`); the columns of the training table are worked out once (`inference`)
and kept (`columns`); a model over them reads any later table by the same rules (`model`).
"""

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
