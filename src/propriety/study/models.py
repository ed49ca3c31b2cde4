"""The models that a study can fit: those of the catalogue and of others by name, and any classifier given."""

from __future__ import annotations

import importlib.util
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from propriety import parallel
from propriety.aliases import MatrixLike
from propriety.data.costs import TERMS, Costs, parameters_of
from propriety.data.numbers import Numbers, summed
from propriety.data.table import Rows, Schema
from propriety.errors import ArgumentError
from propriety.model import adapt
from propriety.model.base import Capabilities, ProperClassifier
from propriety.model.catalogue import ESTIMATORS, Entry
from propriety.model.offsets import OffsetClassifier
from propriety.study.columns import with_categories
from propriety.study.inside import inside
from propriety.tuning import LossSearchCV

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame
    from sklearn.base import BaseEstimator

Floats = NDArray[np.float64]
#: What a model takes: columns and categories; filled and scaled numbers with indicators; categories as
#: numbers, missing values as NaN; or the table as it was given.
FRAME, NUMBERS, CODES, GIVEN = "frame", "numbers", "codes", "given"
FEW = 50_000  # rows that are copied to be fitted
_PIECE = 131_072  # rows that are predicted at once
#: The model that is fitted when none is asked for.
AUTO = "auto"


@dataclass(frozen=True)
class FitRequest:
    """What is asked of a model by name, whatever its rows."""

    loss: Any = None
    seed: Any = 0
    jobs: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    search: bool = False


@dataclass(frozen=True)
class ModelSpec:
    """How to make one model for a request, parameters that state the costs, and a number of rows."""

    name: str
    title: str
    make: Callable[[FitRequest, dict[str, Any], int], Any]
    reads: str = ""  # as the estimator itself says
    module: str = ""

    @property
    def installed(self) -> bool:
        """Whether its package is there."""
        return not self.module or importlib.util.find_spec(self.module) is not None

    def takes_offset(self, request: FitRequest) -> bool:
        """Whether its score can start from an offset."""
        if self.reads == GIVEN:
            return "offset" in parameters_of_fit(self.make(request, {}, 1))
        return not self.reads and isinstance(self.make(request, {}, 1), OffsetClassifier)

    def reads_of(self, estimator: BaseEstimator) -> str:
        """What the estimator takes."""
        return self.reads or (NUMBERS if estimator.reads_numbers else FRAME)


@dataclass(frozen=True)
class Reader:
    """What a model that cannot read a table itself makes of it: numbers, or codes of categories."""

    numbers: Numbers | None
    schema: Schema

    @classmethod
    def fit(cls, reads: str, frame: IntoDataFrame, weight: Floats | None) -> Reader | None:
        """Learned from the rows of the fit; None for models that read tables."""
        if reads in (FRAME, GIVEN):
            return None
        numbers = Numbers.fit(frame, weight) if reads == NUMBERS else None
        return cls(numbers, Schema.fit(frame)[0])

    def __call__(self, frame: Any) -> Floats:
        """Numbers for each row.

        >>> import pyarrow as pa
        >>> frame = pa.table({"kind": pa.array(["b", None, "a"]).dictionary_encode(), "x": [1.0, 2.0, 3.0]})
        >>> Reader.fit(CODES, frame, None)(frame).tolist()
        [[1.0, 1.0], [nan, 2.0], [0.0, 3.0]]
        """
        frame = with_categories(frame)
        if self.numbers is not None:
            return self.numbers(frame)
        table = self.schema.read(frame)
        return np.column_stack([table.column(f) for f in range(table.n_features)])

    @property
    def categorical(self) -> list[int]:
        """The places of the categories."""
        return [f for f, known in enumerate(self.schema.categories) if known is not None]


class Prepared:
    """A fitted classifier behind its `Reader`: what a study hands out of a model that reads numbers only."""

    def __init__(self, estimator: BaseEstimator, reader: Reader) -> None:
        self.estimator, self.reader = estimator, reader
        self.classes_ = estimator.classes_

    def predict_proba(self, X: MatrixLike) -> Floats:
        """Probabilities of the classes."""
        return np.asarray(self.estimator.predict_proba(self.reader(X)))

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """Decisions of the classifier."""
        return np.asarray(self.estimator.predict(self.reader(X)))


