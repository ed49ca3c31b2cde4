"""``python -m propriety`` and the command ``propriety``."""

from __future__ import annotations

import gc
import importlib.util
import sys


def main() -> None:
    """Run the command line."""
    lacking = [m for m in ("typer", "rich", "pyarrow", "openpyxl") if importlib.util.find_spec(m) is None]
    if lacking:
        sys.exit(f"the command line needs {', '.join(lacking)}: pip install 'propriety[cli]'")
    # What is imported stays until the end: garbage is not looked for in it, which takes a fifth of the start.
    gc.disable()
    from propriety.cli.app import app

    gc.freeze()
    gc.enable()
    app(prog_name="propriety")


if __name__ == "__main__":
    main()
