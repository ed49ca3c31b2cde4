"""The types that a fitted model is made of, by name: what skops must be told to trust."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from propriety import losses
from propriety.losses.value import Value
from propriety.model import catalogue

#: Of the parts of a model that are neither estimators nor losses.
_PARTS = (
    "auto.judgement.Judgement",
    "auto.judgement.Standing",
    "auto.members.Member",
    "auto.stacking.Stack",
    "boosting.curves.Curves",
    "boosting.shapes.Marginals",
    "data.conditions.Interval",
    "data.conditions.Membership",
    "data.numbers.Numbers",
    "data.numbers.Term",
    "data.seen.RowSketch",
    "data.table.Schema",
    "forest.trees.GrownTrees",
    "forest.trees.StoredTrees",
    "forest.votes.GrownForest",
    "kernel.features.Landmarks",
    "model.measure.BinaryMeasure",
    "model.measure.SimplexMeasure",
    "rules.monomials.WeightedRule",
    "rules.rule_lists.BinScorer",
    "rules.rule_lists.RuleList",
    "rules.rule_lists.Unseen",
    "scorecard.columns.BinnedColumn",
    "scorecard.cards.Card",
    "scorecard.cards.PointScale",
    "tree.nodes.Tree",
    "tree.pruning.PruningPath",
    "trees.binning.Binner",
    "trees.predictor.Forest",
    "weights.Estimate",
)


def _values(kind: type[Any]) -> Iterator[type[Any]]:
    """Losses, links and composites of the library; those of a user are for the user to trust."""
    subclasses: list[type[Any]] = kind.__subclasses__()
    for each in subclasses:
        if each.__module__.startswith(f"{losses.__name__}."):
            yield each
        yield from _values(each)


def _names() -> Iterator[str]:
    for row in catalogue.ESTIMATORS:
        yield f"{row.type.__module__}.{row.name}"
    for part in _PARTS:
        yield f"propriety.{part}"
    for kind in _values(Value):
        yield f"{kind.__module__}.{kind.__qualname__}"


#: Names of all types of the library that a fitted estimator may hold.
TRUSTED: list[str] = sorted(set(_names()))
