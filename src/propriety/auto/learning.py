"""From training data to a weighed and judged stack: members in the order of their price, folds shared."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.auto.judgement import Judged, Judgement
from propriety.auto.members import Member
from propriety.auto.settings import AutoSettings
from propriety.auto.stacking import Stack, cross_fitted, fit_stack, on_scale
from propriety.boosting import BoostingClassifier
from propriety.data.folds import fold_numbers
from propriety.data.numbers import Numbers
from propriety.data.training import Training
from propriety.forest import ForestClassifier
from propriety.linear import LinearClassifier
from propriety.rules import RuleClassifier
from propriety.tree import TreeClassifier

Floats = NDArray[np.float64]
#: Rows of a trial that tells how long a member will take, as a share of all.
_TRIAL, _FEW = 0.1, 500


@dataclass(frozen=True, eq=False)
class Learned:
    """What a fit has found."""

    members: tuple[Member, ...]
    stack: Stack
    judgement: Judgement


@dataclass(frozen=True, eq=False)
class Task:
    """The rows to learn from, as the members' own ``fit`` reads them, and their folds."""

    training: Training
    folds: NDArray[np.intp]
    settings: AutoSettings
