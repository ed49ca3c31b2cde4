"""How boosting takes its rounds: the published algorithms by name, and any other as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from propriety import losses
from propriety.data.parameters import choice, number
from propriety.losses import simplex
from propriety.losses.value import Value
from propriety.storage.values import by_value


class WeakLearner(NamedTuple):
    """A kind of weak learner: where its class is, and what the rest of boosting asks of it.

    The class is imported when it is used, so what is not used is not compiled.
    """

    module: str
    name: str
    grows_trees: bool = True  # with cuts, leaves and constraints
    additive: bool = False  # each is a function of one feature
    max_leaf_nodes: int | None = None  # instead of the parameter


_LEARNERS, _HISTOGRAMS = "propriety.boosting.learners", "propriety.boosting.histograms"
LEARNERS: Mapping[str, WeakLearner] = {
    "tree": WeakLearner(_LEARNERS, "TreeLearner"),
    "stump": WeakLearner(_LEARNERS, "TreeLearner", additive=True, max_leaf_nodes=2),
    "histogram": WeakLearner(_HISTOGRAMS, "HistogramLearner", grows_trees=False, additive=True),
}
#: An estimator of the user's own, of which nothing is known.
_OWN = WeakLearner("propriety.boosting.own_learners", "OwnLearner", additive=True)
COEFFICIENTS = ("fixed", "line", "bregman", "corrective")
#: The steps, and the curvature that a weak learner is found by for each.
CRITERIA = {
    "fisher": "fisher",
    "newton": "newton",
    "gradient": "gradient",
    "exact": "fisher",
    "sign": "gradient",
}


@by_value
@dataclass(frozen=True, repr=False, kw_only=True)
class Algorithm(Value):
    """How boosting takes its rounds: the ``algorithm=`` of :class:`BoostingClassifier`.

    A value with parameters, so that ``algorithm__step`` works in ``set_params`` and in searches.

    Parameters
    ----------
    weak_learner : {"tree", "stump", "histogram"} or estimator, default="tree"
        What a round adds: a tree, a tree of two leaves, or a function of one feature that is constant on its
        bins. The last two make an additive model, see :meth:`BoostingClassifier.shape_functions`.
        Or a learner of your own: a classifier (steps "sign" and "gradient") or regressor of scikit-learn's
        kind whose ``fit`` takes ``sample_weight``, in 100 rounds if ``max_iter`` is left out. It reads
        numbers, and what it has itself is set there: parameters of the trees, folds and early stopping are
        refused. It is slow, its bits are its own, and there are no contributions, importances, exports or
        model files: pickle it.
    step : {"fisher", "newton", "gradient", "exact", "sign"}, default="fisher"
        Value of a leaf or bin: −G/H with the Fisher curvature, with the Hessian (Fisher where it is not
        positive), the weighted mean of the labels ±1 (BoostLR), the exact minimum along the leaf, or ±1.
    criterion : {"auto", "fisher", "newton", "gradient"}, default="auto"
        The curvature that weak learners are found by; "auto": the step's own. "gradient" is Gini's index of
        the weighted labels.
    coefficient : {"fixed", "line", "bregman", "corrective"}, default="fixed"
        What a round's learner is multiplied by: nothing, the number of least loss along it, the rule of
        Collins, Schapire and Singer, or ("corrective") all learners so far by the numbers of least loss.
    init : {"base_rate", "zero"}, default="base_rate"
        The score before the first round: that of the base rate, or 0 as in the papers on boosting.
    max_intervals : int, default=None
        Of a histogram learner: join its bins to at most so many intervals (or sets of categories), which
        makes smoother curves; None leaves each bin its own value.
    sequential : bool, default=False
        Of several classes, move only the one whose learner has the largest edge, as in AdaBoost.MH.
    regularized : bool, default=True
        What the parameters that are "auto" stand for: shrunken and bounded steps, and rounds that held-out
        rows count; or, if False, those of the papers: 100 rounds of learning rate 1, leaves of any size
        that nothing shrinks, and ten bins for histogram learners.
    loss : loss, composite or str, default="auto"
        What the ``loss="auto"`` of the classifier is; "auto": the log loss.

    Examples
    --------
    >>> from propriety.boosting import Algorithm, BoostingClassifier
    >>> model = BoostingClassifier(algorithm=Algorithm(weak_learner="stump", step="newton"))
    >>> model.set_params(algorithm__step="exact").algorithm
    Algorithm(weak_learner='stump', step='exact')
    """

    weak_learner: Any = "tree"
    step: str = "fisher"
    criterion: str = "auto"
    coefficient: str = "fixed"
    init: str = "base_rate"
    max_intervals: int | None = None
    sequential: bool = False
    regularized: bool = True
    loss: Any = "auto"

    def __post_init__(self) -> None:
        if not self.has_own_learner:
            choice("weak_learner", self.weak_learner, tuple(LEARNERS))
        choice("step", self.step, tuple(CRITERIA))
        choice("criterion", self.criterion, ("auto", "fisher", "newton", "gradient"))
        choice("coefficient", self.coefficient, COEFFICIENTS)
        choice("init", self.init, ("base_rate", "zero"))
        if self.max_intervals is not None:
            number("max_intervals", self.max_intervals, 2, 255, whole=True)
        for name in ("sequential", "regularized"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if not isinstance(self.loss, str | losses.Loss | losses.Composite | simplex.SimplexLoss):
            raise TypeError(f"loss must be a loss, a composite or the name of one, got {self.loss!r}")

    @property
    def has_own_learner(self) -> bool:
        """Whether the weak learner is an estimator of the user's."""
        return hasattr(self.weak_learner, "fit") and hasattr(self.weak_learner, "get_params")

    @property
    def learner(self) -> WeakLearner:
        """The kind of the weak learner."""
        return _OWN if self.has_own_learner else LEARNERS[self.weak_learner]

    @property
    def curvature(self) -> str:
        """The curvature that weak learners are found by."""
        return CRITERIA[self.step] if self.criterion == "auto" else self.criterion


