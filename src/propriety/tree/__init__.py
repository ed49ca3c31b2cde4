"""One tree, any entropy.

``classifier`` is what users see; ``settings`` checks what they give, and ``learning`` grows and prunes;
``columns`` bins or ranks the table, ``growing`` has a tree of ``nodes`` grown (:mod:`~propriety.trees`),
``leaves`` are its probabilities, ``pruning`` its subtrees;
``conditions`` puts it in words, ``export`` on paper, ``linearize`` in the form of a linear model;
``state`` is what a file keeps.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from propriety.tree.classifier import TreeClassifier

__all__ = ["TreeClassifier"]


def __getattr__(name: str) -> Any:
    if name != "RuleClassifier":
        raise AttributeError(f"module 'propriety.tree' has no attribute {name!r}")
    warnings.warn(
        "propriety.tree.RuleClassifier is propriety.RuleClassifier now; the old name will go in the next "
        "release",
        FutureWarning,
        stacklevel=2,
    )
    return getattr(import_module("propriety.rules"), name)
