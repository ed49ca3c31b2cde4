"""A decision tree on paper: read from left to right, or as a cascade from top to bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from propriety.model.base import names_of_classes
from propriety.plots.faces import _STYLE, _import_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
_LETTER = 0.062  # inches of a letter of 7 points, about
_ROW = {"tree": 0.36, "cascade": 0.3}  # inches between leaves
_STAIR = 0.22  # inches by which a cascade's spine moves to the right at each step
_CASCADE = 0.7  # share of the splits on one path from which a tree is drawn as a cascade
_LINE = "0.45"


def tree(
    model: Any,
    *,
    layout: str = "auto",
    decimals: int = 2,
    class_names: Any = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Any:
    """Draw a fitted `TreeClassifier`.

    A box is a node: the probability of class 1 (of the likeliest class, if there are more than two), which
    also colours it, the weight of its training rows and, at a leaf, their share of all. A tree is read from
    left to right: a box names its test, and the upper branch is for rows that pass it. A cascade is read from
    top to bottom, as a list of rules: the rows for which the test on the arm holds leave to the right, all
    others go on down.

    Parameters
    ----------
    model : TreeClassifier
        Fitted.
    layout : {"auto", "tree", "cascade"}, default="auto"
        "auto" draws a cascade where most splits lie on one path.
    decimals : int, default=2
        Of the probabilities.
    class_names : sequence of str, optional
        By default the labels themselves.
    legend : bool, default=True
        Whether to say what the colours mean.
    ax : matplotlib Axes, optional
        Where to draw, in letters that fit it; by default the axes of a new figure of pyplot of the size that
        letters of 7 points need.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_breast_cancer
    >>> from propriety import TreeClassifier, plots
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> ax = plots.tree(TreeClassifier(max_leaf_nodes=4).fit(X, y), ax=Figure().subplots())
    >>> len(ax.texts) >= 7
    True
    """
    from propriety.tree import TreeClassifier

    if not isinstance(model, TreeClassifier):
        raise ValueError(f"plots.tree needs a fitted TreeClassifier, got {type(model).__name__}")
    check_is_fitted(model)
    grown = model.tree_
    if layout not in ("auto", "tree", "cascade"):
        raise ValueError(f"layout must be 'auto', 'tree' or 'cascade', got {layout!r}")
    names = names_of_classes(model.classes_, class_names)
    spine = _spine(grown)
    if layout == "auto":
        splits = int(np.count_nonzero(grown.feature >= 0))
        layout = "cascade" if splits >= 3 and len(spine) - 1 >= _CASCADE * splits else "tree"
    matplotlib = _import_matplotlib()
    tests = {node: model.test_of(node) for node in range(1, len(grown.nodes))}
    texts = [_node_text(model, node, tests, names, layout, decimals) for node in range(len(grown.nodes))]
    half = np.array([_LETTER * max(map(len, text.split("\n"))) / 2 + 0.1 for text in texts])
    place = _cascade if layout == "cascade" else _tree
    x, y, width = place(grown, spine, tests, half)
    size = float(width), float(np.ptp(y) + 1.6 * _ROW[layout])
    with matplotlib.rc_context(_STYLE):
        letters = 7.0
        if ax is None:
            from matplotlib import pyplot

            extra = 0.55 if legend else 0.0
            ax = pyplot.figure(figsize=(size[0], size[1] + extra), layout="constrained").subplots()
        else:
            box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
            letters *= min(1.0, box.width / size[0], box.height / size[1])
        ax.set(xlim=(-half[0], size[0] - half[0]))
        ax.set(ylim=(y.max() + 0.8 * _ROW[layout], y.min() - 0.8 * _ROW[layout]))
        ax.set_axis_off()
        on_spine = set(spine) if layout == "cascade" else set()
        for node in range(1, len(x)):
            _draw_edge(ax, grown, node, x, y, half, tests, on_spine, layout, letters)
        for node, text in enumerate(texts):
            _draw_node(ax, model, node, x[node], y[node], text, letters)
        if legend:
            _draw_legend(ax, names, matplotlib)
    return ax


def _spine(tree: Any) -> list[int]:
    """The path that always goes on to the child with more leaves; of equals, the way the path went before."""
    leaves = np.ones(len(tree.nodes), dtype=int)
    for node in range(len(leaves) - 1, -1, -1):
        if tree.feature[node] >= 0:
            leaves[node] = leaves[tree.left[node]] + leaves[tree.left[node] + 1]
    path, rises = [0], 0
    share = tree.shares[:, -1]
    while tree.feature[path[-1]] >= 0:
        node = path[-1]
        pair = [int(tree.left[node]), int(tree.left[node]) + 1]
        along = [(leaves[child], rises * (share[child] - share[node]), tree.weight[child]) for child in pair]
        path.append(pair[0] if along[0] >= along[1] else pair[1])
        rises += 1 if share[path[-1]] > share[node] else -1
    return path


def _tree(tree: Any, spine: list[int], tests: dict[int, str], half: Floats) -> tuple[Floats, Floats, float]:
    """Leaves in rows, from the top; a column for each depth."""
    y = np.zeros(len(tree.nodes))
    y[tree.leaves] = np.arange(len(tree.leaves)) * _ROW["tree"]
    for node in range(len(y) - 1, -1, -1):
        if tree.feature[node] >= 0:
            y[node] = (y[tree.left[node]] + y[tree.left[node] + 1]) / 2
    step = 2 * half.max() + 0.12
    x = tree.nodes["depth"] * step
    return x, y, float(x.max() + step)


def _cascade(
    tree: Any, spine: list[int], tests: dict[int, str], half: Floats
) -> tuple[Floats, Floats, float]:
    """The spine down the left; what is peeled off it lies to its right, in the order of the spine."""
    x, y = np.zeros(len(tree.nodes)), np.zeros(len(tree.nodes))
    step = _LETTER * max(map(len, tests.values()), default=8) + 2 * half.max() + 0.2
    row = 0

    def peel(node: int, at: float) -> None:
        nonlocal row
        x[node] = at
        if tree.feature[node] < 0:
            y[node] = row * _ROW["cascade"]
            row += 1
            return
        pair = [int(tree.left[node]), int(tree.left[node]) + 1]
        for child in pair:
            peel(child, at + step)
        y[node] = np.mean(y[pair])

    for node, following in zip(spine, [*spine[1:], -1], strict=True):
        x[node], y[node] = spine.index(node) * _STAIR, row * _ROW["cascade"]
        if following >= 0:
            left = int(tree.left[node])
            peeled = left + 1 if following == left else left
            peel(peeled, x[node] + step)
            y[node] = y[peeled]
    return x, y, float(x.max() + half[0] + half.max() + 0.1)


def _draw_edge(
    ax: Any,
    tree: Any,
    node: int,
    x: Floats,
    y: Floats,
    half: Floats,
    tests: Any,
    on_spine: Any,
    layout: str,
    letters: float,
) -> None:
    parent = int(tree.parent[node])
    down = node in on_spine
    turn = x[parent]
    if layout == "cascade" and down:
        turn = x[node]
    elif layout == "cascade" and parent not in on_spine:
        turn = x[parent] + half[parent]
    path = [(x[parent], y[parent]), (turn, y[parent]), (turn, y[node]), (x[node], y[node])]
    ax.plot(*zip(*path, strict=True), color=_LINE, linewidth=0.8, zorder=1, solid_joinstyle="round")
    if layout == "cascade" and not down:
        start = x[parent] + half[parent] + 0.06
        ax.text(start, y[node] - 0.02, tests[node], fontsize=letters, ha="left", va="bottom", zorder=2)
    if layout == "tree" and parent == 0:
        word = "yes" if node == tree.left[0] else "no"
        ax.text(turn + 0.05, y[node] + 0.03, word, fontsize=letters, ha="left", va="top", color=_LINE)


def _node_text(model: Any, node: int, tests: Any, names: Any, layout: str, decimals: int) -> str:
    tree, P = model.tree_, model.node_probabilities_[node]
    best = 1 if len(P) == 2 else int(np.argmax(P))
    text = f"{P[best]:.{decimals}f}" if len(P) == 2 else f"{names[best]} {P[best]:.{decimals}f}"
    text += f"  n={tree.weight[node]:.6g}"
    if tree.feature[node] >= 0 and layout == "tree":
        return f"{tests[int(tree.left[node])]}\n{text}"
    return text + (f" · {tree.weight[node] / tree.weight[0]:.0%}" if tree.feature[node] < 0 else "")


def _draw_node(ax: Any, model: Any, node: int, x: float, y: float, text: str, letters: float) -> None:
    from propriety.tree.export import colours

    leaf = model.tree_.feature[node] < 0
    fill, ink = colours(model.node_probabilities_[node])
    box = {
        "boxstyle": "round,pad=0.3",
        "facecolor": fill,
        "edgecolor": _LINE,
        "linewidth": 1.2 if leaf else 0.6,
    }
    weight = "bold" if leaf else "normal"
    ax.text(
        x,
        y,
        text,
        fontsize=letters,
        color=ink,
        fontweight=weight,
        ha="center",
        va="center",
        zorder=3,
        bbox=box,
    )


def _draw_legend(ax: Any, names: list[str], matplotlib: Any) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Patch

    from propriety.tree.export import colours

    if len(names) == 2:
        steps = np.linspace(0, 1, 65)
        shades = [colours(np.array([1 - p, p]))[0] for p in steps]
        scale = ScalarMappable(cmap=LinearSegmentedColormap.from_list("share", shades))
        scale.set_clim(0, 1)
        bar = ax.figure.colorbar(scale, ax=ax, orientation="horizontal", fraction=0.05, aspect=30, shrink=0.5)
        bar.set_label(f"probability of class {names[1]}")
        return
    patches = [
        Patch(facecolor=colours(np.eye(len(names))[k])[0], edgecolor=_LINE, label=name)
        for k, name in enumerate(names)
    ]
    ax.figure.legend(handles=patches, loc="outside lower center", ncols=min(len(names), 5), frameon=False)
