"""Modules that need what may not be installed are not imported to look for examples in them."""

from importlib.util import find_spec

collect_ignore = [f"src/propriety/interop/{name}.py" for name in ("jax", "torch") if find_spec(name) is None]
