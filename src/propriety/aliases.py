"""Types that signatures share."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

#: A label of a class, as it stands in y.
Label: TypeAlias = str | int | float | bool | np.generic