@dataclass(frozen=True)
class Fitted:
    """A fitted model and how it reads a table; ``classes`` are in the order of a study."""

    estimator: Any
    spec: ModelSpec
    reader: Reader | None
    classes: NDArray[Any]
    factors: Floats | None = None

    def adapted(self, shares: Floats, old: Floats, labels: Sequence[str]) -> Fitted:
        """The same with probabilities for other shares of the classes than in training.

        Our models are adapted themselves; of others the probabilities are, in the study.
        """
        of_classes = zip(self.classes.tolist(), shares.tolist(), labels, strict=True)
        estimator = _adapted(self.estimator, {label: (share, name) for label, share, name in of_classes})
        if estimator is not None:
            return replace(self, estimator=estimator)
        return replace(self, factors=shares / old)

    @property
    def model(self) -> Any:
        """The estimator, or what a search has chosen."""
        return vars(self.estimator).get("best_estimator_", self.estimator)

    @property
    def numbers(self) -> Numbers | None:
        """What the estimator sees in the place of the features, if it reads numbers only."""
        return None if self.reader is None else self.reader.numbers

    @property
    def prepared(self) -> Any:
        """The model for tables as the study was given."""
        return self.model if self.reader is None else Prepared(self.model, self.reader)

    @property
    def verdict(self) -> str:
        """What a search says of its choice, or a model of itself; or nothing."""
        if isinstance(self.estimator, LossSearchCV):
            return str(self.estimator.verdict_)
        return self.estimator.verdict if isinstance(self.estimator, ProperClassifier) else ""

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
        # A search hands nothing on to its best model.
        asked = self.model if starting else self.estimator
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            P = np.asarray(asked.predict_proba(self._read(frame), **starting), dtype=np.float64)
        P = P[:, [self.known.index(label) for label in self.classes.tolist()]]
        if self.factors is not None:
            P = P * self.factors
            P = P / P.sum(axis=1, keepdims=True)
        return P[:, 1] if P.shape[1] == 2 else P

    def decisions(self, frame: IntoDataFrame) -> NDArray[np.intp]:
        """Of ``predict``, as places in the classes: of a classifier without probabilities."""
        frame = frame.taken() if isinstance(frame, Rows) else frame
        labels, known = np.asarray(self.estimator.predict(self._read(frame))).tolist(), self.classes.tolist()
        return np.array([known.index(label) for label in labels], dtype=np.intp)

    @property
    def known(self) -> list[Any]:
        """The classes in the order of the estimator."""
        return list(np.asarray(self.estimator.classes_).tolist())

    @property
    def takes_offset(self) -> bool:
        """Whether it was fitted with an offset, which its scores need."""
        model = inside(self.estimator, None).model
        return isinstance(model, ProperClassifier) and model.needs_offset

    def contributions(self, frame: Any) -> Floats:
        """What each feature adds to the score of each row, the score of no feature last; of our models."""
        parts = inside(self.estimator, None).model.contributions(self._read(frame))
        numbers = self.numbers
        return parts if numbers is None else summed(parts, numbers.owners, frame.shape[1])

    def _read(self, frame: Any) -> Any:
        return frame if self.reader is None else self.reader(frame)


def _adapted(estimator: Any, known: dict[Any, tuple[float, str]]) -> Any:
    """A fitted classifier with our model within it adapted to shares of named classes; None of another."""
    if isinstance(estimator, ProperClassifier):
        shares, names = zip(*(known[label] for label in estimator.classes_.tolist()), strict=True)
        return adapt.adapted(estimator, None, None, np.array(shares), None, None, names)
    within, found = None, copy(estimator)
    if "best_estimator_" in vars(estimator):
        within = found.best_estimator_ = _adapted(estimator.best_estimator_, known)
    elif isinstance(estimator, Pipeline):
        within = _adapted(estimator[-1], known)
        found.steps = [*estimator.steps[:-1], (estimator.steps[-1][0], within)]
    return None if within is None else found


