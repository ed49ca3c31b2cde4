"""How often 95% intervals of costs hold the truth where few rows are positive.

Each setting has an expected number of positives among the judged rows, a share of them, how often a model
misses one and alarms falsely, and what a miss costs against a false alarm of 1. Rows are drawn, decisions are
judged, and the intervals are compared with the truth: of the cost, of the share saved of what the cheaper of
always and never costs, of the differences from never, from always and from a second model that agrees on many
rows, and of the cost of a subgroup of a quarter of the rows (``part``). ``drawn`` is the cost of rows that
were drawn by class, as many negatives as positives, and weighted to the share. The last setting has costs
that differ by row, log-normal ones. ``normal`` is the coverage of the cost by the normal interval.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from measuring import Column, Options, Part, Table

from propriety.costs import ResolvedCosts
from propriety.evaluation.inputs import at_prevalence
from propriety.evaluation.judging import MODEL, DecisionRule, JudgedRows, judge
from propriety.evaluation.subgroups import subgroups
from propriety.weights import Z95, Weights

POSITIVES = (5, 10, 25, 65, 190)
#: Share of positives, of these missed, of the others alarmed, cost of a miss, whether costs differ by row.
SETTINGS = (
    (0.02, 0.05, 0.05, 50.0, False),
    (0.02, 0.2, 0.02, 50.0, False),
    (0.1, 0.1, 0.05, 9.0, False),
    (0.1, 0.4, 0.02, 30.0, False),
    (0.3, 0.15, 0.1, 3.0, False),
    (0.1, 0.2, 0.05, 9.0, True),
)
KINDS = ("cost", "savings", "never", "always", "other", "part", "drawn", "normal")
_SPREAD = 0.5  # of the logarithms of costs that differ by row


def truths(share, missed, alarmed, fn):
    """Mean costs of a model, of never, of always and of the other model."""
    cost = share * missed * fn + (1 - share) * alarmed
    other = share * 1.5 * missed * fn + (1 - share) * 0.6 * alarmed
    return cost, share * fn, 1 - share, other


def drawn_by_class(rng, positives, share, missed, alarmed, fn, by_row):
    """The cost, estimated from as many negatives as positives."""
    y = np.repeat([0, 1], positives)
    size = rng.lognormal(-(_SPREAD**2) / 2, _SPREAD, len(y)) if by_row else 1.0
    u = rng.random(len(y))
    decided = np.where(y == 1, u >= missed, u < alarmed).astype(np.intp)
    costs, drawn = ResolvedCosts.of_mistakes(1.0 * size, fn * size), Weights(len(y))
    weights = at_prevalence(drawn, y, np.array([1 - share, share]))
    rows = JudgedRows(y, ("no", "yes"), costs, weights, sampled=drawn)
    return rows.cost(rows.row_costs(decided))


def draw(rng, positives, share, missed, alarmed, fn, by_row):
    """What each interval of one draw holds: True, False, or None if there is none."""
    n = round(positives / share)
    y = (rng.random(n) < share).astype(np.intp)
    size = rng.lognormal(-(_SPREAD**2) / 2, _SPREAD, n) if by_row else 1.0
    costs, weights = ResolvedCosts.of_mistakes(1.0 * size, fn * size), Weights(n)

    def decisions(missed, alarmed, u):
        return np.where(y == 1, u >= missed, u < alarmed).astype(np.intp)

    u = rng.random(n)
    again = np.where(rng.random(n) < 0.7, u, rng.random(n))  # the other model agrees on many rows
    mine, theirs = decisions(missed, alarmed, u), decisions(1.5 * missed, 0.6 * alarmed, again)
    rows = JudgedRows(y, ("no", "yes"), costs, weights)
    never, always = (DecisionRule(str(k), MODEL, np.full(n, k)) for k in (0, 1))
    rules = [DecisionRule("model", MODEL, mine), never, always, DecisionRule("other", MODEL, theirs)]
    judged = judge(rows, rules)
    cost, of_never, of_always, of_other = truths(share, missed, alarmed, fn)
    held = {"cost": (judged[0].cost, 1000 * cost)}
    for name, one, truth in zip(KINDS[2:5], judged[1:], (of_never, of_always, of_other), strict=True):
        held[name] = one.dearer, 1000 * (truth - cost)
    # The share saved is of the decision that is cheaper in the sample, as it is printed.
    best = (of_never, of_always)[rows.cheapest[0]]
    if judged[0].savings is not None:
        held["savings"] = judged[0].savings, 1 - cost / best
    quarter = rng.integers(0, 4, n)
    parts = subgroups(y, np.full(n, 0.5), quarter, costs=costs, decided=mine, pos_label=1)
    if len(parts) == 4 and y[quarter == 0].sum() >= 1:
        held["part"] = parts[0].cost, cost
    held["drawn"] = drawn_by_class(rng, positives, share, missed, alarmed, fn, by_row), 1000 * cost
    found = {name: e.low - 1e-9 <= truth <= e.high + 1e-9 for name, (e, truth) in held.items()}
    values = rows.row_costs(mine)
    return found | {"normal": abs(values.mean() - cost) <= Z95 * weights.standard_error(values)}


def coverage(given: Options) -> Iterator[Table]:
    """The share of the draws in which each interval holds the truth."""
    rows, draws, settings = [], given.size(given.draws), SETTINGS[:1] if given.quick else SETTINGS
    for positives in POSITIVES[:1] if given.quick else POSITIVES:
        for setting in settings:
            rng = np.random.default_rng(positives)
            found = [draw(rng, positives, *setting) for _ in range(draws)]
            covered = [100 * float(np.mean([one[kind] for one in found if kind in one])) for kind in KINDS]
            *numbers, by_row = setting
            said = [f"{value:g}" for value in (positives, *numbers)]
            said[-1] += " a row" if by_row else ""
            rows.append([*said, *covered])
    rows.append(["least", *[""] * 4, *(min(column) for column in zip(*(r[5:] for r in rows), strict=True))])
    heads = ("positives", "share", "missed", "alarmed", "miss costs")
    columns = [*heads, *(Column(kind, "%", ".1f") for kind in KINDS)]
    yield Table("coverage", f"Coverage of 95% intervals in %, {draws:,} draws", columns, rows)


def arguments(parser: argparse.ArgumentParser) -> None:
    """How many draws."""
    parser.add_argument("--draws", type=int, default=600)


PART = Part(__doc__, {"coverage": coverage}, arguments=arguments)

if __name__ == "__main__":
    PART.main()
