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
    """By what a decision is made.

    >>> deciding(("no", "yes"), TableCosts(), ResolvedCosts.of_mistakes())
    "decides 'yes' at a probability of 0.5 or more: a false alarm costs 1, a miss 1"
    """
    if has_threshold(costs):
        said = "by the cost matrix" if stated.matrix is not None else in_words(stated)
        return f"decides {classes[-1]!r} at a probability of {costs.threshold:.3g} or more: {said}"
    if costs.by_row:
        low, middle, high = np.quantile(np.minimum(costs.threshold, 1.0), [0.05, 0.5, 0.95])
        spread = f", {middle:.3g} in the middle and {low:.3g} to {high:.3g} for nine in ten"
        if f"{low:.3g}" == f"{high:.3g}":
            spread = f", about {middle:.3g} in almost all"
        return f"decides {classes[-1]!r} at a threshold of each row's own{spread}: {in_words(stated)}"
    if stated.matrix is None:
        return "decides the most probable class: every mistake costs 1"
    rest = ", or abstains where that costs less" if costs.abstains else ""
    return f"decides the class of least expected cost by the cost matrix{rest}"


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
    return ", ".join(said) + (" (ranges stand for their means)" if stated.roughly else "")


def stated_by(model: TableModel) -> TableCosts:
    """The costs of a model as they were stated."""
    if model.row_costs is not None:
        return model.row_costs
    return TableCosts.of_parameters(model.estimator.get_params(deep=False), model.target.classes)
