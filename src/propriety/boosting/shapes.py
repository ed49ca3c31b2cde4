"""Shape functions: an additive model as its curves, one per feature, and surfaces for pairs of features.

A learner that looks at one feature is a table over its bins; so is a sum of them. A leaf of a tree is the
product of what its path asks of each feature, so a tree whose paths meet one feature, or two, is a sum of
curves and surfaces as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import parallel
from propriety.data.table import Table
from propriety.trees.binned import BINS, Binned
from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.boosting.classifier import BoostingClassifier

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Marginals:
    """How the training rows lie in the bins.

    Attributes
    ----------
    weights : ndarray of shape (d, 256)
        Weight of the training rows in each bin, missing values last.
    low, high : ndarray of shape (d,)
        Smallest and largest finite value.
    """

    weights: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, binned: Binned, weights: Weights, table: Any) -> Marginals:
        """Count the rows of a table."""
        d, communicator = len(binned.columns), weights.communicator
        counts = [np.bincount(column, weights.values, minlength=BINS) for column in binned.columns]
        low, high = np.full(d, np.inf), np.full(d, -np.inf)
        for _, column in table.parts(range(d)):
            for f in range(d):
                x = column(f)
                x = x[np.isfinite(x)]
                low[f], high[f] = min(low[f], x.min(initial=np.inf)), max(high[f], x.max(initial=-np.inf))
        ends = np.array(communicator.max((*(-low), *high))).reshape(2, d)
        low, high = np.where(np.isfinite(ends), ends * [[-1.0], [1.0]], np.nan)
        return cls(communicator.sum(np.array(counts, dtype=np.float64)), low, high)


@dataclass(frozen=True, eq=False)
class Axis:
    """The bins of one feature.

    Attributes
    ----------
    feature : int
        Its column.
    name : str
        Its name, or "x" and its column.
    edges : ndarray
        Upper ends of the bins but the last: x is in the first bin with x ≤ edge. Empty for a categorical one.
    categories : tuple of tuples, or None
        The categories of each bin, of a categorical feature.
    weights : ndarray
        Weight of the training rows per bin, missing values last.
    low, high : float
        Smallest and largest value in training.
    """

    feature: int
    name: str
    edges: Floats
    categories: tuple[tuple[Any, ...], ...] | None
    weights: Floats
    low: float
    high: float

    @property
    def n_bins(self) -> int:
        """Bins of values, without that of missing ones."""
        return len(self.weights) - 1

    def bins(self, x: ArrayLike) -> NDArray[np.intp]:
        """Bins of values; missing and unknown ones have the last."""
        if self.categories is None:
            x = np.asarray(x, dtype=np.float64)
            return np.where(np.isnan(x), self.n_bins, np.searchsorted(self.edges, x, side="left"))
        where = {c: i for i, group in enumerate(self.categories) for c in group}
        return np.array([where.get(value, self.n_bins) for value in np.asarray(x, dtype=object).ravel()])


@dataclass(frozen=True, eq=False)
class Curve:
    """What one feature adds to the score; its weighted mean over the training rows is 0.

    Attributes
    ----------
    axis : Axis
    values : ndarray of shape (bins + 1,), or (K, bins + 1) for K > 2 classes
        Per bin, missing values last.
    """

    axis: Axis
    values: Floats

    def __call__(self, x: ArrayLike) -> Floats:
        """The curve at values of the feature."""
        return self.values[..., self.axis.bins(x)]

    @property
    def importance(self) -> float:
        """Weighted mean of |value|."""
        return float((np.abs(self.values) @ self.axis.weights).sum() / self.axis.weights.sum())


@dataclass(frozen=True, eq=False)
class Surface:
    """What two features add together beyond their curves; its mean over either of them is 0.

    ``values`` are of shape (bins + 1, bins + 1), behind (K,) for K > 2 classes.
    """

    axes: tuple[Axis, Axis]
    values: Floats

    def __call__(self, x: ArrayLike, z: Any) -> Floats:
        """The surface at values of the two features."""
        first, second = self.axes
        return self.values[..., first.bins(x), second.bins(z)]

    @property
    def importance(self) -> float:
        """Mean of |value|, weighted as if the features were independent."""
        first, second = (a.weights / a.weights.sum() for a in self.axes)
        return float((np.abs(self.values) @ second @ first).sum())


@dataclass(frozen=True, eq=False)
class ShapeFunctions:
    """An additive model: score = intercept + Σ curves + Σ surfaces, exactly.

    Iterates over the curves; ``shapes["age"]`` or ``shapes[0]`` is a feature's.

    Examples
    --------
    >>> import numpy as np
    >>> from propriety import BoostingClassifier
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = BoostingClassifier(algorithm="additive", max_iter=20).fit(X, X[:, 0] > 0)
    >>> shapes = model.shape_functions()
    >>> score = shapes.intercept + shapes[0](X[:, 0]) + shapes[1](X[:, 1])
    >>> bool(np.allclose(score, model.decision_function(X)))
    True
    """

    intercept: Any
    curves: tuple[Curve, ...]
    surfaces: tuple[Surface, ...]

    def __iter__(self) -> Iterator[Curve]:
        return iter(self.curves)

    def __len__(self) -> int:
        return len(self.curves)

    def __getitem__(self, feature: Any) -> Curve:
        for curve in self.curves:
            if feature in (curve.axis.name, curve.axis.feature):
                return curve
        raise KeyError(f"there is no feature {feature!r}; the features are {[c.axis.name for c in self]}")


def shapes_of(model: BoostingClassifier) -> ShapeFunctions:
    """The shape functions of a fitted model; a ValueError says why there are none."""
    whole_tables, surfaces, constant = _tables(model)
    axes = _axes(model)
    shares = [a.weights / max(a.weights.sum(), 1e-300) for a in axes]
    tables = [whole_tables[:, f, : a.n_bins + 1] for f, a in enumerate(axes)]
    intercept = model._start_score + constant
    kept = []
    for (i, j), whole in sorted(surfaces.items()):
        S = whole[:, : axes[i].n_bins + 1, : axes[j].n_bins + 1]
        across, down = S @ shares[j], np.einsum("kij,i->kj", S, shares[i])
        mean = across @ shares[i]
        tables[i] = tables[i] + across - mean[:, None]
        tables[j] = tables[j] + down - mean[:, None]
        intercept = intercept + mean
        S = S - across[:, :, None] - down[:, None, :] + mean[:, None, None]
        kept.append(Surface((axes[i], axes[j]), _squeezed(S)))
    curves = []
    for axis, table, share in zip(axes, tables, shares, strict=True):
        mean = table @ share
        intercept = intercept + mean
        curves.append(Curve(axis, _squeezed(table - mean[:, None])))
    return ShapeFunctions(
        float(intercept[0]) if len(intercept) == 1 else intercept, tuple(curves), tuple(kept)
    )


def contributions_of(model: BoostingClassifier, table: Table) -> Floats:
    """Each curve at each row and the intercept last, (n, n_scores, d + 1): exact Shapley values."""
    shapes = shapes_of(model)
    values = [np.atleast_2d(curve.values) for curve in shapes]
    result = np.empty((table.n_rows, len(values[0]), len(values) + 1))
    for start, stop, chunk in table.chunks(model._binner.encoders()):
        columns = model._forest.columns(chunk, parallel.n_threads(model.n_jobs))
        for f, v in enumerate(values):
            result[start:stop, :, f] = v[:, columns[f]].T
    result[:, :, -1] = shapes.intercept
    return result


def _squeezed(values: Floats) -> Floats:
    return values[0] if len(values) == 1 else values


def _axes(model: Any) -> list[Axis]:
    schema, binner, marginals = model._schema, model._binner, model._marginals
    axes = []
    for f, n in enumerate(binner.n_bins):
        groups = None
        if schema.categories[f] is not None:
            bins = binner.category_bins[f]
            groups = tuple(
                tuple(c for c, b in zip(schema.categories[f], bins, strict=False) if b == k) for k in range(n)
            )
        edges = binner.edges[f, : n - 1] if groups is None else np.empty(0)
        weights = marginals.weights[f, : n + 1]
        low, high = float(marginals.low[f]), float(marginals.high[f])
        axes.append(Axis(f, schema.labels[f], edges, groups, weights, low, high))
    return axes


def _tables(model: Any) -> tuple[Floats, dict[tuple[int, int], Floats], Floats]:
    """Tables of features, (K, d, 256), of pairs, and a constant per score."""
    forest, d = model._forest, len(model._binner.n_bins)
    if model._marginals is None:
        raise ValueError(
            "the model is not additive: its trees may combine any number of features; fit it with "
            "algorithm='additive', or with interaction_cst='no_interactions' or 'pairwise'"
        )
    if model._is_curves():
        return forest.tables, {}, np.zeros(forest.n_scores)
    tables, constant = np.zeros((forest.n_scores, d, BINS)), np.zeros(forest.n_scores)
    surfaces: dict[tuple[int, int], Floats] = {}
    for t, root in enumerate(forest.roots[:-1]):
        k = t % forest.n_scores
        for value, masks in _leaves(forest, int(root), model._binner.n_bins):
            features = sorted(masks)
            if not features:
                constant[k] += value
            elif len(features) == 1:
                tables[k, features[0]] += value * masks[features[0]]
            elif len(features) == 2:
                i, j = features
                surface = surfaces.setdefault((i, j), np.zeros((forest.n_scores, BINS, BINS)))
                surface[k] += value * np.outer(masks[i], masks[j])
            else:
                raise ValueError(
                    f"the model is not additive: a tree combines {len(features)} features; use groups of "
                    "at most two in interaction_cst"
                )
    return tables, surfaces, constant


def _leaves(forest: Any, root: int, n_bins: Any) -> Iterator[tuple[float, dict[int, NDArray[np.bool_]]]]:
    """Value of each leaf of a tree, and per feature of its path the bins that lead there."""
    bins = np.arange(BINS)
    stack: list[tuple[int, dict[int, NDArray[np.bool_]]]] = [(root, {})]
    while stack:
        at, masks = stack.pop()
        node = forest.nodes[at]
        f = int(node["feature"])
        if f < 0:
            yield float(node["value"]), masks
            continue
        if node["set"] >= 0:
            left = np.unpackbits(forest.sets[node["set"]].view(np.uint8), bitorder="little").astype(bool)
        else:
            left = bins <= node["bin"]
        left[n_bins[f]] = node["missing_left"] != 0
        before = masks.get(f, True)
        stack.append((int(node["left"]), {**masks, f: left & before}))
        stack.append((int(node["left"]) + 1, {**masks, f: ~left & before}))
