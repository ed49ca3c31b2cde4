"""Laws of every estimator: what may be done to the data without changing the model, or how it then changes.

Each law runs over the catalogue, so that a new estimator is tested by being there. The tables of this page
say where one differs: its parameters, how exactly it repeats itself, and what it does not claim. Relations
that hold for every kind of table are in `relations`.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from propriety import losses
from propriety.losses.base import SmoothLoss
from propriety.model.catalogue import ESTIMATORS

#: Parameters that make a fit small, for the estimators that have them.
SMALL = {"max_iter": 6, "n_estimators": 6, "n_rules": 4, "random_state": 0, "n_jobs": 1}
#: Linear models stop when a step no longer helps: to what is compared here, and with a unique minimum.
OWN = {
    "linear": {"max_iter": 200, "tol": 1e-12, "alpha": 0.01},
    "kernel": {"tol": 1e-10, "width": 1.0, "alpha": 0.01},
    "auto": {"members": ("linear", "forest")},
}
#: How far probabilities may differ where sums are taken in another order; nothing where there is no entry.
ROUNDING = {"linear": 1e-8, "kernel": 1e-7, "auto": 1e-5, "scorecard": 1e-8}
#: Models that depend on the values of a column, not only on their order.
BY_VALUE = {"auto", "kernel", "linear", "scorecard"}
#: Models that are weighed by folds, which follow the content of the rows: another column makes other folds.
FOLDED = {"auto", "scorecard"}
#: Models of distances between rows, to which a column that is there twice adds twice.
BY_DISTANCE = {"kernel"}
SYMMETRIC = [losses.Log(), losses.Squared(), losses.Exponential(), losses.Matsushita()]
ANY_LOSS = [losses.Log(), losses.Squared(), losses.Tailored(0.3, 5), losses.Beta(2, 1)]
#: Rules need a loss that is convex in the score.
CONVEX_ONLY = {"rules"}
REGISTERED = [loss for loss in losses.examples() if isinstance(loss, SmoothLoss)]
#: Least weights are whole numbers of rows at these sizes, so that a sum of weights can be equal to one.
SIZES = (20, 40, 100, 400)

every_estimator = pytest.mark.parametrize("row", ESTIMATORS, ids=lambda row: row.key)


@dataclass(frozen=True)
class Case:
    """Rows with continuous columns and noisy labels, with weights of a kind."""

    X: NDArray[np.float64]
    y: NDArray[np.intp]
    weight: NDArray[np.float64] | None = None

    def take(self, rows):
        return Case(self.X[rows], self.y[rows], None if self.weight is None else self.weight[rows])

    def fit(self, row, **params):
        names = row.type._get_param_names()
        small = {name: value for name, value in SMALL.items() if name in names}
        return row.type(**{**small, **OWN.get(row.key, {}), **params}).fit(self.X, self.y, self.weight)


WEIGHTS = {
    "none": lambda rng, n: None,
    # Sums of these are often a least weight exactly, and stay so when they are scaled.
    "halves": lambda rng, n: rng.permutation(np.resize([0.5, 1.5], n)),
    "any": lambda rng, n: rng.uniform(0.2, 2.0, n),
    "copies": lambda rng, n: rng.integers(1, 4, n).astype(np.float64),
}


@st.composite
def cases(draw, sizes=SIZES, classes=(2, 3), weights=tuple(WEIGHTS)):
    n, n_classes, kind = (draw(st.sampled_from(choices)) for choices in (sizes, classes, weights))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, 4))
    score = X[:, 0] - X[:, 1] * X[:, 2] + rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    return Case(X, y, WEIGHTS[kind](rng, n))


orders = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def assert_same(row, one, other, *, atol=0.0):
    """Equal bits, or as far apart as the estimator or the law allows."""
    np.testing.assert_allclose(one, other, rtol=0, atol=max(atol, ROUNDING.get(row.key, 0.0)))


@every_estimator
@pytest.mark.parametrize("n", SIZES)
def test_there_is_a_model_to_change(row, n):
    """The laws would hold for a model that has learned nothing."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 4))
    P = Case(X, (X[:, 0] > 0).astype(int)).fit(row).predict_proba(X)
    assert np.ptp(P[:, 1]) > 0.1


