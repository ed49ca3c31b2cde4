"""What a study comes to, in a sentence: against deciding without a model, and against other models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from propriety.evaluation.judging import Difference, JudgedRows
from propriety.weights import Estimate

if TYPE_CHECKING:
    from propriety.study.study import Study


def of_intervals(rows: JudgedRows) -> str:
    """What the intervals of a study reflect, and on how many positives they rest."""
    over = "test rows" if rows.groups is None else "groups of test rows"
    of = repr(rows.labels[rows.costs.positive]) if len(rows.labels) == 2 else "of the rarest class"
    return (
        f"Confidence intervals reflect the sampling of the {over} ({rows.positives:,.0f} {of}), not of the "
        "training rows."
    )


def headline(study: Study) -> str:
    """What the model saves against the cheaper rule without a model, in the user's unit and period."""
    simple = study.best_constant
    saved, scale = simple.dearer, study.scale
    assert saved is not None
    on = f"on {scale.name}" if scale.period else f"per {scale.name}"
    against = f"compared with {simple.name}, {best_of(study)}"
    verb = "saves" if saved.value > 0 else "loses"
    ends = scale.between(saved if saved.value > 0 else _negated(saved))
    if not saved.sure:
        return (
            f"No significant saving: {study.name} {verb} {scale.cost(abs(saved.value))} {on} "
            f"(95% CI {ends}) {against}."
        )
    name = f"{study.name[:1].upper()}{study.name[1:]}"
    return f"{name} {verb} {scale.cost(abs(saved.value))} {on} (95% CI {ends}) {against}."


def best_of(study: Study) -> str:
    """What the decision for everyone is, in words."""
    if study.budget is not None:
        return "which is within the budget"
    return f"the {'cheaper' if study.sided else 'cheapest'} rule without a model"


def of_models(paired: Sequence[Difference]) -> str:
    """Whether the model of least cost is significantly cheaper than the others."""
    if not paired:
        return ""
    alike = [difference.second for difference in paired if not difference.significant]
    if not alike:
        others = "the other" if len(paired) == 1 else f"each of the {len(paired)} others"
        return f"{paired[0].first} is significantly cheaper than {others} (Holm's correction, 5% level)."
    return (
        f"{paired[0].first} has the lowest cost, but is not significantly cheaper than {' or '.join(alike)}."
    )


def _negated(estimate: Estimate) -> Estimate:
    return Estimate(-estimate.value, -estimate.high, -estimate.low)
