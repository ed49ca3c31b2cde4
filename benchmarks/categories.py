"""Categorical columns: noise that must not be memorized, effects that must be learned, levels never seen.

    python benchmarks/categories.py              # every case
    python benchmarks/categories.py noise        # one of: noise, effects, parts, real
    python benchmarks/categories.py --repeats 1  # on one table each in place of three

Tables of held-out log losses: without the categorical columns, with them, and with them on
rows whose level was not seen in training. Libraries that are not installed are left out. The real tables are
those of `quality_data.py`, if its files are there.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
import quality_data
from measuring import Column, Part, Table

from propriety import BoostingClassifier, RuleClassifier, TreeClassifier

warnings.filterwarnings("ignore")
THREADS, ROUNDS, LEAVES, RATE = 1, 150, 8, 0.07
NOISE = (10, 50, 200, 400, 1000)
EFFECTS = ((10, 2_000), (100, 2_000), (100, 5_000), (1_000, 5_000), (1_000, 20_000))
REAL = ("adult", "credit-a (crx)", "german", "auto (imports-85)")


# --- models ---------------------------------------------------------------------------------------


def _categorical(X):
    return [name for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)]


def lightgbm():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=ROUNDS, num_leaves=LEAVES, learning_rate=RATE, n_jobs=THREADS, verbose=-1
    )


class XGBoost:
    """XGBoost with levels that it has not seen as missing values; it would refuse them."""

    def fit(self, X, y):
        """Fit the model."""
        from xgboost import XGBClassifier

        kept = {name: X[name].cat.remove_unused_categories() for name in _categorical(X)}
        self.levels = {name: column.cat.categories for name, column in kept.items()}
        self.model = XGBClassifier(
            n_estimators=ROUNDS,
            max_leaves=LEAVES,
            grow_policy="lossguide",
            learning_rate=RATE,
            n_jobs=THREADS,
            enable_categorical=True,
        )
        self.model.fit(X.assign(**kept), y)
        return self

    def predict_proba(self, X):
        """Probabilities of the two classes."""
        return self.model.predict_proba(
            X.assign(**{name: X[name].cat.set_categories(levels) for name, levels in self.levels.items()})
        )


class CatBoost:
    """CatBoost with its categories as text, which is how it takes them."""

    def fit(self, X, y):
        """Fit the model."""
        from catboost import CatBoostClassifier

        self.text = _categorical(X)
        self.model = CatBoostClassifier(
            iterations=ROUNDS, learning_rate=RATE, thread_count=THREADS, verbose=0, allow_writing_files=False
        )
        self.model.fit(self._texts(X), y, cat_features=self.text)
        return self

    def _texts(self, X):
        return X.assign(**{name: X[name].astype(object).fillna("missing").astype(str) for name in self.text})

    def predict_proba(self, X):
        """Probabilities of the two classes."""
        return self.model.predict_proba(self._texts(X))


def boosting():
    return BoostingClassifier(
        max_iter=ROUNDS, max_leaf_nodes=LEAVES, learning_rate=RATE, n_jobs=THREADS, random_state=0
    )


MODELS = {
    "propriety": boosting,
    "propriety, default": lambda: BoostingClassifier(n_jobs=THREADS, random_state=0),
    "its tree": lambda: TreeClassifier(min_samples_leaf=20, n_jobs=THREADS),
    "its rules": lambda: RuleClassifier(n_jobs=THREADS),
    "LightGBM": lightgbm,
    "XGBoost": XGBoost,
    "CatBoost": CatBoost,
}


def available():
    """The models whose library is there."""
    return {
        name: make
        for name, make in MODELS.items()
        if name.startswith(("propriety", "its")) or find_spec(name.lower()) is not None
    }


# --- tables ---------------------------------------------------------------------------------------


def simulated(seed, n, effects):
    """Five useful numbers and a column of levels with these effects on the score."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    level = rng.integers(len(effects), size=n)
    score = X @ np.array([0.6, -0.5, 0.4, 0.3, -0.2]) + effects[level]
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(5)])
    frame["level"] = pd.Categorical([f"L{i}" for i in level])
    return frame, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int), level


