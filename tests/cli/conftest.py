import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tables")]

from running import run
from samples import write


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with a table and a model of each kind, fitted once."""
    place = tmp_path_factory.mktemp("cli")
    table = write(place / "t.csv")
    common = ("--target", "sick", "--fn-cost", "9", "--folds", "2", "--quiet")
    run(
        "fit",
        table,
        *common,
        "--model",
        "boosting",
        "--set",
        "max_iter=5",
        "--save",
        place / "boosting.propriety",
    )
    run("fit", table, *common, "--model", "linear", "--save", place / "linear.propriety")
    run("fit", table, *common, "--model", "tree", "--set", "ccp_alpha=0", "--save", place / "tree.propriety")
    run("fit", table, *common, "--model", "rules", "--set", "n_rules=3", "--save", place / "rules.propriety")
    return place
