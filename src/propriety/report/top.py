"""The top of the page: the findings in a sentence, some numbers, and the warnings."""

from __future__ import annotations

import numpy as np

from propriety.evaluation.judging import Judgement
from propriety.report.markup import Markup, join, tag
from propriety.study import Study
from propriety.study.numbers import percent
from propriety.study.verdict import best_of


def summary(study: Study) -> Markup:
    """The findings in a sentence, and some numbers."""
    model, simple = study.judgements[0], study.best_constant
    scale = study.scale
    text = (
        f"With {study.name}, {scale.name} cost {scale.cost(model.cost.value)} "
        f"(95% CI {scale.between(model.cost)}); without a model ({simple.name}), they cost "
        f"{scale.cost(simple.cost.value)}."
    )
    assert simple.dearer is not None
    cards = [
        (scale.cost(model.cost.value), f"cost of {scale.name}"),
        (
            scale.cost(simple.dearer.value),
            f"saved{scale.often} compared with {simple.name}, {best_of(study)}",
        ),
    ]
    share = model.savings
    if share is not None and (study.costs.by_row or not study.sided):
        said = f"of that cost is saved (95% CI {percent(share.low)} to {percent(share.high)})"
        cards.append((percent(share.value), said))
    cards += _mistakes(study, model)
    items = [tag("li", tag("b", value), tag("span", what)) for value, what in cards]
    return join(
        tag("p", study.headline, class_="lead"),
        tag("p", text),
        tag("ul", *items, class_="cards"),
        tag("p", _judged(study), class_="quiet"),
    )


def _mistakes(study: Study, model: Judgement) -> list[tuple[str, str]]:
    scale = study.scale
    of = f"of {scale.cases:,.0f}{scale.often}"
    if model.misses is not None and model.false_alarms is not None:
        cards = [
            (
                scale.count(model.misses),
                f"misses per {scale.cases:,.0f}{scale.often}: {study.positive!r}, decided otherwise",
            ),
            (
                scale.count(model.false_alarms),
                f"false alarms per {scale.cases:,.0f}{scale.often}: {study.negative!r}, decided "
                f"{study.positive!r}",
            ),
        ]
    else:
        cards = [(scale.count(model.mistakes), f"{of} are wrong decisions")]
        if model.abstained is not None:
            cards.append((scale.count(model.abstained), f"{of} are left undecided"))
    if study.budget is not None:
        acted = int(np.sum(study.decided == 1))
        cards.append((f"{acted:,}", f"of {len(study.y):,} rows are acted on within the budget"))
    return cards


def _judged(study: Study) -> str:
    """How many rows judge, of which classes, and how they were kept from the model."""
    if study.p.ndim == 1:
        of_classes = f"{int(study.y.sum()):,} of them {study.positive!r}"
    else:
        counts = np.bincount(study.y.astype(np.intp), minlength=len(study.labels))
        of_classes = ", ".join(f"{n:,} {label!r}" for n, label in zip(counts, study.labels, strict=True))
    rows = f"{len(study.y):,} rows, {of_classes}"
    if not study.split.text:
        return f"Evaluated on {rows}. It is not known whether the model has seen these rows."
    return f"Evaluated by {study.split.text}: {rows}."


def warnings(study: Study) -> Markup | None:
    """Warnings, before everything that they bear on."""
    texts = [finding.text for finding in study.warnings]
    if not texts:
        return None
    heading = "One warning" if len(texts) == 1 else f"{len(texts)} warnings"
    items = [tag("li", text[:1].upper() + text[1:] + ".") for text in texts]
    return tag("aside", tag("h2", heading), tag("ul", *items), class_="warnings", aria_label="Warnings")
