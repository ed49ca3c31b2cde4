"""What a fitted linear model says about its coefficients.

Model-based covariance, if the probabilities are right: A⁻¹ B A⁻¹ with A = Σ E[∂²ℓ] x xᵀ (Fisher's weights)
and B = Σ E[(∂ℓ)²] x xᵀ; for the log loss B = A, and it is the inverse of Fisher's information. Sandwich,
which does not believe the probabilities: A = Σ ∂²ℓ x xᵀ and B = Σ (∂ℓ)² x xᵀ with the labels that were seen,
less what their mean contributes.

A ridge is part of what is minimized and says nothing of the rows: it adds to A and not to B. With it the
gradients of the rows do not add up to 0, and their variance is the one about their mean.

Plug-in, where the true probabilities η are known or estimated otherwise: A = Σ E[∂²ℓ] x xᵀ and
B = Σ Var(∂ℓ) x xᵀ under η, equations (41) and (40). E[∂²ℓ] = ωq′² − (η − q)[ωq′]′ has a second term that the
bias of the model gives; where it is not negative (42), which is (43) for Beta weights and the logit, bias
makes the coefficients more stable.

Reference: Buja, Stuetzle & Shen (2005), section 15, equations (40)–(43).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from propriety.linear import fisher
from propriety.linear.design import Design
from propriety.linear.moments import moments
from propriety.linear.objective import Objective, RowsLoss
from propriety.linear.penalties import Penalty
from propriety.linear.rows import FittedLoss, LinearRows
from propriety.linear.settings import LinearSettings
from propriety.separators.linalg import Floats, inverse_of, negligible

if TYPE_CHECKING:
    from propriety.linear.classifier import LinearClassifier


@dataclass(frozen=True)
class Summary:
    """A table of coefficients, and the fit in a few numbers; prints as text, `frame` gives a data frame.

    Attributes
    ----------
    columns : dict of str to array
        term, coef, se, z, p, low, high (from the model), se_robust, z_robust, p_robust, low_robust,
        high_robust (from the sandwich), with `eta` se_eta and so on (plug-in); with more than two classes
        also class.
    facts : dict
        Loss, rows, weights, total loss, the null model's, and the share explained; if there is something to
        say of them also "collinear", "separation" and "penalty". With `eta`, "rows that bias stabilizes" is
        the share of the weight where (42) holds, and "least curvature" and "most curvature" say what bias
        makes of the expected curvature in its weakest and strongest direction: 1 for an unbiased model,
        below 0 where the coefficients are no minimum.

    Examples
    --------
    >>> from propriety.linear import LinearClassifier
    >>> summary = LinearClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]).summary()
    >>> summary.columns["coef"].round(4), summary.columns["se"].round(4)
    (array([ 0.9082, -1.3623]), array([1.0852, 1.9749]))
    >>> round(summary.facts["total loss"], 4), round(summary.facts["loss of the null model"], 4)
    (2.3475, 2.7726)
    """

    columns: dict[str, Any]
    facts: dict[str, Any]

    def frame(self) -> Any:
        """The table as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.columns)

    def __str__(self) -> str:
        lines = [f"{name:<24}{_show(value)}" for name, value in self.facts.items()]
        names = ("class", "term", "coef", "se", "z", "p", "low", "high", "se_robust", "p_robust", "se_eta")
        shown = [c for c in names if c in self.columns]
        cells = [[c, *(_show(v) for v in self.columns[c])] for c in shown]
        widths = [max(map(len, column)) for column in cells]
        rows = zip(*cells, strict=True)
        lines.append("")
        lines += [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
        ]
        return "\n".join(lines)


