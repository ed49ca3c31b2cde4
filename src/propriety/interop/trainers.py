"""A proper loss as LightGBM, XGBoost and CatBoost take it: objective, metric, and the way to probabilities.

What goes wrong with a custom objective there is settled here, once, for all of them:

- *The start.* Only for their own objectives do they begin at the base rate. Here the start is added inside
  the objective and the metric, so that every raw score is a difference from it, whatever the trainer thinks
  its first score is, and nothing has to be passed along to new rows.
- *The scale.* Their ``min_child_weight``, ``reg_lambda`` and the like are amounts of curvature, of which a
  row of a steep loss has a hundred times more, or less, than a row of the log loss. Gradient and curvature
  are divided by the curvature of a row at the start, so that these parameters count rows.
- *The curvature* is Fisher's, which is never negative.
- *The link.* They return raw scores for a custom objective; `TrainerLoss.probabilities` knows the link.
- *Weights* are not applied to custom derivatives by the libraries; here they are.
- *The metric* is divided by the loss of the base rate, because XGBoost rounds metrics to six decimals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import losses
from propriety.cached_properties import cached_property
from propriety.losses.value import number
from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.losses import Composite, Loss
    from propriety.losses.registry import LinkLike

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TrainerLoss:
    """A loss of two classes for a trainer whose raw scores begin at zero.

    Attributes
    ----------
    loss : Composite
        The loss with its link.
    base_rate : float
        The share of class 1 among the training rows, by weight: where the fit starts.
    """

    loss: losses.Composite
    base_rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_rate", number("base_rate", self.base_rate, 0, 1))

    @cached_property
    def start(self) -> float:
        """The score of the base rate, which the raw scores of the trainer are measured from."""
        return float(self.loss.link(self.base_rate))

    @cached_property
    def scale(self) -> float:
        """The curvature of a row at the start, which gradient and curvature are divided by."""
        return float(self.loss.fisher(self.start))

    def derivatives(
        self, y: ArrayLike, raw: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Floats, Floats]:
        """Gradient and Fisher curvature at raw scores, in units of the curvature of a row at the start.

        >>> lightgbm("Exponential", base_rate=0.5).derivatives([0.0, 1.0], [0.0, 0.0])
        (array([ 1., -1.]), array([1., 1.]))
        """
        gradient, curvature = self.loss.derivatives(_floats(y), self.scores(raw))
        weight = 1.0 if sample_weight is None else _floats(sample_weight)
        return gradient * (weight / self.scale), curvature * (weight / self.scale)

    def mean(self, y: ArrayLike, raw: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The mean loss of raw scores, relative to that of the base rate: XGBoost keeps six decimals of it.

        >>> lightgbm("Exponential", base_rate=0.5).mean([0.0, 1.0], [0.0, 0.0])
        1.0
        """
        values = self.loss.values(_floats(y), self.scores(raw)) / self.loss.loss.entropy(self.base_rate)
        return float(Weights.read(sample_weight, len(values)).mean(values))

    def scores(self, raw: ArrayLike) -> Floats:
        """Scores of the loss from raw scores of the trainer."""
        return self.start + _floats(raw)

    def probabilities(self, raw: ArrayLike) -> Floats:
        """Probabilities of class 1 from raw scores of the trainer."""
        return np.asarray(self.loss.inverse(self.scores(raw)))


class _PairLoss(TrainerLoss):
    def objective(
        self, first: ArrayLike, second: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Floats, Floats]:
        """Gradient and curvature, called as the library's ``train`` or its classifier calls an objective."""
        return self.derivatives(*_rows(first, second, sample_weight))


