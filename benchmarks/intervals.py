"""How often 95% intervals of costs hold the truth where few rows are positive.

Each setting has an expected number of positives among the judged rows, a share of them, how often a model
misses one and alarms falsely, and what a miss costs against a false alarm of 1. Rows are drawn, decisions are
judged, and the intervals are compared with the truth: of the cost, of the share saved of what the cheaper of
always and never costs, of the differences from never, from always and from a second model that agrees on many
rows, and of the cost of a subgroup of a quarter of the rows (``part``). The last settings have costs that
differ by row, log-normal ones. ``normal`` is the coverage of the cost by the normal interval.

    python benchmarks/intervals.py          # some minutes
    python benchmarks/intervals.py --draws 200
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from propriety.costs import ResolvedCosts
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
KINDS = ("cost", "savings", "never", "always", "other", "part", "normal")
_SPREAD = 0.5  # of the logarithms of costs that differ by row


def truths(share, missed, alarmed, fn):
    """Mean costs of a model, of never, of always and of the other model."""
    cost = share * missed * fn + (1 - share) * alarmed
    other = share * 1.5 * missed * fn + (1 - share) * 0.6 * alarmed
    return cost, share * fn, 1 - share, other


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
    found = {name: e.low - 1e-9 <= truth <= e.high + 1e-9 for name, (e, truth) in held.items()}
    values = rows.row_costs(mine)
    return found | {"normal": abs(values.mean() - cost) <= Z95 * weights.standard_error(values)}


def main() -> None:
    """Print the table and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    lines = [
        "# Coverage of 95% intervals",
        "",
        f"In %, over {draws} draws; see `benchmarks/intervals.py`.",
        "",
    ]
    lines += [
        f"| positives | share | missed | alarmed | miss costs | {' | '.join(KINDS)} |",
        "|---" * 12 + "|",
    ]
    worst = dict.fromkeys(KINDS, 100.0)
    for positives in POSITIVES:
        for setting in SETTINGS:
            rng = np.random.default_rng(positives)
            found = [draw(rng, positives, *setting) for _ in range(draws)]
            covered = {}
            for kind in KINDS:
                seen = [one[kind] for one in found if kind in one]
                covered[kind] = 100 * float(np.mean(seen))
                worst[kind] = min(worst[kind], covered[kind])
            *numbers, by_row = setting
            said = [f"{value:g}" for value in (positives, *numbers)]
            said[-1] += " a row" if by_row else ""
            lines.append(f"| {' | '.join([*said, *(f'{covered[kind]:.1f}' for kind in KINDS)])} |")
            print(lines[-1], flush=True)
    lines.append(f"| least | | | | | {' | '.join(f'{worst[kind]:.1f}' for kind in KINDS)} |")
    print(lines[-1])
    Path(__file__).with_name("results").joinpath("intervals.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
