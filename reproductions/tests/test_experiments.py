"""Every experiment at toy size: it runs, and its tables have every printed cell."""

import json
import re

import pytest

from reproductions import Experiment, registry
from reproductions.data import Data
from reproductions.experiment import SOURCES, WORDS
from reproductions.page import page
from reproductions.running import TOY, run_all
from reproductions.text import markdown

from .reading import data_folder, protocol_text

FOLDER, TEXT = data_folder(), protocol_text()


@pytest.fixture(scope="module", params=registry.names())
def result(request):
    experiment = registry.named(request.param)
    if experiment.data and FOLDER is None:
        pytest.skip(f"{experiment.name} needs files of the UCI repository")
    data = Data(()) if FOLDER is None else Data((FOLDER,))
    return run_all([experiment], data, size=TOY)[0]


def test_every_printed_cell_stands_in_the_table_of_its_name(result):
    for printed in result.experiment.printed:
        table = result.outcome.table(printed.name)
        for row, values in printed.rows.items():
            for column, value in zip(printed.columns, values, strict=True):
                cell = table.cell(row, column)
                assert cell is not None
                assert cell.printed == value


def test_our_numbers_and_verdicts_are_there(result):
    ours = [cell.ours for table in result.outcome.tables for cell in table.cells]
    assert any(value is not None for value in ours)
    assert result.outcome.verdicts
    assert all(verdict.word in WORDS and verdict.reason for verdict in result.outcome.verdicts)


def test_the_page_has_every_table_and_figure(result):
    text = page([result])
    for table in result.outcome.tables:
        assert f"<caption>{table.name}" in text.replace("&#x27;", "'").replace("&amp;", "&")
    drawn = [drawing for drawing in result.experiment.drawings if drawing.name in result.outcome.figures]
    assert text.count("<figure") == len(drawn) == len(result.outcome.figures)
    assert "http" not in re.sub(r"https://archive\.ics\.uci\.edu", "", text).replace('http-equiv="', "")


def test_the_text_has_every_table_and_verdict(result):
    text = markdown([result])
    for table in result.outcome.tables:
        assert f"**{table.name}**" in text
    for verdict in result.outcome.verdicts:
        assert f"| {verdict.claim} | **{verdict.word}** | {verdict.reason} |".replace("||", "|") in text


def test_what_is_kept_gives_the_outcome_again(result):
    kept = json.loads(json.dumps(result.outcome.as_json()))
    assert type(result.outcome).from_json(kept) == result.outcome


def test_names_are_unique_and_protocols_say_who_set_what():
    experiments = registry.every()
    assert len({experiment.name for experiment in experiments}) == len(experiments)
    for experiment in experiments:
        assert isinstance(experiment, Experiment)
        assert experiment.protocol
        assert experiment.tried
        assert all(setting.source in SOURCES for setting in experiment.protocol)


@pytest.mark.skipif(TEXT is None, reason="the text with the printed numbers is not here")
@pytest.mark.parametrize("name", registry.names())
def test_printed_numbers_are_those_of_the_protocol(name):
    """Each number that an experiment calls printed stands in the text that was read from the papers."""
    text = TEXT.read_text(encoding="utf-8").replace("−", "-").replace(",", "")
    known = {float(number) for number in re.findall(r"\d*\.?\d+", text)}  # a sign may stand apart
    for printed in registry.named(name).printed:
        for row, values in printed.rows.items():
            for value in values:
                if isinstance(value, float | int):
                    assert any(abs(abs(value) - number) < 1e-12 for number in known), (
                        name,
                        printed.name,
                        row,
                        value,
                    )
