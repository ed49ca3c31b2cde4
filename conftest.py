"""Modules that need what may not be installed are not imported to look for examples in them."""

from importlib.util import find_spec

pytest_plugins = ("tests.browser",)

collect_ignore = [f"src/propriety/interop/{name}.py" for name in ("jax", "torch") if find_spec(name) is None]
if find_spec("starlette") is None or find_spec("uvicorn") is None:
    collect_ignore.append("src/propriety/explore/server.py")
if find_spec("ray") is None:
    collect_ignore.append("src/propriety/distributed/ray.py")
