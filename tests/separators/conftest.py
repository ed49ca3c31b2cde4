from tests.linear.conftest import make  # noqa: F401 (a fixture)
