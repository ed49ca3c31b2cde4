"""AutoClassifier in a file: the members as models of their own, the weights, and the judgement."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.auto.judgement import Judgement, Standing
from propriety.auto.members import Member
from propriety.auto.stacking import Stack
from propriety.model import files
from propriety.model.base import ProperClassifier
from propriety.model.numbers_state import read_numbers, write_numbers
from propriety.storage.checks import Arrays, require, take
from propriety.storage.values import decode, encode
from propriety.weights import Estimate

if TYPE_CHECKING:
    from propriety.auto.classifier import AutoClassifier


def write_state(
    members: tuple[Member, ...], stack: Stack, judgement: Judgement
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Everything as plain values and arrays; those of a member have its name before their own."""
    documents, arrays = [], {"weights": stack.weights, "intercept": stack.intercept}
    for member in members:
        document, own = files.pack(member.model)
        terms = None if member.numbers is None else write_numbers(member.numbers)
        documents.append({"name": member.name, "model": document, "numbers": terms})
        arrays |= {f"{member.name}/{name}": array for name, array in own.items()}
    return {"members": documents, "judgement": encode(asdict(judgement), "the judgement")}, arrays


def read_state(
    model: AutoClassifier, state: dict[str, Any], arrays: Arrays
) -> tuple[tuple[Member, ...], Stack, Judgement]:
    """The same again, each part checked."""
    members = []
    for given in take(state, "members", list):
        require(isinstance(given, dict) and set(given) == {"name", "model", "numbers"}, "a member is wrong")
        name = take(given, "name", str)
        own = arrays.under(name)
        inner = files.unpack(given["model"], own)
        own.end()
        require(isinstance(inner, ProperClassifier), f"the member {name[:40]!r} is no estimator")
        require(np.array_equal(inner.classes_, model.classes_), "the members have other classes")
        terms = given["numbers"]
        numbers = None if terms is None else read_numbers(terms, model._schema)
        d = model.n_features_in_ if numbers is None else len(numbers.owners)
        require(inner.n_features_in_ == d, "a member and its columns do not fit")
        same = numbers is not None or inner._schema.categories == model._schema.categories
        require(same, f"the member {name[:40]!r} has other categories")
        members.append(Member(name, inner, numbers))
    n_scores = 1 if len(model.classes_) == 2 else len(model.classes_)
    require(members and len({member.name for member in members}) == len(members), "members have no names")
    weights = arrays.take("weights", "f8", (len(members),), finite=True)
    require(np.all(weights >= 0), "a weight is negative")
    intercept = arrays.take("intercept", "f8", (n_scores,), finite=True)
    return tuple(members), Stack(weights, intercept), _judgement(decode(state.pop("judgement", None)))


def _judgement(given: Any) -> Judgement:
    require(isinstance(given, dict), "it has no judgement")
    model, constant = _standing(given.pop("model", None)), _standing(given.pop("constant", None))
    members, left_out = take(given, "members", (list, tuple)), take(given, "left_out", (list, tuple))
    require(all(isinstance(text, str) for text in left_out), "what was left out has no name")
    price = given.pop("price", None)
    judgement = Judgement(
        model,
        tuple(map(_standing, members)),
        constant,
        _estimate(given.pop("saved", None)),
        float(take(given, "slope", (int, float))),
        take(given, "n_rows", int),
        tuple(left_out),
        None if price is None else _estimate(price),
        tuple(map(_standing, given.pop("ladder", ()))),  # files from before have none
        take(given, "decision", int) if "decision" in given else -1,
    )
    require(not given, "the judgement has more than it should")
    return judgement


def _standing(given: Any) -> Standing:
    require(isinstance(given, dict), "a judgement has no numbers")
    name, cost = take(given, "name", str), _estimate(given.pop("cost", None))
    loss, weight, seconds = (
        float(take(given, key, (int, float))) for key in ("log_loss", "weight", "seconds")
    )
    adds = float(take(given, "adds", (int, float))) if "adds" in given else np.nan  # not in older files
    require(not given, "a judgement has more than it should")
    return Standing(name, cost, loss, weight, seconds, adds)


def _estimate(given: Any) -> Estimate:
    require(isinstance(given, dict) and set(given) == {"value", "low", "high"}, "a number has no interval")
    return Estimate(*(float(take(given, key, (int, float))) for key in ("value", "low", "high")))
