"""Runs that are interrupted and go on, data that are missing, and the time that is left."""

import numpy as np
import pytest

from reproductions import Experiment, Outcome, Paper, Printed, Setting, Verdict
from reproductions.data import Data, MissingData, catalogue
from reproductions.running import QUICK, Kept, OtherNumbers, Progress, _Clock, run_all

from .reading import shared_data

PAPER = Paper("X", "Nobody", 2000, "Nothing", "nowhere")
PRINTED = Printed("Table 1", "p. 1", ("value",), {"sum": (6,)})
CALLS: list[int] = []


def double(item):
    CALLS.append(item)
    if item < 0:
        raise RuntimeError("stopped")
    return 2 * item


def experiment(items, name="doubling", protocol="items"):
    def run(context):
        total = sum(context.map("items", double, items))
        table = PRINTED.beside({"sum": (total,)}, tolerance=0.0)
        return Outcome((table,), (Verdict("the sum is 6", "reproduced", "it is"),))

    return Experiment(name, PAPER, "Table 1", "sums", (Setting("x", protocol, "ours"),), run, (PRINTED,))


def test_an_interrupted_run_goes_on(tmp_path):
    CALLS.clear()
    with pytest.raises(RuntimeError, match="stopped"):
        run_all([experiment([1, 2, -1])], Data(()), folder=tmp_path)
    assert CALLS == [1, 2, -1]
    # As if the process had been killed while writing a line.
    (kept,) = tmp_path.glob("double-*.jsonl")
    kept.write_text(kept.read_text() + '{"item": "5", "val')
    (result,) = run_all([experiment([1, 2])], Data(()), folder=tmp_path)
    assert CALLS == [1, 2, -1]
    assert result.outcome.tables[0].agreement == (1, 1)


def test_a_finished_run_is_read_and_again_runs_it_anew(tmp_path):
    CALLS.clear()
    for again, calls in ((False, 2), (False, 2), (True, 4)):
        run_all([experiment([1, 2])], Data(()), folder=tmp_path, again=again)
        assert len(CALLS) == calls


def test_what_is_computed_decides_what_is_used_again(tmp_path):
    """Neither the size of a run nor the words of a protocol; experiments share results."""
    CALLS.clear()
    run_all([experiment([1, 2])], Data(()), folder=tmp_path)
    run_all([experiment([1, 2, 3], "other", "in other words")], Data(()), folder=tmp_path, size=QUICK)
    assert CALLS == [1, 2, 3]
    (both,) = tmp_path.glob("double-*.jsonl")
    both.rename(both.with_name("double-0123456789abcdef.jsonl"))  # as other code would have named it
    run_all([experiment([1, 2])], Data(()), folder=tmp_path)
    assert CALLS == [1, 2, 3, 1, 2]


def as_of_other_code(folder, change=lambda text: text):
    """Give the kept results the name that other code would have given them."""
    (kept,) = folder.glob("double-*.jsonl")
    (folder / "double-0123456789abcdef.jsonl").write_text(change(kept.read_text()))
    kept.unlink()


def test_results_of_other_code_are_adopted_if_some_are_found_again(tmp_path):
    CALLS.clear()
    run_all([experiment([1, 2, 3, 4, 5])], Data(()), folder=tmp_path)
    as_of_other_code(tmp_path)
    (result,) = run_all([experiment([1, 2, 3, 4, 5])], Data(()), folder=tmp_path, adopt=2)
    assert CALLS == [1, 2, 3, 4, 5, 1, 5]
    assert result.outcome.tables[0].cells[0].ours == 30
    run_all([experiment([1, 2, 3, 4, 5])], Data(()), folder=tmp_path)
    assert len(CALLS) == 7
    assert len(list(tmp_path.iterdir())) == 1


def test_results_with_other_numbers_are_not_adopted(tmp_path):
    run_all([experiment([1, 2, 3])], Data(()), folder=tmp_path)
    as_of_other_code(tmp_path, lambda text: text.replace('"value": 6', '"value": 6.1'))
    with pytest.raises(OtherNumbers, match=r"double gives other numbers .*3: 6, and 6\.1 was kept"):
        run_all([experiment([1, 2, 3])], Data(()), folder=tmp_path, adopt=3)
    assert (tmp_path / "double-0123456789abcdef.jsonl").exists()
    # One that was looked at is the same: what is not looked at is trusted.
    (result,) = run_all([experiment([1, 2])], Data(()), folder=tmp_path, adopt=1)
    assert result.outcome.tables[0].cells[0].ours == 6


