"""The documents tell the truth: every snippet in them runs and prints what it says."""

import doctest
import re
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md"])
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def snippets(document):
    """The document with everything but its pycon blocks blanked out, so that line numbers stay true."""
    lines, inside = [], False
    for line in document.read_text(encoding="utf-8").splitlines():
        fence = re.match(r"```(\w*)", line)
        if fence:
            inside = not inside and fence[1] == "pycon"
        lines.append(line if inside and not fence else "")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_snippets_of_the_documents_are_true(document):
    test = doctest.DocTestParser().get_doctest(snippets(document), {}, document.name, str(document), 0)
    report = []
    results = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert results.failed == 0, "".join(report)


def test_the_snippets_are_found():
    counts = {path.name: snippets(path).count(">>>") for path in DOCUMENTS}
    assert counts["tutorial.md"] > 20
    assert counts["start.md"] > 5
    assert counts["own.md"] > 5
