"""What depends on the machine."""

import pytest

from propriety.engine.intrinsics import AT_ONCE, LANES
from propriety.engine.sizes import features_at_once


@pytest.mark.parametrize(
    ("size", "features"), [("32K", 19), ("48K", 28), ("1M", AT_ONCE), ("4K", LANES), ("?", 19)]
)
def test_features_are_added_up_at_once_by_the_size_of_the_first_cache(tmp_path, size, features):
    for k, (level, kind, stated) in enumerate(
        [("1", "Data", size), ("1", "Instruction", "64K"), ("2", "Unified", "2M")]
    ):
        folder = tmp_path / f"index{k}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", stated)):
            (folder / name).write_text(text + "\n")
    assert features_at_once(tmp_path) == features


def test_a_system_that_says_nothing_has_a_small_cache(tmp_path):
    assert features_at_once(tmp_path) == 19
