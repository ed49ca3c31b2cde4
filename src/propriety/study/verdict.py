"""What a study comes to, in a sentence: against deciding without a model, and against other models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from propriety.evaluation.judging import Difference, JudgedRows
from propriety.weights import Estimate

if TYPE_CHECKING:
    from propriety.study.study import Study


def of_intervals(rows: JudgedRows) -> str:
    """What every interval of a study is over, and on how many positives it rests."""
    over = "judging rows" if rows.groups is None else "groups of judging rows"
    of = repr(rows.labels[rows.costs.positive]) if len(rows.labels) == 2 else "of the rarest class"
    return (
        f"Intervals are over the {over}, of which {rows.positives:,.0f} are {of}, given the fitted models; "
        "other training rows are not in them."
    )


def headline(study: Study) -> str:
    """What the model saves against the better of deciding without one, in the user's unit and period."""
    simple = study.best_constant
    saved, scale = simple.dearer, study.scale
    assert saved is not None
    on = f"on {scale.name}" if scale.period else f"on every {scale.name}"
    against = f"against {simple.name}, {best_of(study)}"
    if not saved.sure:
        return (
            f"Whether {study.name} saves anything cannot be told from chance: {scale.cost(saved.value)} "
            f"{on} (95% interval {scale.between(saved)}) {against}."
        )
    verb = "saves" if saved.value > 0 else "loses"
    ends = scale.between(saved if saved.value > 0 else _negated(saved))
    name = f"{study.name[:1].upper()}{study.name[1:]}"
    return f"{name} {verb} {scale.cost(abs(saved.value))} {on} (95% interval {ends}) {against}."


def best_of(study: Study) -> str:
    """Of what the decision for everyone is the best."""
    if study.budget is not None:
        return "which is within the budget"
    return f"the {'better' if study.sided else 'cheapest'} of deciding without a model"


def of_models(paired: Sequence[Difference]) -> str:
    """Whether the model of least cost is significantly cheaper than the others."""
    if not paired:
        return ""
    alike = [difference.second for difference in paired if not difference.significant]
    if not alike:
        others = "the other" if len(paired) == 1 else f"each of the {len(paired)} others"
        return f"{paired[0].first} is the cheapest: significantly cheaper than {others} (Holm, 5%)."
    return (
        f"{paired[0].first} has the lowest cost on these rows; it is not significantly cheaper than "
        f"{', '.join(alike)}."
    )


def _negated(estimate: Estimate) -> Estimate:
    return Estimate(-estimate.value, -estimate.high, -estimate.low)
