"""Losses to choose from while a separator is boosted, and the rule by which one is chosen. [N8 §6]"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety import losses

if TYPE_CHECKING:
    from propriety.losses.registry import LinkLike

#: The bags of [N8 §6]: φ_μ, φ_M, φ_Q and φ_B, or φ_υ instead of φ_B; and all five.
_SHARED = (losses.Mu(1 / 3), losses.Matsushita(), losses.Log())
BAGS: dict[Any, tuple[losses.Loss, ...]] = {
    1: (*_SHARED, losses.Squared()),
    2: (*_SHARED, losses.Power(0.3)),
    "all": (*_SHARED, losses.Squared(), losses.Power(0.3)),
}
#: Values that differ by less than this share are a tie.
_TIE = 1e-12


def first_of_least(values: Sequence[float], bag: Sequence[Any]) -> int:
    """Which loss of a bag has the least value; of equals the log loss, then the first of the bag.

    The paper does not say how F*, F and E break ties [N8 §6]; this is the rule wherever a loss is chosen by
    what the training rows show. NaN stands for a loss that could not be fitted.

    >>> bag = [losses.Mu(1 / 3), losses.Matsushita(), losses.Log()]
    >>> first_of_least([0.1, 0.1, 0.1], bag), first_of_least([0.1, 0.1, 0.2], bag)
    (2, 0)
    """
    least = np.nanmin(values)
    equal = [k for k, value in enumerate(values) if value - least <= _TIE * abs(least)]
    plain = [loss.loss if isinstance(loss, losses.Composite) else loss for loss in bag]
    logs = [k for k in equal if plain[k] == losses.Log()]
    return (logs or equal)[0]


def read_bag(loss: Any, link: LinkLike | None, bag: Any, choose: str) -> tuple[losses.Composite, ...]:
    """The losses to boost that the parameters of an estimator denote: one, or those of a bag.

    >>> [composite.loss for composite in read_bag("bag", None, 2, "risk")]
    [Mu(0.3333333333333333), Matsushita(), Log(), Power(0.3)]
    """
    if not (isinstance(loss, str) and loss == "bag"):
        if bag is not None:
            raise ValueError(f"bag={bag!r} is for loss='bag', and loss is {loss!r}")
        return (composite_of(losses.Log() if isinstance(loss, str) and loss == "auto" else loss, link),)
    if link is not None:
        raise ValueError("the losses of a bag have links of their own: give link=None")
    if bag is None:
        bag = "all" if choose == "once" else 1
    members: Sequence[Any] = bag
    if isinstance(bag, str | numbers.Integral):
        if bag not in BAGS:
            raise ValueError(f"bag must be 1, 2, 'all' or a list of losses, got {bag!r}")
        members = BAGS[bag]
    if len(members) == 0:
        raise ValueError("bag is empty: give at least one loss")
    return tuple(composite_of(member, None) for member in members)


def composite_of(loss: Any, link: Any) -> losses.Composite:
    """The composite to boost: convex in the score, by the loss's own link or by its canonical one.

    >>> composite_of("Squared()", None) == losses.Squared().with_link(losses.Squared().canonical_link)
    True
    """
    composite = losses.as_composite(loss, link)
    convex = _convex(composite)
    if convex:
        return composite
    reason = (
        f"{composite!r} is not convex in the score ({convex.reason}), and boosted rules need a loss that is"
    )
    if link is not None or isinstance(loss, losses.Composite):
        raise ValueError(f"{reason}: give a symmetric loss with link=None, or a canonical link")
    if _permissible(composite.loss):
        return composite.loss.with_link(composite.loss.canonical_link)
    raise ValueError(
        f"{reason}. For costs, fit a symmetric loss such as Log() and state fp_cost and fn_cost, which "
        "decide; or use LinearClassifier, TreeClassifier or BoostingClassifier"
    )


@lru_cache(maxsize=256)
def _convex(composite: losses.Composite) -> Any:
    return composite.properties()["convex"]


@lru_cache(maxsize=256)
def _permissible(loss: losses.Loss) -> bool:
    return bool(loss.properties()["permissible"])
