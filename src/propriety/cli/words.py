"""What costs and decisions are, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from propriety.costs import ResolvedCosts
from propriety.tables import TableCosts, TableModel

_WORDS = {
    "fp_cost": "a false alarm costs {}",
    "fn_cost": "a miss {}",
    "tp_benefit": "a hit brings {}",
    "tn_benefit": "a correct negative {}",
}


def has_threshold(costs: ResolvedCosts) -> bool:
    """Whether decisions are one threshold of one probability."""
    return costs.n_classes == 2 and not costs.abstains and not costs.by_row


def deciding(classes: Sequence[str], stated: TableCosts, costs: ResolvedCosts) -> str:
    """How decisions are made.

    >>> deciding(("no", "yes"), TableCosts(), ResolvedCosts.of_mistakes())
    "threshold for 'yes': 0.5 (a false alarm costs 1, a miss 1)"
    """
    if has_threshold(costs):
        said = "from the cost matrix" if stated.matrix is not None else in_words(stated)
        return f"threshold for {classes[-1]!r}: {costs.threshold:.3g} ({said})"
    if costs.by_row:
        low, middle, high = np.quantile(np.minimum(costs.threshold, 1.0), [0.05, 0.5, 0.95])
        spread = f"per row, median {middle:.3g}, 90% within {low:.3g} – {high:.3g}"
        if f"{low:.3g}" == f"{high:.3g}":
            spread = f"{middle:.3g} for almost all rows"
        return f"threshold for {classes[-1]!r}: {spread} ({in_words(stated)})"
    if stated.matrix is None:
        return "decision: the most probable class (every mistake costs 1)"
    rest = ", or abstention where that is cheaper" if costs.abstains else ""
    return f"decision: the class of least expected cost by the cost matrix{rest}"


def in_words(stated: TableCosts) -> str:
    """What mistakes cost and right decisions bring.

    >>> in_words(TableCosts.read({"fn_cost": "amount", "tp_benefit": "2"}, ["amount"]))
    'a false alarm costs 1, a miss amount, a hit brings 2'
    """
    texts = stated.texts
    said = [
        words.format(texts[name])
        for name, words in _WORDS.items()
        if name.endswith("cost") or texts[name] != "0"
    ]
    return ", ".join(said) + ("; the mean of a range is used" if stated.roughly else "")


def stated_by(model: TableModel) -> TableCosts:
    """The costs of a model as they were stated."""
    if model.row_costs is not None:
        return model.row_costs
    return TableCosts.of_parameters(model.estimator.get_params(deep=False), model.target.classes)
