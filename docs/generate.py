"""Write the pages that are made from the package itself: one for each family of losses, and the reference.

Nothing here states a formula. Formulas, references and examples come from the docstrings, answers and
their reasons from ``properties()``, pictures from ``plots.loss_faces``.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import io
import pkgutil
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import compatibility
import numpy as np
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator

import propriety
from propriety import algorithms, boosting, evaluation, linear, links, losses, plots, report
from propriety.evaluation import theory
from propriety.explore import static
from propriety.losses import registry, simplex

_PAPERS = {
    "B": "Buja, Stuetzle & Shen (2005)",
    "C": "Collins, Schapire & Singer (2000)",
    "M": "Masnadi-Shirazi & Vasconcelos (2015)",
    "N8": "Nock & Nielsen (2008)",
    "N9": "Nock & Nielsen (2009)",
}
_TAILORED = "Tailored(0.1, 40)"  # the loss of the README's picture
_CITATION = re.compile(r"\[(B|C|M|N8|N9) ([^\]]+)\]")


def write(docs: Path) -> None:
    """Write the generated pages and pictures below `docs`."""
    pages, reference = docs / "losses", docs / "generated"
    for folder in (pages, reference):
        folder.mkdir(exist_ok=True)
    for name in losses.names():
        _save(pages / f"{name}.rst", _family_page(name, pages))
    _save(pages / "index.rst", _index_page())
    _link_figure().savefig(reference / "links.svg")
    _tutorial_figure().savefig(reference / "tutorial.svg")
    _save(docs / "_static" / "idea.svg", _as_svg(_idea_figure()))
    _save(reference / "links.inc", _link_classes())
    _save(reference / "reference.rst", _reference_page())
    _save(reference / "compatibility.inc", compatibility.page(docs.parent / "tests"))
    _write_explorer(docs / "_explorer")


def _save(path: Path, text: str) -> None:
    # A file that does not change keeps its time, so that Sphinx need not read it again.
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _write_explorer(folder: Path) -> None:
    """The explorer without a server; it takes most of a minute, and is kept while the package is the same."""
    digest = hashlib.sha256()
    for file in sorted(Path(propriety.__file__).parent.rglob("*")):
        if file.suffix in (".py", ".js", ".css", ".html"):
            digest.update(file.read_bytes())
    made_from = folder / "explorer" / "made-from.txt"
    if not made_from.exists() or made_from.read_text(encoding="utf-8") != digest.hexdigest():
        static.write(folder / "explorer")
        made_from.write_text(digest.hexdigest(), encoding="utf-8")


# -- one page for each family --------------------------------------------------------------------------


def _family_page(name: str, folder: Path) -> str:
    examples = losses.examples(name)
    several = len(examples) > 1
    figure = Figure(figsize=(7.2, 2.3 if not _smooth(examples) else 6.4), layout="constrained")
    plots.loss_faces(*examples, normalize=several, fig=figure).savefig(folder / f"{name}.svg")
    caption = "Every face of " + ", ".join(f"``{loss!r}``" for loss in examples)
    caption += ", each divided by its largest entropy." if several else "."
    parts = [
        _heading(name, "="),
        ".. currentmodule:: propriety.losses",
        f".. autoclass:: {name}\n   :no-members:",
        _aliases(name),
        f".. figure:: {name}.svg\n   :width: 100%\n   :alt: Faces of {name}\n\n   {caption}",
        _heading("Properties", "-"),
        *(_properties(loss) for loss in examples),
        _references(getattr(losses, name)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _smooth(given: Iterable[losses.Loss]) -> bool:
    return any(isinstance(loss, losses.SmoothLoss) for loss in given)


def _aliases(name: str) -> str:
    other = sorted(alias for alias, target in registry.ALIASES.items() if target == name)
    if not other:
        return ""
    return f"``losses.parse`` also reads it as {', '.join(f'``{alias}``' for alias in other)}."


def _properties(loss: losses.Loss) -> str:
    if not isinstance(loss, losses.SmoothLoss):
        return f"Of ``{loss!r}``:\n\n" + _facts(loss.properties())
    c = loss.composite()
    canonical = loss.canonical_link
    text = f"Of ``{loss!r}`` with its default link ``{c.link!r}``"
    if canonical != c.link:
        text += f" (its canonical link is ``{canonical!r}``)"
    return f"{text}:\n\n" + _facts(c.properties())


def _facts(facts: losses.properties.Properties) -> str:
    rows = [("property", "holds", "because")]
    rows += [(name, "yes" if fact else "no", fact.reason) for name, fact in facts.items()]
    return _table(rows, "25 10 65")


def _references(family: type) -> str:
    cited = _CITATION.findall(inspect.getdoc(family) or "")
    if not cited:
        return ""
    lines = [f"- {_PAPERS[paper]}, {_place(place)}" for paper, place in cited]
    return _heading("Reference", "-") + "\n\n" + "\n".join(lines) + "\n\nSee :doc:`/papers`."


def _place(place: str) -> str:
    place = place.replace("§", "section ").replace("Thm", "theorem")
    return re.sub(r"^\(", "equation (", place)


# -- the table of families -----------------------------------------------------------------------------


def _index_page() -> str:
    rows = [("loss", "in one line", "symmetric", "bounded", "convex")]
    for name in losses.names():
        loss = losses.examples(name)[0]
        facts = loss.composite().properties() if isinstance(loss, losses.SmoothLoss) else loss.properties()
        answers = ["yes" if facts[key] else "no" for key in ("symmetric", "bounded")]
        convex = ("yes" if facts["convex"] else "no") if "convex" in facts else "–"
        rows.append((f":doc:`{name}`", _summary(getattr(losses, name)), *answers, convex))
    parts = [
        _heading("The families of losses", "="),
        "Every registered family, from its own docstring. The answers are those of the family's first "
        "example with its default link; the page of a family has them all, with reasons. A dash means that "
        "the loss has no weight function and so no score.",
        _table(rows, "18 52 10 10 10"),
        ".. toctree::\n   :hidden:\n\n" + "\n".join(f"   {name}" for name in losses.names()),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(family: type) -> str:
    first = (inspect.getdoc(family) or "").split("\n\n")[0].replace("\n", " ")
    return _CITATION.sub("", first).replace("|", r"\|").strip()


# -- pictures of the written pages ----------------------------------------------------------------------


def _link_classes() -> str:
    """The documentation of every registered link, to be included in the page of links."""
    return "\n".join(f".. autoclass:: propriety.losses.links.{name}" for name in links.names()) + "\n"


def _link_figure() -> Figure:
    """Inverse links, each scaled to the logit's slope at ½."""
    figure = Figure(figsize=(7.2, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    F = np.linspace(-6, 6, 401)
    names = ["Logit", "Probit", "Laplace", "Algebraic", "Cauchit", "CLogLog", "LogLog"]
    colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
    for name, colour in zip(names, colours, strict=True):
        link = getattr(links, name)()
        centre = link.link(0.5)
        link = link.scaled(4 * float(link.curve(centre).dp))
        p = link.inverse(F + link.link(0.5))
        left.plot(F, p, color=colour, linewidth=1.4, label=name)
        right.plot(F, np.minimum(p, 1 - p), color=colour, linewidth=1.4)
    left.set(xlabel="score F (0 at p = ½)", ylabel="probability p", title="Inverse links of one slope at ½")
    right.set(xlabel="score F (0 at p = ½)", ylabel="min(p, 1 − p)", yscale="log", title="Their tails")
    right.set_ylim(1e-4, 0.7)
    left.legend(frameon=False, fontsize=8)
    for ax in (left, right):
        ax.tick_params(labelsize=7.5)
        for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
            text.set_fontsize(8.5)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def _tutorial_figure() -> Figure:
    figure = Figure(figsize=(7.2, 6.4), layout="constrained")
    return plots.loss_faces("Log", "Tailored(0.1, 20)", "CostWeighted(0.1)", normalize=True, fig=figure)


def _idea_figure() -> Figure:
    """The picture of the README: weights over costs, and what they do to a straight boundary."""
    rng = np.random.default_rng(3)
    X = rng.uniform((-2, -1.5), (2, 2.5), size=(4000, 2))
    truth = 1 / (1 + np.exp(-2.2 * (X[:, 1] - 0.35 * X[:, 0] ** 2 - 0.9 * X[:, 0])))
    y = rng.uniform(size=len(X)) < truth
    figure = Figure(figsize=(7.2, 2.9), layout="constrained")
    figure.set_facecolor("white")
    left, right = figure.subplots(1, 2)
    p = np.linspace(0.004, 0.996, 497)
    shown = {"Log()": ("#D55E00", "--"), "Squared()": ("#009E73", ":"), _TAILORED: ("#0072B2", "-")}
    for name, (colour, dashes) in shown.items():
        weight = losses.parse(name).weight(p)
        scale = 1 / 4 if name == "Log()" else 1 / weight.max()  # the log loss by its least value
        left.plot(p, scale * weight, color=colour, linestyle=dashes, linewidth=1.6, label=name)
    left.axvline(0.1, color="0.45", linewidth=0.8, label="a miss costs 9 false alarms")
    left.set(xlim=(0, 1), ylim=(0, 2.7), yticks=[], xlabel="cost c of a false alarm (a miss: 1 − c)")
    left.set(ylabel="weight", title="A loss is a weight over costs")
    left.legend(frameon=False, fontsize=8, loc="upper center")
    _draw_boundaries(right, X, y)
    for ax in (left, right):
        ax.tick_params(labelsize=7.5)
        ax.spines[["top", "right"]].set_visible(False)
        for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
            text.set_fontsize(8.5)
    return figure


def _draw_boundaries(ax: Any, X: np.ndarray, y: np.ndarray) -> None:
    few = slice(0, 700)
    for label, colour, marker in ((False, "0.75", "o"), (True, "0.35", "+")):
        rows = X[few][y[few] == label]
        ax.plot(*rows.T, marker, color=colour, markersize=2.5, alpha=0.7, linestyle="none")
    a = np.linspace(-2, 2, 201)
    ax.plot(a, 0.35 * a**2 + 0.9 * a + np.log(0.1 / 0.9) / 2.2, color="black", linewidth=1.2, label="truth")
    for loss, colour, dashes in (("Log()", "#D55E00", "--"), (_TAILORED, "#0072B2", "-")):
        model = propriety.LinearClassifier(loss, fp_cost=1, fn_cost=9).fit(X, y)
        slope, bias = model.coef_[0], model.intercept_[0]
        at = (np.log(0.1 / 0.9) - bias - slope[0] * a) / slope[1]
        ax.plot(a, at, color=colour, linestyle=dashes, linewidth=1.6, label=loss)
    ax.set(xlim=(-2, 2), ylim=(-1.5, 2.5), xticks=[], yticks=[], xlabel="one column", ylabel="another")
    ax.set_title("A straight boundary at probability 1/10")
    ax.legend(frameon=True, edgecolor="none", framealpha=0.85, fontsize=8, loc="upper left")


def _as_svg(figure: Figure) -> str:
    """The same text for the same figure."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "propriety"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


# -- the reference -------------------------------------------------------------------------------------


_OF_TRUTH = ["mean_regret", "mse_to_truth", "calibration_cross_entropy"]
_MORE_PLOTS = ["CostCurveDisplay", "MarginDisplay", "QQDisplay", "convergence"]


def _reference_page() -> str:
    families = losses.names()
    makers = [name for name in losses.__all__ if name.startswith("from_")]
    rest = ["Loss", "SmoothLoss", "Composite", "Mixture", "Tilted", "CanonicalFor"]
    functions = ["names", "examples", "parse", "as_loss", "as_link", "as_composite", "register"]
    parts = [
        _heading("Reference", "="),
        _heading("Classifiers", "-"),
        *(_autosummary(module, names, toctree=True) for module, names in _estimators().items()),
        _heading("Around the classifiers", "-"),
        _autosummary("propriety.auto.judgement", ["Judgement", "Standing"]),
        _autosummary("propriety.linear", _functions(linear), toctree=True),
        _autosummary("propriety.boosting", _functions(boosting), toctree=True),
        _autosummary("propriety.linear.paths", ["Path"], toctree=True),
        _autosummary("propriety.linear.summary", ["Summary"], toctree=True),
        _autosummary("propriety.boosting.paths", ["GainPath"], toctree=True),
        _heading("The papers' algorithms by name", "-"),
        _autosummary("propriety.algorithms", algorithms.__all__, toctree=True),
        _heading("More rows than memory holds", "-"),
        _autosummary("propriety.distributed.scan", ["scan", "Scan"], toctree=True),
        _heading("Choosing the loss", "-"),
        _autosummary("propriety.tuning", ["recommend"]),
        _autosummary("propriety.tuning.recommendation", ["Recommendation"]),
        _autosummary("propriety.tuning.verdict", ["Verdict"]),
        _heading("Losses and their faces", "-"),
        _autosummary("propriety.losses", rest, toctree=True),
        _heading("Families", "-"),
        _autosummary("propriety.losses", families),
        _heading("Losses from any face", "-"),
        _autosummary("propriety.losses", makers),
        _heading("Names and text", "-"),
        _autosummary("propriety.losses", functions, toctree=True),
        _heading("Links", "-"),
        _autosummary("propriety.losses.links", links.__all__),
        _heading("Several classes", "-"),
        _autosummary("propriety.losses.simplex", simplex.__all__),
        _heading("Judging", "-"),
        _autosummary("propriety.evaluation", evaluation.__all__, toctree=True),
        _autosummary("propriety.evaluation.theory", theory.__all__, toctree=True),
        _autosummary("propriety.evaluation.dominance", ["dominance"], toctree=True),
        _autosummary("propriety.evaluation.thresholds", ["cost_curve"], toctree=True),
        _autosummary("propriety.evaluation.comparison", ["holm"], toctree=True),
        _autosummary("propriety.evaluation.scores", ["losses_of"], toctree=True),
        _autosummary("propriety.evaluation.calibration", _OF_TRUTH, toctree=True),
        *(_autosummary(module, names, toctree=True) for module, names in _results(evaluation).items()),
        _heading("Plots", "-"),
        _autosummary("propriety.plots", plots.__all__, toctree=True),
        _autosummary("propriety.plots", _MORE_PLOTS, toctree=True),
        _heading("In other trainers", "-"),
        _autosummary("propriety.interop", ["lightgbm", "xgboost", "catboost"], toctree=True),
        _autosummary("propriety.interop.trainers", ["TrainerLoss"], toctree=True),
        _heading("Studies", "-"),
        _autosummary("propriety", ["Study"], toctree=True),
        _autosummary("propriety.report", report.__all__, toctree=True),
        _heading("The model file", "-"),
        _autosummary("propriety.model.files", ["save", "load", "describe"], toctree=True),
        _autosummary("propriety.storage", ["ModelFileError"], toctree=True),
        _heading("The ground floor", "-"),
        _autosummary(
            "propriety.costs", ["ResolvedCosts", "PositiveClassWarning", "MissingCostsWarning"], toctree=True
        ),
        _autosummary("propriety.model.offsets", ["MissingOffsetWarning"], toctree=True),
        _autosummary("propriety.weights", ["Weights", "Estimate"], toctree=True),
        _autosummary("propriety.model.contract", ["FittedModel"], toctree=True),
        _autosummary("propriety.model.catalogue", ["Entry", "entry"], toctree=True),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _estimators() -> dict[str, list[str]]:
    """Estimators of each part of the package, under the name by which users import them."""
    found: dict[str, list[str]] = {}
    for part in pkgutil.iter_modules(propriety.__path__):
        if part.ispkg:
            module = importlib.import_module(f"propriety.{part.name}")
            for name in getattr(module, "__all__", []):
                thing = getattr(module, name)
                if isinstance(thing, type) and issubclass(thing, BaseEstimator):
                    home = "propriety" if name in propriety.__all__ else module.__name__
                    found.setdefault(home, []).append(name)
    return found


def _results(package: Any) -> dict[str, list[str]]:
    """What the public functions of a package return, by the module that has it."""
    found: dict[str, list[str]] = {}
    for name in package.__all__:
        function = getattr(package, name)
        home = importlib.import_module(function.__module__)
        for word in re.findall(r"[A-Z]\w+", str(inspect.signature(function).return_annotation)):
            names = found.setdefault(home.__name__, [])
            if getattr(getattr(home, word, None), "__module__", None) == home.__name__ and word not in names:
                names.append(word)
    return {module: names for module, names in found.items() if names}


def _functions(module: Any) -> list[str]:
    """Public names of a part that are neither estimators nor modules."""
    things = {name: getattr(module, name) for name in module.__all__}
    return [
        name
        for name, thing in things.items()
        if callable(thing) and not (isinstance(thing, type) and issubclass(thing, BaseEstimator))
    ]


def _autosummary(module: str, names: Iterable[str], *, toctree: bool = False) -> str:
    option = "   :toctree: .\n" if toctree else ""
    entries = "\n".join(f"   {name}" for name in names)
    return f".. currentmodule:: {module}\n\n.. autosummary::\n{option}\n{entries}"


# -- reStructuredText ----------------------------------------------------------------------------------


def _heading(text: str, underline: str) -> str:
    return f"{text}\n{underline * max(len(text), 4)}"


def _table(rows: list[tuple[str, ...]], widths: str) -> str:
    lines = [f".. list-table::\n   :header-rows: 1\n   :widths: {widths}\n"]
    for first, *others in rows:
        lines += [f"   * - {first}", *(f"     - {cell}" for cell in others)]
    return "\n".join(lines)
