"""A fixed selection of the table of relations; ``python run.py check-long`` draws others."""

import numpy as np
import pytest
from tests.laws import relations

CASES = relations.selection()


@pytest.mark.parametrize("case", CASES, ids=[f"{case.relation}-{case.row.key}" for case in CASES])
def test_two_fits_give_one_model(case):
    assert case.breach() is None, str(case)


def test_many_rows_in_two_places():
    """More than kernels take at once, in each of them."""
    case = relations.Case(
        0,
        0,
        "in one place and spread",
        next(row for row in relations.ESTIMATORS if row.key == "tree"),
        relations.OF_MANY_ROWS["tree"],
        "few values",
        "copies",
        "nothing else",
        relations.MANY,
        2,
    )
    assert case.breach() is None, str(case)


def test_a_model_that_changes_breaks_its_relation(monkeypatch):
    case = next(case for case in CASES if case.relation == "fitted again" and case.row.key == "tree")
    fits = iter(range(2))
    monkeypatch.setattr(relations.Case, "fit", lambda *_: np.array([[1.0, 0.0]]) + 1e-9 * next(fits))
    assert case.breach() == "1e-09 apart"
