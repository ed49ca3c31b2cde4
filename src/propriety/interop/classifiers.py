"""LightGBM's and XGBoost's classifiers with a proper loss, its probabilities, and decisions by costs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from propriety.aliases import CostTerm, Label, MatrixLike
from propriety.data.costs import stated_costs
from propriety.interop import trainers
from propriety.model.pages import Documented
from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike
    from propriety.losses import Composite, Loss
    from propriety.losses.registry import LinkLike

Floats = NDArray[np.float64]


class TrainerClassifier(Documented, ClassifierMixin, BaseEstimator):
    """Another library's classifier, fitted to a proper loss of two classes.

    Subclasses name the library and say how its classifier takes an objective and gives raw scores.
    """

    #: Makes the loss into what the library takes.
    _trainer: ClassVar[Any]
    _page_module: ClassVar[str] = "propriety.interop"

    def __init__(
        self,
        loss: Loss | Composite | str = "Log",
        *,
        link: LinkLike | None = None,
        costs: CostsLike | None = None,
        fp_cost: CostTerm = 1.0,
        fn_cost: CostTerm = 1.0,
        pos_label: Label | None = None,
        estimator: BaseEstimator | None = None,
    ) -> None:
        self.loss = loss
        self.link = link
        self.costs = costs
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost
        self.pos_label = pos_label
        self.estimator = estimator

    @abstractmethod
    def _default_estimator(self) -> Any:
        """The library's classifier, as it comes."""

    @abstractmethod
    def _fit(self, X: Any, y: NDArray[Any], sample_weight: Any, **fit_params: Any) -> Any:
        """A clone of the library's classifier, fitted to labels 0 and 1 with ``self.trainer_``."""

    @abstractmethod
    def _raw(self, X: Any) -> Floats:
        """Raw scores of the library's classifier."""

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: Sequence[tuple[MatrixLike, ArrayLike]] | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the library's classifier to the loss.

        Parameters
        ----------
        X : whatever the library takes
        y : array of shape (n,)
            Labels of two classes.
        sample_weight : array of shape (n,), optional
        eval_set : list of pairs (X, y), optional
            Rows on which the mean of the loss is followed, for early stopping.
        **fit_params
            For ``fit`` of the library's classifier.
        """
        labels = np.asarray(y)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(
                f"{type(self).__name__} needs labels of two classes, got {len(self.classes_)}: "
                f"{', '.join(map(repr, self.classes_[:5].tolist()))}; for more, use BoostingClassifier"
            )
        stated_costs(self).resolve(self.classes_)
        shares = Weights.read(sample_weight, len(codes)).by_class(codes, 2)
        self.trainer_ = type(self)._trainer(self.loss, float(shares[1] / shares.sum()), link=self.link)
        if eval_set is not None:
            fit_params["eval_set"] = [(rows, self._codes(of_rows)) for rows, of_rows in eval_set]
        self.estimator_ = self._fit(X, codes, sample_weight, **fit_params)
        self.loss_ = self.trainer_.loss
        self.n_features_in_ = self.estimator_.n_features_in_
        return self

    def _codes(self, y: Any) -> NDArray[Any]:
        unknown = sorted(set(np.unique(y).tolist()) - set(self.classes_.tolist()))
        if unknown:
            raise ValueError(f"eval_set has labels that y has not: {unknown}")
        return np.searchsorted(self.classes_, np.asarray(y))

    def _made(self) -> Any:
        return self._default_estimator() if self.estimator is None else clone(self.estimator)

    def decision_function(self, X: MatrixLike) -> Floats:
        """The score F of ``classes_[1]``."""
        check_is_fitted(self)
        return self.trainer_.scores(self._raw(X))

    def predict_proba(self, X: MatrixLike) -> Floats:
        """Probabilities of the two classes, through the link of the loss."""
        check_is_fitted(self)
        p = self.trainer_.probabilities(self._raw(X))
        return np.column_stack((1 - p, p))

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """Decide by the stated costs, as every classifier of this library does."""
        probabilities = self.predict_proba(X)
        return self.classes_[stated_costs(self).resolve(self.classes_, X).decide(probabilities)]


class LightGBMProper(TrainerClassifier):
    """LightGBM's classifier, fitted to a proper loss of two classes.

    Parameters
    ----------
    loss : loss, composite or str
    link : link or str, optional
    costs : Costs, optional
        What mistakes cost and right decisions bring, which ``predict`` follows.
    fp_cost, fn_cost : float
        The short form of it: cost of a false alarm and of a miss.
    pos_label : label, optional
        The class whose miss costs ``fn_cost``; by default ``classes_[1]``.
    estimator : LGBMClassifier, optional
        What is fitted, with its own parameters (``device_type="gpu"``, ``n_estimators``, …); its objective
        is replaced.

    Attributes
    ----------
    trainer_ : LightGBMLoss
        The loss as LightGBM takes it; see `propriety.interop.lightgbm`.
    estimator_ : LGBMClassifier
        The fitted classifier, whose own ``predict_proba`` knows no link.

    Examples
    --------
    >>> import numpy as np
    >>> from lightgbm import LGBMClassifier
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> y = X[:, 0] > 1
    >>> inner = LGBMClassifier(n_estimators=50, verbose=-1)
    >>> model = LightGBMProper("Tailored(0.1, 20)", fn_cost=9, estimator=inner).fit(X, y)
    >>> bool(np.mean(model.predict(X) == y) > 0.95)
    True
    """

    _trainer = staticmethod(trainers.lightgbm)

    def _default_estimator(self) -> Any:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(verbose=-1)

    def _fit(self, X: Any, y: NDArray[Any], sample_weight: Any, **fit_params: Any) -> Any:
        estimator = self._made().set_params(objective=self.trainer_.objective)
        followed = fit_params.pop("eval_set", None)
        if followed is not None:
            if "eval_metric" not in fit_params and "metric" not in estimator.get_params():
                # Else it would stop by its own log loss too, of raw scores.
                estimator.set_params(metric="None")
                fit_params["eval_metric"] = self.trainer_.metric
            if "eval_X" in signature(estimator.fit).parameters:  # since 4.7, which warns of eval_set
                fit_params["eval_X"], fit_params["eval_y"] = zip(*followed, strict=True)
            else:
                fit_params["eval_set"] = followed
        return estimator.fit(X, y, sample_weight=sample_weight, **fit_params)

    def _raw(self, X: Any) -> Floats:
        return np.asarray(self.estimator_.predict(X, raw_score=True), dtype=np.float64)


class XGBoostProper(TrainerClassifier):
    """XGBoost's classifier, fitted to a proper loss of two classes; the parameters are `LightGBMProper`'s.

    Parameters
    ----------
    loss : loss, composite or str
    link : link or str, optional
    costs : Costs, optional
        What mistakes cost and right decisions bring, which ``predict`` follows.
    fp_cost, fn_cost : float
        The short form of it: cost of a false alarm and of a miss.
    pos_label : label, optional
        The class whose miss costs ``fn_cost``; by default ``classes_[1]``.
    estimator : XGBClassifier, optional
        What is fitted, with its own parameters (``device="cuda"``, ``n_estimators``, …); its objective is
        replaced.

    Attributes
    ----------
    trainer_ : XGBoostLoss
        The loss as XGBoost takes it; see `propriety.interop.xgboost`.
    estimator_ : XGBClassifier
        The fitted classifier, whose own ``predict_proba`` knows no link.
    """

    _trainer = staticmethod(trainers.xgboost)

    def _default_estimator(self) -> Any:
        from xgboost import XGBClassifier

        return XGBClassifier()

    def _fit(self, X: Any, y: NDArray[Any], sample_weight: Any, **fit_params: Any) -> Any:
        # XGBoost takes a custom objective's first score for a probability: one half is a raw score of zero.
        estimator = self._made().set_params(objective=self.trainer_.objective, base_score=0.5)
        if estimator.eval_metric is None:
            estimator.set_params(eval_metric=self.trainer_.metric, disable_default_eval_metric=True)
        return estimator.fit(X, y, sample_weight=sample_weight, **{"verbose": False, **fit_params})

    def _raw(self, X: Any) -> Floats:
        return np.asarray(self.estimator_.predict(X, output_margin=True), dtype=np.float64)
