"""What a search has gained, in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from propriety import losses

#: A gain counts as one from this many standard errors on.
SURE = 2.0


@dataclass(frozen=True)
class Verdict:
    """What choosing the loss gained over the log loss, on rows that took no part in the choice.

    Attributes
    ----------
    chosen : loss or composite
    gain : float
        Mean saving per unit against the log loss used with the theoretical threshold; negative is a loss.
    standard_error : float
        Of the gain, over paired rows (groups, if there are any).
    baseline : float
        The log loss's own value.
    unit : str
        What the numbers are.
    decided : str
        How the log loss was used.
    method : str
        How the choice was kept apart from the rows that judge it.
    same : bool
        Whether every candidate gave the log loss's probabilities.

    Examples
    --------
    >>> unit, decided = "cost of 1,000 decisions", ", decided at 0.1"
    >>> print(Verdict(losses.Log(), 0.0, 0.0, 48.0, unit, decided, "cross", False))
    Nothing was gained: the log loss, decided at 0.1, was kept. Its cost of 1,000 decisions is 48.
    """

    chosen: Any
    gain: float
    standard_error: float
    baseline: float
    unit: str
    decided: str
    method: str
    same: bool

    @property
    def gained(self) -> bool:
        """Whether the gain is more than chance: at least two standard errors, above 0."""
        return self.gain > 0 and self.gain >= SURE * self.standard_error

    @property
    def lost(self) -> bool:
        """Whether choosing has done harm, by the same measure."""
        return self.gain < 0 and -self.gain >= SURE * self.standard_error

    def __str__(self) -> str:
        log = f"the log loss{self.decided}"
        level = f"Its {self.unit} is {self.baseline:.4g}."
        if self.same:
            return (
                f"Nothing was gained: every candidate gives the probabilities of {log}. {level} (A gain, or "
                "a multiple of a loss, changes nothing where steps are divided by the curvature and slopes "
                "are not shrunk: try step='gradient' in boosting, alpha > 0 in a linear model.)"
            )
        change = f"{abs(self.gain):.3g} (standard error {self.standard_error:.2g})"
        of = f"{change} of {self.baseline:.4g}, the {self.unit} of {log}"
        kept = self.chosen == losses.Log()
        if self.gained:
            choice = "the log loss all the same" if kept else _short(self.chosen)
            text = f"Gained: choosing the loss saves {of}. On all rows the choice is {choice}."
        elif kept:
            comma = "," if self.decided else ""
            text = f"Nothing was gained: {log}{comma} was kept. {level}"
            if self.gain != 0:
                verb = "saved" if self.gain > 0 else "cost"
                chance = "more than chance explains" if self.lost else "which is chance"
                text += f" Choosing {verb} {change}, {chance}."
        else:
            verb = "saves" if self.gain > 0 else "costs"
            told = "Nothing was gained" if self.lost else "Nothing was gained that could be told from chance"
            text = (
                f"{told}: choosing the loss {verb} {of}. {_short(self.chosen)} was taken by the rule that "
                "was asked for; this is no reason to prefer it to the log loss."
            )
        return text + self._diagnosis()

    def _diagnosis(self) -> str:
        """A chosen gain says how much regularization the data ask for. [M §7.1]"""
        loss = self.chosen.loss if isinstance(self.chosen, losses.Composite) else self.chosen
        strength = getattr(loss, "gain", 1.0)
        if strength > 1:
            return (
                f" A gain of {strength:g} asks for more regularization than the log loss brings: there are "
                "few rows for so flexible a model."
            )
        if strength < 1:
            return f" A gain of {strength:g} asks for less regularization than the log loss brings."
        return ""


def _short(loss: Any) -> str:
    """The loss with numbers that can be read.

    >>> _short(losses.Tailored(1 / 6, 2))
    'Tailored(0.1667, 2)'
    """
    return re.sub(r"\d+\.\d{5,}", lambda number: f"{float(number[0]):.4g}", repr(loss))
