"""Relations between fits: one table of what may be done to the data or the fit without changing the model.

A case is a relation, an estimator with settings and a kind of table, all drawn from a seed and a number. The
suite runs a fixed selection; ``python -m tests.laws.relations`` draws as many as there is time for, as they
are, in forked processes (``--forked``) or after interrupts (``--interrupted``). A case that breaks its
relation is named with the numbers that repeat it: ``--seed 1 --first 17 --count 1``.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from propriety import losses
from propriety.boosting import Algorithm
from propriety.communicator import NotDistributable
from propriety.data.training import NUMBERS
from propriety.distributed.turns import take_turns
from propriety.model.catalogue import ESTIMATORS, Entry
from propriety.model.fit_context import in_context
from propriety.model.offsets import OffsetClassifier

Floats = NDArray[np.float64]
Random = np.random.Generator


# --- estimators -----------------------------------------------------------------------------------

#: Settings of each estimator; the first are the defaults, or near them.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "boosting": [
        {},
        {"max_iter": 6},
        {"max_iter": 6, "calibrate": "platt"},
        {"max_iter": 6, "calibrate": "beta"},
        {"max_iter": 6, "subsample": 0.5, "max_features": 0.5},
        {"max_iter": 6, "early_stopping": True},
        {"max_iter": 6, "algorithm": "additive"},
        {"max_iter": 6, "algorithm": Algorithm(weak_learner="stump", step="newton")},
    ],
    "forest": [{"n_estimators": 6}, {"n_estimators": 6, "splitter": "random", "oob_score": True}],
    # Linear models stop when a step no longer helps: to what is compared here, and with a unique minimum.
    "linear": [
        {"tol": 1e-12, "max_iter": 500, "alpha": 0.01},
        {"tol": 1e-12, "max_iter": 500, "alpha": "cv"},
    ],
    "kernel": [{"tol": 1e-10, "width": 1.0, "alpha": 0.01}, {"tol": 1e-10}],
    "auto": [
        {"n_estimators": 6, "members": ("linear", "forest")},
        {"n_estimators": 6, "members": ("forest", "boosting")},
        {"n_estimators": 6, "interpretable": True},
    ],
    "tree": [{}, {"ccp_alpha": "one_se"}, {"ccp_alpha": "min"}],
    "rules": [{"n_rules": 4}],
    "scorecard": [{"max_columns": 4}, {"round_points": False}],
}
#: Of many rows: fits of a few seconds.
OF_MANY_ROWS: dict[str, dict[str, Any]] = {
    "boosting": {"max_iter": 3, "max_leaf_nodes": 16},
    "forest": {"n_estimators": 2},
    "linear": SETTINGS["linear"][0],
    "tree": {"max_leaf_nodes": 16},
}
#: How far probabilities may differ where sums are taken in another order, or a minimum is sought again.
ROUNDING = {"linear": 1e-7, "kernel": 1e-6, "auto": 1e-5, "scorecard": 1e-7}
EXACT, ROUNDED = 0.0, 1e-9


# --- kinds of tables ------------------------------------------------------------------------------


def _categories(rng: Random, n: int) -> pd.DataFrame:
    """A column of categories, some of which few rows hold."""
    names = np.array(list("abcdefgh"))[np.minimum(rng.geometric(0.4, n) - 1, 7)]
    return pd.DataFrame({"x": np.round(rng.normal(size=n), 1), "name": pd.Categorical(names)})


def _missing(rng: Random, n: int) -> Floats:
    X = np.round(rng.normal(size=(n, 3)), 1)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 2] = 1.0
    return X


def _exchangeable(rng: Random, n: int) -> Floats:
    """With every row (a, b) there is a row (b, a)."""
    X = rng.integers(0, 2, (n - n // 2, 2)).astype(float)
    return np.concatenate([X, X[:, ::-1]])[:n]


KINDS: dict[str, Callable[[Random, int], Any]] = {
    "continuous": lambda rng, n: rng.normal(size=(n, 4)),
    "single precision": lambda rng, n: rng.normal(size=(n, 3)).astype(np.float32),
    "few values": lambda rng, n: rng.integers(0, 3, (n, 3)).astype(float),
    "exchangeable columns": _exchangeable,
    "missing and constant": _missing,
    "categories": _categories,
}
WEIGHTS: dict[str, Callable[[Random, int], Any]] = {
    "none": lambda rng, n: None,
    "copies": lambda rng, n: rng.integers(1, 4, n).astype(float),
    "many copies": lambda rng, n: rng.integers(1, 60, n).astype(float),
    "relative": lambda rng, n: rng.choice([0.5, 0.7, 1.5], n),
}
#: Least weights are whole numbers of rows at some of these, so that sums of weights can be equal to one.
SIZES, MANY = (12, 20, 40, 150, 400), 140_000


def _groups(rng: Random, n: int, n_classes: int) -> dict[str, Any]:
    return {"groups": rng.integers(0, n // 3, n)}


def _offset(rng: Random, n: int, n_classes: int) -> dict[str, Any]:
    return {"offset": np.round(rng.normal(size=n if n_classes == 2 else (n, n_classes)), 1)}


def _costs(rng: Random, n: int, n_classes: int) -> dict[str, Any]:
    return {"fp_cost": rng.choice([1.0, 2.0, 5.0], n)} if n_classes == 2 else {}


#: What else is given for each row.
GIVEN: dict[str, Callable[[Random, int, int], dict[str, Any]]] = {
    "nothing else": lambda rng, n, n_classes: {},
    "groups": _groups,
    "offset": _offset,
    "costs": _costs,
}


class Data(NamedTuple):
    """What is fitted."""

    X: Any
    y: NDArray[Any]
    weight: Floats | None
    given: dict[str, NDArray[Any]]

    def take(self, rows: NDArray[np.intp]) -> Data:
        """Some of the rows, or some several times."""
        X = self.X.iloc[rows].reset_index(drop=True) if hasattr(self.X, "iloc") else self.X[rows]
        weight = None if self.weight is None else self.weight[rows]
        return Data(X, self.y[rows], weight, {name: values[rows] for name, values in self.given.items()})


def data_of(case: Case, rng: Random) -> Data:
    """A table of a kind, with noisy labels of all classes."""
    n, n_classes = case.n_rows, case.n_classes
    X = KINDS[case.kind](rng, n)
    numbers = np.nan_to_num(X.iloc[:, :1].to_numpy() if hasattr(X, "iloc") else X)
    score = numbers.sum(axis=1) + rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    y[:n_classes] = np.arange(n_classes)
    return Data(X, y, WEIGHTS[case.weights](rng, n), GIVEN[case.given](rng, n, n_classes))


def as_numbers(X: Any) -> Floats:
    """For estimators that read nothing else."""
    if not hasattr(X, "iloc"):
        return np.nan_to_num(X)
    names = X["name"].to_numpy(dtype=object)
    return np.column_stack([X["x"], names[:, None] == np.array(list("abcdefgh"), dtype=object)]).astype(float)


# --- relations ------------------------------------------------------------------------------------


class Relation(NamedTuple):
    """Two fits that give one model: probabilities of both, or None where the case says nothing of it."""

    compare: Callable[[Case, Data, Random], tuple[Floats, Floats] | None]
    within: float


def _permuted(case: Case, data: Data, rng: Random) -> tuple[Floats, Floats]:
    return case.fit(data), case.fit(data.take(rng.permutation(len(data.y))), data)


def _copied(case: Case, data: Data, rng: Random) -> tuple[Floats, Floats] | None:
    if data.weight is None or np.any(data.weight != np.rint(data.weight)) or data.weight.sum() > 4 * MANY:
        return None
    rows = rng.permutation(np.repeat(np.arange(len(data.y)), data.weight.astype(int)))
    return case.fit(data), case.fit(data.take(rows)._replace(weight=None), data)


def _weightless(case: Case, data: Data, rng: Random) -> tuple[Floats, Floats]:
    n = len(data.y)
    others = rng.integers(0, n, int(rng.integers(1, n)))
    more = data.take(np.concatenate([np.arange(n), others]))
    weight = np.ones(n) if data.weight is None else data.weight
    # Their labels are anything, and so are their categories.
    y, X = np.append(data.y, rng.integers(0, data.y.max() + 2, len(others))), more.X
    if hasattr(X, "iloc"):
        names = X["name"].astype(object)
        names.iloc[n:] = rng.choice(["a", "zz", "A"], len(others))
        X = X.assign(name=pd.Categorical(names))
    weight = np.append(weight, np.zeros(len(others)))
    more = Data(X, y, weight, more.given).take(rng.permutation(n + len(others)))
    return case.fit(data), case.fit(more, data)


def _renamed(case: Case, data: Data, rng: Random) -> tuple[Floats, Floats]:
    """The order of the names stays, since it breaks ties."""
    return case.fit(data), case.fit(data._replace(y=np.array(["no", "so", "yes"])[data.y]), data)


def _scaled(case: Case, data: Data, rng: Random) -> tuple[Floats, Floats]:
    loss = [losses.Log(), losses.Squared()][rng.integers(2)]
    factor = float(rng.choice([3.0, 0.1, 1e-5]))
    return case.fit(data, loss=loss), case.fit(data, loss=factor * loss)


def _threaded(case: Case, data: Data, rng: Random) -> tuple[Floats, Floats] | None:
    if "n_jobs" not in case.row.type._get_param_names():
        return None
    return case.fit(data, n_jobs=1), case.fit(data, n_jobs=int(rng.integers(2, 5)))


def _repeated(case: Case, data: Data, rng: Random) -> tuple[Floats, Floats]:
    return case.fit(data), case.fit(data)


def _spread(case: Case, data: Data, rng: Random) -> tuple[Floats, Floats] | None:
    """Threads that take turns stand for the places."""
    if not case.row.type.capabilities.scans:
        return None
    n, order = len(data.y), rng.permutation(len(data.y))
    cuts = [n // 2] if n == MANY else np.sort(rng.choice(np.arange(1, n), int(rng.integers(1, 3)), False))
    parts = [data.take(rows) for rows in np.split(order, cuts)]
    model = case.model()

    def task(part: Data) -> Callable[[Any], Any]:
        def fit(member: Any) -> Any:
            own = clone(model)
            in_context(own, communicator=member)
            return case.fitted(own, part)

        return fit

    try:
        models = take_turns([task(part) for part in parts])
    except NotDistributable:
        return None
    return case.fit(data), case.probabilities(models[int(rng.integers(len(models)))], data)


RELATIONS: dict[str, Relation] = {
    "rows in another order": Relation(_permuted, EXACT),
    "copies for weights": Relation(_copied, ROUNDED),
    "rows of weight 0": Relation(_weightless, EXACT),
    "other names of the classes": Relation(_renamed, EXACT),
    "a multiple of the loss": Relation(_scaled, ROUNDED),
    "one thread and many": Relation(_threaded, EXACT),
    "fitted again": Relation(_repeated, EXACT),
    "in one place and spread": Relation(_spread, EXACT),
}


# --- cases ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A relation, an estimator and a table; ``seed`` and ``number`` draw the numbers in it."""

    seed: int
    number: int
    relation: str
    row: Entry
    params: dict[str, Any]
    kind: str
    weights: str
    given: str
    n_rows: int
    n_classes: int

    @classmethod
    def draw(cls, seed: int, number: int, many: float = 0.0) -> Case:
        """The case of a seed and a number; a share `many` of them has many rows."""
        rng = np.random.default_rng([seed, number])
        relation, row = str(rng.choice(list(RELATIONS))), ESTIMATORS[rng.integers(len(ESTIMATORS))]
        params = SETTINGS[row.key][rng.integers(len(SETTINGS[row.key]))]
        n_rows = int(rng.choice(SIZES))
        if rng.random() < many and row.key in OF_MANY_ROWS:
            n_rows, params = MANY, OF_MANY_ROWS[row.key]
        kind, weights = str(rng.choice(list(KINDS))), str(rng.choice(list(WEIGHTS)))
        given = str(rng.choice(given_to(row)))
        return cls(seed, number, relation, row, params, kind, weights, given, n_rows, int(rng.integers(2, 4)))

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        return (
            f"{self.relation}: {self.row.name}({settings}), {self.n_rows} rows, {self.kind}, "
            f"{self.n_classes} classes, weights: {self.weights}, and {self.given} "
            f"(--seed {self.seed} --first {self.number} --count 1)"
        )

    def model(self, **params: Any) -> Any:
        """The estimator, not fitted."""
        return self.row.type(**{**self.params, **params})

    def fitted(self, model: Any, data: Data) -> Any:
        """The model, fitted."""
        return model.fit(self._rows(model, data), data.y, sample_weight=data.weight, **data.given)

    def probabilities(self, model: Any, data: Data) -> Floats:
        """Of rows."""
        offset = {name: values for name, values in data.given.items() if name == "offset"}
        return np.asarray(model.predict_proba(self._rows(model, data), **offset))

    @staticmethod
    def _rows(model: Any, data: Data) -> Any:
        """Rows as the model reads them."""
        return as_numbers(data.X) if model._reads == NUMBERS else data.X

    def fit(self, data: Data, at: Data | None = None, **params: Any) -> Floats:
        """Probabilities of other rows, or of those that are fitted."""
        return self.probabilities(self.fitted(self.model(**params), data), data if at is None else at)

    def breach(self) -> str | None:
        """What is wrong, or None."""
        rng = np.random.default_rng([self.seed, self.number, 1])
        data = data_of(self, rng)
        compare, within = RELATIONS[self.relation]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                both = compare(self, data, rng)
            except ValueError as error:
                if "groups" not in str(error):
                    raise
                return None  # too few to be held out
        if both is None:
            return None
        apart = float(np.max(np.abs(both[0] - both[1])))
        return None if apart <= max(within, ROUNDING.get(self.row.key, 0.0)) else f"{apart:.3g} apart"


