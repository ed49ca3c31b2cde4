"""The design matrix as the solvers see it: standardized on the fly, never copied.

Coefficients θ belong to the columns (x − centre)/scale, the intercept is the last row of θ; the change of
coordinates keeps tiny, huge and far-off columns from spoiling a step, and is undone by `unpack`. Rows are
read in blocks that stay in cache, and sums over rows are gathered in a number of parts that depends on the
data alone, so that the result is the same bit for bit whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from propriety import parallel
from propriety.communicator import SINGLE, Communicator
from propriety.data.table import is_sparse
from propriety.linear.moments import Moments
from propriety.separators.linalg import Floats

_BLOCK_VALUES = 1 << 17  # values of X in a block: 1 MB
_LEAST_ROWS = 512  # in a block, however many columns: a product of fewer takes longer a row
_PARTS = 16  # partial sums
_PAIR_VALUES = 1 << 17  # products of pairs of columns, or of scores, that are made at once: 1 MB
#: Columns up to which rows are shared among threads; above, a product of matrices has threads of its own.
NARROW = 256
_FAR = 100.0  # standard deviations from 0 at which a column is centred
_HUGE = 1e150  # beyond this, squares and sums are no floats


@lru_cache(maxsize=64)
def upper(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The places on and above the diagonal of a square matrix, row by row.

    >>> upper(2)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    first, second = np.triu_indices(size)
    return first, second


@lru_cache(maxsize=64)
def _pair_numbers(size: int) -> NDArray[np.intp]:
    """The number of each place of a symmetric matrix in the order of `upper`.

    >>> _pair_numbers(2)
    array([[0, 1],
           [1, 2]])
    """
    first, second = upper(size)
    numbers = np.empty((size, size), dtype=np.intp)
    numbers[first, second] = numbers[second, first] = np.arange(len(first))
    return numbers


def _block_numbers(n_blocks: int, size: int) -> NDArray[np.intp]:
    """The same of a symmetric matrix of symmetric blocks, whose places lie in a matrix of both pairs."""
    outer, within = _pair_numbers(n_blocks), _pair_numbers(size)
    n = n_blocks * size
    return (outer[:, None, :, None] * (size * (size + 1) // 2) + within[:, None, :]).reshape(n, n)


_few_block_numbers = lru_cache(maxsize=16)(_block_numbers)


def joined_blocks(packed: Floats, n_blocks: int, size: int) -> Floats:
    """A symmetric matrix of symmetric blocks, of pairs of blocks by pairs of places in them.

    >>> joined_blocks(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]), 2, 2)
    array([[1., 2., 4., 5.],
           [2., 3., 5., 6.],
           [4., 5., 7., 8.],
           [5., 6., 8., 9.]])
    """
    numbers = _few_block_numbers if n_blocks * size <= NARROW else _block_numbers
    return np.take(packed.ravel(), numbers(n_blocks, size))


@lru_cache(maxsize=64)
def _edges(n: int, parts: int) -> tuple[int, ...]:
    """Where so many parts of n begin and end.

    >>> _edges(10, 4)
    (0, 2, 5, 7, 10)
    """
    return tuple(int(edge) for edge in np.linspace(0, n, parts + 1))


def _products_of_pairs(x: Floats) -> Floats:
    """x_j x_k of the rows of a matrix, in the order of `upper`."""
    out, at = np.empty((len(x) * (len(x) + 1) // 2, x.shape[1])), 0
    for j in range(len(x)):
        np.multiply(x[j:], x[j], out=out[at : at + len(x) - j])
        at += len(x) - j
    return out


class Design:
    """X with a column of ones, in standardized coordinates.

    Parameters
    ----------
    X : float array or CSR matrix of shape (n, d)
    intercept : bool
    n_jobs : int or None
    columns : Moments, optional
        Of the columns: then coordinates are (x − centre)/scale; else X is used as it is.
    communicator : Communicator
        The processes over which the rows are spread.

    Examples
    --------
    >>> from propriety.linear.moments import moments
    >>> X = np.array([[1.0], [3.0]])
    >>> design = Design(X, True, columns=moments(X, np.ones(2)))
    >>> design.unpack(design.pack(np.array([[5.0]]), np.array([2.0])))
    (array([[5.]]), array([2.]))
    """

    def __init__(
        self,
        X: Any,
        intercept: bool,
        n_jobs: int | None = None,
        columns: Moments | None = None,
        communicator: Communicator = SINGLE,
    ) -> None:
        self.X, self.intercept, self.n_jobs, self.communicator = X, intercept, n_jobs, communicator
        self.sparse = is_sparse(X)
        self.n, self.d = X.shape
        self.all_rows = int(communicator.sum(np.array([self.n]))[0])
        self.centre: Floats | None = None
        self.inverse_scale = np.ones(self.d)
        self.units = np.ones(self.d)
        if columns is not None:
            self._standardize(self._shrink(columns))
        self._divide()

    def _divide(self) -> None:
        """Set the rows in a block, and the number of partial sums."""
        per_row = max(1, self.X.nnz // max(self.n, 1)) if self.sparse else max(self.d, 1)
        self.block = max(_LEAST_ROWS, _BLOCK_VALUES // per_row)
        self.parts = max(1, min(_PARTS, self.n // self.block))
        self._products: Floats | None = None

    @property
    def p(self) -> int:
        """Number of coefficients for each score: the columns and the intercept."""
        return self.d + self.intercept

    def _shrink(self, columns: Moments) -> Moments:
        """Copy X if a column is so large that its sums are no floats, and measure it in larger units."""
        size = np.maximum(np.abs(columns.mean), columns.spread)
        if columns.largest is not None:
            size = np.maximum(size, columns.largest)
        if not np.any(size > _HUGE):
            return columns
        self.units = np.where(size > _HUGE, np.ldexp(1.0, np.frexp(size)[1] - 1), 1.0)  # powers of 2: exact
        if self.sparse:
            self.X = self.X.astype(np.float64)
            self.X.data = self.X.data / self.units[self.X.indices]
        else:
            self.X = self.X / self.units
        largest = None if columns.largest is None else columns.largest / self.units
        return Moments(columns.mean / self.units, columns.spread / self.units, largest)

    def _standardize(self, columns: Moments) -> None:
        mean, spread = columns.mean, columns.spread
        if columns.largest is not None:
            constant = np.zeros(self.d, dtype=bool)
            spread = np.where(spread > 0, spread, columns.largest)
        else:
            constant = spread <= 1e-14 * np.abs(mean)
            for j in np.flatnonzero(constant):
                column = self.X[:, j]
                low, high = self.communicator.max((-float(column.min()), float(column.max())))
                constant[j] = high + low <= 1e-14 * abs(mean[j])
            spread = np.where(constant | ~(spread > 0), np.abs(mean), spread)
        with np.errstate(over="ignore"):
            inverse = 1 / np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
        self.inverse_scale = np.where(np.isfinite(inverse), inverse, 1.0)
        if self.intercept:
            # A constant column says what the intercept says: its coefficient is 0.
            self.inverse_scale[constant] = 0.0
            far = np.abs(mean) * self.inverse_scale > _FAR
            if not self.sparse and np.any(far):
                self.centre = mean

    # -- coordinates ----------------------------------------------------------------------------------

    @property
    def slopes(self) -> Floats:
        """What a coefficient of X is for a θ of 1."""
        return self.inverse_scale / self.units

    def unpack(self, theta: Floats) -> tuple[Floats, Floats]:
        """Coefficients of X, shape (K, d), and intercepts, shape (K,)."""
        coef = theta[: self.d] * self.inverse_scale[:, None]
        intercept = theta[self.d].copy() if self.intercept else np.zeros(theta.shape[1])
        if self.centre is not None:
            intercept = intercept - self.centre @ coef
        return np.ascontiguousarray((coef / self.units[:, None]).T), intercept

    def pack(self, coef: Floats, intercept: Floats) -> Floats:
        """Standardized coefficients from those of X."""
        theta, coef = np.zeros((self.p, len(coef))), coef * self.units
        known = self.inverse_scale > 0
        theta[: self.d][known] = coef.T[known] / self.inverse_scale[known, None]
        if self.intercept:
            theta[self.d] = intercept
            if self.centre is not None:
                theta[self.d] += self.centre @ coef.T
        return theta

    def transform(self) -> tuple[Floats, Floats]:
        """Matrix T with (coefficients of X, intercept) = T θ for one score, as its diagonal and last row."""
        diagonal = np.append(self.slopes, np.ones(self.p - self.d))
        last = np.zeros(self.p)
        if self.intercept:
            last[-1] = 1.0
            if self.centre is not None:
                last[: self.d] = -self.centre * self.inverse_scale
        return diagonal, last

    # -- products -------------------------------------------------------------------------------------

    def rows(self, start: int, stop: int) -> Any:
        """Dense rows as float64, centred if need be, not scaled."""
        rows = self.X[start:stop]
        if self.centre is not None:
            return rows - self.centre
        return rows if rows.dtype == np.float64 else rows.astype(np.float64)

    def scaled(self, theta: Floats) -> Floats:
        """θ with its scales undone: what multiplies the rows."""
        return theta[: self.d] * self.inverse_scale[:, None]

    def forward(
        self, start: int, stop: int, scaled: Floats, theta: Floats, out: Floats, rows: Any = None
    ) -> None:
        """Scores of a block of rows."""
        out[...] = theta[self.d] if self.intercept else 0.0
        if self.sparse:
            from propriety.linear import kernels

            X = self.X
            kernels.rows_times(X.data, X.indices, X.indptr, start, stop, scaled, out)
        else:
            out += (self.rows(start, stop) if rows is None else rows) @ scaled

    def backward(self, start: int, stop: int, g: Floats, out: Floats, rows: Any = None) -> None:
        """Add Xᵀg of a block of rows to `out`, unscaled."""
        if self.sparse:
            from propriety.linear import kernels

            X = self.X
            kernels.rows_back(X.data, X.indices, X.indptr, start, stop, g, out)
        else:
            out[: self.d] += (self.rows(start, stop) if rows is None else rows).T @ g
        if self.intercept:
            out[self.d] += g.sum(axis=0)

    def finish(self, partial: Floats) -> Floats:
        """Sum of the parts of all processes, in standardized coordinates."""
        total = self.communicator.sum(partial.sum(axis=0))
        total[: self.d] *= self.inverse_scale[:, None]
        return total

    def for_parts(self, work: Callable[[int, int, int], object], parts: int | None = None) -> None:
        """Call ``work(part, start, stop)`` for every block: parts in parallel, blocks in order."""
        parts = self.parts if parts is None else parts
        edges = _edges(self.n, parts)

        def task(part: int) -> None:
            for start in range(edges[part], edges[part + 1], self.block):
                work(part, start, int(min(start + self.block, edges[part + 1])))

        if parts == 1:
            task(0)
            return
        with parallel.one_blas_thread():
            parallel.run([partial(task, k) for k in range(parts)], self.n_jobs)

    def scores(self, theta: Floats) -> Floats:
        """F = X θ, of shape (n, K)."""
        out, scaled = np.empty((self.n, theta.shape[1])), self.scaled(theta)
        self.for_parts(lambda part, i, j: self.forward(i, j, scaled, theta, out[i:j]))
        return out

    def gram(self, h: Floats, rows: slice = slice(None), columns: Any = None) -> Floats:
        """Xᵀ diag(h) X over some rows, h of their number; of some columns if given.

        Negative entries of h are allowed; without any, the product is that of a matrix with itself.
        """
        columns = np.arange(self.p) if columns is None else np.asarray(columns)
        real = columns[columns < self.d]
        q = len(columns)
        X = self.X[rows] if len(h) < self.n else self.X
        total = (self._sparse_gram if self.sparse else self._dense_gram)(X, h, real, q)
        factor = np.ones(q)
        factor[: len(real)] = self.inverse_scale[real]
        return total * factor[:, None] * factor

    def grams(self, weights: Callable[[slice], Floats], m: int, stride: int = 1) -> Floats:
        """Xᵀ diag(h) X for each of `m` weightings h of the rows, shape (m, p, p); see `packed_grams`."""
        return self.packed_grams(weights, m, stride)[:, _pair_numbers(self.p)]

    def packed_grams(self, weights: Callable[[slice], Floats], m: int, stride: int = 1) -> Floats:
        """The places on and above the diagonals of Xᵀ diag(h) X for each of `m` weightings h of the rows.

        Of every `stride`-th row. ``weights(rows)`` are those of some rows, of shape (m, number of rows).
        Products of pairs of columns are made once for all weightings, so that the rest is one product of
        matrices; the shape is (m, p (p + 1)/2), the columns in the order of `upper`.
        """
        first, second = upper(self.p)
        size = max(64, _PAIR_VALUES // max(m, len(first))) * stride
        starts = range(0, self.n, size)
        parts = max(1, min(_PARTS, len(starts), _PAIR_VALUES // (m * len(first) + 1)))
        edges = _edges(len(starts), parts)
        sums = np.zeros((parts, m, len(first)))

        def task(part: int) -> None:
            for start in starts[edges[part] : edges[part + 1]]:
                rows = slice(start, min(start + size, self.n), stride)
                sums[part] += weights(rows) @ self._row_products(rows).T

        if self.sparse:
            return self._sparse_grams(weights, m, size, stride)[:, first, second]
        if parts == 1:
            task(0)
        else:
            with parallel.one_blas_thread():
                parallel.run([partial(task, k) for k in range(parts)], self.n_jobs)
        factor = np.append(self.inverse_scale, np.ones(self.p - self.d))
        total: Floats = sums[0] if parts == 1 else sums.sum(axis=0)
        return total * factor[first] * factor[second]

    def _row_products(self, rows: slice) -> Floats:
        """Products of pairs of columns of some rows; those of a small table are kept for the next step."""
        n_rows = len(range(*rows.indices(self.n)))
        if self._products is not None and n_rows == self.n:
            return self._products
        x = np.ones((self.p, n_rows))
        x[: self.d] = self.X[rows].T if self.centre is None else (self.X[rows] - self.centre).T
        products = _products_of_pairs(x)
        if n_rows == self.n and products.size <= _PAIR_VALUES:
            self._products = products
        return products

    def _sparse_grams(self, weights: Callable[[slice], Floats], m: int, size: int, stride: int) -> Floats:
        total = np.zeros((m, self.p, self.p))
        for start in range(0, self.n, size):
            rows = slice(start, min(start + size, self.n), stride)
            for k, h in enumerate(weights(rows)):
                total[k] += self.gram(h, rows)
        return total

    def _dense_gram(self, X: Any, h: Floats, real: NDArray[np.intp], q: int) -> Floats:
        every = len(real) == self.d
        signed = bool(np.any(h < 0))
        root = h if signed else np.sqrt(h)
        n = len(h)
        block = max(256, _BLOCK_VALUES // max(q, 1))
        parts = max(1, min(_PARTS if q <= NARROW else 1, n // block))
        edges = _edges(n, parts)
        sums = np.zeros((parts, q, q))

        def task(part: int) -> None:
            plain, buffer = np.empty((block, q)), np.empty((block, q))
            for start in range(edges[part], edges[part + 1], block):
                stop = min(start + block, edges[part + 1])
                r, B = root[start:stop, None], buffer[: stop - start]
                rows = X[start:stop] if every else X[start:stop, real]
                if self.centre is not None:
                    rows = rows - self.centre[real]
                np.multiply(rows, r, out=B[:, : len(real)])
                B[:, len(real) :] = r
                if signed:
                    P = plain[: stop - start]
                    P[:, : len(real)], P[:, len(real) :] = rows, 1.0
                    sums[part] += P.T @ B
                else:
                    sums[part] += B.T @ B

        if parts == 1:
            task(0)
        else:
            with parallel.one_blas_thread():
                parallel.run([partial(task, k) for k in range(parts)], self.n_jobs)
        return sums.sum(axis=0)

    def _sparse_gram(self, X: Any, h: Floats, real: NDArray[np.intp], q: int) -> Floats:
        A = X if len(real) == self.d else X[:, real]
        weighted = sparse.diags_array(h) @ A
        total = np.zeros((q, q))
        m = len(real)
        total[:m, :m] = (A.T @ weighted).toarray()
        if q > m:
            total[m, :m] = total[:m, m] = np.asarray(weighted.sum(axis=0)).ravel()
            total[m, m] = h.sum()
        return total

    def sample(self, stride: int) -> Design:
        """Every `stride`-th row, copied, in the same coordinates."""
        small = copy(self)
        small.X = self.X[::stride].copy()
        small.n = small.all_rows = small.X.shape[0]
        small._divide()
        return small

    def restrict(self, columns: NDArray[np.intp]) -> Design:
        """The same rows with some columns only, copied column by column; the intercept stays."""
        small = copy(self)
        if self.sparse:
            small.X = self.X[:, columns]
        else:
            small.X = np.empty((self.n, len(columns)), dtype=self.X.dtype, order="F")
            for start in range(0, self.n, 256):
                small.X[start : start + 256] = self.X[start : start + 256, columns]
        small.d = len(columns)
        small._divide()
        small.centre = None if self.centre is None else self.centre[columns]
        small.inverse_scale, small.units = self.inverse_scale[columns], self.units[columns]
        return small
