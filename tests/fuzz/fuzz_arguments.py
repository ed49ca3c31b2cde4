"""Fuzzes the arguments of the command line on a small table; `readers` says how to run it.

Every run must end with one of the exit codes that the documentation lists.
"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

import atheris

FOLDER = Path(tempfile.mkdtemp())
WORDS = (
    "--target", "sick", "age", "--positive", "yes", "--fp-cost", "--fn-cost", "--tp-benefit",
    "--tn-benefit", "--cost-matrix", "--budget", "--groups", "--time", "age*2", "5..20", "(age",
    "--loss", "Log",
    "Beta(6, 14)", "--holdout", "--folds", "--weight", "--format", "csv", "tsv", "excel", "jsonl",
    "--delimiter", ";", "--encoding", "utf-16", "hex", "--no-header", "--sheet", "--max-expansion",
    "--missing", "--decimal", ",", "--numeric", "--category", "--date", "age=%d", "--drop", "--keep",
    "--json", "--quiet", "--seed", "--set", "max_iter=1", "--model", "linear", "tree", "0", "1", "2", "-1",
    "nan", "inf", "1e400", "99999999999999999999", "", "\0", "é", "-",
)  # fmt: skip


def target(data: bytes) -> None:
    """Words, or pieces of the input, after `fit` and a table of sixty rows."""
    from typer.testing import CliRunner

    from propriety.cli.app import app

    given = atheris.FuzzedDataProvider(data)
    arguments = ["fit", str(FOLDER / "t.csv"), "--target", "sick", "--model", "linear", "--folds", "2"]
    for _ in range(given.ConsumeIntInRange(0, 8)):
        word = given.PickValueInList(list(WORDS)) if given.ConsumeBool() else given.ConsumeUnicode(6)
        arguments.append(word)
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise RuntimeError(arguments) from result.exception
    if result.exit_code not in (0, 2, 3, 4, 5):
        raise RuntimeError((result.exit_code, arguments))


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[1] / "tables"))
    from samples import columns, write

    write(FOLDER / "t.csv", columns(60))
    with atheris.instrument_imports(include=["propriety.cli", "propriety.tables"]):
        import propriety.cli.app  # noqa: F401
    with contextlib.redirect_stdout(io.StringIO()):
        target(b"")  # compiles
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
