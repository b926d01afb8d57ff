"""The Messages API as `claude` uses it, streamed or in one piece, with tools, usage and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from podium.testing.models.server import NOTHING, Choose, ModelRequest, Received, Reply, Route, Rule

STRUCTURED: Final = "StructuredOutput"
"""The tool by which `claude --json-schema` gets a value from the model."""
KINDS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def messages(received: Received, choose: Choose) -> Reply:
    request = parse_request(received)
    rule = choose(request)
    if rule.status != 200:
        error = {
            "type": KINDS.get(rule.status, "api_error"),
            "message": rule.error or f"status {rule.status}",
        }
        return Reply.json({"type": "error", "error": error, "request_id": "req_test"}, rule=rule)
    message = _message(request, rule)
    if not request.stream:
        return Reply.json(message, rule=rule)
    chunks = [_event(event) for event in _events(message)]
    return Reply(chunks=chunks, headers=rule.headers, kind="text/event-stream", stream=True, fault=rule.fault)


def count_tokens(_received: Received, _choose: Choose) -> Reply:
    return Reply.json({"input_tokens": 100})


ROUTES: Final[Sequence[Route]] = (
    Route("POST", "/v1/messages", messages),
    Route("POST", "/v1/messages/count_tokens", count_tokens),
)


def parse_request(received: Received) -> ModelRequest:
    body: Mapping[str, Any] = received.body if isinstance(received.body, dict) else {}
    text, results = "", 0
    for message in body.get("messages", ()):
        if message.get("role") != "user":
            continue
        blocks = _blocks(message.get("content"))
        tool_results = [block for block in blocks if block.get("type") == "tool_result"]
        if tool_results:
            results += len(tool_results)
        else:
            text, results = "\n".join(block.get("text", "") for block in blocks), 0
    tools = tuple(str(tool.get("name")) for tool in body.get("tools") or ())
    return ModelRequest(
        text=text,
        model=str(body.get("model", "")),
        results=results,
        stream=bool(body.get("stream")),
        structured=STRUCTURED in tools,
        tools=tools,
        received=received,
    )


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _message(request: ModelRequest, rule: Rule) -> dict[str, Any]:
    block = _block(request, rule)
    return {
        "id": f"msg_test{len(request.received.body['messages'])}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else (rule.stop or "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": rule.usage.input,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": rule.usage.cached,
            "output_tokens": rule.usage.output,
        },
    }


def _block(request: ModelRequest, rule: Rule) -> dict[str, Any]:
    calls: list[tuple[str, Any]] = list(rule.tools)
    if rule.value is not NOTHING and request.structured:
        calls.append((STRUCTURED, rule.value))
    if request.results < len(calls):
        name, arguments = calls[request.results]
        # Ids are unique in a conversation; a program that meets one again takes it for the earlier call.
        number = len(request.received.body["messages"])
        return {"type": "tool_use", "id": f"toolu_test{number}", "name": name, "input": arguments}
    return {"type": "text", "text": rule.text}


def _events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    # Like the real API, the first event has a placeholder for the output tokens and the last the real number.
    started = {**message, "content": [], "stop_reason": None}
    started["usage"] = {**message["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": started}
    for index, block in enumerate(message["content"]):
        is_text = block["type"] == "text"
        opening = {**block, **({"text": ""} if is_text else {"input": {}})}
        deltas = _text_deltas(block["text"]) if is_text else _json_deltas(block["input"])
        yield {"type": "content_block_start", "index": index, "content_block": opening}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": message["usage"]["output_tokens"]},
    }
    yield {"type": "message_stop"}


def _text_deltas(text: str) -> list[dict[str, str]]:
    half = len(text) // 2
    return [{"type": "text_delta", "text": piece} for piece in (text[:half], text[half:]) if piece]


def _json_deltas(value: Any) -> list[dict[str, str]]:
    text = json.dumps(value)
    half = len(text) // 2
    return [{"type": "input_json_delta", "partial_json": piece} for piece in (text[:half], text[half:])]


def _event(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
