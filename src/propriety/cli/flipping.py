"""What would turn decisions of a study: of some judging rows whose decision was close."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from propriety.cli.study import Study
from propriety.evaluation import nearest_flip
from propriety.report import Flipped, Report

_ROWS = 6  # that are shown
_POOL = 2000  # rows whose values are tried


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
    chosen = close_rows(report.p, thresholds)
    pool = np.unique(
        np.append(np.linspace(0, len(report.p) - 1, min(len(report.p), _POOL)).astype(int), chosen)
    )
    values = {name: np.asarray(v)[pool] for name, v in report.features.items()}
    schema = study.table.frame.schema

    def predict(rows: Mapping[str, NDArray[Any]]) -> Any:
        frame = pa.table({field.name: _column(rows[field.name], field) for field in schema})
        P = study.model.estimator.predict_proba(study.model._of_frame(frame))
        return P[:, 1]

    return [
        Flipped(
            int(row),
            nearest_flip(
                predict, values, int(np.searchsorted(pool, row)), float(thresholds[row]), allowed=free
            ),
        )
        for row in chosen
    ]


def close_rows(p: NDArray[Any], thresholds: NDArray[Any]) -> list[int]:
    """Rows nearest to their thresholds, as many decided one way as the other.

    >>> close_rows(np.array([0.1, 0.4, 0.6, 0.9]), np.full(4, 0.5))
    [2, 3, 1, 0]
    """
    gap = p - thresholds
    above, below = np.flatnonzero(gap >= 0), np.flatnonzero(gap < 0)
    nearest = [side[np.argsort(np.abs(gap[side]), kind="stable")[: _ROWS // 2]] for side in (above, below)]
    return np.concatenate(nearest).tolist()


def _column(values: NDArray[Any], field: Any) -> Any:
    """Values of the report as the encoded table has them."""
    if pa.types.is_dictionary(field.type):
        text = [None if v == "missing" else str(v) for v in values.tolist()]
        return pa.array(text, pa.string()).dictionary_encode()
    return pa.array(values.astype(float))
