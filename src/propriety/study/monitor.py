"""New rows held against what a model remembers: drift of columns, scores, decisions; with labels, the cost.

Drift is measured by the population stability index, Σ (q − p) log(q/p) over the parts of a column, and tested
by χ² with Holm's correction for the number of columns: with many rows any difference is certain, with few a
large index may be chance, so that a warning needs both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from propriety.evaluation.comparison import holm
from propriety.evaluation.judging import JudgedRows, Judgement, judge
from propriety.study.findings import Finding
from propriety.study.numbers import between, number, percent
from propriety.study.reference import Distribution, Reference, calibration_of, score_columns
from propriety.weights import Z95, Estimate

Floats = NDArray[np.float64]
#: The index from which a distribution has changed, and from which it has changed somewhat.
CHANGED, SOMEWHAT = 0.25, 0.1
_LEVEL = 0.01  # of all tests, so that a model that is watched daily seldom raises a false alarm
_NAMED = 5  # columns named in a warning
_SLOPE, _GAP = 0.15, 0.01  # off a slope of 1, and between stated and seen shares, that is worth a warning
_WORDS = {
    "cost": "the cost per 1,000 decisions is",
    "slope": "the calibration slope, ideally 1, is",
    "gap": "the predicted minus the observed share, ideally 0, is",
}


@dataclass(frozen=True)
class Drift:
    """How a distribution has changed.

    Attributes
    ----------
    name : str
    psi : float
        The population stability index.
    p_value, p_holm : float
        Of the test that nothing has changed; the latter corrected for the number of columns.
    part, was, now : str, float, float
        The part whose share has changed most.
    """

    name: str
    psi: float
    p_value: float
    p_holm: float
    part: str
    was: float
    now: float

    @property
    def changed(self) -> bool:
        """Whether it has changed much, and more than by chance."""
        return self.psi >= CHANGED and self.p_holm < _LEVEL

    @property
    def kind(self) -> str:
        """In a word."""
        if self.p_holm >= _LEVEL or self.psi < SOMEWHAT:
            return ""
        return "changed" if self.changed else "somewhat"

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        tests = {"psi": self.psi, "p_value": self.p_value, "p_holm": self.p_holm, "changed": self.changed}
        return {"name": self.name, **tests, "part": self.part, "was": self.was, "now": self.now}


@dataclass(frozen=True)
class Change:
    """How a number of judged rows differs from that of the rows that judged the fit.

    Attributes
    ----------
    name : {"cost", "slope", "gap"}
        The cost of 1,000 decisions, the slope of the calibration, and stated less seen share.
    was, now, difference : Estimate
    p_holm : float
        Of the test that it is the same, corrected for the number of tests.
    """

    name: str
    was: Estimate
    now: Estimate
    difference: Estimate
    p_holm: float

    @property
    def worse(self) -> bool:
        """Whether it has changed for the worse, by more than chance and, of the calibration, by enough."""
        if self.p_holm >= _LEVEL:
            return False
        if self.name == "cost":
            return self.difference.value > 0
        right = 1.0 if self.name == "slope" else 0.0
        enough = _SLOPE if self.name == "slope" else _GAP
        return abs(self.now.value - right) > max(abs(self.was.value - right), enough)

    @property
    def text(self) -> str:
        """In a sentence."""
        what = _WORDS[self.name]
        return (
            f"{what} {number(self.now.value)} (95% CI {between(self.now)}); it was {number(self.was.value)} "
            f"({between(self.was)}) at training"
        )

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        named = {"was": self.was, "now": self.now, "difference": self.difference}
        ends = {name: [e.value, e.low, e.high] for name, e in named.items()}
        return {"name": self.name, **ends, "p_holm": self.p_holm, "worse": self.worse}


@dataclass(eq=False)
class Monitor:
    """Counts of new rows, which may come in pieces.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> from propriety import Study
    >>> x = rng.normal(size=(500, 1))
    >>> study = Study("linear", x, x[:, 0] + rng.normal(size=500) > 0, holdout=0.4)
    >>> monitor = Monitor(study.reference, study.labels)
    >>> monitor.add({"x0": rng.normal(1, 1, 500)}, rng.uniform(size=500))
    >>> monitor.decide(np.ones(500, dtype=int))
    >>> [drift.kind for drift in monitor.columns], [finding.name for finding in monitor.findings]
    (['changed'], ['columns', 'decisions'])
    """

    reference: Reference
    labels: Sequence[str]
    n_rows: int = 0
    judged: Judgement | None = None
    changes: list[Change] = field(default_factory=list)
    months: dict[str, Monitor] = field(default_factory=dict)
    _counts: dict[str, Floats] = field(default_factory=dict)
    _decided: Floats = field(default_factory=lambda: np.zeros(2))

    def add(
        self,
        columns: Mapping[str, NDArray[Any]],
        p: Floats,
        unknown: Mapping[str, int] | None = None,
    ) -> None:
        """Count some rows: columns as floats or text, probabilities, and unknown categories.

        Unknown categories were read as missing, and are counted as others.
        """
        for known in self.reference.columns:
            counts = known.counts(columns[known.name])
            new = (unknown or {}).get(known.name, 0) if known.levels is not None else 0
            counts[-2:] += new, -new
            self._add(known.name, counts)
        values = score_columns(p, self.labels)
        for known in self.reference.scores:
            self._add(known.name, known.counts(values[known.name]))
        self.n_rows += len(p)

    def of_month(self, name: str) -> Monitor:
        """That of the rows of a month, which are counted there as well."""
        if name not in self.months:
            self.months[name] = Monitor(self.reference, self.labels)
            self.months = dict(sorted(self.months.items()))
        return self.months[name]

    def decide(self, decided: NDArray[np.intp]) -> None:
        """Count the decisions on all rows."""
        counts = np.bincount(decided, minlength=len(self.reference.decided)).astype(np.float64)
        self._decided = np.append(counts, [0.0, 0.0])

    def _add(self, name: str, counts: Floats) -> None:
        self._counts[name] = self._counts.get(name, 0.0) + counts

    def judge(self, rows: JudgedRows, p: Floats) -> None:
        """Judge rows whose labels are known, against the rows that judged the fit."""
        self.judged, was = judge(rows, [rows.rule("the model", p)])[0], self.reference
        y = (rows.y == rows.costs.positive).astype(np.float64)
        slope, gap = calibration_of(y, p, rows.weights)
        pairs = (("cost", was.cost, self.judged.cost), ("slope", was.slope, slope), ("gap", was.gap, gap))
        known = [(name, one, other) for name, one, other in pairs if one is not None and other is not None]
        more = [other.minus(one) for _, one, other in known]
        ends = [e.value - e.low if e.value > 0 else e.high - e.value for e in more]
        values = np.array([e.value for e in more])
        p_values = 2 * stats.norm.sf(np.abs(values) * Z95 / np.maximum(ends, 1e-300))
        p_holm = holm(p_values)
        self.changes = [
            Change(name, one, other, d, float(q))
            for (name, one, other), d, q in zip(known, more, p_holm, strict=True)
        ]

    @property
    def columns(self) -> list[Drift]:
        """Of the columns, those first that have changed most."""
        return sorted(self._drifts(self.reference.columns, self.reference.n_rows), key=lambda d: -d.psi)

    @property
    def scores(self) -> list[Drift]:
        """Of the scores."""
        return self._drifts(self.reference.scores, self.reference.n_judged)

    @property
    def decisions(self) -> Drift:
        """Of the shares of the decisions."""
        shares = self.reference.decided
        known = Distribution("decisions", (*shares.values(), 0.0, 0.0), (), tuple(shares))
        return _drift(known, self.reference.n_judged, self._decided)

    def _drifts(self, known: Iterable[Distribution], n: int) -> list[Drift]:
        return _corrected([_drift(one, n, self._counts[one.name]) for one in known])

    @property
    def dearer(self) -> Estimate | None:
        """What 1,000 decisions cost more than when the model was judged; None without labels."""
        return next((change.difference for change in self.changes if change.name == "cost"), None)

    @property
    def findings(self) -> list[Finding]:
        """What has changed; nothing if all is as it was."""
        found = [Finding(what, text) for what, text in self._drifting()]
        return found + [Finding(c.name, c.text) for c in self.changes if c.worse]

    def _drifting(self) -> Iterable[tuple[str, str]]:
        for what, drifts in (("columns", self.columns), ("scores", self.scores)):
            changed = [drift for drift in drifts if drift.changed]
            if changed:
                named = ", ".join(drift.name for drift in changed[:_NAMED])
                more = ", …" if len(changed) > _NAMED else ""
                yield what, f"{len(changed)} of {len(drifts)} {what} changed: {named}{more}"
        if self.decisions.changed:
            d = self.decisions
            text = (
                f"{d.part!r} is decided for {percent(d.now)} of the rows; it was {percent(d.was)} at training"
            )
            yield "decisions", text

    @property
    def status(self) -> int:
        """For schedulers: 0 if all is as it was, 1 if something has changed."""
        return int(bool(self.findings))

    def to_dict(self) -> dict[str, Any]:
        """The numbers for machines."""
        return {
            "rows": self.n_rows,
            "status": self.status,
            "columns": [drift.to_dict() for drift in self.columns],
            "scores": [drift.to_dict() for drift in self.scores],
            "decisions": self.decisions.to_dict(),
            "judgement": None if self.judged is None else self.judged.to_dict(),
            "changes": [change.to_dict() for change in self.changes],
            "findings": [{"check": finding.name, "text": finding.text} for finding in self.findings],
            "months": {name: month.to_dict() for name, month in self.months.items()},
        }


def stability(was: Floats, now: Floats, n_was: float, n_now: float) -> float:
    """The population stability index of shares; half a row is added to each part, so that none is empty.

    >>> round(stability(np.array([0.5, 0.5]), np.array([0.5, 0.5]), 1000, 1000), 6)
    0.0
    >>> round(stability(np.array([0.5, 0.5]), np.array([0.9, 0.1]), 1e9, 1e9), 3)
    0.879
    """
    k = len(was)
    p, q = (was * n_was + 0.5) / (n_was + k / 2), (now * n_now + 0.5) / (n_now + k / 2)
    return float(np.sum((q - p) * np.log(q / p)))


def _drift(known: Distribution, n: int, counts: Floats) -> Drift:
    """Of new counts in the parts of a distribution of n rows; parts that neither has are left out."""
    was, total = np.array(known.shares), counts.sum()
    kept = (was > 0) | (counts > 0)
    was, now, names = was[kept], counts[kept] / max(total, 1.0), np.array(known.parts)[kept]
    chance = 1.0
    if len(was) > 1 and total:
        chance = float(stats.chi2_contingency(np.stack([was * n, counts[kept]]), correction=False)[1])
    most = int(np.argmax(np.abs(now - was)))
    index = stability(was, now, n, total)
    return Drift(known.name, index, chance, chance, str(names[most]), float(was[most]), float(now[most]))


def _corrected(drifts: list[Drift]) -> list[Drift]:
    """The same with p-values that are corrected for their number."""
    if not drifts:
        return []
    p_holm = holm([drift.p_value for drift in drifts])
    return [replace(drift, p_holm=float(p)) for drift, p in zip(drifts, p_holm, strict=True)]
