"""The server, asked without a browser."""

import json
import re
import threading

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import socket

from tests.explore.serving import Client, running, small

from propriety import losses
from propriety.explore import page, server

BETA = {"family": "Beta", "alpha": "6", "beta": "14"}


@pytest.fixture(scope="module")
def explorer():
    return server.Explorer((small(),), fp_cost=2, fn_cost=5)


@pytest.fixture(scope="module")
def client(explorer):
    with running(explorer) as address:
        yield Client(address)


def test_the_page_loads_nothing_from_elsewhere(client):
    status, headers, text = client.get("")
    assert status == 200
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert not re.search(r"https?://", text)
    for name, kind in page.ASSETS.items():
        _, headers, file = client.get(name)
        assert headers["content-type"].startswith(kind)
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", file)
        assert f'"{name}"' in text


def test_the_settings_are_in_the_page(client, explorer):
    text = re.search(r'<script id="settings" type="application/json">(.*?)</script>', client.get("")[2])[1]
    settings = json.loads(text)
    assert settings == json.loads(json.dumps(explorer.settings))
    assert settings["thresholds"][settings["threshold"]]["costs"] == "fp_cost=2, fn_cost=5"
    assert [family["name"] for family in settings["families"]] == losses.names()


def test_faces_and_models_are_answered(client):
    assert client.json("faces", BETA)["loss"] == "Beta(6, 14)"
    assert client.json("faces", {"loss": "2*Log()+Squared()"})["loss"] == "2 * Log() + Squared()"
    shaped = client.json("faces", {"handles": "2,2,2,2,2,2,2"})
    assert shaped["loss"] == "Squared()"
    weight = shaped["faces"][0]
    assert (weight["low"], weight["high"], weight["log"]) == (0.2, 300, True)
    models = client.json("models", BETA | {"data": "small"})
    assert [model["title"] for model in models["models"]] == ["Linear model", "Tree", "Boosting"]
    assert models["loss"] == "Beta(6, 14)"


@pytest.mark.parametrize(
    ("path", "query", "message"),
    [
        ("faces", {}, "there is no family ''"),
        ("faces", {"loss": "Hinge()"}, "Hinge is not a proper loss"),
        ("faces", {"loss": "1e-300 * Log() * 1e-300"}, "cannot be drawn"),
        ("faces", {"handles": "1,2"}, "handles must be 7 weights"),
        ("models", {"loss": "Log()"}, "there are no data ''; there are small"),
        ("models", {"loss": "nope(", "data": "small"}, "cannot read 'nope('"),
    ],
)
def test_bad_input_gets_a_clear_message(client, path, query, message):
    status, _, text = client.get(path, query)
    assert status == 400
    assert message in json.loads(text)["error"]


def test_other_names_of_this_machine_and_other_files_are_refused(client):
    assert client.get("", headers={"Host": "evil.example"})[0] == 400
    assert client.get("", headers={"Host": "localhost:8777"})[0] == 200
    assert client.get("server.py")[0] == 404
    assert client.get("../server.py")[0] == 404
    assert client.get("faces", data=b"", method="POST")[0] == 405


def test_requests_of_other_sites_are_refused_before_any_work(explorer, client, monkeypatch):
    def work(*args, **kwargs):
        raise AssertionError("work was done")

    monkeypatch.setattr(explorer, "_faces", work)
    monkeypatch.setattr(server.fitting, "judged", work)
    asked = {"faces": BETA, "models": BETA | {"data": "small"}, "style.css": None, "": None}
    foreign = ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"})
    for headers in (*foreign, *({"Sec-Fetch-Site": site} for site in ("cross-site", "same-site"))):
        for path, query in asked.items():
            status, _, text = client.get(path, query, headers=headers)
            assert (status, json.loads(text)["error"]) == (403, "another site may not ask the explorer")
    from_link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("", headers=from_link)[0] == 200
    assert client.get("faces", BETA, headers=from_link)[0] == 403


def test_the_page_itself_may_ask(client):
    own = client.address.rstrip("/")
    for headers in ({"Origin": own}, {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}):
        assert client.get("faces", BETA, headers=headers)[0] == 200


def test_a_fault_of_the_program_is_an_answer_too(explorer, client, monkeypatch):
    monkeypatch.setattr(explorer, "_faces", lambda *args, **kwargs: {}["fault"])
    status, _, text = client.get("faces", BETA)
    assert status == 500
    assert json.loads(text)["error"] == "a fault of the program, which the terminal shows: KeyError('fault')"


def test_the_end_does_not_wait_for_a_fit(monkeypatch, capfd):
    begun, go_on = threading.Event(), threading.Event()

    def fit_for_long(*args, **given):
        begun.set()
        go_on.wait(60)

    monkeypatch.setattr(server.fitting, "judged", fit_for_long)
    answers = []
    with running(server.Explorer((small(),))) as address:
        asking = threading.Thread(
            target=lambda: answers.append(Client(address).get("models", {"loss": "Log()", "data": "small"}))
        )
        asking.start()
        assert begun.wait(30)
    asking.join(30)
    go_on.set()
    assert [json.loads(text) for _, _, text in answers] == [{"error": "the explorer has ended"}]
    assert capfd.readouterr().err == ""


def test_text_of_a_table_cannot_end_the_script_of_settings():
    data = small()
    object.__setattr__(data, "title", "</script><script>alert(1)</script>")
    with running(server.Explorer((data,))) as address:
        text = Client(address).get("")[2]
    assert "<script>alert" not in text
    assert "\\u003c/script>" in text


def test_the_socket_is_on_this_machine_only_and_a_taken_port_is_an_error():
    first = server.listen(0)
    host, port = first.getsockname()
    try:
        assert host == "127.0.0.1"
        assert server.address(first) == f"http://127.0.0.1:{port}/"
        with pytest.raises(OSError, match="in use"):
            server.listen(port)
    finally:
        first.close()


def test_without_a_port_a_taken_one_is_evaded(monkeypatch):
    taken = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setattr(server, "PORT", taken.getsockname()[1])
    second = server.listen()
    try:
        assert second.getsockname()[1] != server.PORT
    finally:
        taken.close()
        second.close()


def test_an_error_in_a_job_goes_to_whoever_asked():
    with pytest.raises(ZeroDivisionError, match="division"):
        server.Worker().submit(lambda: 1 / 0).result(timeout=10)
