import os
import tempfile
from pathlib import Path

# One cache of compiled kernels for the whole run, set before Numba is imported anywhere.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / "propriety-numba-cache"))

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "propriety",
    deadline=None,
    derandomize=True,
    max_examples=8,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("propriety")


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)
