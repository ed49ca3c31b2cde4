"""What is known of rows that come in batches: their columns, their number, and that they can come again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any


class Stream(ABC):
    """Rows that come in Arrow tables of some rows each, in one order, as often as they are asked for.

    Attributes
    ----------
    features : tuple of str
        The features.
    target, weight : str or None
        The columns of labels and of weights.
    n_rows : int
    whole : bool
        Whether nobody has decided yet how it is to be read: in memory, or in parts.
    """

    features: tuple[str, ...]
    target: str | None
    weight: str | None
    whole: bool

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def empty(self) -> Any:
        """An Arrow table of the features' types, without rows; text is a dictionary."""

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """The rows from the first to the last, some of them at a time, as Arrow tables of these columns."""

    @abstractmethod
    def having(self, features: Sequence[str]) -> Stream:
        """The same rows with these features; refused if there are no such columns."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of features."""
        return self.n_rows, len(self.features)
