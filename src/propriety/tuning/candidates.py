"""The losses that a search tries, and where in an estimator the loss lives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from propriety import losses
from propriety.data.costs import Costs, parameters_of, stated_costs
from propriety.losses import simplex
from propriety.model.base import ProperClassifier
from propriety.model.fit_context import in_context
from propriety.separators.bags import BAGS

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

#: Families by name, each in the order in which they leave the log loss; it is tried first in any case.
FAMILIES: dict[str, Callable[[float], list[Any]]] = {
    "tailored": lambda cost: [losses.Tailored(cost, focus) for focus in (1, 2, 5, 10, 20)],
    "gain": lambda cost: [losses.GLog(gain) for gain in (2, 0.5, 4, 0.25, 8, 16)],
    "alpha": lambda cost: [losses.AlphaTunable(1, alpha) for alpha in (0.1, 0.2, 0.3, 0.4, 0.5)],
    "power": lambda cost: [losses.DensityPower(gamma) for gamma in (0.25, 0.5, 1, 2)],
    "permissible": lambda cost: [
        losses.Matsushita(),
        losses.Mu(0.5),
        losses.Power(0.3),
        losses.Squared(),
    ],
}
#: The strategy that keeps the loss of least empirical risk, of the bag of five [N8 §6].
EMPIRICAL = "F*"


@dataclass(frozen=True)
class Candidate:
    """A loss, with the link that goes with it; None leaves the estimator's own."""

    loss: Any
    link: Any = None

    def __repr__(self) -> str:
        return repr(self.loss) if self.link is None else f"{self.loss!r} with {self.link!r}"


@dataclass(frozen=True)
class Place:
    """Where the loss lives: in the estimator itself (prefix ""), or in a part of it."""

    prefix: str

    @classmethod
    def find(cls, estimator: BaseEstimator) -> Place:
        """The one classifier with a proper loss in `estimator`, which may be a pipeline.

        >>> from propriety import LinearClassifier
        >>> from sklearn.pipeline import make_pipeline
        >>> Place.find(make_pipeline("passthrough", LinearClassifier()))
        Place(prefix='linearclassifier__')
        """
        if isinstance(estimator, ProperClassifier):
            return cls("")
        parts = estimator.get_params() if hasattr(estimator, "get_params") else {}
        names = [name for name, part in parts.items() if isinstance(part, ProperClassifier)]
        if len(names) != 1:
            raise TypeError(
                "estimator must be a classifier of this library, or a pipeline that ends in one, so that its "
                f"loss can be set; got {estimator!r}" + (f", which has {len(names)} of them" if names else "")
            )
        return cls(names[0] + "__")

    def owner(self, estimator: BaseEstimator) -> Any:
        """The classifier that has the loss."""
        return estimator.get_params()[self.prefix.removesuffix("__")] if self.prefix else estimator

    def make(
        self, estimator: BaseEstimator, candidate: Candidate, costs: Costs, classes: NDArray[Any]
    ) -> Any:
        """An unfitted copy of the estimator with the candidate's loss and the costs."""
        model = clone(estimator)
        model.set_params(**self.parameters(model, candidate))
        if stated_costs(self.owner(model)) != costs:
            model.set_params(**{self.prefix + name: value for name, value in parameters_of(costs).items()})
        in_context(self.owner(model), known_classes=classes)  # of which folds may lack some
        return model

    def parameters(self, estimator: BaseEstimator, candidate: Candidate) -> dict[str, Any]:
        """The parameters that make the estimator one with the candidate's loss."""
        params = {self.prefix + "loss": candidate.loss}
        has_link = "link" in self.owner(estimator).get_params(deep=False)
        if candidate.link is not None:
            if not has_link:
                raise ValueError(f"{type(self.owner(estimator)).__name__} has no link, got {candidate!r}")
            params[self.prefix + "link"] = candidate.link
        elif has_link and isinstance(candidate.loss, losses.Composite | simplex.SimplexLoss):
            params[self.prefix + "link"] = None  # they bring their own
        return params


def read(given: Any, owner: Any, cost: float) -> list[Candidate]:
    """The candidates that the parameter ``losses`` denotes, the log loss first, none twice.

    >>> from propriety import LinearClassifier
    >>> read(["Log", "Squared", "Beta(1, 1)"], LinearClassifier(), 0.1)
    [Log(), Squared(), Beta(1, 1)]
    >>> read({"loss__focus": [2, 4]}, LinearClassifier(losses.Tailored(0.1)), 0.1)
    [Log(), Tailored(0.1, 2), Tailored(0.1, 4)]
    """
    candidates = [Candidate(losses.Log()), *_given(given, owner, cost)]
    if len(candidates) == 1:
        raise ValueError("losses is empty: give at least one loss, or the name of a family")
    unique = list(dict.fromkeys(candidates))
    # A composite of the log loss with the logit link is the log loss.
    return [unique[0], *(c for c in unique[1:] if c != Candidate(losses.Log().composite()))]


def _given(given: Any, owner: Any, cost: float) -> Iterable[Candidate]:
    if isinstance(given, str) and (given in FAMILIES or given == EMPIRICAL):
        return [Candidate(loss) for loss in (BAGS["all"] if given == EMPIRICAL else FAMILIES[given](cost))]
    if isinstance(given, Mapping):
        return _grid(given, owner)
    if isinstance(given, str | losses.Loss | losses.Composite):
        given = [given]
    if not isinstance(given, Iterable):
        raise TypeError(
            f"losses must be a list of losses, a grid of their parameters or one of {_names()}, got {given!r}"
        )
    result: list[Candidate] = []
    for item in given:
        result.extend(_grid(item, owner) if isinstance(item, Mapping) else [Candidate(_loss(item))])
    return result


def _loss(given: Any) -> Any:
    try:
        loss = losses.parse(given) if isinstance(given, str) else given
    except ValueError as error:
        raise ValueError(f"{error} (losses may also be one of {_names()})") from None
    if isinstance(loss, losses.Loss | losses.Composite | simplex.SimplexLoss):
        return loss
    raise TypeError(f"losses must hold losses, composites or their names, got {given!r}")


def _names() -> str:
    return ", ".join(repr(name) for name in [*FAMILIES, EMPIRICAL])


def _grid(grid: Mapping[str, Any], owner: Any) -> list[Candidate]:
    """Every combination of the values of ``loss``, ``link`` and their parameters."""
    other = [key for key in grid if key.split("__")[0] not in ("loss", "link")]
    if other:
        raise ValueError(
            f"losses may vary the loss and the link alone, got {', '.join(other)}; what the log loss does "
            "not share would be counted as the loss's gain. Search other parameters with GridSearchCV"
        )
    result = []
    for params in ParameterGrid(dict(grid)):
        made = clone(owner).set_params(**params)
        link = made.link if any(key.split("__")[0] == "link" for key in params) else None
        result.append(Candidate(_loss(made.loss), losses.as_link(link) if link is not None else None))
    return result
