"""The proxy of the user's environment: which one is meant for a URL, and calls of the broker through it."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from podium.egress.user_proxy import ProxyFailed, UserProxy, proxy_for
from tests.egress.kit import KEY, PATHS, api, post, service, status, way
from tests.relays import Trust, closed_port, proxy, tls_front, trust

HOST = "models.example"
NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return trust(tmp_path_factory.mktemp("trust"), HOST)


@pytest.mark.parametrize(
    ("env", "url", "name"),
    [
        ({}, "https://models.example", None),
        ({"HTTPS_PROXY": "http://p:3128"}, "https://models.example", "p:3128"),
        ({"https_proxy": "p:3128"}, "https://models.example", "p:3128"),
        ({"https_proxy": "http://a:1", "HTTPS_PROXY": "http://b:2"}, "https://models.example", "a:1"),
        ({"HTTPS_PROXY": "http://p"}, "https://models.example", "p:80"),
        ({"HTTPS_PROXY": "https://p"}, "https://models.example", "p:443"),
        ({"HTTPS_PROXY": "http://p:3128"}, "http://models.example", None),
        ({"HTTP_PROXY": "http://p:3128"}, "http://models.example", "p:3128"),
        ({"ALL_PROXY": "http://p:3128"}, "http://models.example", "p:3128"),
        ({"ALL_PROXY": "http://a:1", "HTTPS_PROXY": "http://b:2"}, "https://models.example", "b:2"),
        ({"HTTPS_PROXY": ""}, "https://models.example", None),
    ],
)
def test_the_variables_name_a_proxy_for_each_scheme(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], url: str, name: str | None
) -> None:
    for key, value in env.items():
        monkeypatch.setenv(key, value)
    chosen = proxy_for(url)
    assert (chosen.name if chosen else None) == name


@pytest.mark.parametrize(
    ("entries", "host", "direct"),
    [
        ("models.example", "models.example", True),
        ("example", "models.example", True),
        (".models.example", "models.example", True),
        (".example", "models.example", True),
        ("*.example", "models.example", True),
        ("other, models.example", "models.example", True),
        ("MODELS.example", "models.example", True),
        ("*", "models.example", True),
        ("models.example:443", "models.example", True),
        ("models.example:80", "models.example", False),
        ("dels.example", "models.example", False),
        ("models.example.org", "models.example", False),
        ("", "models.example", False),
        (",", "models.example", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("*", "10.1.2.3", True),
        ("fd00::/8", "[fd00::1]", True),
        ("[fd00::1]", "[fd00::1]", True),
        ("10.0.0.0/8", "[fd00::1]", False),
        ("", "127.0.0.1", True),
        ("", "localhost", True),
        ("", "models.localhost", True),
        ("", "[::1]", True),
    ],
)
def test_no_proxy_exempts_hosts_domains_and_networks_and_this_machine_is_always_exempt(
    monkeypatch: pytest.MonkeyPatch, entries: str, host: str, direct: bool
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://p:3128")
    monkeypatch.setenv("NO_PROXY", entries)
    assert (proxy_for(f"https://{host}/v1") is None) is direct


def test_a_login_is_sent_as_it_is_meant_and_is_in_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://ann:p%40ss@p:3128")
    chosen = proxy_for("https://models.example")
    assert chosen == UserProxy("p", 3128, tls=False, authorization="Basic YW5uOnBAc3M=")
    assert "YW5u" not in repr(chosen)


@pytest.mark.parametrize("url", ["socks5://ann:pass@p:1080", "http://ann:pass@p:x", "http://"])
def test_a_proxy_that_cannot_be_used_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", url)
    with pytest.raises(ProxyFailed, match="the proxy in the environment") as refused:
        proxy_for("https://models.example")
    assert "pass" not in str(refused.value)


def go(test: Callable[[], Awaitable[None]]) -> None:
    anyio.run(test)


@pytest.mark.req("R179", "R184")
def test_the_broker_calls_its_api_through_a_tunnel_in_which_the_proxy_sees_no_key(
    monkeypatch: pytest.MonkeyPatch, made: Trust
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))

    async def test() -> None:
        async with api() as model:
            with tls_front(model.port, made) as front, proxy(front) as relay:
                monkeypatch.setenv("HTTPS_PROXY", relay.url.replace("//", "//ann:pass@"))
                async with way(service(0, upstream=f"https://{HOST}/team")) as out:
                    answer = await out.call(post())
        assert status(answer) == 200
        assert model.lines == ["POST /team/v1/messages HTTP/1.1"]
        assert KEY.encode() in model.heard[0] and b"roxy" not in model.heard[0]
        [head] = relay.heads
        assert head.startswith(f"CONNECT {HOST}:443 HTTP/1.1\r\n")
        assert "\r\nProxy-Authorization: Basic YW5uOnBhc3M=\r\n" in head
        assert relay.passed and KEY.encode() not in relay.passed and KEY not in head

    go(test)


def test_the_broker_calls_a_plain_api_by_its_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with api() as model:
            with proxy(model.port) as relay:
                monkeypatch.setenv("HTTP_PROXY", relay.url.replace("//", "//ann:pass@"))
                async with way(service(0, upstream=f"http://{HOST}:8000/team")) as out:
                    assert status(await out.call(post())) == 200
        assert model.lines == [f"POST http://{HOST}:8000/team/v1/messages HTTP/1.1"]
        assert b"\r\nProxy-Authorization: Basic YW5uOnBhc3M=\r\n" in model.heard[0]

    go(test)


def test_a_host_of_no_proxy_is_called_directly(monkeypatch: pytest.MonkeyPatch, made: Trust) -> None:
    real = socket.getaddrinfo

    def here(host: Any, *args: Any, **more: Any) -> Any:
        return real("127.0.0.1" if host in (HOST, HOST.encode()) else host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))

    async def test() -> None:
        async with api() as model:
            with tls_front(model.port, made) as front, proxy(front) as relay:
                monkeypatch.setenv("HTTPS_PROXY", relay.url)
                monkeypatch.setenv("NO_PROXY", "example")
                async with way(service(0, upstream=f"https://{HOST}:{front}")) as out:
                    assert status(await out.call(post())) == 200
        assert relay.heads == []

    go(test)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 407 Login first\r\n\r\n", "refused the connection: 407 Login first"),
        (b"SSH-2.0\r\n\r\n", "did not respond with HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\n\r\nmore", "did not respond with HTTP/1.1"),
        (b"HTTP/1.1 20", "closed the connection"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "hung up"),
    ],
)
def test_a_proxy_failure_names_the_proxy_without_its_password(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, words: str
) -> None:
    """The last one agrees, and hangs up when TLS begins."""

    async def test() -> None:
        with closed_port() as closed, proxy(closed) as relay:
            relay.answer = answer
            monkeypatch.setenv("HTTPS_PROXY", relay.url.replace("//", "//ann:pass@"))
            async with way(service(0, upstream=f"https://{HOST}")) as out:
                told = await out.call(post())
        [decision] = out.decisions
        assert status(told) == decision.status == 502
        assert words in decision.reason and "pass" not in decision.reason
        assert HOST in decision.reason

    go(test)


def test_a_certificate_that_is_not_trusted_ends_the_call_before_the_key_is_sent(
    monkeypatch: pytest.MonkeyPatch, made: Trust, tmp_path: Path
) -> None:
    other = trust(tmp_path, HOST)
    monkeypatch.setenv("SSL_CERT_FILE", str(other.authority))

    async def test() -> None:
        async with api() as model:
            with tls_front(model.port, made) as front, proxy(front) as relay:
                monkeypatch.setenv("HTTPS_PROXY", relay.url)
                async with way(service(0, upstream=f"https://{HOST}", paths=PATHS)) as out:
                    assert status(await out.call(post())) == 502
        assert "certificate" in out.decisions[0].reason
        assert model.heard == []

    go(test)
