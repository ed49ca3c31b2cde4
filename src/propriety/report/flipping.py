"""What would change the decision on a row."""

from __future__ import annotations

from propriety.report.markup import Markup, join, table, tag
from propriety.study import Study
from propriety.study.flips import Flipped, in_words_of
from propriety.study.numbers import number


def flips(study: Study) -> Markup | None:
    """The least change that would turn the decision on some rows."""
    found = study.counterfactuals()
    if not found:
        return None
    decided = study.decided
    rows = []
    for one in found:
        rows.append(
            (
                f"row {_place(study, one)}",
                number(float(study.p[one.row])),
                repr(study.labels[int(decided[one.row])]),
                "nothing that was tried" if one.flip is None else in_words_of(one.flip),
                "" if one.flip is None else number(one.flip.probability),
            )
        )
    text = (
        "For some close decisions, the smallest change that reverses them, in one to three columns. New "
        "values occur in other rows; a change is small if few rows lie in between. This describes the model: "
        "it does not predict the effect of an intervention."
    )
    columns = ("row", "probability", "decided", "decision changes with", "new probability")
    return join(
        tag("p", text),
        table("Counterfactuals: the smallest change that reverses a decision", columns, rows, numeric=(1, 4)),
    )


def _place(study: Study, one: Flipped) -> str:
    """The number of a row in the table, from 1."""
    return f"{int(study.places[one.row]) + 1:,}"
