"""[N9] Nock & Nielsen (2009): Figures 7 and 8, Matsushita's surrogate beside the logistic one."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from propriety.evaluation.theory import margin_distribution
from propriety.losses import Mu
from reproductions.data import Data
from reproductions.experiment import (
    CANNOT_BE,
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
    "N9",
    "Nock & Nielsen",
    2009,
    "Bregman divergences and surrogates for learning",
    "IEEE Transactions on Pattern Analysis and Machine Intelligence, doi 10.1109/TPAMI.2008.225",
)
SURROGATES: dict[str, Any] = {"φ_M": "Matsushita()", "φ_Q": "Log()", "φ_μ": Mu(0.99)}
#: Literals and rounds of the three parts of the figure.
SIZES = ((2, 10), (10, 20), (1, 50))
THETAS = tuple(float(theta) for theta in np.linspace(-1, 1, 201))


def _row(size: tuple[int, int]) -> str:
    return f"l = {size[0]}, J = {size[1]}"


FIGURE_7 = Printed(
    "Figure 7",
    "section 5, text to Figure 7",
    ("slope", "intercept", "P, φ_M and φ_Q"),
    {
        _row((2, 10)): (0.97, 0.09, 0.07),
        _row((10, 20)): (0.95, 0.35, 0.26),
        _row((1, 50)): (0.99, -0.08, 0.17),
    },
)
AGAINST_MU = Printed(
    "φ_M and φ_μ",
    "section 5, text to Figure 8 (not shown in the paper)",
    ("P, φ_M and φ_μ",),
    {"both cases": ("below 10⁻⁴",)},
)


def errors(item: tuple[str, int], data: Data, size: tuple[int, int]) -> dict[str, Any]:
    """Wrong rows of a fold for the three surrogates, and how many rows there are."""
    name, fold = item
    X, y = load(data, name)
    train, test = folds(data, name)[fold]
    found: dict[str, Any] = {"rows": len(test)}
    for surrogate, loss in SURROGATES.items():
        model = separator(*size, loss=loss).fit(X[train], y[train])
        found[surrogate] = int(np.sum(model.predict(X[test]) != y[test]))
    return found


def paired_p(a: Floats, b: Floats) -> float:
    """Student's paired test; 1 if nothing differs."""
    return 1.0 if np.array_equal(a, b) else float(stats.ttest_rel(a, b).pvalue)


def run_figure_7(context: Context) -> Outcome:
    """Errors of φ_M regressed on those of φ_Q, for three sizes of the separator."""
    small = [name for name in SAMPLE_DOMAINS if context.data.has(name)]
    names = context.choose(domains(context.data), small, small[:3])
    number = context.choose(FOLDS, FOLDS, 2)
    rows: dict[str, list[float]] = {}
    limits: dict[str, list[float | None]] = {}
    against: dict[str, list[Any]] = {}
    verdicts, scatter = [], {}
    for size in SIZES:
        fitted = context.choose(size, size, (size[0], 2))
        items = [(name, fold) for name in names for fold in range(number)]
        results = context.map(_row(size), partial(errors, data=context.data, size=fitted), items)
        totals = {
            key: np.array([result[key] for result in results], dtype=np.float64)
            .reshape(len(names), -1)
            .sum(axis=1)
            for key in ("rows", *SURROGATES)
        }
        M, Q, mu = (100 * totals[key] / totals["rows"] for key in SURROGATES)
        line = stats.linregress(Q, M)
        P = paired_p(M, Q)
        rows[_row(size)] = [line.slope, line.intercept, P]
        limits[_row(size)] = [2 * line.stderr, 2 * line.intercept_stderr, None]
        against[_row(size)] = [paired_p(M, mu)]
        scatter[_row(size)] = {"M": M, "Q": Q, "line": [line.slope, line.intercept]}
        verdicts.append(_verdict(size, M, Q, P))
    table = FIGURE_7.beside(
        rows,
        tolerance=limits,
        tolerance_from="twice the standard error of our regression; P has none",
        note=f"{len(names)} domains, the paper has 40.",
    )
    other = AGAINST_MU.beside({"both cases": (None,), **against})
    verdicts.append(_lines_verdict(table, rows, limits))
    values = ", ".join(f"{value[0]:.2g}" for value in against.values())
    verdicts.append(
        Verdict(
            "φ_M clearly beats φ_μ with μ = .99, P far below 10⁻⁴",
            CANNOT_BE,
            "with exact coefficients φ_μ gives φ_M's weights, rules and probabilities in another scale, "
            f"so that the printed difference must come from numerics; P here: {values}",
        )
    )
    return Outcome((table, other), tuple(verdicts), {"scatter": scatter})


