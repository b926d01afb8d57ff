"""OpenAI's two APIs: Responses, as `codex` uses it (always streamed, with patches as free text), and chat completions.

`Rule.stop` is `refusal`, the reason of an incomplete answer (`max_output_tokens`, `content_filter`), or any other code
with which a response fails after status 200. With another status it is the code of the error, and an error that starts
with a brace is the whole body.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from podium.testing.models.server import NOTHING, Choose, ModelRequest, Received, Reply, Route, Rule

CODES: Final = {
    400: ("invalid_request_error", "invalid_value"),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}
INCOMPLETE: Final = frozenset({"max_output_tokens", "content_filter"})
STREAM: Final = "text/event-stream"
Fields = dict[str, Any]


def responses(received: Received, choose: Choose) -> Reply:
    request = read_responses(received)
    rule = choose(request)
    if rule.status != 200:
        return _refusal(rule)
    if not request.stream:
        return Reply.json(_response(request, rule), rule=rule)
    chunks = [_event(event) for event in _events(_response(request, rule))]
    return Reply(chunks=chunks, headers=rule.headers, kind=STREAM, stream=True, fault=rule.fault)


def chat(received: Received, choose: Choose) -> Reply:
    request = read_chat(received)
    rule = choose(request)
    if rule.status != 200:
        return _refusal(rule)
    if not request.stream:
        return Reply.json(_completion(request, rule), rule=rule)
    chunks = [*_deltas(request, rule), b"data: [DONE]\n\n"]
    return Reply(chunks=chunks, headers=rule.headers, kind=STREAM, stream=True, fault=rule.fault)


def models(_received: Received, _choose: Choose) -> Reply:
    return Reply.json({"object": "list", "data": [{"id": "gpt-5.5", "object": "model"}]})


ROUTES: Final[Sequence[Route]] = (
    Route("POST", "/v1/responses", responses),
    Route("POST", "/v1/chat/completions", chat),
    Route("GET", "/v1/models", models),
)


def read_responses(received: Received) -> ModelRequest:
    body = _body(received)
    content = body.get("input") or ()
    items = [{"role": "user", "content": content}] if isinstance(content, str) else list(content)
    text, results = "", 0
    for item in items:
        if item.get("role") == "user":
            text, results = _text(item.get("content")), 0
        elif str(item.get("type", "")).endswith("_output"):
            results += 1
    form = (body.get("text") or {}).get("format") or {}
    return _request(received, text, results, form)


def read_chat(received: Received) -> ModelRequest:
    text, results = "", 0
    for message in _body(received).get("messages") or ():
        if message.get("role") == "user":
            text, results = _text(message.get("content")), 0
        elif message.get("role") == "tool":
            results += 1
    return _request(received, text, results, _body(received).get("response_format") or {})


def _request(received: Received, text: str, results: int, form: Mapping[str, Any]) -> ModelRequest:
    body = _body(received)
    tools = (tool.get("name") or (tool.get("function") or {}).get("name") for tool in body.get("tools") or ())
    return ModelRequest(
        text=text,
        model=str(body.get("model", "")),
        results=results,
        stream=bool(body.get("stream")),
        structured=form.get("type") in ("json_schema", "json_object"),
        tools=tuple(str(name) for name in tools if name),
        received=received,
    )


def _body(received: Received) -> Mapping[str, Any]:
    return received.body if isinstance(received.body, dict) else {}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or ())


def _refusal(rule: Rule) -> Reply:
    if rule.error.startswith("{"):
        return Reply.json(json.loads(rule.error), rule=rule)
    kind, code = CODES.get(rule.status, ("server_error", "server_error"))
    error = {"message": rule.error or f"status {rule.status}", "type": kind, "param": None}
    return Reply.json({"error": {**error, "code": rule.stop or code}}, rule=rule)


def _answer_text(request: ModelRequest, rule: Rule) -> str:
    return json.dumps(rule.value) if rule.value is not NOTHING and request.structured else rule.text


def _call(request: ModelRequest, rule: Rule) -> tuple[str, Mapping[str, Any]] | None:
    return rule.tools[request.results] if request.results < len(rule.tools) else None


def _response(request: ModelRequest, rule: Rule) -> Fields:
    used, status = rule.usage, "completed"
    usage = {
        "input_tokens": used.input + used.cached,
        "input_tokens_details": {"cached_tokens": used.cached},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": used.output // 2},
        "total_tokens": used.input + used.cached + used.output,
    }
    response: Fields = {"id": f"resp_test{request.results}", "object": "response", "model": request.model}
    if rule.stop in INCOMPLETE:
        status, response["incomplete_details"] = "incomplete", {"reason": rule.stop}
    elif rule.stop not in (None, "refusal"):
        status, response["error"] = (
            "failed",
            {"code": rule.stop, "message": rule.error or f"failed: {rule.stop}"},
        )
    output = [] if status == "failed" else [_reasoning_item(request), _item(request, rule)]
    return {**response, "status": status, "output": output, "usage": usage}


def _reasoning_item(request: ModelRequest) -> Fields:
    summary = [{"type": "summary_text", "text": "**Thinking it over**"}]
    return {"type": "reasoning", "id": f"rs_test{request.results}", "summary": summary}


def _item(request: ModelRequest, rule: Rule) -> Fields:
    call = _call(request, rule)
    if call is None:
        refused = {"type": "refusal", "refusal": rule.text}
        output = {"type": "output_text", "text": _answer_text(request, rule), "annotations": []}
        part = refused if rule.stop == "refusal" else output
        return {"type": "message", "id": f"msg_test{request.results}", "role": "assistant", "content": [part]}
    name, arguments = call
    same = {"id": f"call_item{request.results}", "call_id": f"call_test{request.results}", "name": name}
    if _is_free_text(request, name):
        return {"type": "custom_tool_call", **same, "input": str(arguments["input"])}
    server, separator, tool = name.removeprefix("mcp__").partition("__")
    if name.startswith("mcp__") and separator:
        # codex groups the tools of an MCP server in a namespace.
        same = {**same, "namespace": f"mcp__{server}", "name": tool}
    return {"type": "function_call", **same, "arguments": json.dumps(arguments)}


def _is_free_text(request: ModelRequest, name: str) -> bool:
    """Whether a tool takes free text, like apply_patch, and not a JSON object."""
    offered = _body(request.received).get("tools") or ()
    return any(tool.get("name") == name and tool.get("type") == "custom" for tool in offered)


def _events(response: Fields) -> Iterator[Fields]:
    yield {"type": "response.created", "response": {"id": response["id"], "status": "in_progress"}}
    for index, item in enumerate(response["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        for part in item.get("content", ()):
            if part["type"] == "output_text":
                yield {"type": "response.output_text.delta", "output_index": index, "delta": part["text"]}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _event(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _completion(request: ModelRequest, rule: Rule) -> Fields:
    call = _call(request, rule)
    message: Fields = {
        "role": "assistant",
        "content": None if call else _answer_text(request, rule),
        "refusal": None,
    }
    if rule.stop == "refusal":
        message |= {"content": None, "refusal": rule.text}
    if call is not None:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        message["tool_calls"] = [
            {"id": f"call_test{request.results}", "type": "function", "function": function}
        ]
    reason = "tool_calls" if call else (rule.stop if rule.stop not in (None, "refusal") else "stop")
    choice = {"index": 0, "message": message, "finish_reason": reason}
    base = {"id": f"chatcmpl-test{request.results}", "object": "chat.completion", "model": request.model}
    return {**base, "choices": [choice], "usage": _chat_usage(rule)}


def _chat_usage(rule: Rule) -> Fields:
    used = rule.usage
    return {
        "prompt_tokens": used.input + used.cached,
        "prompt_tokens_details": {"cached_tokens": used.cached},
        "completion_tokens": used.output,
        "completion_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used.input + used.cached + used.output,
    }


def _deltas(request: ModelRequest, rule: Rule) -> Iterator[bytes]:
    """The completion in chunks; the usage comes last and only if it was requested."""
    completion = _completion(request, rule)
    base = {"id": completion["id"], "object": "chat.completion.chunk", "model": request.model}
    (choice,) = completion["choices"]
    message, reason = choice["message"], choice["finish_reason"]
    text = message["content"] or ""
    pieces: list[Fields] = [{"role": "assistant", "content": ""}]
    pieces += [{"content": piece} for piece in (text[: len(text) // 2], text[len(text) // 2 :]) if piece]
    if message["refusal"]:
        pieces.append({"refusal": message["refusal"]})
    pieces += [{"tool_calls": [{"index": 0, **call}]} for call in message.get("tool_calls", ())]
    for delta in pieces:
        yield _data({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _data({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if (_body(request.received).get("stream_options") or {}).get("include_usage"):
        yield _data({**base, "choices": [], "usage": completion["usage"]})


def _data(value: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
