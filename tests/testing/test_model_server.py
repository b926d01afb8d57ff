"""The model server for tests follows its rules, records its requests, and reveals no key."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest

from podium.testing.models.server import ModelServer, Rule, Tokens


def post(server: ModelServer, body: Any, *, timeout_s: float = 60) -> tuple[int, bytes]:
    line = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=timeout_s)
    try:
        line.request("POST", "/v1/messages", json.dumps(body), {"x-api-key": "sk-very-secret-1234"})
        reply = line.getresponse()
        return reply.status, reply.read()
    finally:
        line.close()


def said(text: str, *, stream: bool = False, results: int = 0, tools: tuple[str, ...] = ()) -> dict[str, Any]:
    turns: list[Any] = [{"role": "user", "content": text}]
    for number in range(results):
        turns.append({"role": "assistant", "content": [{"type": "tool_use", "id": str(number)}]})
        turns.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": str(number)}]})
    return {"model": "m", "messages": turns, "stream": stream, "tools": [{"name": name} for name in tools]}


def content(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body)["content"][0]
    return found


def test_the_first_matching_rule_answers_until_its_count_is_used_up() -> None:
    with ModelServer(
        Rule(match="shed", text="once", times=1),
        Rule(
            match=lambda asked: asked.model == "m" and "shed" in asked.text,
            text="then",
            usage=Tokens(5, 6, 7),
        ),
    ) as server:
        first, second = post(server, said("the shed")), post(server, said("the shed"))
        other = post(server, said("the house"))

    assert [content(first[1])["text"], content(second[1])["text"]] == ["once", "then"]
    assert json.loads(second[1])["usage"]["cache_read_input_tokens"] == 7
    assert other[0] == 400
    assert b"the house" in other[1]


def test_tools_are_requested_one_per_turn_then_comes_the_value_then_the_text() -> None:
    tools = ("Write", "StructuredOutput")
    with ModelServer(Rule(tools=[("Write", {"file_path": "a"})], value={"x": 1}, text="end")) as server:
        turns = [content(post(server, said("go", results=n, tools=tools))[1]) for n in range(3)]
        plain = content(post(server, said("go", results=1))[1])

    assert [(turn.get("name"), turn.get("input")) for turn in turns[:2]] == [
        ("Write", {"file_path": "a"}),
        ("StructuredOutput", {"x": 1}),
    ]
    assert turns[2]["text"] == plain["text"] == "end"


def test_requests_are_recorded_with_their_bodies_and_without_their_keys() -> None:
    with ModelServer(Rule()) as server:
        post(server, said("hello"))

    (asked,) = server.requests_to("/v1/messages")
    assert asked.body["messages"][0]["content"] == "hello"
    assert asked.headers["x-api-key"] == "***1234"
    assert "very-secret" not in repr(server.requests)


def test_a_stream_has_the_whole_text_and_the_real_count_at_its_end() -> None:
    with ModelServer(Rule(text="abcdef", usage=Tokens(1, 42))) as server:
        _, body = post(server, said("x", stream=True))

    events = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: ")]
    deltas = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(deltas) == "abcdef"
    assert events[-2]["usage"] == {"output_tokens": 42}
    assert events[-1] == {"type": "message_stop"}


@pytest.mark.parametrize("stream", [True, False])
def test_faults_cut_garble_or_stall_a_response(stream: bool) -> None:
    with ModelServer(
        Rule(match="cut", fault="cut", text="x" * 99),
        Rule(match="garbled", fault="garbled", text="x" * 99),
        Rule(match="stall", fault="stall"),
        Rule(match="hang", fault="hang"),
    ) as server:
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            post(server, said("cut", stream=stream))
        assert b"\xff\xfe" in post(server, said("garbled", stream=stream))[1]
        for silent in ("stall", "hang"):
            with pytest.raises(TimeoutError):
                post(server, said(silent, stream=stream), timeout_s=0.2)


def test_an_error_has_its_headers_and_the_vendors_body() -> None:
    with ModelServer(Rule(status=429, error="slow", headers={"retry-after": "7"})) as server:
        status, body = post(server, said("x"))

    assert (status, json.loads(body)["error"]) == (429, {"type": "rate_limit_error", "message": "slow"})


def test_it_listens_on_loopback_only_and_closes_its_port() -> None:
    with ModelServer(Rule()) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert post(server, said("x"))[0] == 200
    with pytest.raises(ConnectionError):
        post(server, said("x"))
