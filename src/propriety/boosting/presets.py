"""The published boosting algorithms, each as a BoostingClassifier with its parameters set.

They take the paper's steps exactly: the score starts at 0, nothing is shrunk, and leaves may be as small as
one row. Every preset takes any other parameter of :class:`~propriety.BoostingClassifier` by name, which
overrides its own.

>>> from propriety.boosting import presets
>>> presets.real_adaboost(max_iter=30)
BoostingClassifier(...)
"""

from __future__ import annotations

from typing import Any

from propriety import losses
from propriety.boosting.classifier import BoostingClassifier
from propriety.losses import simplex

__all__ = [
    "adaboost_m2",
    "adaboost_mh",
    "boostlr",
    "discrete_adaboost",
    "gentle_adaboost",
    "logitboost",
    "multiclass_logistic",
    "real_adaboost",
    "uls",
]

_PLAIN = {
    "init": "zero",
    "learning_rate": 1.0,
    "max_step": None,
    "min_samples_leaf": 1,
    "min_weight_leaf": 0.0,
    "weak_learner": "stump",
}


def _make(own: dict[str, Any], params: dict[str, Any]) -> BoostingClassifier:
    return BoostingClassifier(**{**_PLAIN, **own, **params})


def discrete_adaboost(**params: Any) -> BoostingClassifier:
    """AdaBoost with classifiers h = ±1 and coefficients ½ log((1 − ε)/ε).

    h is the tree that Gini's index of the weighted labels grows, each leaf deciding by weighted majority; ε
    is its weighted error. Probabilities by the ½-logit link of the exponential loss. [C §6]

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from propriety.boosting import presets
    >>> X, y = make_classification(100, random_state=0)
    >>> presets.discrete_adaboost(max_iter=10).fit(X, y).score(X, y) > 0.8
    True
    """
    own = {"loss": losses.Exponential(), "step": "sign", "criterion": "gradient", "coefficient": "line"}
    return _make(own, params)


def real_adaboost(**params: Any) -> BoostingClassifier:
    """AdaBoost whose leaves add ½ log(W⁺/W⁻), W± the weights of the two classes there.

    Trees are grown by Gini's index of the weighted labels; the probability is 1/(1 + e^{−2F}). A leaf of one
    class, where the ratio is infinite, gets the score of 1 − 1/(2n + 2), n the number of rows.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from propriety.boosting import presets
    >>> X, y = make_classification(100, random_state=0)
    >>> presets.real_adaboost(max_iter=10).fit(X, y).predict_proba(X).shape
    (100, 2)
    """
    return _make({"loss": losses.Exponential(), "step": "exact", "criterion": "newton"}, params)


def gentle_adaboost(**params: Any) -> BoostingClassifier:
    """AdaBoost whose leaves add the weighted mean of the labels ±1, a Newton step of the exponential loss.

    Examples
    --------
    >>> from propriety.boosting import presets
    >>> presets.gentle_adaboost().step
    'newton'
    """
    return _make({"loss": losses.Exponential(), "step": "newton"}, params)


def logitboost(**params: Any) -> BoostingClassifier:
    """LogitBoost: a regression tree of z = (y − p)/(p q) with weights p q each round. [B §10]

    Examples
    --------
    >>> from propriety.boosting import presets
    >>> presets.logitboost(max_iter=20).loss
    Log()
    """
    return _make({"loss": losses.Log(), "step": "fisher"}, params)


def boostlr(loss: Any = "GLog()", gain: Any = None, form: str = "real", **params: Any) -> BoostingClassifier:
    """BoostLR: G ← G + g, g of largest Σ y*·w·g with w = −φ′_σ; probabilities by φ_σ's link. [M Alg. 1]

    Parameters
    ----------
    loss : loss, composite or str
        Any margin loss: GLog, GBoost, GGauss, GLaplace, AlphaTunable, ...
    gain : float or "cv", optional
        Its gain, if it has none of its own.
    form : {"real", "sign"}
        Values of the weak learner: the weighted mean of the labels ±1 in each bin, or ±1.
    **params
        Other parameters; the weak learner is "histogram" unless said otherwise.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from propriety import losses
    >>> from propriety.boosting import presets
    >>> X, y = make_classification(100, random_state=0)
    >>> presets.boostlr(losses.GLaplace(4.0), max_iter=20).fit(X, y).score(X, y) > 0.8
    True
    """
    if form not in ("real", "sign"):
        raise ValueError(f"form must be 'real' or 'sign', got {form!r}")
    own = {
        "loss": loss,
        "gain": gain,
        "step": "gradient" if form == "real" else "sign",
        "weak_learner": "histogram",
        "min_samples_leaf": "auto",
    }
    return _make(own, params)


def uls(loss: Any = "Log()", corrective: bool = False, **params: Any) -> BoostingClassifier:
    """Boosting of classifiers ±1 for any convex margin loss, coefficients of least loss. [N9 Fig. 4]

    One classifier's coefficient a round is classical boosting (with the exponential loss discrete AdaBoost);
    with ``corrective=True`` all coefficients so far are fitted again in every round: totally corrective.

    Examples
    --------
    >>> from propriety.boosting import presets
    >>> presets.uls("Matsushita()", corrective=True).coefficient
    'corrective'
    """
    own = {
        "loss": loss,
        "step": "sign",
        "criterion": "gradient",
        "coefficient": "corrective" if corrective else "line",
    }
    return _make(own, params)


def _sequential(loss: simplex.SimplexLoss, params: dict[str, Any]) -> BoostingClassifier:
    own = {"loss": loss, "step": "sign", "coefficient": "bregman", "multiclass": "sequential"}
    return _make(own, params)


def adaboost_mh(**params: Any) -> BoostingClassifier:
    """AdaBoost.MH: Σ_i Σ_l exp(−ỹ_il f(x_i, l)), one class's classifier a round. [C §8]

    The loss fits each class against the rest by itself: the ½-logit link gives a probability for each class,
    and ``predict_proba`` divides them by their sum, which the loss does not make 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from propriety.boosting import presets
    >>> X, y = load_iris(return_X_y=True)
    >>> presets.adaboost_mh(max_iter=20).fit(X, y).score(X, y) > 0.9
    True
    """
    return _sequential(simplex.MH(), params)


def adaboost_m2(**params: Any) -> BoostingClassifier:
    """AdaBoost.M2 and MR: Σ_i Σ_{l≠y_i} exp(f(x_i, l) − f(x_i, y_i)), one class's classifier a round. [C §8]

    The loss is least at f = ½ log η up to a constant, so its probabilities are p_l ∝ e^{2 f(x, l)}.

    Examples
    --------
    >>> from propriety.boosting import presets
    >>> presets.adaboost_m2().multiclass
    'sequential'
    """
    return _sequential(simplex.PairwiseExponential(), params)


def multiclass_logistic(**params: Any) -> BoostingClassifier:
    """Logistic loss of several classes, one class's classifier a round. [C §8]

    Probabilities by the softmax.

    Examples
    --------
    >>> from propriety.boosting import presets
    >>> presets.multiclass_logistic().coefficient
    'bregman'
    """
    return _sequential(simplex.Log(), params)
