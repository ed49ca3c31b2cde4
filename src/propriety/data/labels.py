"""Labels that say by their name which of two classes is the one to find."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

#: Labels of the class to find, in any case of letters.
POSITIVE = {
    "1", "true", "yes", "y", "t", "positive", "pos", "p", "+", "bad", "malignant", "m", "default", "fraud",
    "spam", "churn", "churned", "sick", "ill", "diseased", "dead", "died", "failure", "fail", "failed",
    "event", "case", "abnormal", "anomaly", "attack", "won", "win", "success", "bought", "click",
}  # fmt: skip
#: Labels of the other one.
NEGATIVE = {
    "0", "-1", "false", "no", "n", "f", "negative", "neg", "-", "good", "benign", "b", "ok", "ham", "healthy",
    "alive", "normal", "none", "control",
}  # fmt: skip


def named_positive(a: str, b: str) -> tuple[str, str] | None:
    """Which of two labels is the class to find by what they say, and why; None if they do not say.

    >>> named_positive("bad", "good"), named_positive("3", "4"), named_positive("left", "right")
    (('bad', 'by its name'), ('4', 'the larger number'), None)
    """
    for one, other in ((b, a), (a, b)):
        if one.lower() in POSITIVE and other.lower() not in POSITIVE:
            return one, "by its name"
    for one, other in ((b, a), (a, b)):
        if other.lower() in NEGATIVE and one.lower() not in NEGATIVE:
            return one, "by the other's name"
    if is_number(a) and is_number(b):
        return max(a, b, key=float), "the larger number"
    return None


def settles(classes: NDArray[Any]) -> bool:
    """Whether two classes in sorted order say that the last is the one to find; numbers and truth values do.

    >>> import numpy as np
    >>> settles(np.array(["no", "yes"])), settles(np.array(["bad", "good"])), settles(np.array([0, 1]))
    (True, False, True)
    """
    labels = classes.tolist()
    if not all(isinstance(label, str) for label in labels):
        return True
    named = named_positive(*labels)
    return named is not None and named[0] == labels[1]


def is_number(text: str) -> bool:
    """Whether a label is a number written as text."""
    try:
        return float(text) == float(text)
    except ValueError:
        return False
