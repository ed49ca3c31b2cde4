"""The documents tell the truth: every snippet in them runs and prints what it says."""

import doctest
import importlib.util
import re
from pathlib import Path

import matplotlib as mpl
import pytest

from propriety import BoostingClassifier, links, losses
from propriety.losses import simplex

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


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")  # for its neighbours
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["Tailored", "CostWeighted", "GLaplace"])
def test_the_page_of_a_family_has_its_docstring_properties_and_picture(generate, name, tmp_path):
    page = generate._family_page(name, tmp_path)
    assert f".. autoclass:: {name}" in page
    for loss in losses.examples(name):
        assert f"Of ``{loss!r}``" in page
        assert loss.properties()["bounded"].reason in page
    assert (tmp_path / f"{name}.svg").stat().st_size > 10_000


def test_every_family_is_in_the_table_and_in_the_reference(generate):
    table, reference = generate._index_page(), generate._reference_page()
    for name in losses.names():
        assert f":doc:`{name}`" in table
        assert f"   {name}\n" in reference


def test_every_link_is_on_its_page(generate):
    assert ".. include:: generated/links.inc" in (ROOT / "docs" / "own.md").read_text(encoding="utf-8")
    for name in links.names():
        assert f".. autoclass:: propriety.losses.links.{name}\n" in generate._link_classes()


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("own.md", [name for name in losses.__all__ if name.startswith("from_")]),
        ("own.md", simplex.__all__),
    ],
)
def test_no_public_name_is_missing_from_its_page(page, names):
    documented = re.findall(
        r"auto(?:class|function):: (\w+)", (ROOT / "docs" / page).read_text(encoding="utf-8")
    )
    assert set(names) <= set(documented)


def test_the_tests_that_the_papers_page_names_are_there():
    named = set(
        re.findall(r"`(\w+/test_\w+\.py)`", (ROOT / "docs" / "papers.md").read_text(encoding="utf-8"))
    )
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / "tests" / name).exists()] == []


def test_the_parameters_that_newcomers_are_told_exist():
    page = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
    told = {m[1] for m in re.finditer(r"^\|.*\| [^|]*?`(\w+)(?:=[^`]*)?`[^|]*\|$", page, flags=re.MULTILINE)}
    there = {
        *BoostingClassifier._get_param_names(),
        *dir(BoostingClassifier),
        "BoostingClassifier",
        "LinearClassifier",
        "oob_score_",
    }
    assert {"max_leaf_nodes", "min_weight_leaf", "monotonic_cst"} <= told
    assert told <= there | {"scoring"}
