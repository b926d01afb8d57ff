"""The agent that asks any service with OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from podium.adapters.agents.api import CREDENTIALS
from podium.adapters.agents.api.agent import Api, understood
from podium.adapters.agents.shared.http import Answer
from podium.core.types import Millis
from podium.credentials import key_names
from podium.egress.reset_time import reset_at
from podium.ports.agent import AgentRequest, AgentResult, Usage
from podium.testing.models.server import ModelServer, Rule, Tokens

AT = Millis(1_700_000_000_000)


def ask(tmp_path: Path, url: str, **more: Any) -> AgentResult:
    config: Mapping[str, Any] = {**({"base_url": f"{url}/v1"} if url else {}), **more.pop("config", {})}
    request = AgentRequest(
        agent="small", config=config, path="it", step="it", visit=1, attempt=1, prompt="Sum it up",
        model="small-1", project=tmp_path, cwd=tmp_path, home=tmp_path, **more,
    )  # fmt: skip
    return anyio.run(Api(lambda: AT).call, request)


@pytest.mark.req("R058", "R207")
def test_settings_and_the_key_go_along_and_tokens_are_told_apart(tmp_path: Path) -> None:
    config = {"key": "MINE", "temperature": 0, "max_tokens": 300}
    with ModelServer(Rule(text="short", usage=Tokens(70, 9, 30))) as server:
        result = ask(tmp_path, server.url, config=config, env={"MINE": "secret-of-nobody-77"})
        received = server.requests[0]

    assert received.headers["authorization"].endswith("y-77")
    assert (received.body["model"], received.body["temperature"], received.body["max_tokens"]) == (
        "small-1",
        0,
        300,
    )
    assert result.usage == Usage(input=70, output=9, cached=30)
    assert result.cost is None


@pytest.mark.req("R071")
def test_the_key_of_one_service_is_never_sent_to_another() -> None:
    assert key_names(CREDENTIALS, {}) == ("OPENAI_API_KEY",)
    assert key_names(CREDENTIALS, {"base_url": "https://models.example/v1"}) == ()
    assert key_names(CREDENTIALS, {"base_url": "https://models.example/v1", "key": "MINE"}) == ("MINE",)


def test_a_missing_key_is_named_before_anything_is_sent(tmp_path: Path) -> None:
    with ModelServer(Rule()) as server:
        result = ask(tmp_path, server.url, config={"key": "MINE"})
        assert server.requests == []

    assert (result.trouble, result.detail) == ("auth", "MINE is not set: export it")


@pytest.mark.req("R136")
def test_a_limit_tells_when_it_opens(tmp_path: Path) -> None:
    with ModelServer(Rule(status=429, headers={"Retry-After": "7"})) as server:
        limited = ask(tmp_path, server.url)
        server.rules[:] = [Rule(status=429, stop="insufficient_quota", headers={"Retry-After": "7"})]
        used_up = ask(tmp_path, server.url)

    assert (limited.trouble, limited.retry_at) == ("quota", AT + 7000)
    assert (used_up.trouble, used_up.retry_at) == ("quota", None)


@pytest.mark.parametrize(
    ("headers", "after"),
    [
        ({"retry-after-ms": "250"}, 250),
        ({"retry-after": "1.5"}, 1500),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, 360_000),
        ({"x-ratelimit-reset-requests": "20ms"}, 20),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30_000),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_the_moment_is_read_in_whatever_form_it_comes(headers: Mapping[str, str], after: int | None) -> None:
    assert reset_at(headers, AT) == (None if after is None else AT + after)


@pytest.mark.parametrize(
    ("body", "trouble", "words"),
    [
        (b'{"choices": [{"message": {"refusal": "I will not"}}]}', "refused", "I will not"),
        (
            b'{"choices": [{"message": {"content": "x"}, "finish_reason": "content_filter"}]}',
            "refused",
            "filter",
        ),
        (b'{"choices": [{"message": {"content": null}}]}', "malformed", "empty"),
        (b'{"choices": []}', "transient", "chat completion"),
        (b"<html>", "transient", "chat completion"),
    ],
)
def test_what_is_no_answer_is_trouble(body: bytes, trouble: str, words: str) -> None:
    result = understood(Answer(200, {}, body), AT, wants_value=False)

    assert result.trouble == trouble
    assert words in result.detail
