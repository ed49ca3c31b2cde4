"""Bias and variance of a learner by any proper loss. [B §21]

Over training sets, the fitted probability q of a row scatters around its generalized mean η_m, the
probability of the mean canonical score, F(η_m) = E F(q). Then, exactly,

    E B(η | q) = B(η | η_m) + E B(η_m | q):    regret = bias + variance.

Labels are certainties, B(y | q) = ℓ(y, q), so with labels in place of the unknown η the same identity
splits the mean loss into the loss of η_m, which is bias and noise together, and the variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from propriety import losses
from propriety.aliases import MatrixLike, RandomState
from propriety.evaluation import inputs
from propriety.evaluation.condensing import refuse_collections
from propriety.evaluation.inputs import Array
from propriety.evaluation.scores import as_loss, class_index
from propriety.losses.value import number

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from propriety.losses.registry import LossLike


@dataclass(frozen=True, eq=False)
class BiasVariance:
    """Mean loss over repeated fits as noise + bias + variance; `bias_variance` makes it.

    Attributes
    ----------
    total : float
        Mean loss over fits and rows.
    noise : float or None
        Mean entropy of the true probabilities; None if they are not known.
    bias : float
        What the generalized mean of the fits loses; it includes the noise if the truth is not known.
    variance : float
        Mean divergence of the fits from their generalized mean.
    mean : array of shape (n_test,)
        η_m of every row.
    biases, variances : arrays of shape (n_test,)
        The parts of every row.
    probabilities : array of shape (n_repeats, n_test)
        The fits.
    """

    total: float
    noise: float | None
    bias: float
    variance: float
    mean: Array
    biases: Array
    variances: Array
    probabilities: Array

    def __str__(self) -> str:
        noise = "" if self.noise is None else f"{self.noise:.4g} noise + "
        bias = "bias" if self.noise is not None else "bias and noise"
        return f"{self.total:.4g} = {noise}{self.bias:.4g} {bias} + {self.variance:.4g} variance"


def decompose_fits(
    probabilities: ArrayLike,
    target: ArrayLike,
    loss: LossLike = "Log()",
    *,
    known: bool = False,
    sample_weight: ArrayLike | None = None,
    clip: float = 0.0,
) -> BiasVariance:
    """Bias and variance of probabilities of shape (fits, rows) about labels, or about the truth if `known`.

    >>> print(decompose_fits([[0.2, 0.9], [0.4, 0.7]], [0, 1], "Squared"))
    0.075 = 0.065 bias and noise + 0.01 variance
    """
    loss = as_loss(loss)
    if not isinstance(loss, losses.SmoothLoss):
        raise TypeError(
            f"{loss!r} has no canonical link, so there is no generalized mean of fits; use a smooth loss "
            "about the same cost, such as Tailored(cost, focus)"
        )
    clip = number("clip", clip, 0, 0.5, "left")
    refuse_collections(probabilities=probabilities)
    q = np.clip(np.atleast_2d(np.asarray(probabilities, dtype=np.float64)), clip, 1 - clip)
    eta = inputs.probabilities(target, "target")
    inputs.same_length(target=eta, probabilities=q.T)
    weight = inputs.weights(sample_weight, len(eta))
    link = loss.canonical_link
    with np.errstate(invalid="ignore", divide="ignore"):
        F = np.asarray(link.link(q))
    if not np.all(np.isfinite(F)):
        raise ValueError(
            f"some fits are certain (probability 0 or 1), where the canonical score of {loss!r} is infinite "
            "and has no mean; give clip, for example clip=1e-6"
        )
    mean = np.asarray(link.inverse(F.mean(axis=0)))
    variances = np.mean(loss.regret(np.broadcast_to(mean, q.shape), q), axis=0)
    biases = np.asarray(loss.regret(eta, mean) if known else loss.loss(eta, mean))
    total = inputs.mean(np.mean(loss.loss(np.broadcast_to(eta, q.shape), q), axis=0), weight)
    noise = inputs.mean(np.asarray(loss.entropy(eta)), weight) if known else None
    bias, variance = inputs.mean(biases, weight), inputs.mean(variances, weight)
    return BiasVariance(total, noise, bias, variance, mean, biases, variances, q)


def bias_variance(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    loss: LossLike = "Log()",
    *,
    eta: ArrayLike | None = None,
    X_test: MatrixLike | None = None,
    y_test: ArrayLike | None = None,
    n_repeats: int = 20,
    train_size: float = 1.0,
    replace: bool = True,
    test_size: float = 0.3,
    clip: float = 0.0,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> BiasVariance:
    """Fit again and again, and split the mean loss on test rows into bias (with noise) and variance. [B §21]

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        Cloned for every fit.
    X, y : table and labels of two classes
    loss : loss, composite or str
        A smooth loss.
    eta : array, optional
        True probabilities of class 1, of the rows of X or, if X_test is given, of those of X_test. With them,
        noise and bias are told apart.
    X_test, y_test : optional
        Rows to judge on; by default a share of X, drawn once. With `eta`, `y_test` is not needed.
    n_repeats : int
        Number of fits.
    train_size : float
        Rows of each training sample, as a share of the rows that are not for testing.
    replace : bool
        Draw training samples with replacement (bootstrap). Without it, `train_size` must be below 1.
    test_size : float
        Share of X to judge on, if X_test is not given.
    clip : float
        Fitted probabilities are kept within [clip, 1 − clip]; learners that state certainties need it.
    sample_weight : array of shape (n,), optional
        Weights of the rows of X, for fitting and, if X_test is not given, for judging.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Fits at the same time, as in joblib.

    Notes
    -----
    The identity holds exactly for the fits made. With R fits the variance about their mean is too small by
    about 1/R of itself, and the bias too large by as much.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 2))
    >>> eta = np.where((X[:, 0] < 0.5) == (X[:, 1] < 0.5), 0.2, 0.8)
    >>> y = rng.uniform(size=300) < eta
    >>> stump, tree = DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=8)
    >>> one = bias_variance(stump, X, y, "Squared", eta=eta, random_state=0)
    >>> two = bias_variance(tree, X, y, "Squared", eta=eta, random_state=0)
    >>> one.bias > two.bias, one.variance < two.variance
    (True, True)
    """
    refuse_collections(X=X, y=y)
    if n_repeats < 2:
        raise ValueError(f"n_repeats must be at least 2, got {n_repeats}")
    number("train_size", train_size, 0, 1, "right")
    if not replace and train_size == 1:
        raise ValueError("without replacement every training sample is the same; give train_size below 1")
    rng = check_random_state(random_state)
    y = np.asarray(y)
    inputs.outcomes(y)
    weight = None if sample_weight is None else inputs.weights(sample_weight, len(y))
    train, X_test, target, weight_test = _test_rows(X, y, eta, X_test, y_test, weight, test_size, rng)
    size = max(2, round(train_size * len(train)))
    samples = [_draw(train, y, size, replace, rng) for _ in range(n_repeats)]
    fits = Parallel(n_jobs=n_jobs)(delayed(_fit)(estimator, X, y, weight, rows, X_test) for rows in samples)
    known = eta is not None
    return decompose_fits(np.array(fits), target, loss, known=known, sample_weight=weight_test, clip=clip)


def _test_rows(
    X: Any, y: Any, eta: Any, X_test: Any, y_test: Any, weight: Any, test_size: float, rng: Any
) -> tuple[np.ndarray, Any, Array, Any]:
    """Rows to train on, the table to judge on, its labels or true probabilities, its weights."""
    rows = np.arange(len(y))
    if X_test is not None:
        if eta is None and y_test is None:
            raise ValueError("X_test needs y_test, or eta, the true probabilities of its rows")
        # Labels are read beside those of the training rows, so that one class alone is no question.
        target = (
            class_index(y_test, np.unique(y)).astype(float)
            if eta is None
            else inputs.probabilities(eta, "eta")
        )
        return rows, X_test, target, None
    train, test = train_test_split(rows, test_size=test_size, stratify=y, random_state=rng)
    if eta is not None:
        known = inputs.probabilities(eta, "eta")
        inputs.same_length(eta=known, y=y)
        target = known[test]
    else:
        target = class_index(y, np.unique(y))[test].astype(float)
    return train, _safe_indexing(X, test), target, None if weight is None else weight[test]


def _draw(train: np.ndarray, y: np.ndarray, size: int, replace: bool, rng: Any) -> np.ndarray:
    for _ in range(100):
        rows = rng.choice(train, size, replace=replace)
        if len(np.unique(y[rows])) == 2:
            return rows
    raise ValueError(
        "100 training samples in a row had one class only; give more rows, or a larger train_size"
    )


def _fit(estimator: Any, X: Any, y: np.ndarray, weight: Any, rows: np.ndarray, X_test: Any) -> Array:
    model = clone(estimator)
    extra = {}
    if weight is not None:
        if not has_fit_parameter(model, "sample_weight"):
            raise TypeError(f"{type(model).__name__}.fit takes no sample_weight")
        extra["sample_weight"] = weight[rows]
    model.fit(_safe_indexing(X, rows), y[rows], **extra)
    return inputs.probabilities(model.predict_proba(X_test), "predict_proba")
