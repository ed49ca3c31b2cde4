"""From the parameters ``loss``, ``link``, ``multiclass`` and ``gain`` to the loss that is fitted."""

from __future__ import annotations

from typing import Any

from propriety import losses
from propriety.losses import simplex


def fitted_loss(
    loss: Any, link: Any, n_classes: int, *, multiclass: str = "auto", gain: float | None = None
) -> losses.Composite | simplex.SimplexLoss:
    """The composite of two classes, or the loss on the simplex of more, with its gain.

    A loss with the link that is its own has its form on the simplex, if there is one; any other is taken one
    class against the rest, as all are with ``multiclass="ovr"``.

    >>> fitted_loss("Log", None, 2, gain=2.0)
    (2 * Log()).with_link(Logit(2))
    >>> fitted_loss("Squared", None, 3), fitted_loss("Squared", None, 3, multiclass="ovr")
    (simplex.Brier(), simplex.OneVsRest(Squared()))
    """
    if isinstance(loss, str):
        loss = losses.Log() if loss == "auto" else losses.parse(loss)
    if isinstance(loss, simplex.SimplexLoss):
        if link is not None:
            raise ValueError(f"loss={loss!r} has a link already; give link=None")
        if gain is not None:
            raise ValueError(
                "gain is for losses of two classes, or of one class against the rest, and the loss is "
                f"{loss!r}"
            )
        return loss.binary if n_classes == 2 else loss
    composite = losses.as_composite(loss, link)
    if gain is not None:
        composite = composite.shrunk(gain)
    if n_classes == 2:
        return composite
    if multiclass == "ovr":
        return simplex.OneVsRest(composite)
    return simplex.of(composite.loss if composite == composite.loss.composite() else composite)
