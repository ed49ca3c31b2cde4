"""Where the documentation of an estimator is: the link in its HTML representation.

The documentation is not published anywhere, so there is no address to build in. The links lead to what
``PROPRIETY_DOCS`` names, the address under which a site or a company serves it, or else to the build of a
source tree, if the package is used from one that has built it (``python3 run.py check``). Without either
there is no link.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

#: Of a source tree: src/propriety/model/pages.py is the third folder down.
_BUILD = Path(__file__).resolve().parents[3] / "docs" / "_build" / "html"


class Documented:
    """An estimator with a page in the reference."""

    #: The module that the page names it by.
    _page_module: ClassVar[str] = "propriety"

    def _get_doc_link(self) -> str:
        """What scikit-learn asks for: the address of the page, or nothing."""
        if type(self).__module__.partition(".")[0] != "propriety":  # a user's subclass has no page
            return ""
        page = f"generated/{self._page_module}.{type(self).__name__}.html"
        site = os.environ.get("PROPRIETY_DOCS", "").rstrip("/")
        if site:
            return f"{site}/{page}"
        built = _BUILD / page
        return built.as_uri() if built.is_file() else ""
