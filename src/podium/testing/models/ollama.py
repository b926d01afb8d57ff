"""The Ollama API: chat as lines of JSON or in one piece, and the list of models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from podium.testing.models.server import NOTHING, Choose, ModelRequest, Received, Reply, Route, Rule

INSTALLED: Final = "small:latest"
"""The only listed model; a rule may answer for any model."""
_WHEN: Final = "2026-01-01T00:00:00Z"


def chat(received: Received, choose: Choose) -> Reply:
    request = parse_request(received)
    rule = choose(request)
    if rule.status != 200:
        error = rule.error or _default_error(rule.status, request.model)
        return Reply.json({"error": error}, rule=rule)
    message = _message(request, rule)
    last = {
        "model": request.model,
        "created_at": _WHEN,
        "done": True,
        "done_reason": rule.stop or "stop",
        "total_duration": 2_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": rule.usage.input + rule.usage.cached,
        "prompt_eval_duration": 500_000,
        "eval_count": rule.usage.output,
        "eval_duration": 500_000,
    }
    if not request.stream:
        return Reply.json({**last, "message": message}, rule=rule)
    pieces = [
        {"model": request.model, "created_at": _WHEN, "message": piece, "done": False}
        for piece in _split(message)
    ]
    lines = [*pieces, {**last, "message": {"role": "assistant", "content": ""}}]
    chunks = [json.dumps(line).encode() + b"\n" for line in lines]
    return Reply(
        chunks=chunks, headers=rule.headers, kind="application/x-ndjson", stream=True, fault=rule.fault
    )


def tags(_received: Received, _choose: Choose) -> Reply:
    details = {"format": "gguf", "family": "small", "parameter_size": "1B", "quantization_level": "Q4_0"}
    model = {"name": INSTALLED, "modified_at": _WHEN, "size": 1 << 30, "digest": "0" * 64, "details": details}
    return Reply.json({"models": [model]})


def show(received: Received, _choose: Choose) -> Reply:
    name = received.body.get("model") if isinstance(received.body, dict) else ""
    if name not in (INSTALLED, INSTALLED.partition(":")[0]):
        return Reply.json({"error": _default_error(404, str(name))}, status=404)
    return Reply.json({"details": {"family": "small"}, "model_info": {"small.context_length": 32768}})


ROUTES: Final[Sequence[Route]] = (
    Route("POST", "/api/chat", chat),
    Route("GET", "/api/tags", tags),
    Route("POST", "/api/show", show),
)


def parse_request(received: Received) -> ModelRequest:
    body: Mapping[str, Any] = received.body if isinstance(received.body, dict) else {}
    text, results = "", 0
    for message in body.get("messages", ()):
        if message.get("role") == "user":
            text, results = str(message.get("content", "")), 0
        results += message.get("role") == "tool"
    return ModelRequest(
        text=text,
        model=str(body.get("model", "")),
        results=results,
        stream=body.get("stream", True) is not False,
        structured=bool(body.get("format")),
        tools=tuple(str(tool.get("function", {}).get("name")) for tool in body.get("tools") or ()),
        received=received,
    )


def _default_error(status: int, model: str) -> str:
    return f"model '{model}' not found" if status == 404 else f"status {status}"


def _message(request: ModelRequest, rule: Rule) -> dict[str, Any]:
    if request.results < len(rule.tools):
        name, arguments = rule.tools[request.results]
        call = {"function": {"name": name, "arguments": dict(arguments)}}
        return {"role": "assistant", "content": "", "tool_calls": [call]}
    value = json.dumps(rule.value) if request.structured and rule.value is not NOTHING else rule.text
    return {"role": "assistant", "content": value}


def _split(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    text = message["content"]
    half = len(text) // 2
    if half == 0:
        return [dict(message)]
    return [{**message, "content": text[:half]}, {**message, "content": text[half:]}]
