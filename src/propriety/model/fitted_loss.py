"""From the parameters ``loss``, ``link`` and ``multiclass`` to the loss that is fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from propriety import losses
from propriety.losses import simplex

if TYPE_CHECKING:
    from propriety.losses.registry import LinkLike, LossLike


def fitted_loss(
    loss: LossLike, link: LinkLike | None, n_classes: int, *, multiclass: str = "auto"
) -> losses.Composite | simplex.SimplexLoss:
    """The composite of two classes, or the loss on the simplex of more.

    A loss with the link that is its own has its form on the simplex, if there is one; any other is taken one
    class against the rest, as all are with ``multiclass="ovr"``; with "ordinal" it is taken at each threshold
    between two neighbouring classes.

    >>> fitted_loss("Log", None, 2)
    Log().with_link(Logit())
    >>> fitted_loss("Squared", None, 3), fitted_loss("Squared", None, 3, multiclass="ovr")
    (simplex.Brier(), simplex.OneVsRest(Squared()))
    >>> fitted_loss("Squared", None, 3, multiclass="ordinal")
    simplex.Cumulative(Squared())
    """
    if isinstance(loss, str):
        loss = losses.Log() if loss == "auto" else losses.parse(loss)
    if isinstance(loss, simplex.SimplexLoss):
        if link is not None:
            raise ValueError(f"loss={loss!r} has a link already; give link=None")
        if multiclass == "ordinal" and not isinstance(loss, simplex.OrderedLoss):
            raise ValueError(f"loss={loss!r} is not of ordered classes, as multiclass='ordinal' asks")
        return loss.binary if n_classes == 2 else loss
    composite = losses.as_composite(loss, link)
    if n_classes == 2:
        return composite
    if multiclass == "ordinal":
        return simplex.Cumulative(composite)
    if multiclass == "ovr":
        return simplex.OneVsRest(composite)
    return simplex.of(composite)
