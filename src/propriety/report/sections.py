"""What the page says, section by section."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

from propriety.evaluation.companions import RELIES, Companion, companions
from propriety.evaluation.judging import Judgement
from propriety.formatting import loss_text
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
                tag("code", loss_text(study.loss)),
                ". ",
                why,
            ),
            *(tag("p", line) for line in more),
            tag("p", f"They are adapted to another population: {study.adapted}.") if study.adapted else None,
        ]
        drawn = figures.weights(study.loss, threshold_of(study))
        if drawn is not None:
            parts.append(
                figure(
                    "loss", drawn,
                    "Weight of the fitted loss over cost ratios; the stated costs are marked.",
                    "A proper loss is a weight over cost ratios, shown here with the log loss, each divided "
                    "by its largest value. Where it is high, probabilities need to be most exact.",
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
    columns = ("decision rule", "cost", "", *kinds, "model saves")
    note = (
        f"In brackets are 95% confidence intervals. {of_intervals(study.rows)} Savings are paired row by "
        "row, so their intervals are narrower than those of the two costs; an interval that includes 0 means "
        "no significant difference."
    )
    if study.groups is not None:
        note += " Rows of a group count as one observation."
    note += f" {of_models(study.differences)}" if study.differences else ""
    if study.rows.left_out:
        note += f" {study.rows.left_out}"
    numeric = (1, *range(3, len(columns)))
    return join(
        table(f"Cost and mistakes per {scale.name}", columns, rows, numeric=numeric),
        _total(study),
        tag("p", note, class_="quiet"),
    )


def _total(study: Study) -> Markup | None:
    """What the test rows cost in all, where each has its own costs."""
    if not study.costs.by_row:
        return None
    costs = study.rows.row_costs(study.decided)
    total = study.rows.cost(costs, study.weights.total)
    text = (
        f"The {len(study.y):,} test rows cost {amount(total.value, study.scale.unit)} in all "
        f"(95% CI {amount(total.low)} to {amount(total.high, study.scale.unit)}), "
        f"{amount(study.weights.mean(costs), study.scale.unit)} a row."
    )
    share = study.judgements[0].savings
    if share is not None:
        text += (
            " Compared with "
            f"{'never' if study.budget is not None else 'the cheaper of always and never'}, the savings "
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
            "Reliability diagram: observed share against predicted probability.",
            "Reliability diagram: of the cases predicted at 30%, do 30% occur? On the diagonal they do; the "
            "band covers the deviations expected by chance if calibrated. MCB is miscalibration, DSC "
            "discrimination, UNC the loss of the base rate.",
        ),
        figure(
            "scores", scores, "Histograms of the predicted probabilities of the two classes.",
            "Discrimination: predicted probabilities of the rows of each class.",
        ),
        class_="pair",
    )  # fmt: skip
    return join(pair, tag("p", f"{_scores(study.judgements[0])}.", class_="quiet"))


def _scores(line: Judgement) -> str:
    """Log loss and Brier score of the probabilities."""
    assert line.log_loss is not None
    return f"Log loss {number(line.log_loss)}, Brier score {number(line.quality['brier'] or 0.0)}"


def _probabilities_of_several(study: Study) -> Markup:
    """The reliability of the probabilities of each class against the others."""
    P, true = study.p, study.y.astype(np.intp)
    pictures = [
        figure(
            f"reliability-{k}",
            figures.reliability((true == k).astype(np.float64), P[:, k], study.weights.array, label),
            f"Reliability diagram of {label}: observed share against predicted probability.",
            f"{label}: of the cases predicted at 30%, do 30% occur? The band covers chance deviations.",
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
    columns = ("class", "observed share", "mean prediction", "range")
    return join(
        tag("div", *pictures, class_="pair"),
        table("Observed shares and predicted probabilities", columns, rows, numeric=(1, 2, 3)),
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
            "Feature importance",
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
        note += f" No significant effect for {chance} of {len(ranked)} columns."
    columns = ("column", "increase in log loss", "95% CI", "correlated with", "")
    return join(
        table("Permutation importance", columns, shown, numeric=(1, 2)),
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
    caption = f"The decision tree. Each box shows the {of} and its training rows; leaves, in bold, decide."
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
        "The model itself: the score is the sum of these curves, one for each column, and of surfaces for "
        f"pairs of columns. Values above 0 favour {study.of_model[1]!r}; the grey bars show the "
        "training rows."
    )
    drawn = figures.shapes(study.shown.shape_functions())
    return figure("shapes", drawn, "Contribution of each column to the score.", caption)


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
        "Contributions of the most important columns to the score, by value: above 0 they favour "
        f"{study.of_model[1]!r}. The line is the mean and the band holds 80% of the rows: it is wide where a "
        "column interacts with others."
    )
    return figure("effects", drawn, f"Contributions of {', '.join(chosen)} to the score.", caption)


_VIEWS: dict[str, Callable[[Study], Markup | None]] = {
    contract.TREE: _tree,
    contract.TEXT: _text,
    contract.CURVES: _curves,
    contract.EFFECTS: _effects,
}


def data(study: Study) -> Markup:
    """What the table holds."""
    facts = dict(study.facts.about) | {"test rows": f"{len(study.y):,}"}
    pairs = [piece for key, value in facts.items() for piece in (tag("dt", key), tag("dd", value))]
    parts: list[Any] = [tag("dl", *pairs)]
    if study.columns:
        rows = [
            (c.name, c.kind, f"{c.missing:.1%}" if c.missing else "", c.values)
            for c in study.columns[:_SHOWN]
        ]
        caption = "Features"
        if len(study.columns) > _SHOWN:
            caption += f" (the first {_SHOWN} of {len(study.columns):,})"
        parts.append(table(caption, ("column", "type", "missing", "values"), rows, numeric=(2,)))
    if study.facts.left_out:
        parts.append(table("Columns left out", ("column", "reason"), list(study.facts.left_out.items())))
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
