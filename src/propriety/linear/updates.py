"""Solvers with parameters of their own, as values: ``solver=Uls(features="all")``, ``solver=Norm(p=3)``."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, final

from propriety.data.parameters import choice
from propriety.losses.value import Value
from propriety.storage.values import by_value

_FEATURES = ("one", "all", "active")


@by_value
@final
@dataclass(frozen=True, repr=False)
class Uls(Value):
    """Universal linear separators: boosting of the columns of X. [N8 Alg. 1], [N9 Fig. 4]

    Parameters
    ----------
    features : {"one", "all", "active"} or int, default="one"
        Columns that a round updates: the one of largest edge, all, all used so far and the one of largest
        edge, or as many of the largest edges.
    bag, choose : as those of `RuleClassifier`
        The losses of ``loss="bag"`` [N8 §6], and whether a round takes the one whose step leads to the
        smallest cost on the training rows ("risk"), the one with the column of largest edge ("edge"), or all
        rounds are run with each loss and the one of smallest cost is kept ("once"). Of equals the log loss is
        taken, then the first of the bag.

    Examples
    --------
    >>> from propriety import LinearClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> LinearClassifier(solver=Uls("all")).fit(X, y).coef_.round(3)
    array([[0.908]])
    """

    name: ClassVar[str] = "uls"
    features: str | int = "one"
    bag: Any = None
    choose: str = "risk"

    def __post_init__(self) -> None:
        choice("choose", self.choose, ("risk", "edge", "once"))
        if isinstance(self.bag, list):
            object.__setattr__(self, "bag", tuple(self.bag))
        if isinstance(self.features, str) and self.features in _FEATURES:
            return
        whole = isinstance(self.features, Integral) and not isinstance(self.features, bool)
        if not whole or int(self.features) < 1:
            raise ValueError(
                f"features must be 'one', 'all', 'active' or a positive integer, got {self.features!r}"
            )


@by_value
@final
@dataclass(frozen=True, repr=False)
class Norm(Value):
    """Bregman-distance updates between the parallel and the second sequential rule. [C §7]

    Parameters
    ----------
    p : float of at least 1, default=2.0
        Norm of the rows by which steps are scaled: 1 is "parallel", 2 "sphere", infinity "sequential2".

    Examples
    --------
    >>> Norm(3.0), Norm()
    (Norm(3), Norm())
    """

    name: ClassVar[str] = "norm"
    p: float = 2.0

    def __post_init__(self) -> None:
        real = isinstance(self.p, Real) and not isinstance(self.p, bool)
        if not real or not float(self.p) >= 1:
            raise ValueError(f"p must be a number of at least 1, or infinite, got {self.p!r}")
        object.__setattr__(self, "p", float(self.p))


#: What the names stand for that have parameters; other names have none.
NAMED: dict[str, Uls | Norm] = {"uls": Uls(), "uls_corrective": Uls("active"), "norm": Norm()}


def update_of(solver: Any) -> Any:
    """The value of a name, or what was given.

    >>> update_of("uls_corrective"), update_of("fisher")
    (Uls('active'), 'fisher')
    """
    return NAMED.get(solver, solver) if isinstance(solver, str) else solver