@dataclass(frozen=True)
class Arguments:
    """What goes to a fit besides features and labels.

    ``costs`` are parameters of our estimators that state the costs, ``of_rows`` terms that differ by row,
    ``of_columns`` those that the parameters make of columns of the table, for models that read numbers, and
    ``inner`` the splits by which a search judges losses.
    """

    weight: Floats | None = None
    costs: dict[str, Any] = field(default_factory=dict)
    of_rows: dict[str, Any] = field(default_factory=dict)
    groups: NDArray[np.intp] | None = None
    inner: Any = 5
    offset: Floats | None = None
    of_columns: dict[str, Any] = field(default_factory=dict)

    @property
    def without_columns(self) -> Arguments:
        """The same for a model that reads numbers, in which no column has a name."""
        names = [name for name, known in TERMS.items() if known in self.of_columns]
        costs = self.costs.get("costs") or Costs(
            self.costs["fp_cost"], self.costs["fn_cost"], pos_label=self.costs["pos_label"]
        )
        plain = costs.replace(**{name: getattr(Costs(), name) for name in names})
        return replace(
            self, costs=parameters_of(plain), of_rows=self.of_rows | self.of_columns, of_columns={}
        )


def fit(
    spec: ModelSpec,
    request: FitRequest,
    frame: IntoDataFrame,
    y: NDArray[Any],
    given: Arguments | None = None,
    classes: NDArray[Any] | None = None,
) -> Fitted:
    """Fit a model to a table, or to some rows of one."""
    given = Arguments() if given is None else given
    classes = np.unique(y) if classes is None else classes
    if isinstance(frame, Rows):
        if spec.name == "boosting" and spec.reads != GIVEN and not request.search and len(frame) > FEW:
            with suppress(ArgumentError):  # a parameter that needs a table; other errors come again below
                return _fit(spec, request, frame, y, given, classes)
        frame = frame.taken()
    return _fit(spec, request, frame, y, given, classes)


def _fit(
    spec: ModelSpec,
    request: FitRequest,
    frame: Any,
    y: NDArray[Any],
    given: Arguments,
    classes: NDArray[Any],
) -> Fitted:
    estimator = _made(spec, request, given, len(y))
    reader = Reader.fit(spec.reads_of(estimator), frame, given.weight)
    if reader is not None and given.of_columns:
        given = given.without_columns
        estimator = _made(spec, request, given, len(y))
    arguments = {} if reader is None else _mark_categories(spec.name, estimator, reader)
    if request.search:
        estimator = LossSearchCV(estimator, "tailored", n_jobs=1, cv=given.inner)
    if given.weight is not None:
        arguments[name_of_weights(estimator)] = given.weight
    known = parameters_of_fit(estimator)
    if given.of_rows and "costs" in known:  # others' models know no costs: theirs come in by the decisions
        arguments |= {"costs": Costs.of_terms(given.of_rows)}
    takes_groups = getattr(estimator, "capabilities", Capabilities(groups=True)).groups
    if given.groups is not None and "groups" in known and takes_groups:
        arguments |= {"groups": given.groups}
    if given.offset is not None:
        if "offset" not in known:
            raise ArgumentError("offset", f"cannot be the start of {spec.title}: its fit takes none")
        arguments |= {"offset": given.offset}
    try:
        estimator.fit(frame if reader is None else reader(frame), y, **arguments)
    except (ValueError, TypeError) as error:
        raise ArgumentError("model", f"{spec.title} cannot be fitted: {error}") from error
    fitted = Fitted(estimator, spec, reader, classes)
    if sorted(map(str, fitted.known)) != sorted(map(str, classes.tolist())):
        raise ArgumentError("model", f"{spec.title} has the classes {fitted.known}, not {classes.tolist()}")
    return fitted


def parameters_of_fit(estimator: BaseEstimator) -> Mapping[str, inspect.Parameter]:
    """The names that ``fit`` takes."""
    return inspect.signature(estimator.fit).parameters


def name_of_weights(estimator: BaseEstimator, path: str = "") -> str:
    """What the fit of a classifier, of a pipeline or of a search calls the weights of rows.

    >>> from sklearn.linear_model import LogisticRegression
    >>> name_of_weights(Pipeline([("model", LogisticRegression())]))
    'model__sample_weight'
    """
    known = parameters_of_fit(estimator)
    if "sample_weight" in known:
        return f"{path}sample_weight"
    if isinstance(estimator, Pipeline):
        return name_of_weights(estimator[-1], f"{path}{estimator.steps[-1][0]}__")
    if "estimator" in vars(estimator) and any(p.kind == p.VAR_KEYWORD for p in known.values()):
        return name_of_weights(estimator.estimator, path)  # a search hands them on
    raise ArgumentError(
        "sample_weight", f"cannot be used: the fit of {type(estimator).__name__} takes no weights"
    )


