"""The page without a server: every family on a grid of its parameters, computed beforehand by the library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from propriety.explore import answers, choices, datasets, fitting, page, shaping

_CELLS = 25  # of the picture of a plane, either way


def write(
    folder: str | Path,
    *,
    families: Sequence[choices.Family] | None = None,
    data: Sequence[datasets.DataSet] | None = None,
) -> None:
    """Write the page, its scripts, and a file of answers for each family into a folder.

    The page works from a web server and from the disk: answers are scripts, because browsers do not let a
    page on the disk read other files.
    """
    families = choices.families() if families is None else families
    data = datasets.built_in() if data is None else data
    place = Path(folder)
    (place / "data").mkdir(parents=True, exist_ok=True)
    rows = choices.thresholds()
    settings = page.settings(data, rows, few=True)
    settings["families"] = [family.described(few=True) for family in families]
    _save(place / "index.html", page.document(settings))
    for name in page.ASSETS:
        _save(place / name, page.asset(name))
    thresholds = np.array([row["c"] for row in rows])
    for family in families:
        content = [_point(answers.make(family.name, values), data, thresholds) for values in family.grid()]
        text = json.dumps(content, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
        _save(place / "data" / f"{family.name}.js", f"explorer.keep({json.dumps(family.name)},{text});\n")


def _point(loss: Any, data: Sequence[datasets.DataSet], thresholds: Any) -> dict[str, Any]:
    """All answers about one loss."""
    models = {one.name: fitting.judged(one, loss, thresholds, _CELLS) for one in data}
    return {"faces": answers.faces(shaping.Shape(loss, ()), thresholds), "models": models}


def _save(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
