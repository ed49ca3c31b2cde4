"""Studies of ready scores with everything that a page may say of them."""

import numpy as np
import pandas as pd

from propriety import Costs
from propriety.study import Study
from propriety.study.columns import TableFacts
from propriety.study.splitting import Role, Split

_TERMS = ("fp_cost", "fn_cost", "tp_benefit", "tn_benefit", "cost_matrix")
_FACTS = ("target", "columns", "left_out", "notes", "warnings", "about", "places", "command")
_TOLD = ("loss", "chosen", "importance", "effects", "stated")


def page_of(
    y, p, *, positive="1", negative="0", classes=(), features=None, order=None, time="", per=None, **facts
):
    """A study; what a fitted model would tell is told here."""
    terms = {name: facts.pop(name) for name in _TERMS if name in facts}
    about = {name: facts.pop(name) for name in _FACTS if name in facts}
    told = {name: facts.pop(name) for name in _TOLD if name in facts}
    flips, parts = facts.pop("flips", None), facts.pop("parts", None)
    kind = type("Told", (Study,), told)
    if flips is not None:
        kind.counterfactuals = lambda self: flips
    k = 2 if np.ndim(p) == 1 else np.shape(p)[1]
    study = kind.from_predictions(
        np.asarray(y).astype(int),
        p,
        None if features is None else pd.DataFrame(features),
        costs=Costs.of_terms(terms, rows=any(isinstance(v, list) for v in terms.values())),
        classes=np.arange(k),
        class_names=tuple(classes) or ((negative, positive) if k == 2 else None),
        time=None if order is None else Role(time, np.asarray(order).astype(float)),
        cases=per,
        **facts,
    )
    study.facts = TableFacts(**about)
    if parts is not None:
        study.split = Split(
            [(np.empty(0, int), np.flatnonzero(parts == part)) for part in np.unique(parts)], ""
        )
        for cached in ("rows", "judging"):
            study.__dict__.pop(cached, None)
    return study


def warnings_of(study):
    """The warnings as sentences."""
    return [finding.text for finding in study.warnings]