def _lines_verdict(
    table: Table, rows: dict[str, list[float]], limits: dict[str, list[float | None]]
) -> Verdict:
    """Whether the regressions are those printed, and whether they can be told from y = x."""
    agreeing, known = table.agreement
    same = sum(
        abs(value - equal) <= limit
        for row, values in rows.items()
        for value, equal, limit in zip(values, (1.0, 0.0), limits[row], strict=False)
        if limit is not None
    )
    pattern = SAME_PATTERN if 2 * agreeing > known else NOT_REPRODUCED
    return Verdict(
        "the three regressions of φ_M's errors on φ_Q's",
        REPRODUCED if agreeing == known > same else pattern,
        f"{agreeing} of {known} coefficients within twice their standard error of the print, and "
        f"{same} within as much of y = x, where the two do not differ",
    )


def _verdict(size: tuple[int, int], M: Floats, Q: Floats, P: float) -> Verdict:
    """Whether φ_M tends to make fewer errors, as the print says of l = 2, J = 10 and of l = 10, J = 20."""
    better, worse = int(np.sum(M < Q)), int(np.sum(M > Q))
    said = (
        f"mean error {M.mean():.2f} % against {Q.mean():.2f} %, fewer errors on {better} domains and "
        f"more on {worse}, P = {P:.2g}"
    )
    if size == (1, 50):
        word = REPRODUCED if P >= 0.1 else NOT_REPRODUCED
        return Verdict(f"{_row(size)}: φ_M and φ_Q cannot be told apart", word, said)
    fewer = bool(M.mean() < Q.mean()) and better > worse
    limit = 0.1 if size == (2, 10) else 1.0
    word = REPRODUCED if fewer and limit > P else SAME_PATTERN if fewer else NOT_REPRODUCED
    return Verdict(f"{_row(size)}: φ_M tends to make fewer errors than φ_Q", word, said)


def draw_scatter(figure: Any, numbers: dict[str, Any]) -> None:
    """Errors of φ_M against those of φ_Q, with y = x and the regression."""
    for ax, (name, values) in zip(figure.subplots(1, len(numbers)), numbers.items(), strict=True):
        most = max(*values["M"], *values["Q"]) * 1.05
        slope, intercept = values["line"]
        ax.plot(values["Q"], values["M"], ".", color="#0072b2", markersize=5)
        ax.plot([0, most], [0, most], color="#999999", linewidth=0.8)
        ax.plot([0, most], [intercept, intercept + slope * most], ":", color="#d55e00")
        ax.set(title=name, xlabel="error of φ_Q, %", ylabel="error of φ_M, %", aspect="equal")


# -- Figure 8: margins ---------------------------------------------------------------------------------------

PARTS = (("glass", (2, 10)), ("heart-cleveland", (1, 50)))
SHOWN_THETAS = (-0.5, 0.0, 0.5)
SHARES_8 = Printed(
    "Figure 8",
    "section 5, Figure 8 (curves; the paper prints no numbers)",
    tuple(f"θ = {theta:g}" for theta in SHOWN_THETAS),
    {f"{name}, {surrogate}": (None,) * 3 for name, _ in PARTS for surrogate in SURROGATES},
)


def margins(item: tuple[str, int, int, int], data: Data) -> dict[str, Any]:
    """Held-out margins of a fold for each surrogate, and its wrong rows."""
    name, literals, rounds, fold = item
    X, y = load(data, name)
    train, test = folds(data, name)[fold]
    found = {}
    for surrogate, loss in SURROGATES.items():
        model = separator(literals, rounds, loss=loss).fit(X[train], y[train])
        wrong = int(np.sum(model.predict(X[test]) != y[test]))
        found[surrogate] = {"margins": model.margins(X[test], y[test]), "wrong": wrong}
    return found


