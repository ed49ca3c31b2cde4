import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification


@pytest.fixture(scope="session")
def data():
    X, y = make_classification(
        400, 5, n_informative=4, n_redundant=0, flip_y=0.1, weights=[0.6], random_state=0
    )
    return X.round(2), y


@pytest.fixture(scope="session")
def three():
    return make_classification(300, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=1)


@pytest.fixture(scope="session")
def frame():
    rng = np.random.default_rng(0)
    age, town = rng.normal(40, 10, 500).round(1), rng.choice(["Bonn", "Oslo", "Rome", "Wien"], 500)
    age[rng.random(500) < 0.15] = np.nan
    risk = 0.15 + 0.4 * (np.nan_to_num(age, nan=60) > 45) + 0.4 * np.isin(town, ["Rome", "Wien"])
    y = np.where(rng.random(500) < risk, "yes", "no")
    town = pd.Categorical(np.where(rng.random(500) < 0.05, None, town))
    return pd.DataFrame({"age": age, "town": town, "noise": rng.normal(size=500)}), y
