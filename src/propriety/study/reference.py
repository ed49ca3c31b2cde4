"""What a model file remembers of its training rows, so that new rows can be held against it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety import evaluation
from propriety.storage.checks import require
from propriety.weights import Estimate, Weights

if TYPE_CHECKING:
    from propriety.study.study import Study

Floats = NDArray[np.float64]
_PARTS = 10  # of the values of a number
_LEVELS = 50  # of a category, the most frequent; the rest are one part
_MOST = 200_000  # rows that are counted


@dataclass(frozen=True)
class Distribution:
    """Shares of the rows in parts of a column or of scores.

    The parts of a number lie between its `edges`, those of text are its `levels` and all others; the last
    part of either are missing values.

    Examples
    --------
    >>> known = Distribution.of("x", np.array([0.0, 1.0, 2.0, np.nan]), Weights(4), parts=2)
    >>> known.edges, known.shares
    ((1.0,), (0.25, 0.5, 0.25))
    >>> known.counts(np.array([5.0, 5.0, np.nan])), known.parts
    (array([0., 2., 1.]), ('below 1', '1 or more', 'missing'))
    """

    name: str
    shares: tuple[float, ...]
    edges: tuple[float, ...] = ()
    levels: tuple[str, ...] | None = None

    @classmethod
    def of(cls, name: str, values: NDArray[Any], weights: Weights, parts: int = _PARTS) -> Distribution:
        """Of the rows of a fit, the parts of a number being of about equal size."""
        if values.dtype.kind == "f":
            known = np.isfinite(values) & (weights.array > 0)
            at = np.arange(1, parts) / parts
            edges = np.unique(np.quantile(values[known], at, method="higher")) if known.any() else np.empty(0)
            empty = cls(name, (), tuple(edges.tolist()))
        else:
            names, place = np.unique(values[values != "missing"].astype(str), return_inverse=True)
            order = np.argsort(-np.bincount(place, minlength=len(names)), kind="stable")[:_LEVELS]
            empty = cls(name, (), levels=tuple(names[order].tolist()))
        counts = empty.counts(values, weights.array)
        return cls(name, tuple((counts / counts.sum()).tolist()), empty.edges, empty.levels)

    @property
    def parts(self) -> tuple[str, ...]:
        """What the parts are called."""
        if self.levels is not None:
            return (*self.levels, "other", "missing")
        if not self.edges:
            return ("known", "missing")
        ends = [f"{edge:,.0f}" if 9999.5 <= abs(edge) < 1e15 else f"{edge:.4g}" for edge in self.edges]
        between = [f"{low} to {high}" for low, high in pairwise(ends)]
        return (f"below {ends[0]}", *between, f"{ends[-1]} or more", "missing")

    def counts(self, values: NDArray[Any], weight: Floats | None = None) -> Floats:
        """How many of some rows lie in each part."""
        if self.levels is not None:
            text, index = values.astype(str), {level: k for k, level in enumerate(self.levels)}
            n = len(self.levels) + 2
            names, inverse = np.unique(text, return_inverse=True)
            known = [n - 1 if v == "missing" else index.get(v, n - 2) for v in names.tolist()]
            place = np.array(known, dtype=np.intp)[inverse]
        else:
            n = len(self.edges) + 2
            place = np.searchsorted(self.edges, values, side="right")
            place = np.where(np.isfinite(values), place, n - 1)
        return np.bincount(place, weights=weight, minlength=n).astype(np.float64)


@dataclass(frozen=True)
class Reference:
    """The columns of the training rows, and scores, decisions and cost of the rows that judged.

    Attributes
    ----------
    n_rows, n_judged : int
        Of the training table, and those that judged.
    columns, scores : tuple of Distribution
        Dates are left out: they differ in all new rows. Scores are out of sample, one for each class; of two
        classes that of the positive one.
    decided : dict
        The share of the test rows that each decision was taken for.
    cost : Estimate
        Of 1,000 decisions.
    slope, gap : Estimate or None
        Of the calibration of two classes: its slope, and the mean of the probabilities less the share seen.
    """

    n_rows: int
    n_judged: int
    columns: tuple[Distribution, ...]
    scores: tuple[Distribution, ...]
    decided: dict[str, float]
    cost: Estimate
    slope: Estimate | None = None
    gap: Estimate | None = None

    @classmethod
    def of(cls, study: Study) -> Reference:
        """Of a study."""
        question, weights = study.question, study.weights
        rows = np.arange(question.n_rows)
        if len(rows) > _MOST:
            rows = np.linspace(0, len(rows) - 1, _MOST).astype(np.intp)
        counted = question.take(rows).judged.weights
        columns = tuple(
            Distribution.of(name, values, counted)
            for name, values in study.columns_of_rows(rows).items()
            if study.facts.owner(name) == name
        )
        names = study.rows.decisions
        shares = [float(weights.mean(study.decided == k)) for k in range(len(names))]
        scores = score_columns(study.p, study.labels)
        return cls(
            question.n_rows,
            len(study.y),
            columns,
            tuple(Distribution.of(name, p, weights) for name, p in scores.items()),
            dict(zip(map(str, names), shares, strict=True)),
            study.judgement.cost,
            *calibration_of(study.y, study.p, study.weights, study.groups),
        )

    def document(self) -> dict[str, Any]:
        """As plain values, for a model file."""
        return asdict(self)

    @classmethod
    def read(cls, document: Any) -> Reference:
        """The same again; what does not fit is refused."""
        try:
            columns, scores = (
                tuple(
                    Distribution(
                        str(d["name"]),
                        tuple(map(float, d["shares"])),
                        tuple(map(float, d["edges"])),
                        None if d["levels"] is None else tuple(map(str, d["levels"])),
                    )
                    for d in document[name]
                )
                for name in ("columns", "scores")
            )
            decided = {str(name): float(share) for name, share in document["decided"].items()}
            cost = _estimate(document["cost"])
            require(cost is not None, "it remembers no cost")
            n_rows, n_judged = int(document["n_rows"]), int(document["n_judged"])
            slope, gap = _estimate(document["slope"]), _estimate(document["gap"])
            made = cls(n_rows, n_judged, columns, scores, decided, cost, slope, gap)
        except (KeyError, TypeError, ValueError, AttributeError):
            require(False, "what it remembers of its training rows is wrong")
            raise
        known = columns + scores
        fits = all(len(d.parts) == len(d.shares) and list(d.edges) == sorted(d.edges) for d in known)
        require(fits and made.n_rows > 0 and made.n_judged > 0, "shares of its training rows do not fit")
        return made


def _estimate(document: Any) -> Any:
    return None if document is None else Estimate(*(float(document[end]) for end in ("value", "low", "high")))


def calibration_of(
    y: Floats, p: Floats, weights: Weights, groups: Any = None
) -> tuple[Estimate | None, Estimate | None]:
    """The slope of the calibration, and stated less seen share, of two classes where both occur."""
    if p.ndim == 2 or not 0 < weights.mean(y) < 1:
        return None, None
    slope = evaluation.calibration_slope(y, p, sample_weight=weights.values, pos_label=1)
    finite = np.isfinite([slope.value, slope.low, slope.high]).all()
    return slope if finite else None, weights.estimate(p - y, groups=groups)


def score_columns(p: Floats, labels: Any) -> dict[str, Floats]:
    """Scores by name: of two classes the probability of the positive one, else of each class."""
    if p.ndim == 1:
        return {f"probability of {labels[-1]!r}": p}
    return {f"probability of {label!r}": p[:, k] for k, label in enumerate(labels)}
