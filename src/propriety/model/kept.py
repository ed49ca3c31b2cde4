"""How a fitted model is kept: in a model file, as ONNX, as SQL and for shap."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from propriety.costs import ResolvedCosts
from propriety.data.costs import TERMS, stated_costs
from propriety.data.table import Schema
from propriety.model import files
from propriety.model.adapt import Adaptation
from propriety.model.state import Arrays, make, read_shared, shared_state
from propriety.storage.checks import require

if TYPE_CHECKING:
    from propriety.export.formula import Formula
    from propriety.export.writing import Export


class KeptModel(ABC):
    """What every fitted estimator has to be written: its state, and what it computes."""

    classes_: NDArray[Any]
    loss_: Any
    adaptation_: Adaptation | None
    has_row_costs: Any
    costs_: Any
    _schema: Schema
    _needs_costs: bool
    _needs_offset: bool

    @abstractmethod
    def _decision_labels(self, costs: ResolvedCosts) -> NDArray[Any]:
        """What may be decided."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a model file: values and arrays, no code.

        The file is there whole or not at all, and is read back before it takes its place. A loss or a cost
        that is a Python function is refused; pickle keeps one that a module can import.
        """
        files.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The model in a file that :meth:`save` wrote, which must be of this class.

        Nothing in the file is run; a damaged, altered or newer file is refused with the reason.
        """
        model = files.load(path)
        if not isinstance(model, cls):
            raise TypeError(
                f"{os.fspath(path)} holds a {type(model).__name__}, not a {cls.__name__}; "
                "propriety.load reads any"
            )
        return model

    def to_onnx(self, path: str | os.PathLike[str] | None = None, *, dtype: str = "float64") -> Any:
        """The fitted model as an ONNX model, for onnxruntime and others; written to `path`, if given.

        Its inputs are a matrix ``X`` of shape (n, d), or one of shape (n, 1) for each column if categories
        are text; NaN is missing, and so is a category that was not seen. Its outputs are ``label``, decided
        by the stated costs, and ``probabilities`` of shape (n, K). A model whose costs differ by row has no
        ``label``.

        Needs the package onnx, and a runtime with ai.onnx.ml 5: onnxruntime 1.21 or later.

        Parameters
        ----------
        path : str or path, optional
        dtype : {"float64", "float32"}, default="float64"
            Of the numbers that go in and of the probabilities that come out. Inside all is float64, so that
            rows of float32 are decided exactly as ``predict`` decides them.

        Returns
        -------
        onnx.ModelProto
        """
        from propriety.export import writing

        model = self._export().model(dtype)
        if path is not None:
            writing.save(model, path)
        return model

    def to_sql(self, table: str, *, dialect: str = "duckdb", keep: Sequence[str] = ()) -> str:
        """The fitted model as one SQL query, for rows that stay in a database.

        Its result has the columns to keep, a probability ``p_<label>`` of each class, and ``decision`` by the
        stated costs; a model whose costs differ by row has no ``decision``. NULL is missing, and so is a
        category that was not seen.

        Parameters
        ----------
        table : str
            What stands after FROM: the name of a table, or ``read_parquet('loans.parquet')``. It has the
            columns of the training table, by their names; those of an array are ``x0``, ``x1``, ….
        dialect : {"duckdb", "sqlite"}, default="duckdb"
            SQLite must be 3.35 or later with its mathematical functions, as in Python's.
        keep : sequence of str, default=()
            Columns of the table that the result has as well, such as a key.

        Returns
        -------
        str

        Examples
        --------
        >>> import pandas as pd
        >>> from propriety import TreeClassifier
        >>> X = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0] * 5})
        >>> model = TreeClassifier(fn_cost=9).fit(X, [0, 0, 1, 1] * 5)
        >>> query = model.to_sql("people", keep=["id"])
        >>> print(query[query.rindex("SELECT") :].strip())
        SELECT
          "id",
          _v3 AS "p_0",
          _v4 AS "p_1",
          _v5 AS "decision"
        FROM step3
        """
        from propriety.export.sql import write_query

        return write_query(self._export(), table, dialect, keep)

    def to_shap(self) -> dict[str, Any]:
        """The trees of the model as ``shap.TreeExplainer`` takes them: of boosting, a forest or one tree.

        Boosted trees are explained on the scale of the score, with the values of `predict_contributions`; a
        tree and a forest on that of the probability, of ``classes_[1]`` for a forest of two classes.
        """
        from propriety.export.shap_trees import shap_trees

        check_is_fitted(self)
        return shap_trees(self._formula())

    def _export(self) -> Export:
        """What `to_onnx` writes."""
        from propriety.export.writing import Export

        check_is_fitted(self)
        if self._needs_offset:
            raise ValueError(
                "the model was fitted with an offset, which an exported model could not be given; fit it "
                "without, or add the score of the offset's model to its columns"
            )
        costs = None if self.has_row_costs or self._needs_costs else self.costs_
        formula = self._formula()
        if self.adaptation_ is not None:
            formula = replace(formula, power=self.adaptation_.slope, factors=self.adaptation_.factors)
        return Export(
            formula,
            self._schema,
            self.classes_ if costs is None else self._decision_labels(costs),
            costs,
            {"estimator": type(self).__name__, "loss": repr(self.loss_)},
        )

    def _formula(self) -> Formula:
        """What the model computes, in parts that others can write in their language."""
        raise TypeError(
            f"{type(self).__name__} does not state its formula, so it cannot be exported; give it a method "
            "_formula, as the estimators of propriety have it"
        )

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the model has learned, as plain values and as arrays: what its file holds."""
        check_is_fitted(self)
        values, arrays = self._state()
        return {**shared_state(self), **values}, arrays

    @classmethod
    def from_state(cls, parameters: dict[str, Any], state: dict[str, Any], arrays: Arrays) -> Self:
        """The model that has these parameters and has learned this; what does not fit is refused."""
        model = make(cls, parameters, state)
        read_shared(model, state)
        model._restore(state, arrays)
        model._check_costs()
        return model

    def _check_costs(self) -> None:
        """Refuse a file whose costs could not be decided by: no numbers, and no column of the table."""
        if not self.has_row_costs:
            require(not self.costs_.by_row, "its costs are not numbers")
            return
        stated = stated_costs(self)
        for name, known_as in TERMS.items():
            term = getattr(stated, name)
            known = not isinstance(term, str) or term in (self._schema.names or ())
            require(
                known,
                f"its costs are not numbers: {known_as} is {str(term)[:40]!r}, which is no column of it",
            )

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What this kind of model has learned, besides classes and columns."""

    @abstractmethod
    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Take that out again, and check it."""
