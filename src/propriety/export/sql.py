"""A fitted model as one SQL query: columns of a table in, probabilities and the decision out.

The query is a chain of common table expressions, each of which adds columns to the last: the columns that the
model reads, its scores, its probabilities, the decision. A tree is a nested ``CASE``; where a row may go both
ways, which a category that was not in training does, its two branches are weighted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.cached_properties import cached_property
from propriety.costs import ResolvedCosts
from propriety.data.numbers import Numbers
from propriety.export.columns import kind_of
from propriety.export.formula import (
    Bent,
    Formula,
    Kernel,
    Linear,
    Linked,
    Ordered,
    Softmax,
    Stack,
    Trees,
    Votes,
)
from propriety.export.links import LinkTable, link_table
from propriety.export.writing import Export
from propriety.losses.links import Identity, Interpolated, Link, Logit, Recalibrated, Shifted

Floats = NDArray[np.float64]
DIALECTS = ("duckdb", "sqlite")
_LONGEST = {"sqlite": 1_000_000}  # characters of a query that SQLite takes by default
_LEVELS = {"sqlite": 8, "duckdb": 100}  # of a tree in one expression
_TERMS = 200  # of a sum


def write_query(export: Export, table: str, dialect: str = "duckdb", keep: Sequence[str] = ()) -> str:
    """The query; `keep` are columns of the table that it passes on."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(map(repr, DIALECTS))}, got {dialect!r}")
    query = _Query(table, dialect, tuple(keep))
    columns = query.columns(export)
    P = query.probabilities(columns, export.formula)
    names = _output_names(export.labels[: export.n_classes])
    outputs = list(zip(P, names, strict=True))
    if export.costs is not None:
        outputs.append((query.decision(export.costs, P, export.labels), "decision"))
    text = query.text(outputs)
    if len(text) > _LONGEST.get(dialect, len(text)):
        raise ValueError(
            f"the query has {len(text):,} characters, and SQLite takes {_LONGEST[dialect]:,}: fit a smaller "
            "model, such as fewer or smaller trees, or use dialect='duckdb'"
        )
    return text


@dataclass(frozen=True)
class _Columns:
    """What a formula reads: for each feature an expression and, of a category, what it may be."""

    expressions: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]


