"""Links to the documentation in HTML representations, and tags."""

import importlib.util
from pathlib import Path

import pytest
from sklearn.utils import get_tags

from propriety import BoostingClassifier, LinearClassifier, LossSearchCV
from propriety.interop import LightGBMProper
from propriety.model import catalogue, pages

DOCS = Path(__file__).resolve().parents[2] / "docs"
ESTIMATORS = [row.type() for row in catalogue.ESTIMATORS]
DOCUMENTED = [*ESTIMATORS, LossSearchCV(LinearClassifier()), LightGBMProper()]


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)  # for its neighbours
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("estimator", DOCUMENTED, ids=lambda e: type(e).__name__)
def test_the_diagram_links_to_a_page_of_the_reference(estimator, generate, monkeypatch):
    monkeypatch.setenv("PROPRIETY_DOCS", "https://docs.example/p/")
    name = f"{estimator._page_module}.{type(estimator).__name__}"
    assert f'href="https://docs.example/p/generated/{name}.html"' in estimator._repr_html_()
    assert type(estimator).__name__ in generate._estimators()[estimator._page_module]


def test_without_a_site_the_link_is_to_the_build_if_there_is_one(monkeypatch, tmp_path):
    monkeypatch.delenv("PROPRIETY_DOCS", raising=False)
    monkeypatch.setattr(pages, "_BUILD", tmp_path)
    assert BoostingClassifier()._get_doc_link() == ""
    page = tmp_path / "generated" / "propriety.BoostingClassifier.html"
    page.parent.mkdir()
    page.touch()
    assert BoostingClassifier()._get_doc_link() == page.as_uri()


def test_a_class_of_a_user_has_no_page(monkeypatch):
    monkeypatch.setenv("PROPRIETY_DOCS", "https://docs.example")
    assert type("Mine", (BoostingClassifier,), {"__module__": "mine"})()._get_doc_link() == ""


@pytest.mark.parametrize("row", catalogue.ESTIMATORS, ids=lambda row: row.key)
def test_tags_say_what_is_read(row):
    tags, tables = get_tags(row.type()), row.key != "linear"
    assert tags.estimator_type == "classifier"
    assert tags.classifier_tags.multi_class
    assert tags.target_tags.required
    assert tags.input_tags.sparse
    assert tags.input_tags.allow_nan is tables
    assert tags.input_tags.categorical is tables