def log_loss(model, X, y):
    if len(y) == 0:
        return np.nan
    p = np.clip(model.predict_proba(X)[:, 1], 1e-15, 1 - 1e-15)
    return -np.mean(np.where(y == 1, np.log(p), np.log1p(-p)))


def losses(make, train, known, new):
    """Without the categorical columns, with them, and both on rows of levels that are new."""
    plain = [name for name in train[0] if name not in _categorical(train[0])]
    without, whole = make().fit(train[0][plain], train[1]), make().fit(*train)
    return [
        log_loss(without, known[0][plain], known[1]),
        log_loss(whole, *known),
        log_loss(without, new[0][plain], new[1]),
        log_loss(whole, *new),
    ]


def noise(seed, levels, n=1_000):
    """A column of noise, and the same rows with levels that are all new."""
    frame, y, _ = simulated(seed, 3 * n, np.zeros(levels))
    known = frame[n:], y[n:]
    new = frame[n:].assign(level=pd.Categorical([f"new{i}" for i in range(2 * n)])), y[n:]
    return (frame[:n], y[:n]), known, new


def effect(seed, levels, n, skewed=False):
    """Normal effects of standard deviation 1, or two kinds of levels; the last tenth is not in training."""
    rng = np.random.default_rng([seed, 1])
    effects = np.where(rng.random(levels) < 0.6, 0.8, -1.2) if skewed else rng.normal(size=levels)
    frame, y, level = simulated(seed, n + 4_000, effects)
    fresh, train = level >= 0.9 * levels, np.arange(len(y)) < n
    if levels < 50:
        fresh[:] = False
    return tuple((frame[rows], y[rows]) for rows in (train & ~fresh, ~train & ~fresh, ~train & fresh))


def parts(seed, n=540, values=429):
    """A part number of nearly as many values as rows, of no effect; the rest is known, or new."""
    rng = np.random.default_rng([seed, 2])
    frame, y, _ = simulated(seed, 4 * n, np.full(values, -0.3))
    number = np.concatenate([rng.permutation(values), rng.integers(values, size=4 * n - values)])
    frame["level"] = pd.Categorical([f"P{k}" for k in number])
    new = frame[n:].assign(level=pd.Categorical([f"new{i}" for i in range(3 * n)])), y[n:]
    return (frame[:n], y[:n]), (frame[n:], y[n:]), new


def real(seed, name):
    """Two thirds of the rows to learn from."""
    X, y = quality_data.load(name)
    rows = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(rows, [2 * len(y) // 3])
    return (X.iloc[train], y[train]), (X.iloc[test], y[test]), (X.iloc[:0], y[:0])


# --- cases ----------------------------------------------------------------------------------------


def report(name, title, cases, given):
    """A row for each table and model."""
    rows = []
    for label, make_table in cases[:1] if given.quick else cases:
        tables = [make_table(seed) for seed in range(given.times(3))]
        for model, make in available().items():
            means = np.mean([losses(make, *parts) for parts in tables], axis=0)
            rows.append([label, model, *(None if np.isnan(mean) else mean for mean in means)])
    heads = ("without", "with", "new, without", "new, with")
    return Table(name, title, ["table", "model", *(Column(head, "loss", ".3f") for head in heads)], rows)


def noise_tables(given):
    cases = [(f"{k} levels of noise, 1,000 rows", lambda s, k=k: noise(s, k)) for k in NOISE]
    yield report("noise", "A column of noise", cases, given)


def effect_tables(given):
    cases = [(f"{k:,} levels, {n:,} rows", lambda s, k=k, n=n: effect(s, k, n)) for k, n in EFFECTS]
    cases.append(("100 levels of two kinds, 5,000 rows", lambda s: effect(s, 100, 5_000, skewed=True)))
    yield report("effects", "A column with effects", cases, given)


def part_tables(given):
    yield report("parts", "A part number", [("429 values, 540 rows", parts)], given)


def real_tables(given):
    if quality_data.folder() is not None:
        cases = [(name, lambda s, name=name: real(s, name)) for name in REAL]
        yield report("real", "Real tables", cases, given)


CASES = {"noise": noise_tables, "effects": effect_tables, "parts": part_tables, "real": real_tables}
PART = Part(__doc__, CASES)

if __name__ == "__main__":
    PART.main()
