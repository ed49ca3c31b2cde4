"""What would turn decisions of a study: of some judging rows whose decision was close."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from propriety.cli.study import Study
from propriety.report import Flipped, Report
from propriety.report.close import close_flips


def flips_of(study: Study, report: Report, allowed: Collection[str] | None) -> list[Flipped]:
    """The least changes for rows just on either side of the threshold; nothing for several classes."""
    if not report.sided or report.budget is not None or study.table.offset is not None:
        return []
    columns = study.model.columns
    # The parts of a date cannot change one without the other.
    kinds = {c.name: c.kind for c in columns.columns}
    free = [name for name in report.features if kinds.get(name) in ("number", "category")]
    free = [name for name in free if allowed is None or name in allowed]
    if not free:
        return []
    thresholds = np.broadcast_to(report.costs.threshold, report.p.shape)
    schema = study.table.frame.schema

    def predict(rows: Mapping[str, NDArray[Any]]) -> Any:
        return study.fitted.probabilities(pa.table({f.name: _column(rows[f.name], f) for f in schema}))

    return close_flips(predict, report.features, report.p, thresholds, free)


def _column(values: NDArray[Any], field: Any) -> Any:
    """Values of the report as the encoded table has them."""
    if pa.types.is_dictionary(field.type):
        text = [None if v == "missing" else str(v) for v in values.tolist()]
        return pa.array(text, pa.string()).dictionary_encode()
    return pa.array(values.astype(float))
