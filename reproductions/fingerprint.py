"""What a result depends on, as a short text: the code that computes it, and what that is given.

Results are used again only where this is the same. Of the papers' modules it counts the definitions that a
function uses, directly or through others, so that a verdict or a figure can be worded anew without fitting
anew; of the library, every module but those that only show results. Comments and docstrings do not count.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from reproductions.data import Data

_PAPERS = "reproductions"
_FOLDER = Path(__file__).parent
#: Folders of modules of the library that compute nothing of an experiment.
_LEFT_OUT = frozenset({"cli", "explore", "export", "interop", "plots", "report"})


def fingerprint(function: Callable[[Any], Any]) -> str:
    """Of a function of a module, perhaps with arguments by `functools.partial`.

    The folders of `Data` do not count: what is in them is checked when it is read.
    """
    called = function.func if isinstance(function, partial) else function
    given = function.keywords if isinstance(function, partial) else {}
    arguments = {name: value for name, value in given.items() if not isinstance(value, Data)}
    content = json.dumps([plain(arguments), sorted(_used(called)), _library()])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def read_code() -> None:
    """Read all code now: what is changed while a run goes on does not count as what it runs."""
    _library()
    for path in _FOLDER.glob("*.py"):
        if not path.stem.startswith("__"):
            _module(f"{_PAPERS}.{path.stem}")


def plain(value: Any) -> Any:
    """The same in dictionaries, lists, numbers and texts.

    >>> plain({"a": np.array([1.0, 2.0]), "b": (np.int64(3), None)})
    {'a': [1.0, 2.0], 'b': [3, None]}
    """
    if isinstance(value, dict):
        return {str(key): plain(content) for key, content in value.items()}
    if isinstance(value, list | tuple):
        return [plain(content) for content in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return value.item() if isinstance(value, np.generic) else value


def _used(function: Callable[[Any], Any]) -> Iterator[str]:
    """Definitions that a function uses, its own too: of its module and of the other modules of the papers."""
    waiting = [(function.__module__, function.__qualname__)]
    known = set(waiting)
    while waiting:
        module, name = waiting.pop()
        definitions, imported = _module(module)
        if name in imported:
            following = [imported[name]]
        elif name in definitions:
            code, names = definitions[name]
            yield f"{module}.{name} {code}"
            following = [(module, other) for other in names]
        else:  # a local variable, a builtin or a name of the library
            continue
        waiting += [place for place in following if place not in known]
        known.update(following)


@cache
def _module(name: str) -> tuple[dict[str, tuple[str, list[str]]], dict[str, tuple[str, str]]]:
    """Of a module: its definitions, each with the names in it, and what it has from the papers' modules."""
    definitions: dict[str, tuple[str, list[str]]] = {}
    imported: dict[str, tuple[str, str]] = {}
    for statement in ast.parse(inspect.getsource(import_module(name))).body:
        if isinstance(statement, ast.ImportFrom):
            source = statement.module or ""
            if source == _PAPERS or source.startswith(f"{_PAPERS}."):
                imported |= {alias.asname or alias.name: (source, alias.name) for alias in statement.names}
            continue
        names = list(dict.fromkeys(node.id for node in ast.walk(statement) if isinstance(node, ast.Name)))
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            bound = [statement.name]
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            bound = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        else:
            continue
        definitions |= dict.fromkeys(bound, (_code(statement), names))
    return definitions, imported


@cache
def _library() -> str:
    """Of the modules of the library that may compute, and of the catalogue of data sets."""
    whole = hashlib.sha256(_FOLDER.joinpath("sets.csv").read_bytes())
    root = Path(str(files("propriety")))
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if place.parts[0] not in _LEFT_OUT:
            whole.update(f"{place} {_code(ast.parse(path.read_text(encoding='utf-8')))}".encode())
    return whole.hexdigest()


def _code(tree: ast.AST) -> str:
    """A definition, or a module, without comments and docstrings; these are taken out of the tree."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:]
    return ast.dump(tree)
