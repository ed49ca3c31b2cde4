"""Continuation: reach the minimum of a loss that is not convex from that of the log loss, by small steps.

A tailored loss has many stationary points, and where a descent ends depends on where it began. Here it
begins at the log loss's fit, which is unique, and follows the minimum as the loss changes: through growing
`focus` where the loss has one (focus 0 is the log loss), else through mixtures of the log loss and the loss.
"""

from __future__ import annotations

import numpy as np

from propriety import losses


def stations(composite: losses.Composite) -> tuple[losses.Composite, ...]:
    """Composites to fit one after the other; the last is the given one.

    >>> from propriety import losses
    >>> [c.loss for c in stations(losses.Tailored(0.3, 5).composite())]
    [Log(), Tailored(0.3, 1), Tailored(0.3, 2), Tailored(0.3, 4), Tailored(0.3, 5)]
    >>> stations(losses.Log().composite())
    (Log().with_link(Logit()),)
    """
    if composite.properties()["convex"]:
        return (composite,)
    loss, link = composite.loss, composite.link_
    first = losses.Log().with_link(link) if link.has_real_range else composite
    if first is composite:
        return (composite,)
    if not hasattr(loss, "focus"):
        unit = float(loss.entropy(0.5)) / np.log(2)
        mixtures = [(1 - t) * losses.Log() + (t / unit) * loss for t in (0.5, 0.9)]
        return (first, *(m.with_link(link) for m in mixtures), composite)
    doublings = 2.0 ** np.arange(0, np.ceil(np.log2(max(loss.focus, 1e-300))))
    return (first, *(loss.replace(focus=float(k)).with_link(link) for k in doublings), composite)