def test_computing_is_counted_once(tmp_path):
    one, other = run_all([experiment([1, 2]), experiment([1, 2], "other")], Data(()), folder=tmp_path)
    assert one.seconds > 0 == other.seconds
    again, other = run_all([experiment([1, 2]), experiment([1, 2], "other")], Data(()), folder=tmp_path)
    assert (again.seconds, other.seconds) == (one.seconds, 0)


def test_processes_give_the_same(tmp_path):
    (result,) = run_all([experiment([1, 2])], Data(()), folder=tmp_path, n_jobs=2)
    assert result.outcome.tables[0].cells[0].ours == 6


def test_missing_data_are_named_and_the_others_go_on(tmp_path):
    def run(context):
        return Outcome((), (Verdict(context.data.load("pima").name, "reproduced", "there"),))

    needs = Experiment("needs", PAPER, "Table 2", "diabetes", (Setting("x", "y", "ours"),), run)
    first, second = run_all([needs, experiment([3])], Data((tmp_path,)), folder=tmp_path)
    assert first.outcome.verdicts[0].word == "cannot be"
    for part in ("pima-indians-diabetes.data", "768", "archive.ics.uci.edu", "--data"):
        assert part in first.outcome.verdicts[0].reason
    assert second.outcome.verdicts[0].word == "reproduced"


def test_files_are_read_with_headers_gaps_and_two_parts(tmp_path):
    line = "85,92,45,27,31,0.0,1"
    (tmp_path / "bupa.data").write_text("a,b,c,d,e,f,g\n" + (line + "\n") * 344 + "85,?,45,27,31,0.0,2\n\n")
    bupa = Data((tmp_path,)).load("bupa")
    assert bupa.is_one_of("1").sum() == 344
    assert bupa.numbers().shape == (345, 6)
    assert bupa.column(1)[-1] is None
    (tmp_path / "bupa.data").write_text(line)
    with pytest.raises(MissingData, match="has 1 rows"):
        Data((tmp_path,)).load("bupa")
    assert Data((tmp_path,)).available() == ["bupa"]
    assert len(catalogue()["adult"].files) == 2


@pytest.mark.parametrize("name", ["wdbc", "wine"])
def test_two_sets_need_no_file(name):
    """Those of scikit-learn are those of the files, value by value."""
    packaged = Data(()).load(name)
    assert (len(packaged.labels), *catalogue()[name].rows) == (packaged.numbers().shape[0],) * 2
    assert not np.isnan(packaged.numbers()).any()
    of_file = shared_data().load(name)
    np.testing.assert_array_equal(packaged.labels, of_file.labels)
    np.testing.assert_array_equal(packaged.numbers(), of_file.numbers())
    assert (packaged.columns, packaged.part.tolist()) == (of_file.columns, of_file.part.tolist())


def test_progress_says_what_is_left():
    told = []
    run_all([experiment([1, 2]), experiment([3], "other")], Data(()), tell=told.append)
    assert [p.part for p in told] == ["", "items", "items", "items", "", "items", "items"]
    assert all(isinstance(p, Progress) for p in told)
    assert str(told[-1]) == "other (2 of 2), items 1 of 1, less than a minute left"
    assert told[0].seconds_left > told[4].seconds_left


def test_the_time_left_is_at_least_what_the_rest_takes_at_its_speed(monkeypatch):
    now = iter([0.0, 0.0, 0.0, 100.0, 200.0])
    monkeypatch.setattr("reproductions.running.time.monotonic", lambda: next(now))
    clock = _Clock([60.0, 30.0])
    clock.begin(1)
    assert clock.left("items", 0, 4) == 60 + 30
    assert clock.left("items", 1, 4) == 3 * 100 + 30
    clock.begin(2)  # the first took 200 seconds, not 60
    monkeypatch.setattr("reproductions.running.time.monotonic", lambda: 200.0)
    assert clock.left("", 0, 0) == pytest.approx(30 * 200 / 60)


def test_kept_results_survive(tmp_path):
    kept = Kept(tmp_path / "x.jsonl")
    kept.add("1", {"a": [1.5, None]}, 2.5)
    read = Kept(tmp_path / "x.jsonl")
    assert read.values == {"1": {"a": [1.5, None]}}
    assert [read.count("1"), read.count("1")] == [2.5, 0]
