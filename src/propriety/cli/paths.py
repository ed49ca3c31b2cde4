"""The files of a command: those that a path stands for, and that none is read and written."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Mapping
from itertools import combinations

from propriety import memory
from propriety.cli.output import UsageError
from propriety.distributed.sources import files_of
from propriety.tables import TableError

_DEVICES = {"-": "/dev/stdin", None: "/dev/stdout"}

_EXPANDED = 4  # times its size that a file takes in memory, about


def is_many(path: str) -> bool:
    """Whether a path is a folder, or a pattern and no file."""
    return os.path.isdir(path) or (path != "-" and not os.path.exists(path) and glob.has_magic(path))


def is_streamed(path: str, memory_asked: str | None) -> bool:
    """Whether a table is read in batches: many files, one beyond memory, or a budget that was asked for."""
    if memory_asked is not None or is_many(path):
        return True
    return os.path.exists(path) and os.path.getsize(path) * _EXPANDED > memory.available()


def tables_at(path: str) -> list[str]:
    """The path, or the files of a folder or a pattern."""
    if not is_many(path):
        return [path]
    try:
        return files_of(path)
    except FileNotFoundError as error:
        raise TableError(str(error)) from None


def is_folder(path: str) -> bool:
    """Whether an output is a folder: one that is there, or a path that ends as one.

    >>> is_folder("scored/"), is_folder("scored.csv")
    (True, False)
    """
    return path.endswith(("/", os.sep)) or os.path.isdir(path)


def outputs_in(folder: str, path: str) -> list[tuple[str, str | None]]:
    """For each table that a path stands for, the file of the same name in a folder, which is made."""
    if path == "-":
        raise UsageError("--out is a folder, and standard input has no name for a file in it: name a file")
    tables = tables_at(path)
    names = [os.path.basename(table) for table in tables]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UsageError(f"two files are called {sorted(twice)[0]!r}, and {folder} can hold one of them")
    os.makedirs(folder, exist_ok=True)
    return [(table, os.path.join(folder, name)) for table, name in zip(tables, names, strict=True)]


def is_newer(path: str, *sources: str) -> bool:
    """Whether a file is there and was written after those it is made of."""
    try:
        written = os.stat(path).st_mtime_ns
        return all(os.stat(source).st_mtime_ns < written for source in sources)
    except OSError:
        return False


def check_outputs(outputs: Mapping[str, str | None], inputs: Mapping[str, str | None]) -> None:
    """Refuse to write a file that is read, or one file twice, by whatever path or link.

    Parameters
    ----------
    outputs : dict
        The path by the option; a path of None is left out.
    inputs : dict
        The path, folder, pattern or ``-`` by what it is; None is left out.

    >>> check_outputs({"--save": "a/../m", "--report": "m"}, {})
    Traceback (most recent call last):
        ...
    propriety.cli.output.UsageError: --save and --report are both the file 'm': name two files
    """
    written = {option: path for option, path in outputs.items() if path is not None}
    for (one, path), (other, second) in combinations(written.items(), 2):
        if _is_same(path, second):
            raise UsageError(f"{one} and {other} are both the file {second!r}: name two files")
    written["standard output"] = _DEVICES[None]
    for what, pattern in inputs.items():
        for source in () if pattern is None else _files(pattern):
            for option, path in written.items():
                if _is_same(path, source):
                    shown = option if option.startswith("standard") else f"{option} {path}"
                    raise UsageError(
                        f"{shown} is the file of the {what}, which would be overwritten: name another file"
                    )


def _files(pattern: str) -> list[str]:
    """The files that are read; none if they are not there, which reading them says."""
    if pattern in _DEVICES:
        return [_DEVICES[pattern]]
    try:
        return files_of(pattern)
    except FileNotFoundError:
        return []


def _is_same(path: str, other: str) -> bool:
    """Whether two paths lead to the same plain file, or will once it is there."""
    try:
        one, two = os.stat(path), os.stat(other)
    except (OSError, ValueError):
        return os.path.normcase(os.path.realpath(path)) == os.path.normcase(os.path.realpath(other))
    return stat.S_ISREG(one.st_mode) and os.path.samestat(one, two)
