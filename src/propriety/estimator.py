"""What every estimator shares: the loss, the link and the costs, and the decisions that follow from them."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from propriety import losses
from propriety.losses.value import Value, positive


class ProperClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with a proper loss and stated costs.

    Subclasses have the parameters ``loss``, ``link``, ``fp_cost`` and ``fn_cost``, and ``predict_proba``.
    """

    loss: Any
    link: Any
    fp_cost: float
    fn_cost: float

    def set_params(self, **params: Any) -> ProperClassifier:
        """Set parameters; ``loss__alpha`` replaces one parameter of the loss, which is a value."""
        nested: dict[str, dict[str, Any]] = defaultdict(dict)
        plain: dict[str, Any] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if rest and name in ("loss", "link"):
                nested[name][rest] = value
            else:
                plain[key] = value
        super().set_params(**plain)
        for name, changes in nested.items():
            current = getattr(self, name)
            if current == "auto":
                raise ValueError(
                    f"loss='auto' has no parameters, so {', '.join(changes)} cannot be set; "
                    "give the loss first, for example loss=Tailored(0.1)"
                )
            if isinstance(current, str):
                current = losses.parse(current)
            if not isinstance(current, Value):
                raise ValueError(
                    f"{name}={current!r} has no parameters, so {', '.join(changes)} cannot be set"
                )
            setattr(self, name, current.replace(**changes))
        return self

    def _threshold(self) -> float:
        """The probability from which class 1 is decided: c = fp_cost/(fp_cost + fn_cost)."""
        fp_cost, fn_cost = positive("fp_cost", self.fp_cost), positive("fn_cost", self.fn_cost)
        return fp_cost / (fp_cost + fn_cost)

    def _resolve_composite(self, default: losses.Loss | None = None) -> losses.Composite:
        """The composite of ``loss`` and ``link``; ``loss="auto"`` is `default`, or the log loss."""
        loss = self.loss
        if isinstance(loss, str) and loss == "auto":
            loss = losses.Log() if default is None else default
        return losses.as_composite(loss, self.link)

    def predict(self, X: Any) -> np.ndarray:
        """Decide by the stated costs: class 1 iff its probability is at least fp_cost/(fp_cost + fn_cost).

        Class 1, whose misses cost ``fn_cost``, is ``classes_[1]``, the last label in sorted order. With more
        than two classes, the class of largest probability is decided.
        """
        check_is_fitted(self)
        P = self.predict_proba(X)  # type: ignore[attr-defined]
        classes = self.classes_  # type: ignore[attr-defined]
        if len(classes) == 2:
            return classes[(P[:, 1] >= self._threshold()).astype(np.intp)]
        return classes[np.argmax(P, axis=1)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a model file: values and arrays, no code.

        The file is there whole or not at all. A loss made of a Python function is refused; pickle keeps it.
        """
        from propriety import storage

        storage.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The model in a file that :meth:`save` wrote, which must be of this class.

        Nothing in the file is run; a damaged, altered or newer file is refused with the reason.
        """
        from propriety import storage

        model = storage.load(path)
        if not isinstance(model, cls):
            raise TypeError(
                f"{os.fspath(path)} holds a {type(model).__name__}, not a {cls.__name__}; "
                "propriety.load reads any"
            )
        return model
