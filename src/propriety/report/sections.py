"""What the page says, section by section."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

from propriety.evaluation.companions import RELIES, Companion, companions
from propriety.evaluation.judging import Judgement
from propriety.model import contract
from propriety.model.base import ProperClassifier
from propriety.report import figures, words
from propriety.report.markup import Markup, bar, interval, join, table, tag
from propriety.report.svg import figure
from propriety.study import Study
from propriety.study.numbers import Scale, amount, between, number, percent
from propriety.study.summary import threshold_of
from propriety.study.verdict import of_intervals, of_models
from propriety.weights import Estimate

_PACKAGES = ("propriety", "numpy", "scipy", "scikit-learn", "numba", "narwhals", "pyarrow", "matplotlib")
_EFFECTS = 6  # columns whose effects are drawn
_SHOWN = 200  # columns of a table that are listed
_LEAVES = 40  # of a tree that is drawn
_COUNTED = 15  # columns whose importances are listed
_CLASSES = 6  # whose reliability is drawn


def asked(study: Study) -> Markup:
    """What was to be minimized."""
    parts: list[Any] = [words.asked(study), words.started(study)]
    if study.loss is not None:
        why, *more = study.chosen.split("\n")
        parts += [
            tag(
                "p",
                "The probabilities were fitted by minimizing the loss ",
                tag("code", repr(study.loss)),
                ". ",
                why,
            ),
            *(tag("p", line) for line in more),
        ]
        drawn = figures.weights(study.loss, threshold_of(study))
        if drawn is not None:
            parts.append(
                figure(
                    "loss", drawn,
                    "How much the fitted loss attends to each ratio of costs; the costs asked for are "
                    "marked.",
                    "Where the loss looks: a proper loss is a weight over costs, drawn here beside the "
                    "log loss, each divided by its largest value. Where it is high, it asks for the most "
                    "exact probabilities.",
                )
            )  # fmt: skip
    return join(*parts)


def costs(study: Study) -> Markup:
    """Cost per 1,000 cases against every other way to decide."""
    lines, scale = study.judgements, study.scale
    costly = min(line.cost.low for line in lines) >= 0  # a bar shows no gain
    top = max(0.0, *(line.cost.high for line in lines)) or 1.0
    rows = [
        (
            line.name,
            interval(scale.cost(line.cost.value), scale.between(line.cost)),
            bar(line.cost.value / top, low=line.cost.low / top, high=line.cost.high / top) if costly else "",
            *(scale.count(count) for count in _counted(line)),
            _saving(line, scale),
        )
        for line in lines
    ]
    kinds: tuple[str, ...] = ("false alarms", "misses") if study.sided else ("mistakes",)
    kinds += ("undecided",) if study.costs.abstains else ()
    columns = ("decided by", "cost", "", *kinds, "the model saves")
    note = (
        f"In brackets are 95% intervals. {of_intervals(study.rows)} What the model saves is "
        "worked out row by row, so its interval is narrower than those of two costs; where it includes 0, "
        "the difference may be chance."
    )
    if study.groups is not None:
        note += " Rows of a group count as one observation."
    note += f" {of_models(study.differences)}" if study.differences else ""
    if study.rows.left_out:
        note += f" {study.rows.left_out}"
    numeric = (1, *range(3, len(columns)))
    return join(
        table(f"Cost of {scale.name}, and mistakes among them", columns, rows, numeric=numeric),
        _total(study),
        tag("p", note, class_="quiet"),
    )


def _total(study: Study) -> Markup | None:
    """What the judging rows cost in all, where each has its own costs."""
    if not study.costs.by_row:
        return None
    costs = study.rows.row_costs(study.decided)
    total = study.rows.cost(costs, study.weights.total)
    text = (
        f"The {len(study.y):,} judging rows cost {amount(total.value, study.scale.unit)} in all "
        f"(95% interval {amount(total.low)} to {amount(total.high, study.scale.unit)}), "
        f"{amount(study.weights.mean(costs), study.scale.unit)} a row."
    )
    share = study.judgements[0].savings
    if share is not None:
        text += (
            " Against "
            f"{'never' if study.budget is not None else 'the better of always and never'}, the savings "
            f"are {percent(share.value)} ({percent(share.low)} to {percent(share.high)}) of its cost"
            f"{'' if share.value >= 0 else ': below 0, the model costs more'}."
        )
    return tag("p", text)


def _counted(line: Judgement) -> list[float]:
    """False alarms and misses, or mistakes; and cases left undecided."""
    sided = line.false_alarms is not None
    counts = (line.false_alarms, line.misses, None if sided else line.mistakes, line.abstained)
    return [count for count in counts if count is not None]


def _saving(line: Judgement, scale: Scale) -> str:
    return "" if line.dearer is None else interval(scale.cost(line.dearer.value), scale.between(line.dearer))


def probabilities(study: Study) -> Markup:
    """Reliability and scores."""
    if study.p.ndim == 2:
        return _probabilities_of_several(study)
    reliability = figures.reliability(study.y, study.p, study.weights.array)
    scores = figures.scores(study.y, study.p, study.weights.array, study.labels, threshold_of(study))
    pair = tag(
        "div",
        figure(
            "reliability", reliability,
            "Reliability diagram: the observed share of positives against the stated probability.",
            "Reliability: where the model says 30%, does it happen in 30% of cases? On the diagonal it "
            "does; the band is "
            "what chance allows a model that is right. MCB is the loss due to miscalibration, DSC the gain "
            "from telling cases apart, UNC the loss of knowing only the base rate.",
        ),
        figure(
            "scores", scores, "Histograms of the stated probabilities of the two classes.",
            "How well the classes are told apart: the stated probabilities of the rows of either class.",
        ),
        class_="pair",
    )  # fmt: skip
    return join(pair, tag("p", f"{_scores(study.judgements[0])}.", class_="quiet"))


def _scores(line: Judgement) -> str:
    """Log loss and Brier score of the probabilities."""
    assert line.log_loss is not None
    assert line.brier is not None
    return f"Log loss {number(line.log_loss)}, Brier score {number(line.brier)}"


def _probabilities_of_several(study: Study) -> Markup:
    """The reliability of the probabilities of each class against the others."""
    P, true = study.p, study.y.astype(np.intp)
    pictures = [
        figure(
            f"reliability-{k}",
            figures.reliability((true == k).astype(np.float64), P[:, k], study.weights.array, label),
            f"Reliability diagram of {label}: its observed share against its stated probability.",
            f"{label}: where the model says 30%, is it in 30% of cases? The band is what chance "
            "allows a model "
            "that is right.",
        )
        for k, label in enumerate(study.labels[:_CLASSES])
    ]
    mean = study.weights.mean
    rows = [
        (
            label,
            percent(mean(true == k)),
            percent(mean(P[:, k])),
            f"{P[:, k].min():.3g} to {P[:, k].max():.3g}",
        )
        for k, label in enumerate(study.labels)
    ]
    columns = ("class", "share of the rows", "mean of the stated probabilities", "their range")
    return join(
        tag("div", *pictures, class_="pair"),
        table("Shares and stated probabilities", columns, rows, numeric=(1, 2, 3)),
        tag("p", f"{_scores(study.judgements[0])}, the sum over the classes.", class_="quiet"),
    )


def matters(study: Study) -> Markup | None:
    """Importances, and the model itself if it can be shown."""
    parts: list[Any] = []
    if study.importance:
        given: dict[str, Any] = dict(study.importance)
        measured = any(isinstance(value, Estimate) for value in given.values())
        parts.append(_rises(given, study) if measured else _shares(given))
    parts.append(_inside(study))
    kept = [part for part in parts if part is not None]
    return join(*kept) if kept else None


def _shares(importances: dict[str, Any]) -> Markup:
    ranked = sorted(importances.items(), key=lambda pair: -pair[1])
    shown = [(name, f"{share:.1%}", bar(share / (ranked[0][1] or 1))) for name, share in ranked if share > 0]
    unused = sum(share <= 0 for _, share in ranked)
    return join(
        table(
            "How much each column counts in the model",
            ("column", "share", ""),
            shown[:_COUNTED],
            numeric=(1,),
        ),
        tag("p", f"{unused} of {len(ranked)} columns are not used.", class_="quiet") if unused else None,
    )


def _rises(importances: dict[str, Estimate], study: Study) -> Markup:
    """By how much the log loss rises if a column is shuffled, with a whisker, and what it goes with."""
    ranked = sorted(importances.items(), key=lambda pair: -pair[1].value)
    listed = [(name, e) for name, e in ranked if e.value > 0][:_COUNTED]
    top = max(ranked[0][1].high, 1e-300)
    together = companions(dict(study.features), [name for name, _ in listed])
    shown = [
        (
            name,
            number(e.value),
            between(e),
            _going_with(together.get(name)),
            bar(e.value / top, low=e.low / top, high=e.high / top),
        )
        for name, e in listed
    ]
    chance = sum(not e.low > 0 for _, e in ranked)
    note = RELIES
    if chance:
        note += f" For {chance} of {len(ranked)} columns, no effect can be told from chance."
    columns = ("column", "log loss rises by", "95% interval", "goes with", "")
    return join(
        table("How much the model relies on each column", columns, shown, numeric=(1, 2)),
        tag("p", note, class_="quiet"),
    )


def _going_with(companion: Companion | None) -> str:
    if companion is None or not companion.close:
        return ""
    return f"{companion.name} (rank correlation {companion.correlation:.2f})"


def _inside(study: Study) -> Markup | None:
    """The model itself, as it can be shown; what its columns add to the score if it cannot."""
    view = study.shown.view if isinstance(study.shown, ProperClassifier) else contract.EFFECTS
    shown = _VIEWS[view](study)
    if study.text and view in (contract.EFFECTS, contract.CURVES):
        return join(_in_words(study.text), shown)
    return shown


def _tree(study: Study) -> Markup:
    if study.shown.get_n_leaves() > _LEAVES:
        meaning = f"p is the probability of {study.of_model[1]!r}."
        if study.p.ndim == 2:
            meaning = f"p has the probabilities of {', '.join(map(repr, study.of_model))}, in this order."
        return join(_text(study), tag("p", meaning, class_="quiet"))
    of = f"probability of {study.of_model[1]!r}" if study.p.ndim == 1 else "probabilities of the classes"
    caption = (
        f"The tree itself. A box has the {of} and the training rows that reach it; leaves, in bold, decide."
    )
    drawn = figures.tree(study.shown, tuple(study.of_model))
    return figure("tree", drawn, "The decision tree.", caption, paper=True)


def _text(study: Study) -> Markup:
    return _in_words(study.shown.export_text(class_names=study.of_model))


def _in_words(text: str) -> Markup:
    return join(tag("h3", "The model in words"), tag("pre", text, tabindex="0"))


def _curves(study: Study) -> Markup | None:
    if study.p.ndim == 2:
        return None
    caption = (
        "The model itself: the score is the sum of these curves, one for each column, and of surfaces where "
        f"two columns meet. Above 0 a value speaks for {study.of_model[1]!r}, below against; the "
        "grey bars are "
        "where the training rows lie."
    )
    drawn = figures.shapes(study.shown.shape_functions())
    return figure("shapes", drawn, "What each column adds to the score.", caption)


def _effects(study: Study) -> Markup | None:
    if study.effects is None or not study.features or study.p.ndim == 2:
        return None
    spread = np.abs(study.effects.parts - study.effects.parts.mean(axis=0)).mean(axis=0)
    names = list(study.features)
    chosen = [names[j] for j in np.argsort(-spread, kind="stable")[:_EFFECTS] if spread[j] > 0]
    if not chosen:
        return None
    drawn = figures.effects(dict(study.features), study.effects.rows, study.effects.parts, chosen)
    caption = (
        "What the columns that count most add to the score, over their values: above 0 they speak for "
        f"{study.of_model[1]!r}, below against. The line is the mean, the band holds 80% of the rows: it is "
        "wide where a column's effect depends on others."
    )
    return figure("effects", drawn, f"What {', '.join(chosen)} add to the score.", caption)


_VIEWS: dict[str, Callable[[Study], Markup | None]] = {
    contract.TREE: _tree,
    contract.TEXT: _text,
    contract.CURVES: _curves,
    contract.EFFECTS: _effects,
}


def data(study: Study) -> Markup:
    """What the table holds."""
    facts = dict(study.facts.about) | {"judging rows": f"{len(study.y):,}"}
    pairs = [piece for key, value in facts.items() for piece in (tag("dt", key), tag("dd", value))]
    parts: list[Any] = [tag("dl", *pairs)]
    if study.columns:
        rows = [
            (c.name, c.kind, f"{c.missing:.1%}" if c.missing else "", c.values)
            for c in study.columns[:_SHOWN]
        ]
        caption = "Columns that the model may use"
        if len(study.columns) > _SHOWN:
            caption += f" (the first {_SHOWN} of {len(study.columns):,})"
        parts.append(table(caption, ("column", "kind", "missing", "values"), rows, numeric=(2,)))
    if study.facts.left_out:
        parts.append(table("Columns left out", ("column", "because"), list(study.facts.left_out.items())))
    if study.facts.notes:
        parts.append(tag("ul", *(tag("li", note) for note in study.facts.notes)))
    return join(*parts)


def again(study: Study) -> Markup:
    """The command and the versions."""
    parts: list[Any] = []
    if study.facts.command:
        parts.append(tag("pre", tag("code", study.facts.command), tabindex="0"))
    versions = {"Python": platform.python_version()}
    versions |= {name: version for name in _PACKAGES if (version := _version(name))}
    parts.append(
        tag("p", "With " + ", ".join(f"{name} {version}" for name, version in versions.items()) + ".")
    )
    return join(*parts)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