class LightGBMLoss(_PairLoss):
    """A loss for LightGBM; made by `lightgbm`."""

    def metric(
        self, first: ArrayLike, second: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[str, float, bool]:
        """Name and relative mean loss, and that less is better: for ``feval=`` and ``eval_metric=``."""
        return repr(self.loss.loss), self.mean(*_rows(first, second, sample_weight)), False


class XGBoostLoss(_PairLoss):
    """A loss for XGBoost; made by `xgboost`."""

    def metric(self, first: ArrayLike, second: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:
        """The relative mean loss: for ``custom_metric=``, which takes its name too, and ``eval_metric=``."""
        mean = self.mean(*_rows(first, second, sample_weight))
        return (repr(self.loss.loss), mean) if hasattr(second, "get_label") else mean


class CatBoostLoss(TrainerLoss):
    """A loss for CatBoost, both its ``loss_function=`` and its ``eval_metric=``; made by `catboost`."""

    @property
    def objective(self) -> CatBoostLoss:
        """Itself: CatBoost asks an object for derivatives."""
        return self

    @property
    def metric(self) -> CatBoostLoss:
        """Itself: CatBoost asks an object for its mean."""
        return self

    def calc_ders_range(self, approxes: ArrayLike, targets: ArrayLike, weights: ArrayLike) -> Any:
        """First and second derivatives of what CatBoost makes large: the negative loss."""
        gradient, curvature = self.derivatives(targets, approxes, weights)
        return np.column_stack((-gradient, -curvature))

    def evaluate(self, approxes: Any, target: Any, weight: ArrayLike) -> tuple[float, float]:
        """The sums of the losses, relative as in `mean`, and of the weights."""
        weights = np.ones(len(target)) if weight is None else _floats(weight)
        return self.mean(target, approxes[0], weights) * float(weights.sum()), float(weights.sum())

    def get_final_error(self, error: float, weight: float) -> float:
        """The mean."""
        return error / weight

    def is_max_optimal(self) -> bool:
        """A loss: less is better."""
        return False


def lightgbm(loss: Loss | Composite | str, base_rate: float, *, link: LinkLike | None = None) -> LightGBMLoss:
    """A proper loss as an objective and a metric of LightGBM.

    Parameters
    ----------
    loss : loss, composite or str
    base_rate : float
        The share of class 1 among the training rows, by weight.
    link : link or str, optional
        Another link than the loss's own.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from propriety import interop
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> y = (X[:, 0] > 1).astype(float)
    >>> ours = interop.lightgbm("Tailored(0.1, 20)", base_rate=y.mean())
    >>> parameters = {"objective": ours.objective, "verbose": -1}
    >>> booster = lgb.train(parameters, lgb.Dataset(X, y), num_boost_round=50)
    >>> p = ours.probabilities(booster.predict(X, raw_score=True))
    >>> bool(p[y == 1].mean() > 0.8)
    True
    """
    return LightGBMLoss(losses.as_composite(loss, link), base_rate)


def xgboost(loss: Loss | Composite | str, base_rate: float, *, link: LinkLike | None = None) -> XGBoostLoss:
    """A proper loss as an objective and a metric of XGBoost; the parameters are those of `lightgbm`.

    Its raw scores are those of ``output_margin=True``. Any ``base_score`` is harmless.

    >>> ours = xgboost("Log", base_rate=0.5)
    >>> ours.start, ours.scale
    (0.0, 0.25)
    """
    return XGBoostLoss(losses.as_composite(loss, link), base_rate)


def catboost(loss: Loss | Composite | str, base_rate: float, *, link: LinkLike | None = None) -> CatBoostLoss:
    """A proper loss as an objective and a metric of CatBoost; the parameters are those of `lightgbm`.

    Its raw scores are those of ``prediction_type="RawFormulaVal"``.

    >>> catboost("Log", base_rate=0.5).calc_ders_range([0.0], [1.0], None)
    array([[ 2., -1.]])
    """
    return CatBoostLoss(losses.as_composite(loss, link), base_rate)


def _rows(first: Any, second: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Labels, raw scores and weights: given as such, or raw scores and the set of data that has the rest."""
    if not hasattr(second, "get_label"):
        return first, second, sample_weight
    weight = second.get_weight()
    return second.get_label(), first, weight if weight is not None and len(weight) else None


def _floats(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)
