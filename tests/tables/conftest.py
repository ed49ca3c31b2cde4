import sys
from pathlib import Path

import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parent))

from samples import SMALL, columns

from propriety.data.numbers import Numbers
from propriety.model import catalogue
from propriety.tables import TableModel, infer


@pytest.fixture(scope="session")
def table():
    return pa.table({name: [str(v) for v in values] for name, values in columns().items()})


@pytest.fixture(scope="session")
def models(table):
    """A model over the table by each estimator of the catalogue."""
    findings = infer(table, "sick")
    frame, _ = findings.columns.encode(table)
    result = {}
    for entry in catalogue.ESTIMATORS:
        estimator = entry.type(fp_cost=1, fn_cost=9, **SMALL.get(entry.key, {}))
        numbers = Numbers.fit(frame) if estimator.reads_numbers else None
        X = frame if numbers is None else numbers(frame)
        estimator.fit(X, findings.codes.astype(int))
        result[entry.key] = TableModel(estimator, findings.columns, findings.target, numbers, {"rows": 160})
    return result
