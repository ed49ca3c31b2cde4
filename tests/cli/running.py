"""The command line called in the test's own process."""

import json

from typer.testing import CliRunner

from propriety.cli.app import app


def run(*args, input=None, code=0):
    """The result of a command; its exit code, or one of several, is checked."""
    result = CliRunner().invoke(app, [str(a) for a in args], input=input)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    codes = code if isinstance(code, tuple) else (code,)
    assert result.exit_code in codes, (result.exit_code, result.stdout, result.stderr)
    assert "Traceback" not in result.stdout + result.stderr
    return result


def as_json(*args, **kwargs):
    return json.loads(run(*args, "--json", **kwargs).stdout)
