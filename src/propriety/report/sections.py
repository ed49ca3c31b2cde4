"""What the page says, section by section."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

from propriety import evaluation
from propriety.model import contract
from propriety.report import figures
from propriety.report.contents import Report
from propriety.report.lines import Line
from propriety.report.markup import Markup, bar, join, table, tag
from propriety.report.svg import figure
from propriety.weights import Estimate

_PACKAGES = ("propriety", "numpy", "scipy", "scikit-learn", "numba", "narwhals", "pyarrow", "matplotlib")
_EFFECTS = 6  # columns whose effects are drawn
_SHOWN = 200  # columns of a table that are listed
_LEAVES = 40  # of a tree that is drawn


def number(value: float) -> str:
    """A number for people.

    >>> number(1234.5), number(12.34), number(-0.1234), number(0)
    ('1,234', '12.3', '−0.123', '0')
    """
    if value == 0:
        return "0"
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return text.replace("-", "−")


def between(estimate: Estimate) -> str:
    """An interval in words."""
    return f"{number(estimate.low)} to {number(estimate.high)}"


def times(ratio: float) -> str:
    """How a miss compares with a false alarm."""
    if ratio == 1:
        return "A miss costs as much as a false alarm"
    if ratio > 1:
        return f"A miss costs {number(ratio)} times as much as a false alarm"
    return f"A false alarm costs {number(1 / ratio)} times as much as a miss"


# --- the top ------------------------------------------------------------------------------------------


def summary(report: Report) -> Markup:
    """The findings in a sentence, and four numbers."""
    lines = report.lines
    model, simple = lines[0], min(lines[1:3], key=lambda line: line.cost.value)
    saved = simple.saved
    assert saved is not None
    if not saved.sure:
        verdict = f"which is no different, beyond chance, from deciding {simple.name} without a model."
    else:
        word = "less" if saved.value > 0 else "more"
        verdict = f"{number(abs(saved.value))} {word} than deciding {simple.name} without a model."
    text = (
        f"Decided by {report.name}, 1,000 cases cost {number(model.cost.value)} "
        f"(95% interval {between(model.cost)}), {verdict}"
    )
    cards = (
        (number(model.cost.value), "cost of 1,000 cases"),
        (number(saved.value), f"saved against {simple.name}, the better of deciding without a model"),
        (number(model.misses), f"of 1,000 are missed: {report.positive!r}, decided otherwise"),
        (
            number(model.alarms),
            f"of 1,000 are false alarms: {report.negative!r}, decided {report.positive!r}",
        ),
    )
    items = [tag("li", tag("b", value), tag("span", what)) for value, what in cards]
    positives = f"{int(report.y.sum()):,} of them {report.positive!r}"
    rows = f"Judged by {report.judged_by}: {len(report.y):,} rows, {positives}."
    return join(
        tag("p", text, class_="lead"), tag("ul", *items, class_="cards"), tag("p", rows, class_="quiet")
    )


def warnings(report: Report) -> Markup | None:
    """Warnings, before everything that they bear on."""
    texts = report.findings
    if not texts:
        return None
    heading = "One warning" if len(texts) == 1 else f"{len(texts)} warnings"
    items = [tag("li", text[:1].upper() + text[1:] + ".") for text in texts]
    return tag("aside", tag("h3", heading), tag("ul", *items), class_="warnings", aria_label="Warnings")


# --- the sections -------------------------------------------------------------------------------------


def asked(report: Report) -> Markup:
    """What was to be minimized."""
    c = report.costs
    text = (
        f"{times(c.fn_cost / c.fp_cost)} ({number(c.fp_cost)} for deciding {report.positive!r} wrongly, "
        f"{number(c.fn_cost)} for "
        f"missing it). So the cheapest decision is {report.positive!r} from a probability of "
        f"{number(c.threshold)} on."
    )
    parts: list[Any] = [tag("p", text)]
    if report.loss is not None:
        parts.append(
            tag(
                "p",
                "The probabilities were fitted by minimizing the loss ",
                tag("code", repr(report.loss)),
                ". ",
                report.chosen or "It was given.",
            )
        )
        drawn = figures.weights(report.loss, c.threshold)
        if drawn is not None:
            parts.append(
                figure(
                    "loss", drawn,
                    "How much the fitted loss attends to each ratio of costs; the costs asked for are "
                    "marked.",
                    "Where the loss looks: a proper loss is a weight over costs, drawn here against the "
                    "log loss, each "
                    "by its largest value. It is most exact about probabilities where it is high.",
                )
            )  # fmt: skip
    return join(*parts)


def costs(report: Report) -> Markup:
    """Cost per 1,000 cases against every other way to decide."""
    lines = report.lines
    top = max(line.cost.high for line in lines) or 1.0
    rows = [
        (
            line.name,
            number(line.cost.value),
            between(line.cost),
            bar(line.cost.value / top, low=line.cost.low / top, high=line.cost.high / top),
            number(line.alarms),
            number(line.misses),
            _saving(line),
        )
        for line in lines
    ]
    columns = ("decided by", "cost", "95% interval", "", "false alarms", "misses", "the model saves")
    note = (
        "Intervals are of the mean over the judging rows. What the model saves is worked out row by row, "
        "so its interval "
        "is narrower than those of two costs; where it holds 0, chance alone may be the difference."
    )
    extra = (
        tag("p", f"{report.same[:1].upper()}{report.same[1:]} is this model itself.") if report.same else None
    )
    return join(table("Cost of 1,000 cases, and mistakes among them", columns, rows, numeric=(1, 2, 4, 5, 6)),
                extra, tag("p", note, class_="quiet"))  # fmt: skip


def _saving(line: Line) -> str:
    return "" if line.saved is None else f"{number(line.saved.value)} ({between(line.saved)})"


def decisions(report: Report) -> Markup:
    """The decision table at the costs."""
    c, decided, true = report.costs, report.costs.decide(report.p) == 1, report.y > 0.5

    def cell(rows: Any, each: float) -> str:
        share = 1000 * report.weights.mean(rows)
        price = f", at {number(each)}: {number(share * each)}" if each else ", at no cost"
        return f"{number(share)} of 1,000 ({int(rows.sum()):,} rows){price}"

    rows = [
        (f"is {report.negative!r}", cell(~true & ~decided, 0), cell(~true & decided, c.fp_cost)),
        (f"is {report.positive!r}", cell(true & ~decided, c.fn_cost), cell(true & decided, 0)),
    ]
    columns = ("", f"decided {report.negative!r}", f"decided {report.positive!r}")
    best = evaluation.best_threshold(
        report.y, report.p, fp_cost=c.fp_cost, fn_cost=c.fn_cost, sample_weight=report.sample_weight
    )
    saved = max(report.lines[0].cost.value - 1000 * best.cost, 0.0)
    text = (
        f"The threshold {number(c.threshold)} follows from the costs. The one that would have been "
        "cheapest on these very "
        f"rows is {number(best.value)}; it would have saved {number(saved)} per 1,000 cases, "
        "chance included."
    )
    return join(table("Decisions at the costs asked for", columns, rows), tag("p", text))


def other_costs(report: Report) -> Markup:
    """The Murphy diagram."""
    drawn = figures.murphy(
        report.y, {report.name: report.p, **report.rivals}, report.sample_weight, report.costs.threshold
    )
    text = (
        "The costs may be uncertain, or change. This judges the same probabilities at every ratio of costs."
    )
    if len(report.p) > figures.CORNERS:
        text += " With this many rows, probabilities are rounded to 0.001 for the picture."
    return join(
        tag("p", text),
        figure(
            "murphy", drawn,
            f"Murphy diagram: mean cost of decisions at every cost of a false alarm, of {report.name} and "
            "others.",
            "Murphy diagram: lower is better. At each c, a false alarm costs c and a miss 1 − c, and "
            "decisions are made "
            "for just these costs. A model whose line is nowhere above another's is the better one "
            "whatever the costs. "
            "The band is the 95% interval at each c; the grey line is one constant probability for all.",
        ),
    )  # fmt: skip


def probabilities(report: Report) -> Markup:
    """Reliability and scores."""
    reliability = figures.reliability(report.y, report.p, report.sample_weight)
    scores = figures.scores(report.y, report.p, report.sample_weight, report.labels, report.costs.threshold)
    pair = tag(
        "div",
        figure(
            "reliability", reliability,
            "Reliability diagram: the observed share of positives against the stated probability.",
            "Reliability: where the model says 30%, does it happen in 30% of cases? On the diagonal it "
            "does; the band is "
            "what chance allows a model that is right. MCB is the loss by miscalibration, DSC what telling "
            "cases apart gains, UNC the loss of knowing the base rate alone.",
        ),
        figure(
            "scores", scores, "Histograms of the stated probabilities of the two classes.",
            "How well the classes are told apart: the stated probabilities of the rows of either class.",
        ),
        class_="pair",
    )  # fmt: skip
    log = evaluation.mean_loss(
        report.y, np.clip(report.p, 1e-15, 1 - 1e-15), "Log", sample_weight=report.sample_weight
    )
    brier = evaluation.mean_loss(report.y, report.p, "Squared", sample_weight=report.sample_weight)
    return join(pair, tag("p", f"Log loss {number(log)}, Brier score {number(brier)}.", class_="quiet"))


def matters(report: Report) -> Markup | None:
    """Importances, and the model itself if it can be shown."""
    parts: list[Any] = []
    if report.importances:
        ranked = sorted(report.importances.items(), key=lambda pair: -pair[1])
        shown = [
            (name, f"{share:.1%}", bar(share / (ranked[0][1] or 1))) for name, share in ranked if share > 0
        ][:15]
        unused = sum(share <= 0 for _, share in ranked)
        parts.append(
            table("How much each column counts in the model", ("column", "share", ""), shown, numeric=(1,))
        )
        if unused:
            parts.append(tag("p", f"{unused} of {len(ranked)} columns are not used.", class_="quiet"))
    parts.append(_inside(report))
    kept = [part for part in parts if part is not None]
    return join(*kept) if kept else None


def _inside(report: Report) -> Markup | None:
    """The model itself, as it can be shown; what its columns add to the score if it cannot."""
    if isinstance(report.model, contract.FittedModel):
        return _VIEWS[report.model.view](report)
    return _effects(report)


def _tree(report: Report) -> Markup:
    if report.model.get_n_leaves() > _LEAVES:
        return _text(report)
    caption = (
        f"The tree itself. A box has the probability of {report.positive!r} and the training rows that come "
        "by; leaves, in bold, decide."
    )
    drawn = figures.tree(report.model, report.labels)
    return figure("tree", drawn, "The decision tree.", caption, paper=True)


def _text(report: Report) -> Markup:
    classes = report.model.classes_
    words = [tag("h3", "The model in words"), tag("pre", report.model.export_text(), tabindex="0")]
    if tuple(map(str, classes)) != report.labels:
        meaning = (f"{c} is {label!r}" for c, label in zip(classes, report.labels, strict=True))
        words.append(tag("p", f"Here {', '.join(meaning)}.", class_="quiet"))
    return join(*words)


def _curves(report: Report) -> Markup:
    caption = (
        "The model itself: the score is the sum of these curves, one for each column, and of surfaces where "
        f"two columns meet. Above 0 a value speaks for {report.positive!r}, below against; the grey bars are "
        "where the training rows lie."
    )
    drawn = figures.shapes(report.model.shape_functions())
    return figure("shapes", drawn, "What each column adds to the score.", caption)


def _effects(report: Report) -> Markup | None:
    if report.effects is None or not report.features:
        return None
    spread = np.abs(report.effects.parts - report.effects.parts.mean(axis=0)).mean(axis=0)
    names = list(report.features)
    chosen = [names[j] for j in np.argsort(-spread, kind="stable")[:_EFFECTS] if spread[j] > 0]
    if not chosen:
        return None
    drawn = figures.effects(dict(report.features), report.effects.rows, report.effects.parts, chosen)
    caption = (
        "What the columns that count most add to the score, over their values: above 0 they speak for "
        f"{report.positive!r}, below against. The line is the mean, the band holds 80% of the rows: it is "
        "wide where a column's effect depends on others."
    )
    return figure("effects", drawn, f"What {', '.join(chosen)} add to the score.", caption)


_VIEWS: dict[str, Callable[[Report], Markup | None]] = {
    contract.TREE: _tree,
    contract.TEXT: _text,
    contract.CURVES: _curves,
    contract.EFFECTS: _effects,
}


def data(report: Report) -> Markup:
    """What the table holds."""
    facts = dict(report.about) | {"judging rows": f"{len(report.y):,}"}
    pairs = [piece for key, value in facts.items() for piece in (tag("dt", key), tag("dd", value))]
    parts: list[Any] = [tag("dl", *pairs)]
    if report.columns:
        rows = [
            (c.name, c.kind, f"{c.missing:.1%}" if c.missing else "", c.values)
            for c in report.columns[:_SHOWN]
        ]
        caption = "Columns that the model may use"
        if len(report.columns) > _SHOWN:
            caption += f" (the first {_SHOWN} of {len(report.columns):,})"
        parts.append(table(caption, ("column", "kind", "missing", "values"), rows, numeric=(2,)))
    if report.left_out:
        parts.append(table("Columns left out", ("column", "because"), list(report.left_out.items())))
    if report.notes:
        parts.append(tag("ul", *(tag("li", note) for note in report.notes)))
    return join(*parts)


def again(report: Report) -> Markup:
    """The command and the versions."""
    parts: list[Any] = []
    if report.command:
        parts.append(tag("pre", tag("code", report.command), tabindex="0"))
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