def run_figure_8(context: Context) -> Outcome:
    """Cumulative distributions of held-out margins on two domains."""
    number = context.choose(FOLDS, FOLDS, 1)
    curves: dict[str, Any] = {}
    rows: dict[str, list[float]] = {}
    apart, gaps, at_0 = [], [], []
    for name, (literals, rounds) in PARTS:
        items = [(name, literals, context.choose(rounds, rounds, 2), fold) for fold in range(number)]
        results = context.map("margins", partial(margins, data=context.data), items)
        whole = {key: np.concatenate([result[key]["margins"] for result in results]) for key in SURROGATES}
        shares = {key: margin_distribution(values) for key, values in whole.items()}
        curves[f"{name}, {_row((literals, rounds))}"] = {key: share(THETAS) for key, share in shares.items()}
        apart.append(float(np.max(np.abs(whole["φ_μ"] - whole["φ_M"]))))
        for key, share in shares.items():
            rows[f"{name}, {key}"] = share(SHOWN_THETAS)
            risk = sum(result[key]["wrong"] for result in results) / len(whole[key])
            gaps.append(abs(share(0.0) - risk))
            at_0.append(f"{name} {key} {100 * share(0.0):.1f} % and {100 * risk:.1f} %")
    verdicts = (
        Verdict(
            "at θ = 0 the distribution is about the estimated true risk",
            REPRODUCED if max(gaps) <= 0.02 else NOT_REPRODUCED,
            "share of margins up to 0, and errors: "
            + "; ".join(at_0)
            + ". The figure has curves without numbers",
        ),
        Verdict(
            "φ_μ's distribution approaches a staircase on about 66 % of the domains",
            CANNOT_BE,
            f"φ_μ's margins are φ_M's: the largest difference of a held-out row is {max(apart):.1e}",
        ),
        Verdict(
            "on about 10 % of the domains φ_μ has the smallest true risk",
            CANNOT_BE,
            "it has φ_M's, exact coefficients given",
        ),
    )
    table = SHARES_8.beside(rows, note="Share of held-out rows whose margin is at most θ.")
    return Outcome((table,), verdicts, {"margins": {"theta": THETAS, "curves": curves}})


def draw_margins(figure: Any, numbers: dict[str, Any]) -> None:
    """Cumulative margin distributions; φ_μ's lies on φ_M's."""
    styles = {"φ_M": ("-", "#0072b2", 2.6), "φ_Q": ("-", "#d55e00", 1.2), "φ_μ": ("--", "#000000", 1.0)}
    curves = numbers["curves"]
    for ax, (name, shares) in zip(figure.subplots(1, len(curves)), curves.items(), strict=True):
        for key, (style, colour, width) in styles.items():
            ax.plot(numbers["theta"], shares[key], style, color=colour, label=key, linewidth=width)
        ax.axvline(0, color="#999999", linewidth=0.7)
        ax.set(title=name, xlabel="margin θ", ylabel="share of rows up to θ")
        ax.legend(frameon=False)


EXPERIMENTS = (
    Experiment(
        "nock-9-fig-7",
        PAPER,
        "Figure 7, section 5",
        "Matsushita's surrogate beside the logistic one",
        (Setting("literals and rounds", "l = 2, J = 10; l = 10, J = 20; l = 1, J = 50", "paper"), *PROTOCOL),
        run_figure_7,
        (FIGURE_7, AGAINST_MU),
        (
            "these settings",
            "l = 2, J = 10 on 40 sets, categories as sets of values, before rules without an edge were "
            "skipped: y = .955x + .90, P = .36",
        ),
        SAMPLE_DOMAINS,
        (
            Drawing(
                "scatter",
                "Errors of Matsushita's surrogate against those of the logistic one, for three sizes",
                "After Figure 7: below the grey line φ_M makes fewer errors; orange: the regression.",
                draw_scatter,
                (7.6, 2.9),
            ),
        ),
        minutes=5.0,
    ),
    Experiment(
        "nock-9-fig-8",
        PAPER,
        "Figure 8, section 5",
        "margins of three surrogates",
        (
            Setting("literals and rounds", "glass: l = 2, J = 10; heart-cleve: l = 1, J = 50", "paper"),
            *PROTOCOL,
        ),
        run_figure_8,
        (SHARES_8,),
        ("these settings only",),
        tuple(name for name, _ in PARTS),
        (
            Drawing(
                "margins",
                "Cumulative distributions of held-out margins for three surrogates on two domains",
                "After Figure 8; the dashed curve, φ_μ, lies on φ_M's.",
                draw_margins,
                (7.2, 3.0),
            ),
        ),
        minutes=0.3,
    ),
)