@dataclass
class _Query:
    table: str
    dialect: str
    keep: tuple[str, ...]
    steps: list[dict[str, str]] = field(default_factory=list)

    @cached_property
    def prefix(self) -> str:
        """That of the names of what is computed, with which no column to keep begins."""
        prefix = "_v"
        while any(name.casefold().startswith(prefix) for name in self.keep):
            prefix += "_"
        return prefix

    def add(self, expressions: Iterable[str]) -> list[str]:
        """Compute expressions of what is there; their names."""
        first = sum(map(len, self.steps))
        named = {f"{self.prefix}{k}": expression for k, expression in enumerate(expressions, first)}
        self.steps.append(named)
        return list(named)

    def text(self, outputs: list[tuple[str, str]]) -> str:
        """The query whose result has the columns to keep and the outputs."""
        # SQLite would put the expressions of a step into the next one, as often as they are used there.
        how = "AS MATERIALIZED" if self.dialect == "sqlite" else "AS"
        kept = [_quoted(name) for name in self.keep]
        parts, source = [], self.table
        for number, step in enumerate(self.steps):
            before = kept if number == 0 else ["*"]
            listed = ",\n    ".join([*before, *(f"{text} AS {name}" for name, text in step.items())])
            parts.append(f"step{number} {how} (\n  SELECT\n    {listed}\n  FROM {source}\n)")
            source = f"step{number}"
        chosen = ",\n  ".join([*kept, *(f"{name} AS {_quoted(label)}" for name, label in outputs)])
        return f"WITH {', '.join(parts)}\nSELECT\n  {chosen}\nFROM {source}\n"

    # --- columns ----------------------------------------------------------------------------------

    def columns(self, export: Export) -> _Columns:
        """The columns of the table that the model reads, missing values as NULL."""
        schema, expressions, categories = export.schema, [], []
        for label, known in zip(schema.labels, schema.categories, strict=True):
            name = _quoted(label)
            if known is not None and kind_of(label, known) == "text":
                expressions.append(f"CAST({name} AS {'TEXT' if self.dialect == 'sqlite' else 'VARCHAR'})")
            elif self.dialect == "sqlite":
                expressions.append(f"CAST({name} AS REAL)")
            else:
                expressions.append(f"NULLIF(CAST({name} AS DOUBLE), CAST('nan' AS DOUBLE))")
            categories.append(None if known is None else tuple(map(_category, known)))
        columns = _Columns(tuple(self.add(expressions)), tuple(categories))
        return columns if export.numbers is None else self.numbers(columns, export.numbers)

    def numbers(self, columns: _Columns, numbers: Numbers) -> _Columns:
        """The numbers that a model without categories is fitted to."""
        expressions = []
        for term in numbers.terms:
            x = columns.expressions[term.feature]
            lost = f"{x} IS NULL OR ABS({x}) > {_literal(np.finfo(float).max)}"
            if term.kind == "level":
                level = _category(term.level)
                known = level in (columns.categories[term.feature] or ())
                value = _case(f"{x} = {level}" if known else "0 = 1", "1e0", "0e0")
            elif term.kind == "missing":
                value = _case(lost, "1e0", "0e0")
            else:
                value = _case(lost, _literal(term.fill), x)
            expressions.append(f"({value} - {_literal(term.centre)}) / {_literal(term.scale)}")
        made = tuple(self.add(expressions or ["0e0"]))
        return _Columns(made, (None,) * len(made))

    # --- scores -----------------------------------------------------------------------------------

    def scores(self, columns: _Columns, scores: Linear | Kernel | Trees | Stack) -> list[str]:
        """The names of the scores."""
        if isinstance(scores, Linear):
            return self.add(
                _sum(
                    [
                        _literal(b0),
                        *(f"{_literal(b)} * {x}" for b, x in zip(coef, columns.expressions, strict=True)),
                    ]
                )
                for coef, b0 in zip(scores.coef, scores.intercept, strict=True)
            )
        if isinstance(scores, Trees):
            return _Forest(columns, scores).scores(self)
        if isinstance(scores, Kernel):
            return self.kernel(columns, scores)
        parts: list[list[str]] = [[_literal(b0)] for b0 in scores.intercept]
        for (formula, numbers), weight in zip(scores.members, scores.weights, strict=True):
            own = columns if numbers is None else self.numbers(columns, numbers)
            least, most = _literal(scores.least), _literal(1.0 - scores.least)
            P = self.add(_clipped(p, least, most) for p in self.probabilities(own, formula))
            for part, score in zip(parts, self.on_scale(scores.scale, P), strict=True):
                part.append(f"{_literal(weight)} * {score}")
        return self.add(map(_sum, parts))

    def kernel(self, columns: _Columns, kernel: Kernel) -> list[str]:
        """A Gaussian around each landmark, and their sums."""
        limit = _literal(kernel.limit)
        numbers = self.numbers(columns, kernel.numbers).expressions
        z = self.add(_clipped(x, _literal(-kernel.limit), limit) for x in numbers)
        distances = self.add(
            _sum([f"({x} - {_literal(at)}) * ({x} - {_literal(at)})" for x, at in zip(z, point, strict=True)])
            for point in kernel.points
        )
        values = self.add(f"EXP({_literal(-kernel.rate)} * ({distance}))" for distance in distances)
        return self.add(
            _sum([_literal(b0), *(f"{_literal(a)} * {k}" for a, k in zip(coef, values, strict=True))])
            for coef, b0 in zip(kernel.coef, kernel.intercept, strict=True)
        )

    def on_scale(self, scale: Linked | Softmax, P: list[str]) -> list[str]:
        """Probabilities of a member of a stack as scores."""
        if isinstance(scale, Softmax):
            total = _sum(P)
            logs = self.add(f"LN({p} / ({total}))" for p in P)
            return self.add(
                f"({x} - ({_sum(logs)}) / {_literal(len(logs))}) / {_literal(scale.rate)}" for x in logs
            )
        if not all(isinstance(link, Logit) for link in scale.links):
            raise ValueError(f"a stack on the scale of {scale.links[0]!r} has no form in SQL; use Logit()")
        if len(scale.links) == 1:
            return self.add([f"{_literal(scale.links[0].scale)} * LN({P[1]} / {P[0]})"])  # type: ignore[attr-defined]
        shares = self.add(f"{p} / ({_sum(P)})" for p in P)
        return self.add(
            f"{_literal(link.scale)} * LN({p} / (1e0 - {p}))"  # type: ignore[attr-defined]
            for link, p in zip(scale.links, shares, strict=True)
        )

    # --- probabilities ----------------------------------------------------------------------------

    def probabilities(self, columns: _Columns, formula: Formula) -> list[str]:
        """The names of the probabilities of the classes."""
        P = self.read_out(formula.readout, self.scores(columns, formula.scores))
        if formula.factors is not None:
            power = "{}" if formula.power == 1 else f"POWER({{}}, {_literal(formula.power)})"
            P = self.add(
                f"{power.format(p)} * {_literal(b)}" for p, b in zip(P, formula.factors, strict=True)
            )
            P = self.add(f"{p} / ({_sum(P)})" for p in P)
        return P

    def read_out(self, readout: Linked | Ordered | Softmax | Bent | Votes, scores: list[str]) -> list[str]:
        """Scores to probabilities."""
        if isinstance(readout, Votes):
            each = scores * len(readout.sign) if len(scores) == 1 else scores
            parts = zip(each, readout.sign, readout.base + readout.smoothing, strict=True)
            total = _literal(readout.total)
            return self.add(f"({_literal(a)} * {s} + {_literal(b)}) / {total}" for s, a, b in parts)
        if isinstance(readout, Softmax):
            return self.softmax([f"{_literal(readout.rate)} * {s}" for s in scores])
        if isinstance(readout, Bent):
            logs = [f"LN({p})" for p in self.softmax(scores)]
            bends = zip(logs, readout.slopes, readout.shifts, strict=True)
            return self.softmax([f"{_literal(a)} * {x} + {_literal(b)}" for x, a, b in bends])
        if isinstance(readout, Ordered):
            pairs = zip(readout.links, scores[1:], strict=True)
            above = [self.inverse(link, f"({s} - {scores[0]})")[1] for link, s in pairs]
            return self.add(f"{a} - {b}" for a, b in zip(["1e0", *above], [*above, "0e0"], strict=True))
        if len(scores) == 1:
            return self.inverse(readout.links[0], scores[0])
        each = [self.inverse(link, s)[1] for link, s in zip(readout.links, scores, strict=True)]
        total, equal = _sum(each), _literal(1.0 / len(each))
        return self.add(_case(f"{total} > 0e0", f"{p} / ({total})", equal) for p in each)

    def softmax(self, scores: list[str]) -> list[str]:
        named = self.add(scores)
        (top,) = self.add([_extreme(named, ">=")])
        each = self.add(f"EXP({s} - {top})" for s in named)
        return self.add(f"{e} / ({_sum(each)})" for e in each)

    def inverse(self, link: Link, score: str) -> list[str]:
        """The names of 1 − p and p."""
        if isinstance(link, Identity):
            share = f"({score} - {_literal(link.low)}) / {_literal(link.high - link.low)}"
            (p,) = self.add([_clipped(f"({share})", "0e0", "1e0")])
            return [*self.add([f"1e0 - {p}"]), p]
        t = self.log_odds(link, score)
        (e,) = self.add([f"EXP(-ABS({t}))"])
        larger, smaller = f"1e0 / (1e0 + {e})", f"{e} / (1e0 + {e})"
        return self.add([_case(f"{t} >= 0e0", smaller, larger), _case(f"{t} >= 0e0", larger, smaller)])

    def log_odds(self, link: Link, score: str) -> str:
        """The name of the log-odds of a score."""
        if isinstance(link, Logit):
            return self.add([f"{score} / {_literal(link.scale)}"])[0]
        if isinstance(link, Shifted):
            return self.add([f"{self.log_odds(link.base, score)} - {_literal(link.by)}"])[0]
        if isinstance(link, Recalibrated):
            t = self.log_odds(link.base, score)
            (larger,) = self.add([f"-LN(1e0 + EXP(-ABS({t})))"])
            low = _case(f"{t} >= 0e0", larger, f"{larger} - ABS({t})")
            high = _case(f"{t} >= 0e0", f"{larger} - ABS({t})", larger)
            slopes = _literal(link.low_slope), _literal(link.high_slope)
            return self.add([f"{slopes[0]} * {low} - {slopes[1]} * {high} + {_literal(link.shift)}"])[0]
        if isinstance(link, Interpolated):
            return self.add([_on_lines(self.log_odds(link.base, score), link)])[0]
        return self.table_of(link_table(link), score)

    def table_of(self, table: LinkTable, score: str) -> str:
        """The log-odds of a score by the table of its link: a polynomial in each piece."""
        at, pieces = table.coordinate, table.pieces
        unit, tiny = _literal(at.unit), _literal(np.finfo(float).tiny)

        def beyond(end: str) -> str:
            return _case(f"{end} > {tiny}", end, tiny)

        above = "" if np.isinf(at.low) else beyond(f"({score} - {_literal(at.low)})")
        below = "" if np.isinf(at.high) else beyond(f"({_literal(at.high)} - {score})")
        if above and below:
            s = f"LN({above} / {below})"
        elif above:
            s = f"LN({above} / {unit})"
        elif below:
            s = f"-LN({below} / {unit})"
        else:
            (u,) = self.add([f"({score} - {_literal(at.centre)}) / {unit}"])
            s = f"SIGN({u}) * LN(ABS({u}) + SQRT({u} * {u} + 1e0))"
        n, ends = len(pieces.coefficients), (_literal(pieces.low), _literal(pieces.high))
        (s,) = self.add([s])
        (place,) = self.add(
            [f"({_clipped(s, *ends)} - {ends[0]}) * {_literal(n / (pieces.high - pieces.low))}"]
        )
        values = []
        for k, row in enumerate(pieces.coefficients):
            within, total = f"(2e0 * ({place} - {_literal(k)}) - 1e0)", _literal(row[-1])
            for b in row[-2::-1]:
                total = f"({total} * {within} + {_literal(b)})"
            values.append(total)
        return self.add([_chosen(place, [_literal(k + 1) for k in range(n - 1)], values)])[0]

    # --- the decision -----------------------------------------------------------------------------

    def decision(self, costs: ResolvedCosts, P: list[str], labels: NDArray[Any]) -> str:
        """The name of the decision, as `ResolvedCosts.decide` has it."""
        told = [_literal(label) for label in labels.tolist()]
        if costs.n_classes == 2 and not costs.abstains:
            yes = f"{P[costs.positive]} >= {_literal(float(costs.threshold))}"
            # Without a probability there is no decision.
            no = f"{P[costs.positive]} < {_literal(float(costs.threshold))}"
            return self.add(
                [f"CASE WHEN {yes} THEN {told[costs.positive]} WHEN {no} THEN {told[1 - costs.positive]} END"]
            )[0]
        if costs.plain:
            return self.add([_extreme(P, ">=", told)])[0]
        matrix = np.asarray(costs.matrix)
        expected = self.add(
            _sum([f"{_literal(b)} * {p}" for b, p in zip(column, P, strict=True)]) for column in matrix.T
        )
        return self.add([_extreme(expected[::-1], "<=", told[::-1])])[0]


