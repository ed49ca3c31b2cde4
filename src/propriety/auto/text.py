"""A model that can be read, in words: a scorecard, a tree or rules, with the names of the table's columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from propriety.auto.members import READABLE, Member
from propriety.auto.stacking import Stack
from propriety.data.table import Schema
from propriety.formatting import loss_text
from propriety.linear.text import scorecard

if TYPE_CHECKING:
    from propriety.losses import Composite
    from propriety.losses.simplex import SimplexLoss


def can_be_read(members: tuple[Member, ...]) -> bool:
    """Whether the model is one member that can be read."""
    return len(members) == 1 and members[0].name in READABLE


def text_of(
    member: Member,
    stack: Stack,
    schema: Schema,
    loss: Composite | SimplexLoss,
    decimals: int,
    class_names: Sequence[str] | None = None,
) -> str:
    """The member, and how its scores are recalibrated."""
    if member.numbers is not None:
        text = scorecard(member.model, schema, member.numbers, decimals=decimals, class_names=class_names)
    else:
        text = member.model.export_text(**({} if class_names is None else {"class_names": class_names}))
    shift = ", ".join(f"{a:+.{decimals}f}" for a in stack.intercept)
    return (
        f"{text}\nRecalibrated by cross-validation: score = {stack.weights[0]:.{decimals}f} × score above, "
        f"intercept {shift} ({loss_text(loss)})."
    )
