"""What the library aims at, by name; the tables of a part say what was measured of it (`Table.goals`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """A number to reach: at least, or at most."""

    work: str
    bound: float
    at_most: bool = False
    unit: str = ""

    def reached(self, measured: float) -> bool:
        """Whether a number is enough."""
        return measured <= self.bound if self.at_most else measured >= self.bound


GOALS = {
    "boosting": Goal("boosting 1,000,000 × 28, 31 leaves: fastest peer ÷ ours", 2.5),
    "boosting wide": Goal("the same × 100 columns", 2.0),
    "boosting 255 leaves": Goal("the same with 255 leaves", 2.0),
    "boosting depth 8": Goal("the same with depth 8", 2.0),
    "boosting categories": Goal("1,000,000 × 28 with 20 categorical columns", 2.0),
    "boosting losses": Goal("other losses ÷ log loss, the slowest", 1.05, at_most=True),
    "boosting 10,000": Goal("boosting 10,000 × 28: fastest peer ÷ ours", 2.0),
    "boosting 1,000": Goal("boosting 1,000 × 10: fastest peer ÷ ours", 2.0),
    "boosting 10 classes": Goal("boosting 100,000 × 28, 10 classes: fastest peer ÷ ours", 2.0),
    "boosting 100 classes": Goal("boosting 20,000 × 28, 100 classes: fastest peer ÷ ours", 2.0),
    "prediction": Goal("predict 100,000 rows, 100 trees: CatBoost oblivious ÷ ours", 1.0),
    "first fit": Goal("first boosted fit on a new machine", 6.0, at_most=True, unit="s"),
    "boosting memory": Goal("peak over the data, 2,000,000 × 50 float32", 350.0, at_most=True, unit="MB"),
    "tree": Goal("tree 100,000 × 28: scikit-learn ÷ ours", 40.0),
    "tree 500": Goal("tree 500 × 8: scikit-learn ÷ ours", 1.0),
    "stumps": Goal("50 stumps 100,000 × 28: AdaBoost ÷ ours", 150.0),
    "linear": Goal("linear 1,000,000 × 50: lbfgs ÷ ours", 3.0),
    "linear wide": Goal("linear 20,000 × 2,000: lbfgs ÷ ours", 1.5),
    "linear classes": Goal("linear, 20 classes × 4 features, few rows: scikit-learn ÷ ours, the least", 1.5),
    "search linear": Goal("`LossSearchCV`, tailored, linear, 5,000 × 20", 1.0, at_most=True, unit="s"),
    "search boosting": Goal("`LossSearchCV`, tailored, boosting, 5,000 × 20", 2.0, at_most=True, unit="s"),
    "values": Goal("`composite.value`, 1,000,000 rows, Beta and Tailored", 0.02, at_most=True, unit="s"),
    "reading time": Goal("`propriety fit` of a 500 MB CSV: pandas + LightGBM ÷ ours, time", 1.5),
    "reading memory": Goal("the same, peak memory", 1.5),
}
