"""The models that the command line can fit: ours, and others' when they are installed."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from propriety.cli.output import UsageError
from propriety.tables.numbers import Numbers

Floats = NDArray[np.float64]
_EARLY = 2000  # rows from which boosting stops early by a part of them
#: Few rows: smaller steps, shrunken leaves. Chosen by the log loss on nine tables of 155 to 958 rows.
_FEW = {"learning_rate": 0.05, "l2_regularization": 5.0}


@dataclass(frozen=True)
class Order:
    """What is asked of a model."""

    fp_cost: float = 1.0
    fn_cost: float = 1.0
    loss: Any = None
    seed: int = 0
    jobs: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    search: bool = False

    @property
    def threshold(self) -> float:
        """The probability from which the positive class is decided."""
        return self.fp_cost / (self.fp_cost + self.fn_cost)

    @property
    def common(self) -> dict[str, Any]:
        """Parameters of every estimator of ours."""
        loss = {} if self.loss is None else {"loss": self.loss}
        return {"fp_cost": self.fp_cost, "fn_cost": self.fn_cost, **loss}


@dataclass(frozen=True)
class Recipe:
    """How to make one model.

    ``reads`` is what it takes: "frame" (columns and categories), "numbers" (filled, scaled, indicators) or
    "codes" (categories as numbers, missing as NaN).
    """

    name: str
    title: str
    reads: str
    make: Callable[[Order, int], Any]
    module: str = ""
    ours: bool = False

    @property
    def installed(self) -> bool:
        """Whether its package is there."""
        return not self.module or importlib.util.find_spec(self.module) is not None


@dataclass(frozen=True)
class Fitted:
    """A fitted model and how it reads an encoded table."""

    estimator: Any
    recipe: Recipe
    numbers: Numbers | None

    @property
    def model(self) -> Any:
        """The estimator, or what a search has found."""
        return getattr(self.estimator, "best_estimator_", self.estimator)

    @property
    def verdict(self) -> str:
        """What a search says of its choice, or nothing."""
        return str(getattr(self.estimator, "verdict_", ""))

    def probabilities(self, frame: Any) -> Floats:
        """Of the positive class."""
        X = frame if self.recipe.reads == "frame" else self.numbers(frame) if self.numbers else codes(frame)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(self.estimator.predict_proba(X)[:, 1], dtype=np.float64)


def fit(
    recipe: Recipe, order: Order, frame: Any, y: NDArray[np.bool_], weight: Floats | None = None
) -> Fitted:
    """Fit a model to an encoded table."""
    numbers = Numbers.fit(frame) if recipe.reads == "numbers" else None
    X = frame if recipe.reads == "frame" else numbers(frame) if numbers is not None else codes(frame)
    estimator = recipe.make(order, len(y))
    try:
        estimator.set_params(**order.settings)
    except ValueError as error:
        raise UsageError(f"--set: {error}") from None
    extra: dict[str, Any] = {} if weight is None else {"sample_weight": weight}
    categorical = [f for f, column in enumerate(frame.columns) if pa.types.is_dictionary(column.type)]
    if recipe.name == "lightgbm" and categorical:
        extra["categorical_feature"] = categorical
    if recipe.name == "xgboost":
        kinds = ["c" if f in categorical else "q" for f in range(frame.num_columns)]
        estimator.set_params(feature_types=kinds)
    if recipe.name == "hist" and categorical:
        few = [f for f in categorical if len(frame.column(f).chunk(0).dictionary) <= 255]
        estimator.set_params(categorical_features=few)
    if order.search:
        from propriety.tuning import LossSearchCV

        estimator = LossSearchCV(estimator, "tailored", n_jobs=1)
    try:
        estimator.fit(X, y.astype(np.int64), **extra)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{recipe.title} cannot be fitted: {error}") from None
    return Fitted(estimator, recipe, numbers)


def codes(frame: Any) -> Floats:
    """Categories as numbers 0, 1, …, missing as NaN."""
    result = np.empty((frame.num_rows, frame.num_columns))
    for f, column in enumerate(frame.columns):
        if pa.types.is_dictionary(column.type):
            indices = pa.chunked_array([c.indices for c in column.chunks], pa.int32())
            result[:, f] = pc.cast(indices, pa.float64()).to_numpy()
        else:
            result[:, f] = column.to_numpy()
    return result


# --- ours ---------------------------------------------------------------------------------------------


def _boosting(order: Order, n: int) -> Any:
    from propriety.boosting import BoostingClassifier

    many = {"early_stopping": True, "max_iter": 500, "n_iter_no_change": 20}
    extra: dict[str, Any] = many if n >= _EARLY else _FEW
    return BoostingClassifier(**order.common, random_state=order.seed, n_jobs=order.jobs, **extra)


def _linear(order: Order, n: int) -> Any:
    from propriety.linear import LinearClassifier

    return LinearClassifier(**order.common, alpha=1 / n, n_jobs=order.jobs)


def _tree(order: Order, n: int) -> Any:
    from propriety.tree import TreeClassifier

    return TreeClassifier(**order.common, ccp_alpha="one_se", random_state=order.seed, n_jobs=order.jobs)


def _rules(order: Order, n: int) -> Any:
    from propriety.tree import RuleClassifier

    return RuleClassifier(**order.common, n_jobs=order.jobs)


# --- others' ------------------------------------------------------------------------------------------


def _logistic(order: Order, n: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _hist(order: Order, n: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=order.seed)


def _lightgbm(order: Order, n: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=order.seed, n_jobs=order.jobs or -1, verbose=-1)


def _xgboost(order: Order, n: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=order.seed, n_jobs=order.jobs, enable_categorical=True)


RECIPES = {
    r.name: r
    for r in (
        Recipe("linear", "propriety linear", "numbers", _linear, ours=True),
        Recipe("boosting", "propriety boosting", "frame", _boosting, ours=True),
        Recipe("tree", "propriety tree", "frame", _tree, ours=True),
        Recipe("rules", "propriety rules", "frame", _rules, ours=True),
        Recipe("logistic", "logistic regression", "numbers", _logistic),
        Recipe("hist", "scikit-learn boosting", "codes", _hist),
        Recipe("lightgbm", "LightGBM", "codes", _lightgbm, "lightgbm"),
        Recipe("xgboost", "XGBoost", "codes", _xgboost, "xgboost"),
    )
}


def named(names: list[str]) -> list[Recipe]:
    """Recipes by name; a package that is not installed is an error."""
    result = []
    for name in names:
        if name not in RECIPES:
            raise UsageError(f"there is no model {name!r}; the models are {', '.join(RECIPES)}")
        if not RECIPES[name].installed:
            raise UsageError(
                f"the model {name!r} needs the package {RECIPES[name].module}, which is not installed"
            )
        result.append(RECIPES[name])
    return result
