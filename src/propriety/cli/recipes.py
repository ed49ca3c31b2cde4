"""The models that the command line can fit: the estimators of the catalogue, and others' if installed."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from propriety import parallel
from propriety.cli.output import UsageError
from propriety.data.costs import Costs
from propriety.data.numbers import Numbers
from propriety.data.table import Rows
from propriety.model.catalogue import ESTIMATORS, Entry
from propriety.model.offsets import OffsetClassifier
from propriety.tuning import LossSearchCV

Floats = NDArray[np.float64]
#: What a model takes: columns and categories; filled and scaled numbers with indicators; or categories as
#: numbers, missing values as NaN.
FRAME, NUMBERS, CODES = "frame", "numbers", "codes"
FEW = 50_000  # rows that are copied to be fitted
_PIECE = 131_072  # rows that are predicted at once
#: The model that is fitted when none is asked for.
AUTO = "auto"


@dataclass(frozen=True)
class Order:
    """What is asked of a model, whatever its rows."""

    loss: Any = None
    seed: int = 0
    jobs: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    search: bool = False
    budget: float | None = None


@dataclass(frozen=True)
class Recipe:
    """How to make one model for an order, parameters that state the costs, and a number of rows."""

    name: str
    title: str
    make: Callable[[Order, dict[str, Any], int], Any]
    reads: str = ""  # as the estimator itself says
    module: str = ""

    @property
    def installed(self) -> bool:
        """Whether its package is there."""
        return not self.module or importlib.util.find_spec(self.module) is not None

    def takes_offset(self, order: Order) -> bool:
        """Whether its score can start from an offset."""
        return not self.reads and isinstance(self.make(order, {}, 1), OffsetClassifier)

    def reads_of(self, estimator: Any) -> str:
        """What the estimator takes."""
        return self.reads or (NUMBERS if estimator.reads_numbers else FRAME)


@dataclass(frozen=True)
class Fitted:
    """A fitted model and how it reads an encoded table."""

    estimator: Any
    recipe: Recipe
    reads: str
    numbers: Numbers | None

    @property
    def model(self) -> Any:
        """The estimator, or what a search has chosen."""
        return self.estimator.best_estimator_ if isinstance(self.estimator, LossSearchCV) else self.estimator

    @property
    def verdict(self) -> str:
        """What a search says of its choice, or a model of itself; or nothing."""
        if isinstance(self.estimator, LossSearchCV):
            return str(self.estimator.verdict_)
        return "" if self.recipe.reads else self.estimator.verdict

    def probabilities(self, frame: Any, offset: Floats | None = None) -> Floats:
        """Of the positive one of two classes, else of every class."""
        if not isinstance(frame, Rows):
            return self._probabilities(frame, offset)
        pieces = [slice(start, start + _PIECE) for start in range(0, len(frame), _PIECE)]
        taken = parallel.in_order(lambda piece: frame[piece].taken(), pieces, 2)  # while others are predicted
        parts = zip(pieces, taken, strict=True)
        return np.concatenate(
            [self._probabilities(part, None if offset is None else offset[piece]) for piece, part in parts]
        )

    def _probabilities(self, frame: Any, offset: Floats | None) -> Floats:
        starting = {} if offset is None else {"offset": offset}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            P = self.estimator.predict_proba(_table(frame, self.reads, self.numbers), **starting)
        return np.asarray(P[:, 1] if P.shape[1] == 2 else P, dtype=np.float64)


@dataclass(frozen=True)
class Arguments:
    """What goes to a fit besides features and labels.

    ``costs`` are parameters of our estimators that state the costs, ``of_rows`` those that differ by row, and
    ``inner`` the splits by which a search judges losses.
    """

    weight: Floats | None = None
    costs: dict[str, Any] = field(default_factory=dict)
    of_rows: dict[str, Any] = field(default_factory=dict)
    groups: NDArray[np.intp] | None = None
    inner: Any = 5
    offset: Floats | None = None


def fit(recipe: Recipe, order: Order, frame: Any, y: NDArray[Any], given: Arguments | None = None) -> Fitted:
    """Fit a model to an encoded table, or to some rows of one."""
    given = Arguments() if given is None else given
    if isinstance(frame, Rows):
        if recipe.name == "boosting" and not order.search and len(frame) > FEW:
            with suppress(UsageError):  # a parameter that needs a table; any other error comes again below
                return _fit(recipe, order, frame, y, given)
        frame = frame.taken()
    return _fit(recipe, order, frame, y, given)


def _fit(recipe: Recipe, order: Order, frame: Any, y: NDArray[Any], given: Arguments) -> Fitted:
    estimator = _made(recipe, order, given, len(y))
    reads = recipe.reads_of(estimator)
    numbers = Numbers.fit(frame, given.weight) if reads == NUMBERS else None
    arguments = _mark_categories(recipe.name, estimator, frame)
    if given.weight is not None:
        arguments["sample_weight"] = given.weight
    if not recipe.reads:  # others' models know no costs: theirs come in by the decisions
        arguments |= {"costs": Costs.of_terms(given.of_rows)} if given.of_rows else {}
    if order.search:
        estimator = LossSearchCV(estimator, "tailored", n_jobs=1, cv=given.inner)
    if given.groups is not None and (order.search or (not recipe.reads and estimator.takes_groups)):
        arguments |= {"groups": given.groups}
    if given.offset is not None:
        arguments |= {"offset": given.offset}
    try:
        estimator.fit(_table(frame, reads, numbers), y.astype(np.int64), **arguments)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{recipe.title} cannot be fitted: {error}") from None
    return Fitted(estimator, recipe, reads, numbers)


def _made(recipe: Recipe, order: Order, given: Arguments, n_rows: int) -> Any:
    """The estimator, with the settings that were asked for."""
    estimator = recipe.make(order, given.costs, n_rows)
    try:
        return estimator.set_params(**order.settings)
    except ValueError as error:
        raise UsageError(f"--set: {error}") from None


def _table(frame: Any, reads: str, numbers: Numbers | None) -> Any:
    if numbers is not None:
        return numbers(frame)
    return frame if reads == FRAME else codes(frame)


def _mark_categories(name: str, estimator: Any, frame: Any) -> dict[str, Any]:
    """Say which codes are categories, each package in its own way; returns what goes to its fit."""
    if name not in ("lightgbm", "xgboost", "hist"):
        return {}
    categorical = [f for f, column in enumerate(frame.columns) if pa.types.is_dictionary(column.type)]
    if name == "lightgbm" and categorical:
        return {"categorical_feature": categorical}
    if name == "xgboost":
        kinds = ["c" if f in categorical else "q" for f in range(frame.num_columns)]
        estimator.set_params(feature_types=kinds)
    if name == "hist" and categorical:
        few = [f for f in categorical if len(frame.column(f).chunk(0).dictionary) <= 255]
        estimator.set_params(categorical_features=few)
    return {}


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


def _of_catalogue(entry: Entry, order: Order, costs: dict[str, Any], n: int) -> Any:
    """An estimator of ours, with the settings that suit a table of n rows."""
    loss = {} if order.loss is None else {"loss": order.loss}
    estimator = entry.type(**costs, **loss, **entry.type.table_settings(n))
    run = {"random_state": order.seed, "n_jobs": order.jobs}
    known = estimator.get_params(deep=False)
    return estimator.set_params(**{name: value for name, value in run.items() if name in known})


# --- others' ------------------------------------------------------------------------------------------


def _logistic(order: Order, costs: dict[str, Any], n: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _hist(order: Order, costs: dict[str, Any], n: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=order.seed)


def _lightgbm(order: Order, costs: dict[str, Any], n: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=order.seed, n_jobs=order.jobs or -1, verbose=-1)


def _xgboost(order: Order, costs: dict[str, Any], n: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=order.seed, n_jobs=order.jobs, enable_categorical=True)


OURS = tuple(Recipe(entry.key, entry.title, partial(_of_catalogue, entry)) for entry in ESTIMATORS)
OTHERS = (
    Recipe("logistic", "logistic regression", _logistic, NUMBERS),
    Recipe("hist", "scikit-learn boosting", _hist, CODES),
    Recipe("lightgbm", "LightGBM", _lightgbm, CODES, "lightgbm"),
    Recipe("xgboost", "XGBoost", _xgboost, CODES, "xgboost"),
)
RECIPES = {recipe.name: recipe for recipe in (*OURS, *OTHERS)}


def check_takes_offset(recipes: Iterable[Recipe], order: Order) -> None:
    """Refuse models whose score cannot start from an offset."""
    for recipe in recipes:
        if not recipe.takes_offset(order):
            able = ", ".join(name for name, other in RECIPES.items() if other.takes_offset(order))
            raise UsageError(f"--offset is for the models {able}, got {recipe.name!r}")


def named(names: Iterable[str]) -> list[Recipe]:
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
