"""What CONTRIBUTING says of additions: a function and a row are enough to be seen by users."""

import numpy as np
import pytest

from propriety import Study
from propriety.evaluation import judging
from propriety.report import page
from propriety.report.markup import tag
from propriety.study import findings, models, summary
from propriety.tables import formats, open_source
from propriety.tables.cells import text_chunks
from propriety.tables.reading import Read


@pytest.fixture
def study():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    return Study.from_predictions(y, np.clip(0.3 + 0.4 * y + rng.normal(0, 0.1, 200), 0, 1), fn_cost=2)


def test_a_warning(study, monkeypatch):
    row = ("large", lambda study: [f"{len(study.y)} rows are many"])
    monkeypatch.setattr(findings, "CHECKS", (*findings.CHECKS, row))
    assert "200 rows are many" in [finding.text for finding in study.warnings]
    assert "200 rows are many" in study.report()


def test_a_metric(study, monkeypatch):
    row = ("sharpness", lambda rows, p: float(rows.weights.mean(np.abs(p - 0.5))))
    monkeypatch.setattr(judging, "METRICS", (*judging.METRICS, row))
    monkeypatch.setattr(summary, "COLUMNS", (*summary.COLUMNS, ("sharpness", "sharpness")))
    assert study.to_dict()["judgements"][0]["sharpness"] == pytest.approx(np.mean(np.abs(study.p - 0.5)))
    assert "sharpness" in study.summary()
    assert "sharpness" in study.to_frame().columns


def test_a_section(study, monkeypatch):
    row = ("mine", "My own section", lambda study: tag("p", f"{len(study.y)} rows"))
    monkeypatch.setattr(page, "SECTIONS", (*page.SECTIONS, row))
    assert "My own section" in study.report()


def test_a_rival(monkeypatch):
    from sklearn.dummy import DummyClassifier

    row = models.ModelSpec(
        "dummy", "the base rate", lambda request, costs, n: DummyClassifier(), models.NUMBERS
    )
    monkeypatch.setitem(models.SPECS, row.name, row)
    X, y = np.arange(60.0)[:, None], np.arange(60) % 3 == 0
    study = Study("logistic", X, y, rivals=["dummy"], cv=2)
    assert "the base rate" in [judgement.name for judgement in study.judgements]


def test_a_table_format(tmp_path, monkeypatch):
    def read_pairs(stream, how):
        rows = [line.split("=") for line in stream.read().decode().split()]
        return Read(["name", "value"], text_chunks(["name", "value"], rows, set()), strings=set())

    row = formats.Format("pairs", read_pairs, ("pairs",), "#pairs ")
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, row))
    monkeypatch.setitem(formats.READERS, row.name, row.read)
    (tmp_path / "t.pairs").write_text("a=1 b=2")
    assert open_source(str(tmp_path / "t.pairs")).read().to_pydict() == {
        "name": ["a", "b"],
        "value": ["1", "2"],
    }
