"""The table of clients is made of tests that are there."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def compatibility():
    spec = importlib.util.spec_from_file_location("compatibility", ROOT / "docs" / "compatibility.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_client_of_the_table_has_a_test():
    module = compatibility()
    lines = module.page(ROOT / "tests").splitlines()[2:]
    assert len(lines) == len(module.CLIENTS)
    for line in lines:
        assert ".py`" in line, line
    assert any("`export/test_shap.py`" in line for line in lines)


def test_imports_of_every_kind_are_found(tmp_path):
    path = tmp_path / "test_a.py"
    path.write_text("import a.b\nfrom c.d import e\ndef f():\n    pytest.importorskip('g.h')\n")
    assert compatibility().imported(path) == {"a", "c", "g"}
