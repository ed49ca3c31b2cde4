"""The page of results in the documentation is that of the experiments as they are."""

from itertools import pairwise
from pathlib import Path

import pytest

from reproductions import registry
from reproductions.experiment import WORDS
from reproductions.page import shown

PAGE = Path(__file__).resolve().parents[1] / "RESULTS.md"


@pytest.fixture(scope="module")
def sections():
    """The text of each experiment, by its name; "" is what stands before them."""
    before, *parts = PAGE.read_text(encoding="utf-8").split("\n### ")
    return {"": before, **{part.split(": ")[0]: part for part in parts}}


def test_every_experiment_is_there_and_no_other(sections):
    assert set(sections) == {"", *registry.names()}


@pytest.mark.parametrize("name", registry.names())
def test_the_protocol_is_that_of_the_code(sections, name):
    experiment = registry.named(name)
    assert sections[name].startswith(f"{name}: {experiment.title}\n")
    for setting in experiment.protocol:
        assert f"{setting.name}: {setting.value} ({setting.source})" in sections[name]
    for tried in experiment.tried:
        assert tried in sections[name]


@pytest.mark.parametrize("name", registry.names())
def test_every_printed_row_has_ours_below(sections, name):
    lines = sections[name].splitlines()
    for printed in registry.named(name).printed:
        digits = range(7)
        for row, values in printed.rows.items():
            if all(value is None for value in values):
                continue
            first = next(value for value in values if value is not None)
            below = [
                after
                for line, after in pairwise(lines)
                if line.startswith(f"| {row.replace('|', chr(92) + '|')} | printed |")
                and any(shown(first, k) in line for k in digits)
            ]
            assert below, (printed.name, row)
            assert all(line.startswith("|  | ours |") for line in below)


def test_verdicts_are_counted(sections):
    rows = [line for line in sections[""].splitlines() if line.startswith("| `")]
    words = [next(word for word in WORDS if f"**{word}**" in row) for row in rows]
    counted = ", ".join(f"{words.count(word)} {word}" for word in WORDS)
    assert f"Of {len(words)} claims: {counted}." in sections[""]
    assert {row.split("`")[1] for row in rows} == set(registry.names())