@dataclass(frozen=True)
class _Forest:
    """Trees as expressions of the columns that they read.

    Databases bound how deep an expression is: subtrees at every so many levels have columns of their own.
    """

    columns: _Columns
    trees: Trees
    names: dict[tuple[int, int], str] = field(default_factory=dict)  # of subtrees that are columns

    def scores(self, query: _Query) -> list[str]:
        """The names of the scores."""
        trees = self.trees
        n_columns, step = trees.values.shape[1], _LEVELS[query.dialect]
        level = trees.roots[:-1].astype(np.int64)
        levels = []
        while len(level):
            levels.append(level)
            level = level[trees.nodes["feature"][level] >= 0]
            level = np.concatenate([trees.nodes["left"][level], trees.nodes["left"][level] + 1]).astype(
                np.int64
            )
        deepest = (len(levels) - 1) // step * step
        for depth in range(deepest, 0, -step):
            nodes = levels[depth]
            inner = nodes[trees.nodes["feature"][nodes] >= 0].tolist()
            keys = [(node, column) for node in inner for column in range(n_columns)]
            if keys:
                self.names.update(zip(keys, query.add([self._node(*key) for key in keys]), strict=True))
        parts: list[list[str]] = [[_literal(b0)] for b0 in trees.start]
        for root, target in zip(trees.roots[:-1].tolist(), trees.targets.tolist(), strict=True):
            for column in range(n_columns):
                parts[target + column].append(self._node(root, column))
        return query.add(map(_sum, parts))

    def _node(self, node: int, column: int) -> str:
        if (node, column) in self.names:
            return self.names[node, column]
        nodes = self.trees.nodes
        feature = int(nodes["feature"][node])
        if feature < 0:
            return _literal(self.trees.values[node, column])
        left, right = (self._node(int(nodes["left"][node]) + side, column) for side in (0, 1))
        return self._split(node, feature, left, right)

    def _split(self, node: int, feature: int, left: str, right: str) -> str:
        trees, x = self.trees, self.columns.expressions[feature]
        which, bins = int(trees.nodes["set"][node]), trees.category_bins[feature]
        threshold = float(trees.nodes["threshold"][node])
        missing_left = bool(trees.nodes["missing_left"][node])
        if bins is None:
            if np.isinf(threshold):
                tests = f"{x} IS NOT NULL", f"{x} IS NULL"
                return _case(tests[0], left, right) if threshold > 0 else _case(tests[1], left, right)
            # What is missing meets no comparison.
            if missing_left:
                return _case(f"{x} > {_literal(threshold)}", right, left)
            return _case(f"{x} <= {_literal(threshold)}", left, right)
        goes = trees.in_set(which, bins) if which >= 0 else bins <= threshold
        known = self.columns.categories[feature] or ()
        sides = [
            ", ".join(c for c, go in zip(known, goes, strict=True) if go == side) for side in (True, False)
        ]
        to_left, to_right = (f"{x} IN ({side})" if side else "0 = 1" for side in sides)
        share = np.nan
        if which >= 0 and trees.unseen_left is not None:
            share = float(trees.unseen_left[node])
        if np.isnan(share):
            return _case(to_right, right, left) if missing_left else _case(to_left, left, right)
        part = f"CASE WHEN {to_left} THEN 1e0 WHEN {to_right} THEN 0e0 ELSE {_literal(share)} END"
        return f"({part} * {left} + (1e0 - {part}) * {right})"


