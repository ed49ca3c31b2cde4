"""``python -m propriety`` and the command ``propriety``."""

from __future__ import annotations

import importlib.util
import sys


def main() -> None:
    """Run the command line."""
    lacking = [m for m in ("typer", "rich", "pyarrow", "openpyxl") if importlib.util.find_spec(m) is None]
    if lacking:
        sys.exit(f"the command line needs {', '.join(lacking)}: pip install 'propriety[cli]'")
    from propriety.cli.app import app

    app(prog_name="propriety")


if __name__ == "__main__":
    main()
