"""What every test and every example of the documentation must be: able to fail."""

import ast
import doctest
import inspect
from pathlib import Path

import pytest

import propriety

TESTS = Path(__file__).parent.parent
#: Exceptions whose type says it all.
BY_TYPE = {"KeyboardInterrupt", "SystemExit", "NotFittedError"}


def vague_raises(source):
    """Lines of ``pytest.raises`` that any message would satisfy.

    >>> vague_raises("with pytest.raises(ValueError): f()")
    [1]
    >>> vague_raises("with pytest.raises(ValueError, match='must be'): f()")
    []
    """
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("pytest.raises", "raises")
        and not any(
            keyword.arg == "match" and ast.unparse(keyword.value) != "''" for keyword in node.keywords
        )
        and not (node.args and ast.unparse(node.args[0]) in BY_TYPE)
    ]


def test_every_expected_error_has_its_message():
    vague = {
        str(path.relative_to(TESTS)): lines
        for path in sorted(TESTS.rglob("*.py"))
        if (lines := vague_raises(path.read_text(encoding="utf-8")))
    }
    assert not vague, f"pytest.raises without match=: {vague}"


@pytest.mark.parametrize(
    "name", [name for name in propriety.__all__ if inspect.isclass(getattr(propriety, name))]
)
def test_examples_of_estimators_show_all_of_their_output(name):
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(getattr(propriety, name)))
    assert examples
    for example in examples:
        assert "..." not in example.want, f"{name}: {example.source.strip()} leaves out what it prints"
