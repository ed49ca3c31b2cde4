"""``propriety explore`` as a user starts and ends it."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from typer.testing import CliRunner

from propriety.cli.app import app
from propriety.explore import server
from propriety.tables import many


def refused(*args):
    result = CliRunner().invoke(app, ["explore", *map(str, args)])
    assert result.exit_code == 2, (result.stdout, result.stderr)
    return " ".join(result.stderr.split())


def test_what_cannot_be_meant_is_refused(tmp_path):
    assert "give a table and its --target" in refused("t.csv")
    assert "--fp-cost must be positive" in refused("--fp-cost", "-1")
    assert "--fn-cost must be positive" in refused("--fn-cost", "0")
    assert "is not a number of threads" in refused("--jobs", "0")
    three = tmp_path / "t.csv"
    three.write_text("x,y\n" + "".join(f"{k * k % 11},{'abc'[k % 3]}\n" for k in range(30)))
    assert "explore is for two classes, and 'y' has 3" in refused(three, "--target", "y")


def test_a_taken_port_is_refused():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} cannot be used" in refused("--no-browser", "--port", port)


def test_jobs_are_the_threads_that_read_the_table_and_fit_models(tmp_path, monkeypatch):
    table = tmp_path / "t.csv"
    table.write_text("x,sick\n" + "".join(f"{k % 7},{'yes' if k % 7 > 3 else 'no'}\n" for k in range(60)))
    threads = []

    def noting(source, **given):
        threads.append(given["n_jobs"])
        return open_sources(source, **given)

    def end_at_once(explorer, listening):
        threads.append(explorer.n_jobs)
        listening.close()

    open_sources = many.open_sources
    monkeypatch.setattr(many, "open_sources", noting)
    monkeypatch.setattr(server, "serve", end_at_once)
    given = ["explore", str(table), "--target", "sick", "--no-browser", "--port", "0"]
    for jobs in (["--jobs", "2"], []):
        assert CliRunner().invoke(app, [*given, *jobs]).exit_code == 0
    assert threads == [2, 2, None, None]


def test_it_serves_a_table_opens_the_browser_and_ends_by_ctrl_c(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(
        "x,z,sick\n" + "".join(f"{k % 7},{k % 5}.5,{'yes' if k % 7 > 3 else 'no'}\n" for k in range(60))
    )
    opened = tmp_path / "opened"
    browser = tmp_path / "browser.sh"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    command = [sys.executable, "-m", "propriety", "explore", str(table), "--target", "sick", "--fn-cost", "9"]
    process = subprocess.Popen(
        [*command, "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"BROWSER": f"{browser} %s"},
    )
    try:
        text = ""
        while "}" not in text:
            text += process.stdout.readline()
        where = json.loads(text)["address"]
        with urllib.request.urlopen(where) as answer:
            page = answer.read().decode()
        assert '"title":"t.csv"' in page
        with urllib.request.urlopen(f"{where}models?data=table&loss=Log()") as answer:
            assert [model["name"] for model in json.load(answer)["models"]] == ["linear", "tree", "boosting"]
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert (rest, errors) == ("", "")
    assert opened.read_text().strip() == where


def test_without_the_packages_it_says_what_to_install():
    code = (
        "import sys; sys.modules['starlette'] = None; sys.modules['starlette.applications'] = None\n"
        "from propriety.cli.app import app\napp(['explore'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'pip install "propriety[explore]"' in " ".join(done.stderr.split())
