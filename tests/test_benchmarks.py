"""The runner of the benchmarks, on a part that measures nothing."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def collect():
    """The module benchmarks/collect.py."""
    sys.path.insert(0, str(HERE))
    try:
        spec = importlib.util.spec_from_file_location("benchmarks_collect", HERE / "collect.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(HERE))


PART = '''
"""A toy."""
from measuring import RATIO, SECONDS, Column, Part, Table, alternate

def case(given):
    alternate({"a": int, "b": float}, given.times(2))
    rows = [["propriety", given.seconds, 1], ["peer", 2.0, 2.0 / given.seconds], ["none", None, None]]
    goals = {"speed": 2 / given.seconds}
    yield Table("times", f"{given.size(1_000_000):,} rows", ["model", SECONDS, RATIO], rows, goals=goals)

def other(given):
    yield Table("words", "Words", ["a", Column("b")], [["x", "y"]], "A note.")

def arguments(parser):
    parser.add_argument("--seconds", type=float, default=1.0)

if __name__ == "__main__":
    Part(__doc__, {"case": case, "other": other}, arguments=arguments).main()
'''


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))
    part = tmp_path / "toy.py"
    part.write_text(PART)
    return part


def test_what_is_measured_is_kept_compared_and_written(collect, toy, tmp_path, capfd):
    results = tmp_path / "results"
    assert collect.run_part(toy, ["case", "other"], results, []) == 0
    assert "before" not in capfd.readouterr().out
    assert collect.run_part(toy, ["case"], results, ["--seconds", "1.25"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert "times, propriety: seconds 1.000 → 1.250: slower than before by 25 % (tolerance 15 %)" in lines
    assert "times, peer: time ÷ ours 2.00 → 1.60: slower than before by 20 % (tolerance 10 %)" in lines
    assert sum("before" in line for line in lines) == 2

    kept = collect.load(results / "toy.json")
    assert list(kept) == ["times", "words"]
    assert kept["times"].rows[1] == ["peer", 2.0, 1.6]
    assert kept["times"].measured["versions"]["Python"]
    assert len(kept["times"].measured["load"]) == 2

    goal = collect.Goal("the work", 2.0)
    (results / "toy.md").write_text("## Toy\n\nBefore.\n\n{{times}}\n\nAfter.\n")
    text = collect.generate(results, ["toy"], {"speed": goal, "more": goal})
    assert "| the work | ≥ 2 | 1.6 | no | 20" in text
    assert "| the work | ≥ 2 | not yet | | |" in text
    assert (
        "Before.\n\n| model | seconds | time ÷ ours |\n|---|---:|---:|\n| propriety | 1.250 | 1.00 |" in text
    )
    assert (
        "| none |  |  |\n\nAfter.\n\nWords:\n\n| a | b |\n|---|---|\n| x | y |\n\nA note.\n\nMeasured 20"
        in text
    )
    with pytest.raises(ValueError, match=r"no goal of goals\.py"):
        collect.generate(results, ["toy"], {})
    (results / "toy.md").write_text("{{gone}}\n")
    with pytest.raises(ValueError, match="gone"):
        collect.generate(results, ["toy"], {"speed": goal})


def test_quick_runs_are_small_and_unknown_cases_are_named(collect, toy, capfd):
    assert collect.run_part(toy, ["case"], None, ["--quick"]) == 0
    assert "### 10,000 rows" in capfd.readouterr().out
    assert collect.run_part(toy, ["sace"], None, []) != 0
    assert "no such case: sace" in capfd.readouterr().err


def test_seconds_of_another_machine_are_not_compared(collect):
    measuring = sys.modules["measuring"]
    tables = [
        measuring.Table("t", "t", ["m", measuring.SECONDS], [["a", s]], measured={"machine": s})
        for s in (1, 9)
    ]
    assert measuring.compare(*tables) == []
    assert (
        len(
            measuring.compare(
                tables[0], measuring.Table(**{**vars(tables[1]), "measured": tables[0].measured})
            )
        )
        == 1
    )


def test_goals_of_another_processor_stay(collect):
    def measured(processor, ratio):
        where = {"date": "2026-01-02", "machine": {"cores": 2, "processor": processor}}
        return Table("speed", "Speed", ["a"], [["x"]], goals={"speed": ratio}, measured=where)

    Table, goal = collect.Table, collect.Goal("the work", 2.0)
    table = measured("B(R) Processor", 1.5).following(measured("A", 2.5))
    text = collect.goals_table({"toy": {"speed": table}}, {"speed": goal})
    assert "| the work | ≥ 2 | 1.5 | no | 2026-01-02, B | A: 2.5 |" in text
    again = measured("A", 2.6).following(table)
    assert list(again.elsewhere) == ["B(R) Processor"]


def test_results_are_as_they_were_generated(collect):
    assert (HERE / "RESULTS.md").read_text(encoding="utf-8") == collect.generate(collect.RESULTS), (
        "write it by `python benchmarks/collect.py --write`; its words are in benchmarks/results/*.md"
    )


def test_every_part_is_a_part(collect):
    for part in collect.PARTS:
        tree = ast.parse((HERE / f"{part}.py").read_text(encoding="utf-8"))
        names = [ast.unparse(node.targets[0]) for node in tree.body if isinstance(node, ast.Assign)]
        assert "PART" in names, part
