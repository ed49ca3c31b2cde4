"""The experiments of Nock and Nielsen: F* without fitting twice, domains, risks."""

import numpy as np
import pytest

from reproductions import nock2008, nock2009, nock_sets
from reproductions.data import Data, MissingData

from .reading import printed_rows, sequence_in, shared_data, specification


def test_printed_regressions_are_those_of_the_specification():
    text = specification()
    for row, numbers in printed_rows(nock2009.FIGURE_7):
        assert sequence_in(numbers, text), row


def test_the_loss_chosen_once_is_one_of_the_five_that_are_fitted_anyway():
    data = shared_data()
    for fold in (0, 1):
        X, y = nock_sets.load(data, "haberman")
        train, test = nock_sets.folds(data, "haberman")[fold]
        model = nock_sets.separator(2, 4, loss="bag", choose="once").fit(X[train], y[train])
        expected = int(np.sum(model.predict(X[test]) != y[test]))
        found = nock2008.errors(("haberman", fold), data, (2, 4))
        assert found["wrong"][nock2008.ONCE] == expected
        assert found["rows"] == len(test)
        assert set(found["wrong"]) >= set(nock2008.FLAVOURS)
        assert found["once"]["υ = 0.3"][0] == expected  # of the library's rule for ties


def test_risks_are_percentages_of_all_rows_of_a_domain():
    def result(wrong, rows):
        return {"wrong": dict.fromkeys(nock2008.FLAVOURS, wrong), "rows": rows}

    table = nock2008.risks([result(1, 10), result(2, 20), result(0, 5), result(3, 5)], 2)
    np.testing.assert_allclose(table[:, 0], [10.0, 30.0])


def test_a_domain_is_class_1_against_the_rest():
    data = shared_data()
    _, y = nock_sets.load(data, "glass")
    assert y.sum() == 70  # building windows, float processed
    X, y = nock_sets.load(data, "echocardiogram")
    assert len(X) == len(y) == 74  # rows whose outcome is known
    assert not nock_sets.DUPLICATES & set(nock_sets.domains(data))


def test_without_any_file_the_folders_are_named(tmp_path):
    with pytest.raises(MissingData, match=str(tmp_path)):
        nock_sets.domains(Data((tmp_path,)))


def test_equal_errors_cannot_be_told_apart():
    errors = np.array([1.0, 2.0, 3.0])
    assert nock2009.paired_p(errors, errors) == 1.0
    assert nock2009.paired_p(errors, errors + np.array([1.0, 1.1, 0.9])) < 0.01
