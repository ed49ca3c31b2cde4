"""Our losses in other people's trainers: each a small module over the public ones, imported when asked for.

- ``lightgbm``, ``xgboost`` and ``catboost`` make a loss into what those libraries take as an objective and a
  metric, with the way back to probabilities; `LightGBMProper` and `XGBoostProper` are classifiers on them.
- ``mlflow`` keeps models and logs fits in MLflow.
- ``torch.ProperLoss`` is a loss as a module of PyTorch, ``jax.loss`` as a function for JAX.

>>> from propriety import interop
>>> interop.xgboost("Exponential", base_rate=0.1).probabilities([0.0])
array([0.1])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from propriety.interop.classifiers import LightGBMProper, XGBoostProper
    from propriety.interop.trainers import catboost, lightgbm, xgboost

__all__ = ["LightGBMProper", "XGBoostProper", "catboost", "lightgbm", "xgboost"]

_LATER = {
    "LightGBMProper": "classifiers",
    "XGBoostProper": "classifiers",
    "catboost": "trainers",
    "jax": "jax",
    "lightgbm": "trainers",
    "mlflow": "mlflow",
    "torch": "torch",
    "xgboost": "trainers",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'propriety.interop' has no attribute {name!r}")
    module = import_module(f"propriety.interop.{_LATER[name]}")
    return module if _LATER[name] == name else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
