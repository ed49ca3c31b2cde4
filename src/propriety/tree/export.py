"""A tree as text, and as a graph in Graphviz's language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.model.base import names_of_classes
from propriety.tree.conditions import Words

if TYPE_CHECKING:
    from propriety.tree.classifier import TreeClassifier


def as_text(
    model: TreeClassifier,
    words: Words,
    decimals: int = 3,
    max_depth: int | None = None,
    class_names: Sequence[str] | None = None,
) -> str:
    """The tree with a line for each node: the test that leads to it, its weight and its probabilities."""
    tree, names = model.tree_, names_of_classes(model.classes_, class_names)
    width_of: list[tuple[str, str]] = []

    def write(node: int, lead: str, mark: str, depth: int) -> None:
        test = "all rows" if node == 0 else str(words.test(node))
        leaf = tree.feature[node] < 0
        cut = not leaf and max_depth is not None and depth >= max_depth
        text = node_text(model, node, names, decimals)
        width_of.append((f"{lead}{mark}{test}", text + (" …" if cut else "")))
        if leaf or cut:
            return
        lead += "" if node == 0 else ("│  " if mark == "├─ " else "   ")
        write(int(tree.left[node]), lead, "├─ ", depth + 1)
        write(int(tree.left[node]) + 1, lead, "└─ ", depth + 1)

    write(0, "", "", 0)
    width = max(len(head) for head, _ in width_of)
    return "\n".join(f"{head:<{width}}  {tail}" for head, tail in width_of)


def node_text(
    model: TreeClassifier, node: int, names: Sequence[str], decimals: int, between: str = "  "
) -> str:
    """Weight and probabilities of a node, and the decision at a leaf."""
    tree, P = model.tree_, model.node_probabilities_[node]
    parts = [f"n = {tree.weight[node]:.6g}"]
    if len(P) == 2:
        parts.append(f"p = {P[1]:.{decimals}f}")
    else:
        parts.append("p = (" + ", ".join(f"{p:.{decimals}f}" for p in P) + ")")
    if tree.feature[node] < 0 and not model.has_row_costs:
        decided = model.decide(P[None, :])[0]
        parts.append(f"→ {dict(zip(model.classes_.tolist(), names, strict=True)).get(decided, decided)}")
    return between.join(parts)


def as_dot(
    model: TreeClassifier, words: Words, decimals: int = 3, class_names: Sequence[str] | None = None
) -> str:
    """The tree in the dot language: boxes coloured by probability, tests on the edges."""
    tree, names = model.tree_, names_of_classes(model.classes_, class_names)
    lines = [
        "digraph tree {",
        '  node [shape=box, style="filled, rounded", fontname="Helvetica"];',
        '  edge [fontname="Helvetica"];',
    ]
    for node in range(len(tree.nodes)):
        label = _quoted(node_text(model, node, names, decimals, "\n"))
        fill, ink = colours(model.node_probabilities_[node])
        lines.append(f'  {node} [label="{label}", fillcolor="{fill}", fontcolor="{ink}"];')
    for node in range(1, len(tree.nodes)):
        lines.append(f'  {tree.parent[node]} -> {node} [label="{_quoted(str(words.test(node)))}"];')
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


# Blue for class 0, white between, orange for class 1: told apart by any eye.
_ENDS = np.array([[0x3B, 0x6F, 0xB6], [0xF7, 0xF7, 0xF7], [0xD9, 0x7A, 0x1E]], dtype=np.float64)
_CLASSES = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")


def colours(P: Any) -> tuple[str, str]:
    """Fill and ink of a node: for two classes by the probability of class 1, for more by the likeliest class.

    >>> colours(np.array([0.5, 0.5]))
    ('#f7f7f7', '#000000')
    """
    if len(P) == 2:
        position = 2 * float(P[1])
        i = min(int(position), 1)
        mixed = _ENDS[i] + (position - i) * (_ENDS[i + 1] - _ENDS[i])
    else:
        best = int(np.argmax(P))
        base = _CLASSES[best % len(_CLASSES)]
        strength = (float(P[best]) - 1 / len(P)) / (1 - 1 / len(P))
        colour = np.array([int(base[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64)
        mixed = _ENDS[1] + strength * (colour - _ENDS[1])
    red, green, blue = np.rint(mixed).astype(int)
    dark = 0.299 * red + 0.587 * green + 0.114 * blue < 140
    return f"#{red:02x}{green:02x}{blue:02x}", "#ffffff" if dark else "#000000"