def _show(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def summarize(
    model: LinearClassifier,
    rows: LinearRows,
    loss_fitted: FittedLoss,
    names: list[str],
    level: float,
    eta: Floats | None = None,
) -> Summary:
    """The summary of a fitted model on checked rows; `eta` are their true probabilities of class 1."""
    columns = moments(rows.X, rows.weight)
    design = Design(rows.X, bool(model.fit_intercept), model.n_jobs, columns)
    terms = [*names, "(intercept)"] if model.fit_intercept else names
    penalty = Penalty.make(design, model.alpha_, model.l1_ratio, LinearSettings.read(model).scaled)
    unknown, rank = _unidentified(design, rows.weight, model.alpha_ * (1 - model.l1_ratio))
    parts: list[dict[str, Any]] = []
    total = null = 0.0
    for labels, loss, chosen in _problems(loss_fitted, rows):
        theta = design.pack(model.coef_[chosen], model.intercept_[chosen])
        scores = design.scores(theta)
        # The objective is Σ w ℓ/(s Σ w) + penalty; times s Σ w, its first part is the sum that A is made of.
        ridge = penalty.l2[:, 0] * loss.scale * rows.weight.sum()
        covariances = _covariances(design, loss, rows.weight, scores, ridge)
        if eta is not None:
            known = KnownTruth.of(rows, loss_fitted, scores, eta)
            covariances["_eta"] = known.covariance(design, rows.weight, ridge)
        parts += _tables(design, covariances, theta, terms, labels, level, unknown)
        total += float(rows.weight @ loss.values(slice(None), scores))
        null += float(rows.weight @ loss.values(slice(None), _best_constant(loss, rows.weight, design.n)))
    table = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    if rows.n_classes == 2:
        del table["class"]
    facts = {
        "loss": repr(model.loss_),
        "rows": design.n,
        "sum of weights": float(rows.weight.sum()),
        "total loss": total,
        "loss of the null model": null,
        "twice the difference": 2 * (null - total),
        "share explained": 1 - total / null if null > 0 else float("nan"),
        "steps": model.n_iter_,
        "converged": bool(model.converged_),
    }
    if eta is not None:
        facts |= known.facts(design, rows.weight)
    if np.any(unknown):
        facts["collinear"] = (
            f"{_some(terms, unknown)}: rank {rank} of {design.p}, so these coefficients are not identified; "
            "the shortest ones are shown, without errors"
        )
    if model._separated is not None:
        facts["separation"] = f"errors and p values mean nothing, for {model._separated}"
    if model.alpha_ > 0:
        facts["penalty"] = "coefficients are shrunk by the penalty; errors and p values ignore the bias"
    return Summary(table, facts)


def _best_constant(loss: RowsLoss, weight: Floats, n: int) -> Floats:
    """Scores of the null model, on top of the offset if there is one."""
    design = Design(np.empty((n, 0)), True)
    objective = Objective(design, loss, weight, Penalty.make(design, 0.0, 0.0))
    return fisher.minimize(objective, objective.start(), 1e-10, 100).point.scores


def _unidentified(design: Design, weight: Floats, ridge: float) -> tuple[NDArray[np.bool_], int]:
    """Which coefficients can change without a change of any score, and the rank of the columns.

    By the cut that the solvers use. A ridge decides among such coefficients, so that then there are none.
    """
    if ridge > 0:
        return np.zeros(design.p, dtype=bool), design.p
    gram = design.gram(weight / weight.sum())
    size = np.sqrt(np.diag(gram))
    zero = ~(size > 0)
    size[zero] = 1.0
    values, vectors = np.linalg.eigh(gram / size[:, None] / size)
    null = negligible(values)
    return zero | (np.abs(vectors[:, null]).max(axis=1, initial=0.0) > 1e-6), int(np.sum(~null))


def _some(terms: list[str], chosen: NDArray[np.bool_], most: int = 8) -> str:
    names = [str(terms[j]) for j in np.flatnonzero(chosen)]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _problems(loss: FittedLoss, rows: LinearRows) -> list[tuple[NDArray[Any], RowsLoss, list[int]]]:
    """Labels, the loss of the rows, and rows of coef_: of one problem, or of each class against the rest."""
    parts, every = rows.losses(loss), list(range(rows.n_classes))
    if len(parts) > 1:
        return [(rows.classes[k : k + 1], parts[k], [k]) for k in every]
    two = parts[0].n_scores == 1
    return [(rows.classes[1:] if two else rows.classes, parts[0], [0] if two else every)]


def _tables(
    design: Design,
    covariances: dict[str, Floats],
    theta: Floats,
    terms: list[str],
    labels: NDArray[Any],
    level: float,
    unknown: NDArray[np.bool_],
) -> list[dict[str, Any]]:
    """A table for each column of θ."""
    p, K = theta.shape
    diagonal, last = design.transform()
    T = np.diag(diagonal)
    if design.intercept:
        T[-1] = last
    coef = T @ theta
    z_level = stats.norm.ppf(0.5 + level / 2)
    tables = []
    for k in range(K):
        block = slice(k * p, (k + 1) * p)
        table = {"class": np.repeat(labels[k], p), "term": np.array(terms, dtype=object), "coef": coef[:, k]}
        for suffix, covariance in covariances.items():
            variance = np.einsum("ij,jk,ik->i", T, covariance[block, block], T)
            se = np.sqrt(np.where((variance > 0) & ~unknown, variance, np.nan))
            z = coef[:, k] / se
            table |= {
                f"se{suffix}": se,
                f"z{suffix}": z,
                f"p{suffix}": 2 * stats.norm.sf(np.abs(z)),
                f"low{suffix}": coef[:, k] - z_level * se,
                f"high{suffix}": coef[:, k] + z_level * se,
            }
        tables.append(table)
    return tables


def _covariances(
    design: Design, rows: RowsLoss, weight: Floats, scores: Floats, ridge: Floats
) -> dict[str, Floats]:
    """Model-based and sandwich covariance of θ, classes one after the other; `ridge` is of one class.

    By what their columns of the table end with.
    """
    every, K = slice(None), scores.shape[1]
    penalty = np.diag(np.tile(ridge, K))
    expected = _gram(design, rows.curvatures(every, scores, "fisher") * weight[:, None, None])
    seen = rows.gradients(every, scores)
    seen_squares = seen[:, :, None] * seen[:, None, :]
    model = _sandwich(
        expected + penalty, _gram(design, rows.expected_squares(scores) * weight[:, None, None])
    )
    hessian = _gram(design, rows.curvatures(every, scores, "newton") * weight[:, None, None])
    sums = np.zeros((1, design.p, K))
    design.backward(0, design.n, seen * weight[:, None], sums[0])
    total = design.finish(sums).T.ravel()
    spread = _gram(design, seen_squares * weight[:, None, None]) - np.outer(total, total) / weight.sum()
    return {"": model, "_robust": _sandwich(hessian + penalty, spread)}


@dataclass(frozen=True)
class KnownTruth:
    """Gradient and curvature of two classes, row by row, if the probabilities of class 1 are η.

    Attributes
    ----------
    variance : array of shape (n,)
        η(1 − η)(ωq′)², of the gradient. [B (40)]
    curvature : array of shape (n,)
        ωq′² − (η − q)[ωq′]′, the expected one. [B (41)]
    fisher : array of shape (n,)
        Its first term, that of an unbiased model.
    """

    variance: Floats
    curvature: Floats
    fisher: Floats

    @classmethod
    def of(cls, rows: LinearRows, loss: FittedLoss, scores: Floats, eta: Floats) -> KnownTruth:
        """From the derivatives for both labels, of which the expected ones are means."""
        every, ends = slice(None), []
        for label in (0, 1):
            part = replace(rows, codes=np.full_like(rows.codes, label)).losses(loss)[0]
            slope = part.gradients(every, scores)[:, 0]
            ends.append((slope, part.curvatures(every, scores, "newton")[:, 0, 0]))
        (slope0, bend0), (slope1, bend1) = ends
        fisher = part.curvatures(every, scores, "fisher")[:, 0, 0]
        return cls(eta * (1 - eta) * (slope0 - slope1) ** 2, (1 - eta) * bend0 + eta * bend1, fisher)

    def covariance(self, design: Design, weight: Floats, ridge: Floats) -> Floats:
        """Plug-in covariance of θ."""
        expected = design.gram(weight * self.curvature) + np.diag(ridge)
        return _sandwich(expected, design.gram(weight * self.variance))

    def facts(self, design: Design, weight: Floats) -> dict[str, Any]:
        """How the bias of the model changes the curvature. [B (42), (43)]"""
        bias = self.curvature - self.fisher
        rounding = 8 * np.finfo(float).eps * np.maximum(np.abs(self.curvature), self.fisher)
        stable = float(np.sum(weight[bias >= -rounding]) / weight.sum())
        values, vectors = np.linalg.eigh(design.gram(weight * self.fisher))
        kept = ~negligible(values)
        root = vectors[:, kept] / np.sqrt(values[kept])
        share = np.linalg.eigvalsh(root.T @ design.gram(weight * self.curvature) @ root)
        return {
            "rows that bias stabilizes": stable,
            "least curvature": float(share[0]),
            "most curvature": float(share[-1]),
        }


def _gram(design: Design, rows: Floats) -> Floats:
    p, K = design.p, rows.shape[1]
    total = np.empty((K, p, K, p))
    for a in range(K):
        for b in range(K):
            total[a, :, b, :] = design.gram(np.ascontiguousarray(rows[:, a, b]))
    return total.reshape(K * p, K * p)


def _sandwich(A: Floats, B: Floats) -> Floats:
    solve = inverse_of(A)
    half = np.column_stack([solve(column) for column in B.T])
    return np.column_stack([solve(row) for row in half])
