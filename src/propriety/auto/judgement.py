"""What a fitted model is worth, by what it said of rows that it had not seen; and that in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.evaluation import calibration_slope
from propriety.evaluation.judging import JudgedRows
from propriety.weights import Estimate

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Standing:
    """What one way to decide costs.

    Attributes
    ----------
    name : str
    cost : Estimate
        Of 1,000 decisions, with its 95% CI.
    log_loss : float
        Mean log loss of its probabilities; NaN for one that has none.
    weight : float
        Its part in the model; NaN for one that is none.
    seconds : float
        Since the fit began, when it was there.
    adds : float
        By how much the log loss of all members together would be higher without it, with weights of their
        own for the others; NaN for one that is none.
    """

    name: str
    cost: Estimate
    log_loss: float = np.nan
    weight: float = np.nan
    seconds: float = np.nan
    adds: float = np.nan


@dataclass(frozen=True)
class Judgement:
    """An honest estimate of a model: by probabilities of rows that its parts were not fitted to.

    Attributes
    ----------
    model : Standing
        All members together.
    members : tuple of Standing
        Each of them alone.
    constant : Standing
        The one decision that is cheapest for everyone.
    saved : Estimate
        What 1,000 decisions cost less than with that one, over the same rows.
    slope : float
        Of the calibration: 1 is right, less says too much.
    n_rows : int
        Evaluationd.
    left_out : tuple of str
        Members for which the time was too short, each with what it would have taken.
    price : Estimate or None
        What 1,000 decisions cost more than with all members, for a model that was to be readable.
    ladder : tuple of Standing
        The learning curve over time: the first member, the first two together, … up to all, each with its
        cost, its log loss and the seconds since the fit began. See `curve`.
    decision : int
        Which decision for everyone `constant` is, as a place in the classes; −1 if that is not known.

    Examples
    --------
    >>> from propriety.costs import ResolvedCosts
    >>> from propriety.weights import Weights
    >>> y, p = np.array([0, 0, 0, 1, 0, 1, 1, 1] * 50), np.array([0.25] * 4 + [0.75] * 4)
    >>> P = np.column_stack([1 - p, p])[np.arange(400) % 8]
    >>> rows = JudgedRows(y, ("paid", "default"), ResolvedCosts.of_mistakes(2, 3), Weights(400))
    >>> print(judgement(rows, {"linear": (P, 1.0, 0.1, 0.0)}, P, 0.1))
    1,000 decisions cost 625 (95% CI ...). Deciding 'default' for everyone costs 1,000: the model ...
    The probabilities are well calibrated (slope 1.00); their log loss is 0.562.
    Estimated by cross-validation on 400 rows.
    """

    model: Standing
    members: tuple[Standing, ...]
    constant: Standing
    saved: Estimate
    slope: float
    n_rows: int
    left_out: tuple[str, ...] = ()
    price: Estimate | None = None
    ladder: tuple[Standing, ...] = ()
    decision: int = -1

    @property
    def curve(self) -> str:
        """What each step of the fit has bought, and what is known of the next one, in words."""
        lines = [
            f"{s.name}: after {s.seconds:.1f} s, 1,000 decisions cost {_number(s.cost.value)}, log loss "
            f"{s.log_loss:.4g}"
            for s in self.ladder
        ]
        if len(self.ladder) > 1:
            before, last = self.ladder[-2:]
            lines.append(
                f"The last step took {last.seconds - before.seconds:.1f} s and changed the cost by "
                f"{last.cost.value - before.cost.value:+.3g} and the log loss by "
                f"{last.log_loss - before.log_loss:+.2g}."
            )
        if self.left_out:
            lines.append(f"Skipped for time: {self.left_out[0]}. Its benefit is unknown until it is fitted.")
        elif self.n_rows:
            lines.append("All members were fitted: more time would not help; more rows or columns may.")
        return "\n".join(lines)

    @classmethod
    def none(cls, name: str) -> Judgement:
        """Of a model of one member, for which no rows were left to judge by."""
        unknown = Estimate(np.nan, np.nan, np.nan)
        alone = Standing(name, unknown, weight=1.0)
        return cls(Standing("model", unknown), (alone,), Standing("", unknown), unknown, np.nan, 0)

    def __str__(self) -> str:
        return self.text()

    def text(self, class_names: Sequence[str] | None = None) -> str:
        """In plain words; `class_names` are what to call the classes, by default the labels themselves."""
        if self.n_rows == 0:
            return (
                "No rows of two classes could be held out, because a class lies in one group or is one row "
                "with its copies: a linear model was fitted, without an estimate of its cost."
            )
        cost, saved = self.model.cost, self.saved
        everyone = self.constant.name
        if class_names is not None and 0 <= self.decision < len(class_names):
            everyone = _deciding(class_names[self.decision])
        text = [f"1,000 decisions cost {_with_interval(cost)}. {everyone} costs "]
        text[0] += f"{_number(self.constant.cost.value)}: the model "
        if saved.low > 0:
            text[0] += f"saves {_with_interval(saved)}."
        else:
            text[0] += (
                f"is not significantly better (saves {_with_interval(saved)}). More rows or better columns "
                "may help."
            )
        if len(self.members) > 1:
            alone = ", ".join(
                f"{s.name} {_number(s.cost.value)} (weight {s.weight:.2f}{_adding(s)})" for s in self.members
            )
            text.append(f"Cost of each member alone: {alone}.")
        if self.price is not None:
            text.append(
                f"An interpretable model was kept: {self.members[0].name}. It costs "
                f"{_with_interval(self.price)} more per 1,000 decisions than all members together."
            )
        text.append(
            f"The probabilities are {_slope(self.slope)}; their log loss is {self.model.log_loss:.3g}."
        )
        text += [f"Skipped: time budget exceeded ({member})." for member in self.left_out]
        text.append(f"Estimated by cross-validation on {self.n_rows:,} rows.")
        return "\n".join(text)


def standing(
    rows: JudgedRows,
    name: str,
    P: Floats,
    weight: float = np.nan,
    seconds: float = np.nan,
    adds: float = np.nan,
) -> Standing:
    """Of decisions by these probabilities."""
    return Standing(name, rows.cost(rows.row_costs(rows.decide(P))), rows.log_loss(P), weight, seconds, adds)


def judgement(
    rows: JudgedRows,
    members: dict[str, tuple[Floats, float, float, float]],
    P: Floats,
    seconds: float,
    left_out: tuple[str, ...] = (),
    readable: Floats | None = None,
    ladder: tuple[Standing, ...] = (),
) -> Judgement:
    """Of a model with probabilities P and its members: name → what `standing` takes.

    `ladder` is what the first members together were worth, and when; the whole model comes last in it.
    `readable` are the probabilities of a model that is kept in its place because it can be read.
    """
    kept = P if readable is None else readable
    decided = rows.decide(kept)
    best = rows.cheapest[0]
    constant = rows.row_costs(np.full(len(rows.y), best))
    price = None
    if readable is not None:
        price, _ = rows.difference(rows.decide(P), decided)
    whole = standing(rows, "all members", P, seconds=seconds)
    labels = np.arange(P.shape[1]) if P.shape[1] > 2 else None
    return Judgement(
        standing(rows, "model", kept, seconds=seconds),
        tuple(standing(rows, key, *member) for key, member in members.items()),
        Standing(_for_everyone(rows, best), rows.cost(constant)),
        rows.difference(decided, np.full(len(rows.y), best))[0],
        calibration_slope(rows.y, kept, sample_weight=rows.weights.values, labels=labels).value,
        int(np.count_nonzero(rows.weights.array)),
        left_out,
        price,
        (*ladder, whole) if ladder else (),
        best,
    )


def _for_everyone(rows: JudgedRows, decision: int) -> str:
    """One decision for everyone, in words."""
    if decision == rows.costs.n_classes:
        return "Abstaining for everyone"
    return _deciding(rows.labels[decision])


def _deciding(label: Any) -> str:
    return f"Deciding {label!r} for everyone"


def _adding(member: Standing) -> str:
    """What a member adds to the others; nothing in models of older files."""
    return "" if np.isnan(member.adds) else f"; without it the log loss changes by {member.adds:+.2g}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _with_interval(estimate: Estimate) -> str:
    return f"{_number(estimate.value)} (95% CI {_number(estimate.low)} to {_number(estimate.high)})"


def _slope(slope: float) -> str:
    """The slope of the calibration in words."""
    if slope < 0.8:
        return f"overconfident (calibration slope {slope:.2f})"
    if slope > 1.25:
        return f"underconfident (calibration slope {slope:.2f})"
    return f"well calibrated (slope {slope:.2f})"
