"""The estimators of the library, one row each; files, command line, report, documentation and checks read it.

It imports none of them: a row names the module, and the class is imported when it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Entry:
    """An estimator.

    Attributes
    ----------
    name : str
        Of the class, and of the model in a file.
    module : str
    key : str
        What the command line calls it: ``--model boosting``.
    title : str
        What it is, in two words.
    """

    name: str
    module: str
    key: str
    title: str

    @property
    def type(self) -> Any:
        """The class."""
        return getattr(import_module(self.module), self.name)


ESTIMATORS = (
    Entry("AutoClassifier", "propriety.auto", "auto", "propriety auto"),
    Entry("BoostingClassifier", "propriety.boosting", "boosting", "propriety boosting"),
    Entry("ForestClassifier", "propriety.forest", "forest", "propriety forest"),
    Entry("LinearClassifier", "propriety.linear", "linear", "propriety linear"),
    Entry("KernelClassifier", "propriety.kernel", "kernel", "propriety kernel"),
    Entry("TreeClassifier", "propriety.tree", "tree", "propriety tree"),
    Entry("RuleClassifier", "propriety.rules", "rules", "propriety rules"),
    Entry("ScorecardClassifier", "propriety.scorecard", "scorecard", "propriety scorecard"),
)
#: What a model file can hold: the estimators, and a model over a table.
SAVED = (*ESTIMATORS, Entry("TableModel", "propriety.tables", "table", "a model over a table"))


def entry(key: str) -> Entry:
    """The estimator that the command line calls so.

    >>> entry("tree").name
    'TreeClassifier'
    """
    return next(row for row in ESTIMATORS if row.key == key)