def _of_papers(loss: Any, weak_learner: str = "stump", **own: Any) -> Algorithm:
    return Algorithm(weak_learner=weak_learner, init="zero", regularized=False, loss=loss, **own)


_EXPONENTIAL = losses.Exponential()
_SIGNS: dict[str, Any] = {"step": "sign", "criterion": "gradient"}
_CLASS_BY_CLASS: dict[str, Any] = {"step": "sign", "coefficient": "bregman", "sequential": True}
#: What ``algorithm=`` may be called. "gradient" and "additive" are ours, the others of the papers.
NAMED: Mapping[str, Algorithm] = {
    "gradient": Algorithm(),
    "additive": Algorithm(weak_learner="histogram"),
    "discrete_adaboost": _of_papers(_EXPONENTIAL, coefficient="line", **_SIGNS),
    "real_adaboost": _of_papers(_EXPONENTIAL, step="exact", criterion="newton"),
    "gentle_adaboost": _of_papers(_EXPONENTIAL, step="newton"),
    "logitboost": _of_papers(losses.Log()),
    "boostlr": _of_papers(losses.GLog(), "histogram", step="gradient"),
    "boostlr_sign": _of_papers(losses.GLog(), "histogram", step="sign"),
    "uls": _of_papers(losses.Log(), coefficient="line", **_SIGNS),
    "uls_corrective": _of_papers(losses.Log(), coefficient="corrective", **_SIGNS),
    "adaboost_mh": _of_papers(simplex.MH(), **_CLASS_BY_CLASS),
    "adaboost_m2": _of_papers(simplex.PairwiseExponential(), **_CLASS_BY_CLASS),
    "multiclass_logistic": _of_papers(simplex.Log(), **_CLASS_BY_CLASS),
}


def algorithm_of(given: Any) -> Algorithm:
    """The algorithm that ``algorithm=`` names or is.

    >>> algorithm_of("additive")
    Algorithm(weak_learner='histogram')
    """
    if isinstance(given, Algorithm):
        return given
    if not isinstance(given, str):
        raise TypeError(f"algorithm must be a name or a boosting.Algorithm, got {given!r:.80}")
    if given not in NAMED:
        raise ValueError(
            f"there is no algorithm {given!r} of boosting; give one of {', '.join(NAMED)}, or a "
            "boosting.Algorithm"
        )
    return NAMED[given]
