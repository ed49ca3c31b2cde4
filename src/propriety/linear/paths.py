"""The regularization path: one fit for each strength of the penalty, each from the one before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from propriety.aliases import Folds, MatrixLike
from propriety.data.costs import stated_costs
from propriety.data.folds import splits_of
from propriety.data.parameters import choice
from propriety.data.training import NUMBERS, Training
from propriety.linear.classifier import LinearClassifier
from propriety.linear.rows import FittedLoss, LinearRows
from propriety.linear.settings import LinearSettings, loss_to_fit
from propriety.linear.strength import Path, follow, judged
from propriety.separators.linalg import Floats

if TYPE_CHECKING:
    from sklearn.utils import Tags


def path(
    model: LinearClassifier,
    X: MatrixLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    alphas: Any = 100,
    eps: float = 1e-3,
    offset: ArrayLike | None = None,
) -> Path:
    """Fit `model` for a falling sequence of alphas, each fit starting from the one before.

    A loss that is not convex is reached by growing focus at every alpha, so that each point of the path is
    the fit at its alpha, whatever the other alphas.

    Parameters
    ----------
    model : LinearClassifier
        With a smooth solver; its own `alpha` is ignored.
    alphas : int or array, default=100
        The values, or how many: then from the alpha at which all slopes are 0 (for the ridge, a thousand
        times what the lasso would need) down to `eps` times that, evenly in the logarithm.
    offset : array, optional
        As in ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from propriety.linear import LinearClassifier, path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 5))
    >>> y = X[:, 0] + rng.standard_normal(200) > 0
    >>> way = path(LinearClassifier(l1_ratio=1.0), X, y, alphas=20)
    >>> int(np.count_nonzero(way.coefs[0])), int(np.count_nonzero(way.coefs[-1]))
    (0, 5)
    """
    training = _training("path", model, X, y, sample_weight, offset=offset)
    settings, loss = LinearSettings.read(model), loss_to_fit(model, training.costs)
    return follow(LinearRows.of(training, loss), loss, settings, alphas, eps)


def _training(name: str, model: Any, X: Any, y: Any, sample_weight: Any, **given: Any) -> Training:
    """What the model would be fitted to, its costs included."""
    costs = stated_costs(model)
    return Training.read(name, X, y, sample_weight, reads=NUMBERS, costs=costs, **given)


class LinearPath(ClassifierMixin, BaseEstimator):
    """A linear model whose penalty is chosen by cross-validation along the path.

    Parameters
    ----------
    estimator : LinearClassifier, optional
        The model; its `alpha` is what is chosen.
    alphas : int or array, default=100
        Values to try, or how many between the one without slopes and `eps` times it.
    eps : float, default=1e-3
    cv : int, splitter or iterable, default=5
        A number makes that many folds, which follow the content of the rows.
    rule : {"best", "one_se"}, default="best"
        The alpha of least mean loss on held-out rows, or the largest within one standard error of it.

    Attributes
    ----------
    alpha_ : float
    alphas_ : array of shape (m,)
    cv_loss_ : array of shape (folds, m)
        Mean loss of held-out rows, the loss being the one that is fitted.
    path_ : Path
        The path on all rows.
    estimator_ : LinearClassifier
        The model fitted to all rows with `alpha_`.

    Examples
    --------
    >>> import numpy as np
    >>> from propriety.linear import LinearClassifier, LinearPath
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 10))
    >>> y = X[:, 0] + rng.standard_normal(200) > 0
    >>> model = LinearPath(LinearClassifier(l1_ratio=1.0), alphas=20).fit(X, y)
    >>> round(float(model.alphas_[0]), 4), round(model.alpha_, 4)
    (0.3081, 0.0168)
    >>> model.coef_.round(2)
    array([[ 1.82,  0.  ,  0.  ,  0.  , -0.09, -0.4 ,  0.  ,  0.  , -0.12, -0.27]])
    """

    def __init__(
        self,
        estimator: LinearClassifier | None = None,
        *,
        alphas: ArrayLike | int = 100,
        eps: float = 1e-3,
        cv: Folds = 5,
        rule: str = "best",
    ) -> None:
        self.estimator = estimator
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.rule = rule

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose alpha on held-out rows, then fit all rows with it; `groups` go to the splitter `cv`."""
        choice("rule", self.rule, ("best", "one_se"))
        model = clone(self.estimator) if self.estimator is not None else LinearClassifier()
        training = _training("LinearPath", model, X, y, sample_weight, offset=offset, groups=groups)
        settings, loss = LinearSettings.read(model), loss_to_fit(model, training.costs)
        whole = follow(LinearRows.of(training, loss), loss, settings, self.alphas, self.eps)
        cv_loss = np.array(list(self._folds(training, loss, settings, whole.alphas)))
        alpha = float(whole.alphas[_choose(cv_loss, self.rule)])
        model.set_params(alpha=alpha).fit(X, y, sample_weight, offset=offset)
        self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.alpha_, self.alphas_, self.cv_loss_, self.path_ = alpha, whole.alphas, cv_loss, whole
        self.estimator_, self.classes_ = model, model.classes_
        return self

    def _folds(
        self, training: Training, loss: FittedLoss, settings: LinearSettings, alphas: Floats
    ) -> Iterator[Floats]:
        """Mean loss of held-out rows at each alpha, fold by fold."""
        training, splits = splits_of(self.cv, training)
        for train, test in splits:
            held_out, rows = (LinearRows.of(training, loss, part) for part in (test, train))
            if len(held_out.codes) == 0:
                continue
            if len(np.unique(rows.codes)) < rows.n_classes:
                raise ValueError("cv leaves a class without training rows: use fewer or stratified folds")
            yield judged(rows, held_out, loss, settings, alphas)[1]

    def _fitted(self) -> LinearClassifier:
        check_is_fitted(self, "estimator_")
        return self.estimator_

    @property
    def coef_(self) -> Floats:
        """Coefficients at `alpha_`."""
        return self._fitted().coef_

    @property
    def intercept_(self) -> Floats:
        """Intercepts at `alpha_`."""
        return self._fitted().intercept_

    def decision_function(self, X: MatrixLike, *, offset: ArrayLike | None = None) -> Floats:
        """The score F."""
        return self._fitted().decision_function(X, offset=offset)

    def predict_proba(self, X: MatrixLike, *, offset: ArrayLike | None = None) -> Floats:
        """Probabilities of the classes."""
        return self._fitted().predict_proba(X, offset=offset)

    def predict(self, X: MatrixLike, *, offset: ArrayLike | None = None) -> NDArray[Any]:
        """Decisions by the estimator's costs."""
        return self._fitted().predict(X, offset=offset)


def _choose(cv_loss: Floats, rule: str) -> int:
    mean = cv_loss.mean(axis=0)
    best = int(np.argmin(mean))
    if rule == "best" or len(cv_loss) < 2:
        return best
    error = cv_loss[:, best].std(ddof=1) / np.sqrt(len(cv_loss))
    return int(np.flatnonzero(mean <= mean[best] + error)[0])
