"""What the user forbids: monotone and interaction constraints, read into arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.data.parameters import monotone_signs
from propriety.data.table import Schema


def signs_by_score(cst: Any, schema: Schema, classes: Any) -> NDArray[np.int8]:
    """Signs per score and feature, of shape (1, d) for two classes and (K, d) for more.

    For two classes, a list of d signs or a dict from column to sign. For K classes, a dict from class to such
    a list or dict: the class's *probability* is then monotone, because its own score rises where it must and
    all other scores fall. Two classes cannot both be constrained in one column.
    """
    d, n_classes = len(schema.categories), len(classes)
    if n_classes == 2:
        return monotone_signs(cst, schema)[None, :]
    signs = np.zeros((n_classes, d), dtype=np.int8)
    if cst is None:
        return signs
    if not isinstance(cst, Mapping) or not all(np.any(classes == c) for c in cst):
        raise ValueError(
            f"monotonic_cst for {n_classes} classes must be a dict from class to signs; "
            f"the classes are {list(classes)}"
        )
    for label, given in cst.items():
        of_class = monotone_signs(given, schema)
        if np.any((of_class != 0) & np.any(signs != 0, axis=0)):
            raise ValueError("monotonic_cst: only one class can be constrained in a column")
        for k, other in enumerate(classes):
            signs[k] += of_class if other == label else -of_class
    return signs


def interaction_groups(cst: Any, schema: Schema) -> NDArray[np.uint8]:
    """Groups of columns that may meet on a path, (groups, d); no group at all means no constraint.

    Columns in no group form one more.

    >>> interaction_groups([["a", "b"]], Schema((None,) * 3, ("a", "b", "c")))
    array([[1, 1, 0],
           [0, 0, 1]], dtype=uint8)
    """
    d = len(schema.categories)
    if cst is None:
        return np.zeros((0, d), dtype=np.uint8)
    if isinstance(cst, str):
        if cst == "no_interactions":
            cst = [[f] for f in range(d)]
        elif cst == "pairwise":
            cst = [list(pair) for pair in combinations(range(d), 2)] or [[0]]
        else:
            raise ValueError(f"interaction_cst must be 'pairwise', 'no_interactions' or groups, got {cst!r}")
    groups = []
    for group in cst:
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise ValueError(f"interaction_cst must be groups of columns, got {group!r} as one")
        row = np.zeros(d, dtype=np.uint8)
        row[[schema.position(column) for column in group]] = 1
        groups.append(row)
    together = np.array(groups, dtype=np.uint8).reshape(-1, d)
    rest = (together.sum(axis=0) == 0).astype(np.uint8)
    return np.vstack([together, rest]) if rest.any() else together
