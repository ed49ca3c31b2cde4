"""Parameters and states in files of 0.1 and 0.2, as they are written now: one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from propriety import losses
from propriety.data.costs import Costs, parameters_of
from propriety.storage.values import decode, encode

#: Terms that an estimator had as parameters of its own, with their defaults.
_TERMS = {
    "tp_benefit": 0.0,
    "tn_benefit": 0.0,
    "cost_matrix": None,
    "abstain_label": "abstain",
    "stakes": False,
}
#: What of boosting is part of ``algorithm``, with the defaults.
_ROUNDS = {
    "weak_learner": "tree",
    "step": "fisher",
    "criterion": "auto",
    "coefficient": "fixed",
    "init": "base_rate",
    "max_intervals": None,
}
#: What boosting no longer has; another fit goes without.
_GONE = ("class_weight", "max_features_tree", "tol", "scoring")


def upgraded(estimator: str, parameters: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """The parameters as this version calls them; what is in the wrong place of the state is changed there.

    >>> given = {"fn_cost": 9.0, "tp_benefit": 1.0, "stakes": False, "min_gain": 0.1}
    >>> now = upgraded("TreeClassifier", given, {})
    >>> now["costs"], now["min_split_gain"]
    (Costs(fn=9, tp_benefit=1), 0.1)
    """
    parameters = dict(parameters)
    for change in UPGRADES.get(estimator, ()):
        change(parameters, state)
    _costs(parameters, state)
    return parameters


def _costs(parameters: dict[str, Any], state: dict[str, Any]) -> None:
    """Benefits, a cost matrix and the like become parts of ``costs``."""
    if not any(name in parameters for name in _TERMS):
        return
    terms = {name: parameters.pop(name, default) for name, default in _TERMS.items()}
    own = {"abstain_label": terms.pop("abstain_label"), "weight_by_stakes": terms.pop("stakes")}
    own["pos_label"] = parameters.pop("pos_label", None)
    short = {name: parameters.pop(name) for name in ("fp_cost", "fn_cost") if name in parameters}
    parameters |= parameters_of(Costs.of_terms(terms | short, **own))


def _split_gain(parameters: dict[str, Any], state: dict[str, Any]) -> None:
    """The name of 0.1, which 0.2 had beside the new one."""
    given = parameters.pop("min_gain", "deprecated")
    if given != "deprecated":
        parameters["min_split_gain"] = given


def _algorithm(parameters: dict[str, Any], state: dict[str, Any]) -> None:
    """How rounds are taken becomes ``algorithm``."""
    sequential = parameters.get("multiclass") == "sequential"
    if not sequential and not any(name in parameters for name in _ROUNDS):
        return
    rounds = {name: parameters.pop(name, default) for name, default in _ROUNDS.items()}
    if sequential:
        parameters["multiclass"] = "auto"
    if sequential or rounds != _ROUNDS:
        stated = {name: encode(value, name) for name, value in rounds.items()}
        stated["sequential"] = sequential
        parameters["algorithm"] = decode({"value": "Algorithm", "parameters": stated})


def _gain(parameters: dict[str, Any], state: dict[str, Any]) -> None:
    """A gain, be it chosen by the fit, becomes part of the loss."""
    chosen, gain = state.pop("gain", None), parameters.pop("gain", None)
    gain = chosen if gain == "cv" else gain
    if gain is None:
        return
    loss = parameters.get("loss", "auto")
    loss = losses.Log() if isinstance(loss, str) and loss == "auto" else loss
    parameters["loss"] = losses.as_composite(loss, parameters.pop("link", None)).shrunk(gain)


def _class_weight(parameters: dict[str, Any], state: dict[str, Any]) -> None:
    """Probabilities were divided by the weights of classes if that was asked for."""
    if not parameters.pop("correct_class_weight", True):
        state["divided"] = False
    for name in _GONE:
        parameters.pop(name, None)


def _solver(parameters: dict[str, Any], state: dict[str, Any]) -> None:
    """What one solver reads becomes part of it."""
    own = {"uls": ("Uls", "features", "one"), "norm": ("Norm", "p", 2.0)}
    for solver, (value, name, default) in own.items():
        given = parameters.pop(name, default)
        if parameters.get("solver") == solver and given != default:
            parameters["solver"] = decode({"value": value, "parameters": {name: given}})


#: What has changed, by estimator; costs have for all.
UPGRADES: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], None], ...]] = {
    "BoostingClassifier": (_split_gain, _algorithm, _gain, _class_weight),
    "LinearClassifier": (_solver,),
    "TreeClassifier": (_split_gain,),
}
