"""``python -m reproductions``."""

from __future__ import annotations

import sys

from reproductions.command import main

if __name__ == "__main__":
    sys.exit(main())
