"""Fuzzes the arguments of every command; `readers` says how to run it, `arguments` what must hold.

    PYTHONPATH=src /tmp/fuzz/bin/python tests/fuzz/fuzz_arguments.py tests/cli/corpus -max_total_time=300

It finds its way by the coverage of the command line and of the tables, and by a dictionary of all options.
"""

import os
import sys
import tempfile
from pathlib import Path

import atheris
from arguments import prepare, run_command, words


def quoted(word: str) -> str:
    """A word as libFuzzer's dictionaries want it."""
    return "".join(f"\\x{byte:02x}" for byte in f"\n{word}".encode())


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[1] / "tables"))
    with atheris.instrument_imports(include=["propriety.cli", "propriety.tables"]):
        import propriety.cli.app  # noqa: F401
    given = [str(Path(a).resolve()) if Path(a).exists() else a for a in sys.argv]
    folder = Path(tempfile.mkdtemp())
    prepare(folder)
    (folder / "words").write_text("".join(f'"{quoted(word)}"\n' for word in words()))
    os.chdir(folder)  # what a command writes, it writes here
    atheris.Setup([*given, f"-dict={folder / 'words'}", "-only_ascii=0"], run_command)
    atheris.Fuzz()
