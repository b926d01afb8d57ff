"""Calls to model APIs: through the user's proxy, bounded, and without the key in a message."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from podium.adapters.agents.api.agent import Api
from podium.adapters.agents.ollama.agent import Ollama
from podium.adapters.agents.shared.http import MAX_BYTES, Answer, BrokenOff, Unreachable, _load, post
from podium.ports.agent import AgentRequest, AgentResult, ServiceAgent
from podium.testing.models.server import ModelServer, Rule
from tests.relays import END, Trust, closed_port, listening, proxy, tls_front, trust

HOST = "models.example"
KEY = "key-of-the-user-4711"


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    _load.cache_clear()
    yield
    _load.cache_clear()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return trust(tmp_path_factory.mktemp("trust"), HOST)


def ask(folder: Path, agent: ServiceAgent, base_url: str, **config: Any) -> AgentResult:
    request = AgentRequest(
        agent="small", config={"base_url": base_url, **config}, path="it", step="it", visit=1, attempt=1,
        prompt="Sum it up", model="small-1", project=folder, cwd=folder, home=folder, env={"MINE": KEY},
    )  # fmt: skip
    return anyio.run(agent.call, request)


def port_of(server: ModelServer) -> int:
    return int(server.url.rpartition(":")[2])


@pytest.mark.req("R058")
def test_an_api_is_called_through_the_proxy_which_does_not_see_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Trust
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))
    with ModelServer(Rule(text="short")) as server, tls_front(port_of(server), made) as front:
        with proxy(front) as relay:
            monkeypatch.setenv("HTTPS_PROXY", relay.url.replace("//", "//ann:pass@"))
            result = ask(tmp_path, Api(), f"https://{HOST}/v1", key="MINE")
        assert result.text == "short", result.detail
        assert server.requests[0].headers["authorization"].endswith("4711")
        assert "proxy-authorization" not in server.requests[0].headers
    [head] = relay.heads
    assert head.startswith(f"CONNECT {HOST}:443 HTTP/1.1\r\n")
    assert "proxy-authorization: basic yw5uonbhc3m=" in head.lower()
    assert relay.passed and KEY.encode() not in relay.passed


@pytest.mark.req("R066")
def test_a_model_elsewhere_goes_through_the_proxy_and_one_on_this_machine_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(Rule(text="short")) as server, proxy(port_of(server)) as relay:
        monkeypatch.setenv("HTTP_PROXY", relay.url)
        near = ask(tmp_path, Ollama(), server.url)
        assert (near.text, relay.heads) == ("short", [])
        far = ask(tmp_path, Ollama(), f"http://{HOST}:11434")
    assert far.trouble is not None, "the model server knows no whole addresses"
    assert relay.heads[0].startswith(f"POST http://{HOST}:11434/api/chat HTTP/1.1\r\n")


def test_a_proxy_that_refuses_is_told_without_its_password_and_nothing_is_owed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy(1) as relay:
        relay.answer = b"HTTP/1.1 407 Login first\r\nContent-Length: 0\r\n\r\n"
        monkeypatch.setenv("HTTPS_PROXY", relay.url.replace("//", "//ann:pass@"))
        result = ask(tmp_path, Api(), f"https://{HOST}/v1", key="MINE")
    assert (result.trouble, result.usage.calls, result.cost) == ("transient", 0, 0)
    assert f"through the proxy 127.0.0.1:{relay.port}: 407 Login first" in result.detail
    assert "pass" not in result.detail


def test_a_proxy_that_is_not_there_or_not_spoken_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closed_port() as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        assert f"127.0.0.1:{port}" in ask(tmp_path, Api(), f"https://{HOST}/v1").detail
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:1080")
    assert "use an http:// or https:// one" in ask(tmp_path, Api(), f"https://{HOST}/v1").detail


def test_limits_hold_for_a_proxy_that_says_nothing_and_it_is_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy(1) as relay:
        relay.answer = b""
        monkeypatch.setenv("HTTPS_PROXY", relay.url)
        for key in ("timeout", "stall"):
            relay.hung_up.clear()
            assert ask(tmp_path, Api(), f"https://{HOST}/v1", **{key: "1s"}).trouble == "timeout"
            assert relay.hung_up.wait(60)


def test_a_certificate_that_is_not_trusted_ends_the_call_before_the_key_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Trust
) -> None:
    with ModelServer(Rule()) as server, tls_front(port_of(server), made) as front, proxy(front) as relay:
        monkeypatch.setenv("HTTPS_PROXY", relay.url)
        result = ask(tmp_path, Api(), f"https://{HOST}/v1", key="MINE")
        assert server.requests == []
    assert result.usage.calls == 0
    assert "certificate" in result.detail.lower()


@pytest.mark.req("R207")
def test_a_key_that_cannot_be_a_header_is_not_in_the_message() -> None:
    with ModelServer(Rule()) as server, pytest.raises(Unreachable, match="line breaks") as refused:
        anyio.run(lambda: post(server.url, {}, headers={"Authorization": f"Bearer {KEY}\nX: y"}))
    assert KEY not in str(refused.value)
    assert server.requests == []


def answered(raw: bytes) -> Answer:
    """The answer to a server that sends these bytes and hangs up."""

    def attend(client: socket.socket) -> None:
        heard = b""
        while not heard.endswith(END + b"{}"):
            heard += client.recv(4096)
        client.sendall(raw)

    async def call() -> Answer:
        return await post(f"http://127.0.0.1:{port}", {})

    with listening(attend) as port:
        return anyio.run(call)


def reply(body: bytes, *fields: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", *fields, f"Content-Length: {len(body)}", "", ""]).encode() + body


def test_a_packed_answer_is_unpacked() -> None:
    assert answered(reply(gzip.compress(b'{"ok": 1}'), "Content-Encoding: gzip")).body == b'{"ok": 1}'


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_is_read_up_to_a_bound_also_if_it_grows_while_it_is_unpacked(packed: bool) -> None:
    body = bytes(MAX_BYTES + 1)
    raw = reply(gzip.compress(body), "Content-Encoding: gzip") if packed else reply(body)
    with pytest.raises(BrokenOff, match="more than"):
        answered(raw)


@pytest.mark.parametrize(
    "raw",
    [
        reply(b"0123456789")[:-3],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234",
        b"HTTP/1.1 2",
        b"SSH-2.0\r\n\r\n",
        reply(b"not packed", "Content-Encoding: gzip"),
    ],
)
def test_an_answer_that_is_cut_or_garbled_is_no_answer(raw: bytes) -> None:
    with pytest.raises(BrokenOff):
        answered(raw)


def test_what_came_before_a_cut_is_kept() -> None:
    with pytest.raises(BrokenOff) as cut:
        answered(reply(b"0123456789")[:-3])
    assert cut.value.body == b"0123456"


def test_cancelling_hangs_up_on_the_server() -> None:
    hung_up = threading.Event()

    def attend(client: socket.socket) -> None:
        while client.recv(4096):
            pass
        hung_up.set()

    async def cancelled() -> bool:
        with anyio.move_on_after(0.3) as scope:
            await post(f"http://127.0.0.1:{port}", {})
        return scope.cancelled_caught

    with listening(attend) as port:
        assert anyio.run(cancelled)
        assert hung_up.wait(60)
