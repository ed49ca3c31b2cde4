import json
import re

import numpy as np
from tests.explore.serving import small

from propriety import losses
from propriety.explore import answers, choices, fitting, static
from propriety.explore.shaping import Shape


def read(path):
    name, content = re.fullmatch(
        r"explorer\.keep\((\"\w+\"),(.*)\);\n", path.read_text(encoding="utf-8")
    ).groups()
    return json.loads(name), json.loads(content)


def test_every_point_of_the_grid_is_what_a_server_would_say(tmp_path):
    families = [family for family in choices.families() if family.name in ("Log", "Power")]
    data = small()
    static.write(tmp_path, families=families, data=(data,))
    assert {path.name for path in tmp_path.iterdir()} == {
        "index.html", "style.css", "charts.js", "explore.js", "data",
    }  # fmt: skip
    thresholds = np.array([row["c"] for row in choices.thresholds()])
    name, points = read(tmp_path / "data" / "Power.js")
    assert name == "Power"
    assert len(points) == len(list(families[1].grid())) == 4
    for point, values in zip(points, families[1].grid(), strict=True):
        loss = losses.Power(**values)
        assert point["faces"] == answers.faces(Shape(loss, ()), thresholds)
        expected = fitting.judged(data, loss, thresholds, static._CELLS)
        assert point["models"]["small"]["models"] == expected["models"]
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    settings = json.loads(re.search(r'application/json">(.*?)</script>', page)[1])
    assert not settings["server"]
    assert [slider["stops"] for slider in settings["families"][1]["sliders"]] == [[0.1, 0.3, 0.5, 0.8]]
