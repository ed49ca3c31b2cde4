"""[M] Masnadi-Shirazi & Vasconcelos (2015): Figures 9 and 10, two Gaussian classes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import BoostingClassifier, algorithms, losses
from propriety.boosting import gain_path
from propriety.evaluation.calibration import mse_to_truth
from propriety.losses.links import Logit
from reproductions.axes import plain_ticks
from reproductions.experiment import (
    NOT_REPRODUCED,
    REPRODUCED,
    SAME_PATTERN,
    Drawing,
    Experiment,
    Outcome,
    Printed,
    Setting,
    Verdict,
)
from reproductions.masnadi_sets import PAPER
from reproductions.running import Context

Floats = NDArray[np.float64]
MEAN, ROUNDS, BINS, TEST_ROWS = 0.7416, 50, 10, 10_000
SIZES = (5, 40, 1000)
GAINS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
#: Rounds of Figure 9, and those after which the error is looked at: each up to 50, then 25 a decade.
MOST_ROUNDS = 10_000
STAGES = tuple(sorted({*range(1, 51), *(round(t) for t in np.geomspace(50, MOST_ROUNDS, 58))}))
SHOWN_GAINS, SHOWN_ROUNDS = (0.5, 2.0, 10.0, 50.0, 200.0, 1000.0), (2, 10, 50, MOST_ROUNDS)
ROWS_10 = (10, 20, 40, 80, 160, 320, 640, 1280)
GAINS_10 = tuple(float(gain) for gain in np.geomspace(0.5, 1000, 23))

EARLY_9 = Printed(
    "Figure 9, N = 5",
    "section 7.1, text to Figure 9",
    ("smallest σ", "best σ"),
    {"MSE after two rounds": (0.20, 0.05)},
)
BEST_10 = Printed(
    "Figure 10",
    "section 7.1, Figure 10 (a curve; its numbers are not in our text)",
    tuple(f"{n} a class" for n in ROWS_10),
    {"cross-validated σ": (None,) * len(ROWS_10)},
)


def sample(rng: np.random.Generator, n: int) -> tuple[Floats, NDArray[np.intp]]:
    """n points of each class, class 0 first."""
    y = np.repeat([0, 1], n)
    return rng.normal(size=(2 * n, 2)) + MEAN * y[:, None], y


def truth(X: Floats) -> Floats:
    """The probability of class 1: the log-odds are linear."""
    return np.asarray(Logit().inverse(MEAN * (X.sum(axis=1) - MEAN)))


def boostlr(gain: float = 1.0, rounds: int = ROUNDS) -> BoostingClassifier:
    """BoostLR with GLog and histograms."""
    loss = losses.GLog().composite().shrunk(gain)
    model: BoostingClassifier = algorithms.make(
        "boostlr", loss=loss, max_iter=rounds, max_bins=BINS, n_jobs=1, random_state=0
    )
    return model


def errors_by_round(item: tuple[int, int], test_rows: int, rounds: int) -> list[list[float]]:
    """Mean squared error of the probability after some rounds, for each gain, of one training sample."""
    n, seed = item
    rng = np.random.default_rng([n, seed])
    X, y = sample(rng, n)
    X_test = sample(rng, test_rows // 2)[0]
    eta = truth(X_test)
    models = [boostlr(gain, rounds).fit(X, y) for gain in GAINS]
    return [
        [
            mse_to_truth(eta, model.loss_.inverse(F))
            for number, F in enumerate(model.staged_decision_function(X_test), 1)
            if number in STAGES
        ]
        for model in models
    ]


def run_figure_9(context: Context) -> Outcome:
    """Errors by rounds and gains, for three sizes of the training sample."""
    sizes = context.choose(SIZES, SIZES, (5, 40))
    rounds = context.choose(MOST_ROUNDS, 1000, 10)
    stages = [t for t in STAGES if t <= rounds]
    samples = range(context.choose(20, 3, 1))
    test_rows = context.choose(TEST_ROWS, TEST_ROWS, 200)
    items = [(n, seed) for n in sizes for seed in samples]
    function = partial(errors_by_round, test_rows=test_rows, rounds=rounds)
    values = np.array(context.map("samples", function, items)).reshape(
        len(sizes), len(samples), len(GAINS), len(stages)
    )
    mean = values.mean(axis=1)
    early = mean[0, :, 1]
    spread = 2 * values[0, :, :, 1].std(axis=0)
    best = int(np.argmin(early))
    table = EARLY_9.beside(
        {
            "MSE after two rounds": (early[0], early[best]),
            "least MSE of any round": (mean[0, 0].min(), mean[0].min()),
        },
        tolerance={"MSE after two rounds": (float(spread[0]), float(spread[best]))},
        tolerance_from="twice the standard deviation of ours from one training sample to another: the "
        "paper has one",
        note=f"The best gain after two rounds is {GAINS[best]:g}.",
    )
    figures = {"errors": {"gains": GAINS, "sizes": sizes, "stages": stages, "mse": mean}}
    verdicts = (_early_verdict(table.agreement, early), *_overfitting(sizes, stages, mean))
    return Outcome((table,), verdicts, figures)


def _early_verdict(agreement: tuple[int, int], early: Floats) -> Verdict:
    falls = bool(early.min() < 0.5 * early[0])
    everything = agreement[0] == agreement[1]
    return Verdict(
        "five rows a class: the best early-stopped error falls from about 20 % to about 5 % as σ grows",
        REPRODUCED if everything and falls else SAME_PATTERN if falls else NOT_REPRODUCED,
        f"from {100 * early[0]:.1f} % at σ = {GAINS[0]:g} to {100 * early.min():.1f} % at the best gain",
    )


def _overfitting(sizes: tuple[int, ...], stages: list[int], mean: Floats) -> list[Verdict]:
    """Where the error rises again: with few rows for every gain but large ones, with many for none."""
    verdicts = []
    for k, n in enumerate(sizes):
        rises = [GAINS[j] for j in range(len(GAINS)) if mean[k, j, -1] > 1.05 * mean[k, j].min()]
        claim = "no classifier overfits" if n == SIZES[-1] else "all classifiers overfit in the end"
        share = len(rises) / len(GAINS)
        holds = share == 0 if n == SIZES[-1] else share == 1
        partly = share < 0.5 if n == SIZES[-1] else share >= 0.5
        verdicts.append(
            Verdict(
                f"{n} rows a class: {claim}",
                REPRODUCED if holds else SAME_PATTERN if partly else NOT_REPRODUCED,
                f"the error is 5 % above its least after {stages[-1]:,} rounds for {len(rises)} of "
                f"{len(GAINS)} gains"
                + (f", up to σ = {max(rises):g}" if rises and share < 1 else "")
                + f"; after 50 rounds, for {_rising(mean[k], stages, 50)}",
            )
        )
    return verdicts


def _rising(mse: Floats, stages: list[int], rounds: int) -> int:
    """For how many gains the error is 5 % above its least after so many rounds."""
    until = mse[:, np.array(stages) <= rounds]
    return int(np.sum(until[:, -1] > 1.05 * until.min(axis=1)))


def draw_errors(figure: Any, numbers: dict[str, Any]) -> None:
    """Above, errors by rounds for some gains; below, by gain for some rounds."""
    gains, sizes, mse = numbers["gains"], numbers["sizes"], np.array(numbers["mse"])
    axes = figure.subplots(2, len(sizes))
    stages = numbers["stages"]
    shades = np.linspace(0.85, 0.0, len(SHOWN_GAINS))
    for k, n in enumerate(sizes):
        for gain, shade in zip(SHOWN_GAINS, shades, strict=True):
            colour = (0.85 * shade, 0.45 * (1 - abs(2 * shade - 1)) + 0.2, 0.75 * (1 - shade))
            axes[0, k].plot(
                stages, mse[k, gains.index(gain)], color=colour, linewidth=1, label=f"σ = {gain:g}"
            )
        for last, style in zip(SHOWN_ROUNDS, ("-", "--", ":", "-."), strict=True):
            if last in stages:
                values = mse[k, :, stages.index(last)]
                axes[1, k].plot(gains, values, style, color="#d55e00", label=f"T = {last:,}")
        axes[0, k].set(title=f"N = {n}", xlabel="rounds T", xscale="log")
        axes[1, k].set(xlabel="gain σ", xscale="log")
        plain_ticks(axes[1, k].xaxis)
    for row, where in zip(axes, ("outside right upper", "outside right lower"), strict=True):
        row[0].set_ylabel("MSE of the probability")
        figure.legend(*row[0].get_legend_handles_labels(), frameon=False, loc=where)


# -- Figure 10: the best gain and the number of rows ---------------------------------------------------------


def best_gain(item: tuple[int, int], rounds: int) -> float:
    """The gain of least cross-validated log loss of one sample."""
    n, seed = item
    X, y = sample(np.random.default_rng([n, seed, 10]), n)
    return gain_path(boostlr(rounds=rounds), X, y, gains=GAINS_10).best_gain


def run_figure_10(context: Context) -> Outcome:
    """The cross-validated gain by the size of the training sample."""
    sizes = context.choose(ROWS_10, ROWS_10, (10, 40))
    samples = range(context.choose(20, 5, 1))
    items = [(n, seed) for n in sizes for seed in samples]
    function = partial(best_gain, rounds=context.choose(ROUNDS, ROUNDS, 5))
    gains = np.array(context.map("samples", function, items)).reshape(len(sizes), len(samples))
    middle = np.exp(np.log(gains).mean(axis=1))
    rises = int(np.sum(np.diff(middle) > 0))
    verdict = Verdict(
        "the cross-validated gain falls as the training set grows",
        REPRODUCED if rises == 0 else SAME_PATTERN if middle[-1] < middle[0] else NOT_REPRODUCED,
        f"from {middle[0]:.3g} with {sizes[0]} rows a class to {middle[-1]:.3g} with {sizes[-1]} "
        f"(geometric means of {len(samples)} samples); it rises at {rises} of {len(sizes) - 1} steps",
    )
    table = BEST_10.beside({"cross-validated σ": middle}, columns=[f"{n} a class" for n in sizes], digits=2)
    return Outcome((table,), (verdict,), {"gains": {"rows": sizes, "gains": gains, "middle": middle}})


def draw_best_gains(figure: Any, numbers: dict[str, Any]) -> None:
    """The gain of every sample, and their geometric mean."""
    ax = figure.subplots()
    ax.plot(numbers["rows"], numbers["gains"], ".", color="#bbbbbb", markersize=4)
    ax.plot(numbers["rows"], numbers["middle"], "o-", color="#0072b2", label="geometric mean")
    ax.set(xscale="log", yscale="log", xlabel="rows of each class", ylabel="cross-validated gain σ")
    plain_ticks(ax.xaxis, ax.yaxis)
    ax.legend(frameon=False)


_COMMON = (
    Setting("classes", f"Gaussian, identity covariance, means (0, 0) and ({MEAN}, {MEAN})", "paper"),
    Setting("loss", "GLog, histograms as weak learners", "paper"),
    Setting("bins", f"{BINS}, the mean label of each bin; not given", "ours"),
)
EXPERIMENTS = (
    Experiment(
        "masnadi-fig-9",
        PAPER,
        "Figure 9, section 7.1",
        "error of the probability by rounds and gain",
        (
            *_COMMON,
            Setting("rows", "5, 40 and 1,000 of each class", "paper"),
            Setting("test rows", "10,000", "paper"),
            Setting("gains", "from .5 to 1,000", "paper"),
            Setting("which gains", ", ".join(f"{gain:g}" for gain in GAINS), "ours"),
            Setting("rounds", f"up to {MOST_ROUNDS:,}; the paper says eventually", "ours"),
            Setting("training samples", "the mean of 20", "ours"),
        ),
        run_figure_9,
        (EARLY_9,),
        ("ten bins only; first 50 rounds, then 10,000",),
        (),
        (
            Drawing(
                "errors",
                "Mean squared error of the probability by rounds and by gain, for three sizes of the sample",
                "After Figure 9: above, by rounds for some gains; below, by gain for some rounds.",
                draw_errors,
                (7.4, 4.6),
            ),
        ),
        minutes=14.0,
    ),
    Experiment(
        "masnadi-fig-10",
        PAPER,
        "Figure 10, section 7.1",
        "the cross-validated gain by the number of rows",
        (
            *_COMMON,
            Setting("rounds", f"{ROUNDS}", "ours"),
            Setting("gains", "23 from .5 to 1,000, by the log loss of five folds", "ours"),
            Setting("training samples", "the geometric mean of 20", "ours"),
        ),
        run_figure_10,
        (BEST_10,),
        (
            "ten bins only",
            "gains down to ¼: two of twenty samples of 320 rows a class chose ¼, where the steps overshoot",
            "five rows a class: ten bins hold one row each, and a held-out row has nothing to learn from",
        ),
        (),
        (
            Drawing(
                "gains",
                "Cross-validated gain by the number of training rows",
                "After Figure 10, which has no numbers in our text. Grey: single samples.",
                draw_best_gains,
                (4.8, 3.2),
            ),
        ),
        minutes=0.3,
    ),
)