def given_to(row: Entry) -> list[str]:
    """What may be given to ``fit`` of an estimator for each row."""
    takes = {"groups": row.type.capabilities.groups, "offset": issubclass(row.type, OffsetClassifier)}
    return [name for name in GIVEN if takes.get(name, True)]


def selection() -> list[Case]:
    """A case for each relation and each estimator; kinds, weights, sizes and settings take turns."""
    cases = []
    for i, relation in enumerate(RELATIONS):
        for j, row in enumerate(ESTIMATORS):
            drawn = Case.draw(0, len(ESTIMATORS) * i + j)
            kind = list(KINDS)[(i + j) % len(KINDS)]
            weights = (
                "copies" if relation == "copies for weights" else list(WEIGHTS)[(i + 2 * j) % len(WEIGHTS)]
            )
            settings = SETTINGS[row.key]
            cases.append(
                replace(
                    drawn,
                    relation=relation,
                    row=row,
                    params=settings[(i + 1) % len(settings)],
                    kind=kind,
                    weights=weights,
                    given=given_to(row)[(i + j) % len(given_to(row))],
                    n_rows=(40, 150)[(i + j) % 2],
                    n_classes=2 + (i + j // 2) % 2,
                )
            )
    return cases


# --- as many as there is time for -----------------------------------------------------------------


def checked(case: Case) -> str | None:
    """What is wrong with a case, errors included."""
    try:
        return case.breach()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def forked(case: Case) -> str | None:
    """The same, and again in a child of this process, which then has threads, locks and kernels."""
    if (wrong := checked(case)) is not None:
        return wrong
    child = os.fork()
    if child == 0:
        signal.alarm(300)
        if (wrong := checked(case)) is not None:
            print(f"\n{wrong}", flush=True)
        os._exit(wrong is not None)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return None if code == 0 else f"in a child of a fork, which ended with {code}"


def interrupted(case: Case) -> str | None:
    """The same after fits that were broken off."""
    rng = np.random.default_rng([case.seed, case.number, 2])
    data = data_of(case, rng)
    for _ in range(3):
        after = threading.Timer(rng.exponential(0.05), os.kill, (os.getpid(), signal.SIGINT))
        with warnings.catch_warnings(), suppress(KeyboardInterrupt):
            warnings.simplefilter("ignore")
            after.start()
            case.fit(data)
        with suppress(KeyboardInterrupt):
            after.join()
            time.sleep(0.01)  # the interrupt may still be on its way
    return checked(case)


def main() -> int:
    """Draw cases until the time is over; returns how many of them broke their relations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=sys.maxsize)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--many", type=float, default=0.01, help="share of cases with 140,000 rows")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--forked", dest="check", action="store_const", const=forked, default=checked)
    how.add_argument("--interrupted", dest="check", action="store_const", const=interrupted)
    given = parser.parse_args()
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # one in the background ignores it
    end, number, broken = time.monotonic() + given.seconds, given.first, 0
    while number < given.first + given.count and time.monotonic() < end:
        case = Case.draw(given.seed, number, given.many)
        if number % 20 == 0:
            print(number, end=" ", flush=True)  # where it was, if the process dies
        if (wrong := given.check(case)) is not None:
            broken += 1
            print(f"\nBROKEN {case}\n  {wrong}", flush=True)
        number += 1
    print(f"\n{number - given.first} cases, {broken} broken")
    return broken


if __name__ == "__main__":
    sys.exit(min(main(), 1))
