"""What parameters of releases 0.1 and 0.2 are called now."""

from __future__ import annotations

from typing import Any

from propriety.data.costs import Costs, parameters_of

#: Terms that an estimator had as parameters of its own, with their defaults.
_TERMS_OF_0_2 = {
    "tp_benefit": 0.0,
    "tn_benefit": 0.0,
    "cost_matrix": None,
    "abstain_label": "abstain",
    "stakes": False,
}


def with_costs(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters in which benefits, a cost matrix and the like are parts of ``costs``.

    >>> with_costs({"fn_cost": 9.0, "tp_benefit": 1.0, "stakes": False, "alpha": 0.1})
    {'alpha': 0.1, 'costs': Costs(fn=9, tp_benefit=1), 'fp_cost': 1.0, 'fn_cost': 1.0, 'pos_label': None}
    """
    if not any(name in parameters for name in _TERMS_OF_0_2):
        return parameters
    rest = dict(parameters)
    terms = {name: rest.pop(name, default) for name, default in _TERMS_OF_0_2.items()}
    own = {"abstain_label": terms.pop("abstain_label"), "weight_by_stakes": terms.pop("stakes")}
    own["pos_label"] = rest.pop("pos_label", None)
    short = {name: rest.pop(name) for name in ("fp_cost", "fn_cost") if name in rest}
    return rest | parameters_of(Costs.of_terms(terms | short, **own))
