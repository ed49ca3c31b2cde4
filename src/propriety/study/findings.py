"""What is to be warned of in a study, what matters most first: a row of `CHECKS` is a warning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.study import checks

if TYPE_CHECKING:
    from propriety.study.study import Study


@dataclass(frozen=True)
class Finding:
    """A warning: the name of the check that it comes from, and a sentence."""

    name: str
    text: str

    def __str__(self) -> str:
        return self.text


def _worse_than_base_rate(study: Study) -> list[str]:
    if study.p is None or study.p.ndim == 2:
        return []
    return checks.worse_than_base_rate(study.y, study.p, study.weights, study.groups)


def _miscalibrated(study: Study) -> list[str]:
    two = study.p is not None and study.p.ndim == 1
    return checks.miscalibrated(study.y, study.p, study.weights) if two else []


def _parts_differ(study: Study) -> list[str]:
    return checks.parts_differ(study.split.parts, study.rows.row_costs(study.decided), study.weights)


def _shares_drift(study: Study) -> list[str]:
    first = 1 if len(study.labels) == 2 else 0
    return [
        text
        for k, label in enumerate(study.labels)
        if k >= first
        for text in checks.share_drifts(
            (study.y == k).astype(np.float64), study.order, label, study.time_name
        )
    ]


def _columns_drift(study: Study) -> list[str]:
    places = checks.in_order(study.order)
    return checks.columns_drift(study.features_of(places), np.arange(len(places)))


#: The checks in the order of the page: a name, and a function from a study to sentences.
CHECKS: tuple[tuple[str, Callable[[Any], Sequence[str]]], ...] = (
    ("table", lambda study: study.facts.warnings),
    ("no_better", lambda study: checks.no_better(study.best_constant)),
    ("worse_than_base_rate", _worse_than_base_rate),
    ("rare_classes", lambda study: checks.rare_classes(study.y, study.labels)),
    ("few_mistakes", lambda study: checks.few_mistakes(study.y, study.decided)),
    ("miscalibrated", _miscalibrated),
    ("remarks", lambda study: study.remarks),
    ("parts_differ", _parts_differ),
    ("share_drifts", _shares_drift),
    ("columns_drift", _columns_drift),
)


def findings_of(study: Study) -> list[Finding]:
    """All warnings of a study."""
    return [Finding(name, text) for name, check in CHECKS for text in check(study)]
