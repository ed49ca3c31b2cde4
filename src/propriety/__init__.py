"""propriety: classifiers for the mistakes that matter.

State what a false alarm and a miss cost, or any proper loss at all, and fit a model to exactly that.

>>> from propriety import losses
>>> losses.Tailored(cost=0.1, focus=20).weight(0.1) > losses.Tailored(cost=0.1, focus=20).weight(0.9)
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from propriety.model.catalogue import ESTIMATORS
from propriety.version import __version__

if TYPE_CHECKING:
    from propriety import algorithms, evaluation, interop, losses, plots
    from propriety.auto import AutoClassifier
    from propriety.boosting import BoostingClassifier
    from propriety.data.costs import Costs
    from propriety.distributed.scan import scan
    from propriety.forest import ForestClassifier
    from propriety.kernel import KernelClassifier
    from propriety.linear import LinearClassifier
    from propriety.losses import links
    from propriety.model.files import load
    from propriety.model.pipelines import register_skl2onnx
    from propriety.model.trusted import TRUSTED
    from propriety.rules import RuleClassifier
    from propriety.scorecard import ScorecardClassifier
    from propriety.study import Study
    from propriety.tree import TreeClassifier
    from propriety.tuning import LossSearchCV, recommend

__all__ = [
    "TRUSTED",
    "AutoClassifier",
    "BoostingClassifier",
    "Costs",
    "ForestClassifier",
    "KernelClassifier",
    "LinearClassifier",
    "LossSearchCV",
    "RuleClassifier",
    "ScorecardClassifier",
    "Study",
    "TreeClassifier",
    "__version__",
    "algorithms",
    "evaluation",
    "interop",
    "links",
    "load",
    "losses",
    "plots",
    "recommend",
    "register_skl2onnx",
    "scan",
]

# Everything is imported when first asked for: SciPy takes half a second, and scikit-learn, which brings in
# pandas, two.
_LATER = {row.name: row.module for row in ESTIMATORS} | {
    "Costs": "propriety.data.costs",
    "LossSearchCV": "propriety.tuning",
    "Study": "propriety.study",
    "algorithms": "propriety.algorithms",
    "evaluation": "propriety.evaluation",
    "interop": "propriety.interop",
    "links": "propriety.losses",
    "load": "propriety.model.files",
    "losses": "propriety.losses",
    "plots": "propriety.plots",
    "recommend": "propriety.tuning",
    "register_skl2onnx": "propriety.model.pipelines",
    "scan": "propriety.distributed.scan",
    "TRUSTED": "propriety.model.trusted",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'propriety' has no attribute {name!r}")
    module = import_module(_LATER[name])
    value = module if _LATER[name] == f"propriety.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