# --- expressions ----------------------------------------------------------------------------------


def _literal(value: Any) -> str:
    """A value as SQL writes it; numbers with an exponent, which makes doubles of them.

    >>> _literal(0.5), _literal("it's"), _literal(True)
    ('0.5e0', "'it''s'", 'TRUE')
    """
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        if not np.isfinite(value):
            raise ValueError("a model whose scores are not finite has no form in SQL")
        text = repr(float(value))
        text = text if "e" in text else f"{text}e0"
        return f"({text})" if text.startswith("-") else text
    return _literal(str(value))


def _category(value: Any) -> str:
    """A category as its column is read: text, or a double."""
    return _literal(value if isinstance(value, str) else float(value))


def _output_names(labels: NDArray[Any]) -> list[str]:
    """Names of the probabilities; by number if labels differ in the case of letters alone."""
    names = [f"p_{label}" for label in labels.tolist()]
    same = len({name.casefold() for name in names}) < len(names)
    return [f"p_{k}" for k in range(len(names))] if same else names


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _case(test: str, then: str, otherwise: str) -> str:
    return f"CASE WHEN {test} THEN {then} ELSE {otherwise} END"


def _clipped(x: str, low: str, high: str) -> str:
    return f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"


def _sum(terms: Sequence[str]) -> str:
    """A sum, in parts: SQLite takes no expression of more than a thousand levels."""
    if len(terms) <= _TERMS:
        return " + ".join(terms)
    parts = [terms[k : k + _TERMS] for k in range(0, len(terms), _TERMS)]
    return _sum([f"({_sum(part)})" for part in parts])


