"""Real data sets with two classes, for `quality.py`: UCI files if they are there, else scikit-learn's own.

The files are looked for in ``data`` or ``shared/data``, here or above, with an ``INDEX.csv`` and the reader
``load_uci.py`` beside them. Without them the three sets inside scikit-learn are left; with them these three
are left out, being the same rows under other names (wdbc, wine, a part of optdigits).
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

ROWS = 2000  # larger sets are cut to a random sample of this size
LEAST = 100  # smaller sets are left out

#: Labels of class 1, the class whose misses cost 1 − c: the rarer, or the one that is looked for.
POSITIVE = {
    "sonar": "M",
    "wpbc": "R",
    "wdbc": "M",
    "breast-cancer-wisconsin": "4",
    "heart-cleveland": "1234",
    "tic-tac-toe": "negative",
    "haberman": "2",
    "pima": "1",
    "bupa": "1",
    "adult": ">50K",
    "letter": "ABCDEFGHIJKLM",
    "glass": "1",
    "heart-hungarian": "1",
    "heart-va": "0",
    "heart-statlog": "2",
    "ionosphere": "b",
    "iris": "Iris-virginica",
    "vehicle": "van",
    "vowel": "01234",
    "house-votes-84": "republican",
    "credit-a (crx)": "+",
    "german": "2",
    "hepatitis": "1",
    "monks-1": "1",
    "monks-2": "1",
    "monks-3": "1",
    "kr-vs-kp": "nowin",
    "mushroom": "p",
    "waveform-21": "0",
    "waveform-40": "0",
    "led7-500": "01234",
    "lymphography": "2",
    "zoo": "1",
    "soybean-683": "brown-spot",
    "segment": "1",
    "sick": "sick",
    "sick-euthyroid": "sick-euthyroid",
    "hypothyroid": "hypothyroid",
    "new-thyroid": "23",
    "ann-thyroid": "12",
    "splice": ["EI", "IE"],
    "balance-scale": "L",
    "car": ["acc", "good", "vgood"],
    "wine": "1",
    "yeast": "CYT",
    "ecoli": "cp",
    "abalone": [str(rings) for rings in range(10, 40)],
    "page-blocks": "2345",
    "optdigits": "02468",
    "pendigits": "02468",
    "satimage": "4",
    "spambase": "1",
    "colic-368": "no",
    "auto (imports-85)": "123",
    "audiology": "cochlear_age",
    "bridges-v1": "SIMPLE-T",
    "dermatology": "1",
    "flags": "1",
    "primary-tumor": "lung",
    "promoters": "+",
    "shuttle": "234567",
    "tae": "3",
    "titanic": "yes",
    "breast-cancer (Ljubljana)": "recurrence-events",
    "nursery": "spec_prior",
    "cmc": "1",
    "hayes-roth": "3",
    "spect": "0",
    "anneal": "125U",
    "solar-flare-2": "12345678",
    "winequality-red": "678",
    "winequality-white": "6789",
    "covertype": "2",
}
#: Sets of the index that are other forms of one above, or have fewer than ten rows of a class.
SAME = {
    "german-numeric": "german",
    "australian": "credit-a (crx)",
    "hypothyroid-3772": "hypothyroid",
    "bridges-v2": "bridges-v1",
    "soybean-large": "soybean-683",
    "horse-colic": "colic-368",
    "heart-switzerland": "8 rows without disease",
    "echocardiogram": "74 rows with a known outcome",
}


def folder() -> Path | None:
    """The folder with the files, if there is one."""
    here = Path(__file__).resolve()
    found = (above / name for above in here.parents for name in ("data", "shared/data"))
    return next((path for path in found if (path / "INDEX.csv").exists()), None)


def names() -> list[str]:
    """Every set that can be loaded here."""
    if folder() is None:
        return ["sklearn-breast-cancer", "sklearn-wine", "sklearn-digits"]
    large = [name for name in _index().index if rows(name) >= LEAST]
    unknown = [name for name in large if name not in POSITIVE and name not in SAME]
    if unknown:
        raise ValueError(f"say which labels are class 1, in POSITIVE: {unknown}")
    return [name for name in large if name in POSITIVE]


def rows(name: str) -> int:
    """How many rows a set has; scikit-learn's are as small as each other."""
    return 0 if name.startswith("sklearn-") else int(_index().loc[name, "rows"])


@lru_cache(maxsize=1)
def _index() -> pd.DataFrame:
    return pd.read_csv(folder() / "INDEX.csv", dtype=str, keep_default_na=False).set_index("name")


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A table, its columns numeric or categorical, NaN for missing, and labels 0 and 1."""
    X, y = _sklearn(name) if name.startswith("sklearn-") else read(name, POSITIVE[name])
    if len(y) > ROWS:
        chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:ROWS])
        X, y = X.iloc[chosen].reset_index(drop=True), y[chosen]
    varying = [column for column in X if X[column].nunique(dropna=False) > 1]
    return X[varying], y


def _sklearn(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    from sklearn import datasets

    makers = {"breast-cancer": datasets.load_breast_cancer, "wine": datasets.load_wine}
    data = makers.get(name.removeprefix("sklearn-"), datasets.load_digits)(as_frame=True)
    return data.data, (data.target % 2 == 0).to_numpy().astype(int)


def read(name: str, positive: str | list[str]) -> tuple[pd.DataFrame, np.ndarray]:
    """A file of the folder, whole; class 1 is a label, or any of a list (or of the letters of a text)."""
    where = folder()
    if name == "covertype":  # too long for a reader in plain Python
        table = pd.read_csv(where / "covtype.csv.gz")
        return table.iloc[:, :-1].astype(float), (table.iloc[:, -1] == int(positive)).to_numpy().astype(int)
    spec = importlib.util.spec_from_file_location("load_uci", where / "load_uci.py")
    reader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reader)
    rows, labels, columns, _ = reader.load(name)
    labels = np.array([label.strip() for label in labels])
    whole = isinstance(positive, str) and positive in labels
    y = np.isin(labels, [positive] if whole else list(positive)).astype(int)
    table = pd.DataFrame(rows, columns=[f"{i}_{c}" for i, c in enumerate(columns)], dtype=object)
    return table.apply(_column), y


def _column(values: pd.Series) -> pd.Series:
    """Numbers if all values but a slip of the pen are numbers, else categories; ? is missing."""
    values = values.where(~values.isin(["?", ""]), None)
    as_number = pd.to_numeric(values, errors="coerce")
    if as_number.isna().sum() - values.isna().sum() <= 0.001 * len(values):
        return as_number.astype(float)
    return values.astype("category")