@every_estimator
@given(case=cases(sizes=(100, 400), weights=("any",)), rng=orders)
def test_the_order_of_columns_does_not_matter(row, case, rng):
    """Without ties: where two columns split equally well, the first is taken."""
    columns = rng.permutation(case.X.shape[1])
    other = replace(case, X=case.X[:, columns])
    assert_same(
        row,
        case.fit(row).predict_proba(case.X),
        other.fit(row).predict_proba(case.X[:, columns]),
        atol=1e-12,
    )


@every_estimator
@given(case=cases(weights=("halves", "any")), factor=st.sampled_from([0.1, 3.3, 1e-9, 2.0**-40, 1 / 3]))
def test_the_scale_of_relative_weights_does_not_matter(row, case, factor):
    scaled = replace(case, weight=factor * case.weight)
    assert_same(row, case.fit(row).predict_proba(case.X), scaled.fit(row).predict_proba(case.X), atol=1e-9)


@every_estimator
@given(case=cases(weights=("none",)), constant=st.sampled_from([0.1, 1 / 3, 1e-9, 1e300]))
def test_one_weight_for_all_is_no_weight(row, case, constant):
    weighted = replace(case, weight=np.full(len(case.y), constant))
    assert_same(row, case.fit(row).predict_proba(case.X), weighted.fit(row).predict_proba(case.X))


@pytest.mark.parametrize(
    "row", [row for row in ESTIMATORS if row.key not in FOLDED | BY_DISTANCE], ids=lambda row: row.key
)
@given(case=cases(sizes=(100, 400)), column=st.integers(0, 3))
def test_a_column_given_twice_changes_no_probability(row, case, column):
    """A penalty would be shared between the two, so linear models have none here."""
    free = {"alpha": 0.0, "tol": 1e-10} if row.key == "linear" else {}
    twice = replace(case, X=np.column_stack([case.X, case.X[:, column]]))
    assert_same(
        row, case.fit(row, **free).predict_proba(case.X), twice.fit(row, **free).predict_proba(twice.X)
    )


@pytest.mark.parametrize(
    "row", [row for row in ESTIMATORS if row.key not in BY_VALUE], ids=lambda row: row.key
)
@pytest.mark.parametrize("digits", [1, 15], ids=["few values", "all distinct"])
@given(case=cases(), change=st.sampled_from([np.exp, lambda x: x**3, lambda x: 1e6 * x - 7]))
def test_only_the_order_of_a_columns_values_matters(row, digits, case, change):
    rounded = replace(case, X=np.round(case.X, digits))
    changed = replace(rounded, X=np.column_stack([change(rounded.X[:, 0]), rounded.X[:, 1:]]))
    assert_same(row, rounded.fit(row).predict_proba(rounded.X), changed.fit(row).predict_proba(changed.X))


@every_estimator
@given(
    case=cases(classes=(2,), weights=("any",)),
    loss=st.sampled_from(SYMMETRIC),
    costs=st.sampled_from([(1.0, 1.0), (1.0, 9.0), (3.0, 2.0)]),
)
def test_swapped_labels_with_swapped_costs_swap_the_decisions(row, case, loss, costs):
    fp, fn = costs
    model = case.fit(row, loss=loss, fp_cost=fp, fn_cost=fn)
    mirrored = replace(case, y=1 - case.y).fit(row, loss=loss, fp_cost=fn, fn_cost=fp)
    P = model.predict_proba(case.X)
    assert_same(row, P, mirrored.predict_proba(case.X)[:, ::-1], atol=1e-9)
    clear = np.abs(P[:, 1] - fp / (fp + fn)) > 1e-7
    np.testing.assert_array_equal(model.predict(case.X)[clear], 1 - mirrored.predict(case.X)[clear])


@every_estimator
@pytest.mark.parametrize("loss", REGISTERED, ids=repr)
def test_the_scale_of_no_registered_loss_matters(row, loss):
    """On a few rows, where a loss that is not convex has several minima to choose from."""
    if row.key in CONVEX_ONLY and not loss.composite().properties()["convex"]:
        pytest.skip(f"{row.name} needs a loss that is convex in the score")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 4))
    case = Case(X, (X[:, 0] - X[:, 1] * X[:, 2] + rng.normal(size=20) > 0).astype(int))
    one, other = (case.fit(row, loss=factor * loss).predict_proba(X) for factor in (1, 3))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