def _extreme(names: list[str], compare: str, results: list[str] | None = None) -> str:
    """The first of the names that is as large, or as small, as all after it; or what stands for it."""
    results = names if results is None else results
    tests = [
        f"WHEN {' AND '.join(f'{name} {compare} {other}' for other in names[k + 1 :])} THEN {results[k]}"
        for k, name in enumerate(names[:-1])
    ]
    return f"CASE {' '.join(tests)} WHEN {names[-1]} IS NOT NULL THEN {results[-1]} END"


def _chosen(x: str, limits: list[str], values: list[str]) -> str:
    """The value of the first limit that x is below, by bisection; the last one if there is none."""
    if not limits:
        return values[0]
    half = len(limits) // 2
    lower, upper = (
        _chosen(x, limits[:half], values[: half + 1]),
        _chosen(x, limits[half + 1 :], values[half + 1 :]),
    )
    return _case(f"{x} < {limits[half]}", lower, upper)


def _on_lines(t: str, link: Interpolated) -> str:
    """Log-odds t on the lines through the link's knots, of slope 1 beyond them."""
    knots, values = list(link.knots), list(link.values)
    slopes = [1.0, *(np.diff(values) / np.diff(knots)), 1.0]
    starts = [0, *range(len(knots))]
    lines = [
        f"({_literal(values[k])} + {_literal(b)} * ({t} - {_literal(knots[k])}))"
        for k, b in zip(starts, slopes, strict=True)
    ]
    return _chosen(t, [_literal(knot) for knot in knots], lines)
