"""The model server's OpenAI APIs, called like their clients call them."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from podium.testing.models.server import ModelServer, Rule, Tokens

TOOLS = [{"type": "custom", "name": "apply_patch"}, {"type": "function", "name": "exec_command"}]


def ask(server: ModelServer, path: str, body: Mapping[str, Any]) -> tuple[int, Mapping[str, str], str]:
    line = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    try:
        line.request("POST", path, json.dumps(body), {"Authorization": "Bearer secret-4711"})
        reply = line.getresponse()
        return reply.status, dict(reply.getheaders()), reply.read().decode()
    finally:
        line.close()


def events(text: str) -> list[Any]:
    found = [part.split("data: ", 1)[1] for part in text.split("\n\n") if part]
    return [json.loads(data) for data in found if data != "[DONE]"]


def responses(server: ModelServer, *items: Mapping[str, Any], **more: Any) -> list[Any]:
    body = {"model": "gpt-5.5", "stream": True, "input": list(items), "tools": TOOLS, **more}
    return events(ask(server, "/v1/responses", body)[2])


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def test_a_response_requests_each_tool_in_its_format_and_then_answers() -> None:
    tools = [("apply_patch", {"input": "*** Begin Patch"}), ("exec_command", {"cmd": "ls"})]
    result = {"type": "custom_tool_call_output", "call_id": "call_test0", "output": "ok"}
    usage = Tokens(input=70, cached=30, output=20)
    with ModelServer(Rule(match="paint", tools=tools, text="done", usage=usage)) as server:
        first, second, third = (responses(server, user("paint"), *[result] * n) for n in range(3))

    items = [answer[-1]["response"]["output"][-1] for answer in (first, second, third)]
    assert [item["type"] for item in items] == ["custom_tool_call", "function_call", "message"]
    assert items[0]["input"] == "*** Begin Patch"
    assert json.loads(items[1]["arguments"]) == {"cmd": "ls"}
    assert items[2]["content"][0]["text"] == "done"
    assert first[0]["type"] == "response.created"
    assert first[-1]["response"]["usage"]["input_tokens"] == 100
    assert first[-1]["response"]["usage"]["input_tokens_details"] == {"cached_tokens": 30}


@pytest.mark.parametrize(
    ("stop", "last"),
    [("max_output_tokens", "incomplete"), ("server_is_overloaded", "failed"), ("refusal", "completed")],
)
def test_a_response_can_fail_after_status_200(stop: str, last: str) -> None:
    with ModelServer(Rule(stop=stop, text="no")) as server:
        found = responses(server, user("paint"))

    assert found[-1]["type"] == f"response.{last}"
    if stop == "refusal":
        assert found[-1]["response"]["output"][-1]["content"] == [{"type": "refusal", "refusal": "no"}]


def test_a_value_is_returned_only_if_requested() -> None:
    form = {"format": {"type": "json_schema", "strict": True, "schema": {}}}
    with ModelServer(Rule(value={"a": 1}, text="plain")) as server:
        asked, plain = responses(server, user("x"), text=form), responses(server, user("x"))

    said = [found[-1]["response"]["output"][-1]["content"][0]["text"] for found in (asked, plain)]
    assert said == ['{"a": 1}', "plain"]


def test_an_error_has_its_status_its_headers_and_its_code() -> None:
    headers = {"Retry-After": "7", "x-ratelimit-reset-requests": "30s"}
    with ModelServer(Rule(status=429, stop="insufficient_quota", error="no", headers=headers)) as server:
        status, got, text = ask(server, "/v1/chat/completions", {"messages": []})

    assert (status, got["Retry-After"], got["x-ratelimit-reset-requests"]) == (429, "7", "30s")
    assert json.loads(text)["error"]["code"] == "insufficient_quota"


def test_chat_can_be_streamed_and_has_its_usage_on_request() -> None:
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "paint"}]}
    streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
    with ModelServer(Rule(match="paint", text="blue shed", usage=Tokens(input=5, output=2))) as server:
        whole = json.loads(ask(server, "/v1/chat/completions", body)[2])
        pieces = events(ask(server, "/v1/chat/completions", streamed)[2])
        silent = events(ask(server, "/v1/chat/completions", {**body, "stream": True})[2])

    assert whole["choices"][0]["message"]["content"] == "blue shed"
    assert whole["usage"]["prompt_tokens"] == pieces[-1]["usage"]["prompt_tokens"] == 5
    said = [choice["delta"].get("content") or "" for piece in pieces for choice in piece["choices"]]
    assert "".join(said) == "blue shed"
    assert not [piece for piece in silent if piece.get("usage")]


def test_chat_requests_tools_one_after_another() -> None:
    messages = [{"role": "user", "content": "go"}, {"role": "tool", "tool_call_id": "x", "content": "ok"}]
    with ModelServer(Rule(tools=[("look", {"at": 1})], text="seen")) as server:
        first, second = (
            json.loads(ask(server, "/v1/chat/completions", {"messages": messages[:n]})[2])["choices"][0]
            for n in (1, 2)
        )

    assert first["finish_reason"] == "tool_calls"
    assert first["message"]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at": 1}'}
    assert (second["finish_reason"], second["message"]["content"]) == ("stop", "seen")


def test_the_key_of_a_request_is_not_recorded() -> None:
    with ModelServer(Rule()) as server:
        responses(server, user("x"))

    assert server.requests[0].headers["authorization"] == "***4711"
