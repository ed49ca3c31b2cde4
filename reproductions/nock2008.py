"""[N8] Nock & Nielsen (2008): Figure 3, eleven flavours of universal linear separators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.evaluation import compare
from propriety.evaluation.comparison import Comparison
from propriety.losses import Mu
from reproductions.data import Data
from reproductions.experiment import (
    NOT_REPRODUCED,
    REPRODUCED,
    SAME_PATTERN,
    Drawing,
    Experiment,
    Outcome,
    Paper,
    Printed,
    Setting,
    Table,
    Verdict,
)
from reproductions.nock_sets import FOLDS, PROTOCOL, SAMPLE_DOMAINS, domains, folds, load, separator
from reproductions.running import Context

Floats = NDArray[np.float64]
PAPER = Paper(
    "N8",
    "Nock & Nielsen",
    2008,
    "On the efficient minimization of classification calibrated surrogates",
    "Advances in Neural Information Processing Systems 21",
)
#: One loss throughout; F* chooses among the first five, in this order.
SINGLE: dict[str, dict[str, Any]] = {
    "φ_μ": {"loss": Mu(1 / 3)},
    "φ_M": {"loss": "Matsushita()"},
    "φ_Q": {"loss": "Log()"},
    "φ_B": {"loss": "Squared()"},
    "φ_υ": {"loss": "Power(0.3)"},
    "AdaBoost": {"loss": "Exponential()"},
}
#: A loss chosen in every round, by the empirical risk (F) or by the edge (E), from one of two bags.
ADAPTIVE: dict[str, dict[str, Any]] = {
    f"{letter}{bag}": {"loss": "bag", "bag": bag, "choose": choose}
    for letter, choose in (("F", "risk"), ("E", "edge"))
    for bag in (1, 2)
}
ONCE, CHOICE = "F*", tuple(SINGLE)[:5]
#: Values of υ; the paper gives none. The first is that of the bags.
UPSILONS = (0.3, 0.7, 0.9)
#: The loss that F* takes of equals, which the paper does not say; the library's rule is the first.
TIES = ("φ_Q", "φ_μ", "φ_M", "φ_B", "φ_υ")
FLAVOURS = (*SINGLE, *ADAPTIVE, ONCE)
COLUMNS = ("mean error, %", "mean rank", "beats")
LEVEL = 0.1


def _printed(literals: int, rounds: int) -> Printed:
    """Rows of the figure; its bars and numbers are lost in the text at hand."""
    place = "section 6, Figure 3 (its numbers are lost in our text)"
    rows = {flavour: (None, None, None) for flavour in FLAVOURS}
    return Printed(f"Figure 3, l = {literals}, r = {rounds}", place, COLUMNS, rows)


SMALL, LARGE = (2, 10), (3, 100)
FIGURE_3 = {size: _printed(*size) for size in (SMALL, LARGE)}


def errors(item: tuple[str, int], data: Data, size: tuple[int, int]) -> dict[str, Any]:
    """Wrong rows of a fold for each flavour, and which ended early though no rule was without a mistake.

    F* is the one of five losses with the fewest errors on the rows it is fitted to; those are fitted anyway.
    """
    name, fold = item
    X, y = load(data, name)
    train, test = folds(data, name)[fold]
    wrong, training, early = {}, {}, []
    others = {_upsilon(u): {"loss": f"Power({u})"} for u in UPSILONS[1:]}
    for flavour, parameters in {**SINGLE, **ADAPTIVE, **others}.items():
        model = separator(*size, **parameters).fit(X[train], y[train])
        wrong[flavour] = int(np.sum(model.predict(X[test]) != y[test]))
        training[flavour] = int(np.sum(model.predict(X[train]) != y[train]))
        if model.n_iter_ < size[1] and not model.separated_:
            early.append(flavour)
    once = {
        _upsilon(u): [
            wrong[flavour]
            for flavour in chosen_once(training, (*CHOICE[:4], "φ_υ" if u == UPSILONS[0] else _upsilon(u)))
        ]
        for u in UPSILONS
    }
    wrong[ONCE] = once[_upsilon(UPSILONS[0])][0]
    return {"wrong": wrong, "rows": len(test), "early": early, "once": once}


def _upsilon(value: float) -> str:
    return f"υ = {value:g}"


def chosen_once(training: dict[str, int], bag: Sequence[str]) -> list[str]:
    """What F* takes from a bag under each rule for ties: one loss before all, then the first of the bag.

    >>> chosen_once({"φ_μ": 2, "φ_M": 2, "φ_Q": 3, "φ_B": 2, "φ_υ": 3}, ("φ_μ", "φ_M", "φ_Q", "φ_B", "φ_υ"))
    ['φ_μ', 'φ_μ', 'φ_M', 'φ_B', 'φ_μ']
    """
    least = min(training[flavour] for flavour in bag)
    equal = [flavour for flavour in bag if training[flavour] == least]
    places = [CHOICE.index(first) for first in TIES]
    return [bag[k] if bag[k] in equal else equal[0] for k in places]


def risks(results: Sequence[dict[str, Any]], n_domains: int) -> Floats:
    """Error in percent of every domain and flavour."""
    wrong = np.array([[result["wrong"][flavour] for flavour in FLAVOURS] for result in results])
    rows = np.array([result["rows"] for result in results]).reshape(n_domains, -1).sum(axis=1)
    return 100 * wrong.reshape(n_domains, -1, len(FLAVOURS)).sum(axis=1) / rows[:, None]


def run(context: Context, size: tuple[int, int]) -> Outcome:
    """All flavours on the domains."""
    names = domains(context.data)
    small = [name for name in SAMPLE_DOMAINS if context.data.has(name)]
    names = context.choose(names, small, small[:3])
    number = context.choose(FOLDS, FOLDS if size == SMALL else 2, 1)
    fitted = context.choose(size, size, (size[0], 2))
    items = [(name, fold) for name in names for fold in range(number)]
    results = context.map("folds", partial(errors, data=context.data, size=fitted), items)
    comparison = compare(risks(results, len(names)), FLAVOURS)
    ours = {
        flavour: (mean, rank, float(beaten))
        for flavour, mean, rank, beaten in zip(
            FLAVOURS,
            comparison.scores.mean(axis=0),
            comparison.average_ranks,
            comparison.beats(LEVEL, "student"),
            strict=True,
        )
    }
    early = sum(len(result["early"]) for result in results)
    table = FIGURE_3[size].beside(
        ours,
        digits=2,
        note=f"{len(names)} domains; Friedman's p = {comparison.friedman.pvalue:.2g}, critical "
        f"difference of mean ranks {comparison.critical_difference():.2f} (5 %).",
    )
    choices, spread = _choices(results, len(names), dict(zip(FLAVOURS, comparison.scores.T, strict=True)))
    fits = len(results) * (len(FLAVOURS) - 1 + len(UPSILONS) - 1)
    notes = (
        f"Of {fits:,} fits {early:,} ended before the last round because no rule had an edge any more, "
        "besides those that found a rule without a mistake.",
        "With exact coefficients φ_μ is φ_M in another scale, so that only rounding can tell the two "
        f"apart: mean errors {ours['φ_μ'][0]:.3f} % and {ours['φ_M'][0]:.3f} %.",
    )
    figures = {
        "bars": {key: [row[k] for row in ours.values()] for k, key in enumerate(("error", "rank", "beats"))}
    }
    return Outcome((table, choices), tuple(_verdicts(comparison, size, spread)), figures, notes)


def _choices(
    results: Sequence[dict[str, Any]], n_domains: int, own: dict[str, Floats]
) -> tuple[Table, tuple[float, float]]:
    """Mean errors of φ_υ and of F* for each υ and each rule for ties, and the range of those of F*."""
    rows = np.array([result["rows"] for result in results]).reshape(n_domains, -1).sum(axis=1)

    def percent(counts: list[int]) -> Floats:
        return 100 * np.array(counts).reshape(n_domains, -1).sum(axis=1) / rows

    best = min(CHOICE[:4], key=lambda flavour: float(own[flavour].mean()))
    found: dict[str, list[float]] = {}
    once = []
    for u in UPSILONS:
        name = _upsilon(u)
        alone = percent([r["wrong"]["φ_υ" if u == UPSILONS[0] else name] for r in results])
        tied = [percent([r["once"][name][k] for r in results]) for k in range(len(TIES))]
        once += [float(values.mean()) for values in tied]
        found[name] = [float(alone.mean()), *(float(values.mean()) for values in tied)]
    columns = ("φ_υ alone", *(f"F*, {first} of equals" for first in TIES))
    table = Printed(
        "Mean error, %, by υ and by what F* takes of equals", "neither is in the paper", columns, {}
    )
    note = (
        f"The best of the other four losses, {best}, has {own[best].mean():.2f} %. The library takes φ_Q of "
        "equals, then the first of φ_μ, φ_M, φ_B and φ_υ."
    )
    return table.beside(found, digits=2, note=note), (min(once), max(once))


def _verdicts(comparison: Comparison, size: tuple[int, int], spread: tuple[float, float]) -> list[Verdict]:
    mean = dict(zip(FLAVOURS, comparison.scores.mean(axis=0).tolist(), strict=True))
    at = {flavour: k for k, flavour in enumerate(FLAVOURS)}
    student = comparison.student

    def p(a: str, b: str) -> float:
        return float(student[at[a], at[b]])

    order = sorted(FLAVOURS, key=mean.__getitem__)
    rival_of_once = order[1] if order[0] == ONCE else order[0]
    single = min(SINGLE, key=mean.__getitem__)
    adaptive = min(ADAPTIVE, key=mean.__getitem__)
    improves = mean[adaptive] < mean[single] and p(adaptive, single) < LEVEL
    rival = mean["φ_M"] <= mean["φ_Q"] or p("φ_M", "φ_Q") >= LEVEL
    difference = f"{mean['φ_M']:.2f} % against {mean['φ_Q']:.2f} %, p = {p('φ_M', 'φ_Q'):.2g}"
    verdicts = [
        Verdict(
            "F* is superior to all other flavours",
            REPRODUCED
            if order[0] == ONCE
            else SAME_PATTERN
            if order.index(ONCE) < 3 and p(ONCE, order[0]) >= LEVEL
            else NOT_REPRODUCED,
            f"its mean error of {mean[ONCE]:.2f} % is number {order.index(ONCE) + 1} of {len(FLAVOURS)}; "
            f"{rival_of_once} has {mean[rival_of_once]:.2f} %, p = {p(ONCE, rival_of_once):.2g}; with other "
            f"values of υ and other rules for ties F* has {spread[0]:.2f} to {spread[1]:.2f} %",
        ),
        Verdict(
            "choosing the loss in every round (E, F) does not improve the results",
            NOT_REPRODUCED if improves else REPRODUCED,
            f"the best of the four, {adaptive}, {mean[adaptive]:.2f} %, and the best single loss, "
            f"{single}, {mean[single]:.2f} %: p = {p(adaptive, single):.2g}",
        ),
        Verdict(
            "Matsushita's loss is a serious alternative to the logistic one",
            REPRODUCED if rival else NOT_REPRODUCED,
            difference,
        ),
    ]
    if size == SMALL:
        concave = ("φ_υ", "φ_M", "φ_Q", "φ_B")
        values = [mean[flavour] for flavour in concave]
        falls = all(a <= b for a, b in pairwise(values))
        listed = ", ".join(f"{flavour} {value:.2f} %" for flavour, value in zip(concave, values, strict=True))
        verdicts.append(
            Verdict(
                "stronger concavity of φ makes fewer errors when r is small",
                REPRODUCED if falls else SAME_PATTERN if values[0] < values[-1] else NOT_REPRODUCED,
                f"from the most to the least concave: {listed}",
            )
        )
    return verdicts


def draw_bars(figure: Any, numbers: dict[str, list[float]]) -> None:
    """Flavours by increasing error, with mean ranks and the number of flavours that each beats."""
    left = figure.subplots()
    order = np.argsort(numbers["error"], kind="stable")
    places = np.arange(len(order))
    left.bar(places, np.array(numbers["error"])[order], color="#9ecae1", width=0.7)
    lowest = min(numbers["error"])
    left.set(ylabel="mean error, %", ylim=(0.8 * lowest, 1.05 * max(numbers["error"])))
    for place, k in zip(places, order, strict=True):
        text = f"{numbers['error'][k]:.2f}\n{numbers['beats'][k]:.0f}"
        left.text(place, 0.81 * lowest, text, ha="center", va="bottom", fontsize=7)
    left.set_xticks(places, [FLAVOURS[k] for k in order])
    right = left.twinx()
    right.plot(
        places, np.array(numbers["rank"])[order], "|", color="#d55e00", markersize=16, markeredgewidth=2
    )
    right.set(ylabel="mean rank (orange)", ylim=(min(numbers["rank"]) - 1, max(numbers["rank"]) + 0.3))


_OF_EQUALS = Setting("F*, F and E of equals", "the logistic loss, then the first; not given", "ours")


def _experiment(name: str, size: tuple[int, int], minutes: float) -> Experiment:
    literals, rounds = size
    return Experiment(
        name,
        PAPER,
        f"Figure 3, {'top' if size == SMALL else 'bottom'}, section 6",
        f"eleven flavours, l = {literals}, r = {rounds}",
        (
            Setting("literals and rounds", f"l = {literals}, r = {rounds}", "paper"),
            *PROTOCOL,
            Setting("μ and υ", "⅓ (as in the paper's Figure 1) and 0.3; not given", "ours"),
            *((_OF_EQUALS,) if size == SMALL else ()),
            Setting("beats", f"a smaller mean and Student's paired p below {LEVEL}", "paper"),
        ),
        partial(run, size=size),
        (FIGURE_3[size],),
        (
            "μ = ⅓, υ = 0.3, 32 bins only; all domains",
            *(("for F* also υ of 0.7 and 0.9, and other rules for ties",) if size == SMALL else ()),
        ),
        SAMPLE_DOMAINS,
        (
            Drawing(
                "bars",
                "Mean error of eleven flavours in increasing order, with mean ranks",
                "After Figure 3: bars by increasing mean error (below them: the error, and how many "
                "flavours it beats), on an axis that does not begin at 0; orange: mean rank.",
                draw_bars,
                (7.2, 3.2),
            ),
        ),
        minutes,
    )


EXPERIMENTS = (
    _experiment("nock-8-fig-3-small", SMALL, 6.0),
    _experiment("nock-8-fig-3-large", LARGE, 42.0),
)