def _made(spec: ModelSpec, request: FitRequest, given: Arguments, n_rows: int) -> Any:
    """The estimator, with the settings that were asked for."""
    estimator = spec.make(request, given.costs, n_rows)
    if spec.reads == GIVEN:
        return estimator
    try:
        return estimator.set_params(**request.settings)
    except ValueError as error:
        raise ArgumentError("settings", f"do not suit {spec.title}: {error}") from None


def _mark_categories(name: str, estimator: Any, reader: Reader) -> dict[str, Any]:
    """Say which codes are categories, each package in its own way; returns what goes to its fit."""
    if name not in ("lightgbm", "xgboost", "hist"):
        return {}
    categories = reader.schema.categories
    if name == "lightgbm" and reader.categorical:
        return {"categorical_feature": reader.categorical}
    if name == "xgboost":
        estimator.set_params(feature_types=["q" if known is None else "c" for known in categories])
    if name == "hist" and reader.categorical:
        few = [f for f, known in enumerate(categories) if known is not None and len(known) <= 255]
        estimator.set_params(categorical_features=few)
    return {}


def _of_catalogue(entry: Entry, request: FitRequest, costs: dict[str, Any], n: int) -> Any:
    """An estimator of ours, with the settings that suit a table of n rows."""
    loss = {} if request.loss is None else {"loss": request.loss}
    estimator = entry.type(**costs, **loss, **entry.type.table_settings(n))
    run = {"random_state": request.seed, "n_jobs": request.jobs}
    known = estimator.get_params(deep=False)
    return estimator.set_params(**{name: value for name, value in run.items() if name in known})


# --- others' ------------------------------------------------------------------------------------------


def _logistic(request: FitRequest, costs: dict[str, Any], n: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _hist(request: FitRequest, costs: dict[str, Any], n: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=request.seed)


def _lightgbm(request: FitRequest, costs: dict[str, Any], n: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=request.seed, n_jobs=request.jobs or -1, verbose=-1)


def _xgboost(request: FitRequest, costs: dict[str, Any], n: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=request.seed, n_jobs=request.jobs, enable_categorical=True)


OURS = tuple(ModelSpec(entry.key, entry.title, partial(_of_catalogue, entry)) for entry in ESTIMATORS)
OTHERS = (
    ModelSpec("logistic", "logistic regression", _logistic, NUMBERS),
    ModelSpec("hist", "scikit-learn boosting", _hist, CODES),
    ModelSpec("lightgbm", "LightGBM", _lightgbm, CODES, "lightgbm"),
    ModelSpec("xgboost", "XGBoost", _xgboost, CODES, "xgboost"),
)
SPECS = {spec.name: spec for spec in (*OURS, *OTHERS)}


def given_spec(estimator: BaseEstimator, title: str) -> ModelSpec:
    """Of a classifier that is given: cloned, and our model within it is told the costs."""

    def make(request: FitRequest, parameters: dict[str, Any], n: int) -> Any:
        made = clone(estimator)
        owner = within(made)
        if parameters and isinstance(owner, ProperClassifier):
            owner.set_params(**parameters)
        return made

    return ModelSpec(title, title, make, GIVEN)


def within(estimator: BaseEstimator) -> Any:
    """The model that a pipeline ends with, or that a search, a calibration or a threshold is put upon.

    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from propriety import LinearClassifier
    >>> within(Pipeline([("all", CalibratedClassifierCV(LinearClassifier()))]))
    LinearClassifier()
    """
    while True:
        if isinstance(estimator, Pipeline):
            estimator = estimator[-1]
        elif "estimator" in vars(estimator) and hasattr(estimator.estimator, "fit"):
            estimator = estimator.estimator
        else:
            return estimator


def named(name: str) -> ModelSpec:
    """A model by its name; a package that is not installed is an error."""
    if name not in SPECS:
        raise ArgumentError("model", f"{name!r} is none of the models {', '.join(SPECS)}")
    if not SPECS[name].installed:
        raise ArgumentError(
            "model", f"{name!r} needs the package {SPECS[name].module}, which is not installed"
        )
    return SPECS[name]


def check_takes_offset(specs: Iterable[ModelSpec], request: FitRequest) -> None:
    """Refuse models whose score cannot start from an offset."""
    for spec in specs:
        if not spec.takes_offset(request):
            able = ", ".join(name for name, other in SPECS.items() if other.takes_offset(request))
            raise ArgumentError("offset", f"is for the models {able}, got {spec.name!r}")
