"""Arguments that nobody means: each ends with an exit code of the documentation, and without a traceback."""

import pytest
from running import run
from samples import columns, write

DIGITS = "9" * 20
WRONG = [
    ("--seed", "-1"),
    ("--seed", DIGITS),
    ("--fp-cost", "nan"),
    ("--fn-cost", "1e400"),
    ("--delimiter", '"'),
    ("--delimiter", "é"),
    ("--delimiter", "\n"),
    ("--delimiter", ""),
    ("--loss", ""),
    ("--loss", "(" * 5000),
    ("--loss", "Beta(1e400, 1)"),
    ("--set", "max_iter=-1"),
    ("--set", f"max_iter={'9' * 5000}"),
    ("--set", "=1"),
    ("--holdout", "0.999999"),
    ("--holdout", "1e-9"),
    ("--holdout", "nan"),
    ("--folds", "100000"),
    ("--jobs", "0"),
]
BAD_TABLE = [
    ("--encoding", "hex"),
    ("--format", "excel"),
    ("--format", "jsonl"),
    ("--format", "parquet"),
    ("--format", "arrow"),
    ("--numeric", "color"),
    ("--date", "color=%Q"),
    ("--weight", "color"),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write(tmp_path_factory.mktemp("arguments") / "t.csv", columns(60))


@pytest.mark.parametrize(
    ("arguments", "code"), [*((w, 2) for w in WRONG), *((b, 3) for b in BAD_TABLE)], ids=lambda v: str(v)[:40]
)
def test_wrong_arguments_end_with_their_code(table, arguments, code):
    run("fit", table, "--target", "sick", "--model", "linear", *arguments, code=code)


@pytest.mark.parametrize(
    "arguments", [("--chunk-mb", "-1"), ("--chunk-mb", DIGITS), ("--max-expansion", "x")]
)
def test_wrong_arguments_of_predict(folder, arguments):
    run("predict", folder / "linear.propriety", folder / "t.csv", *arguments, code=2)


def test_a_row_that_is_too_far_is_refused(folder):
    run("explain", folder / "linear.propriety", folder / "t.csv", "--row", DIGITS, code=3)


def test_no_number_of_threads_is_said_to_be_none_by_every_command(folder):
    table, model = folder / "t.csv", folder / "linear.propriety"
    for line in (
        ("fit", table, "--target", "sick"),
        ("compare", table, "--target", "sick"),
        ("predict", model, table),
    ):
        assert "--jobs" in run(*line, "--jobs", "0", code=2).stderr
