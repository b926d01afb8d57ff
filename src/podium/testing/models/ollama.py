"""The Ollama API: chat as lines of JSON or whole, and what models there are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from podium.testing.models.server import NOTHING, Asked, Choose, Received, Reply, Route, Rule

INSTALLED: Final = "small:latest"
"""The one model that is listed; a rule may speak for any."""
_WHEN: Final = "2026-01-01T00:00:00Z"


def chat(received: Received, choose: Choose) -> Reply:
    asked = read(received)
    rule = choose(asked)
    if rule.status != 200:
        told = rule.error or _usual_error(rule.status, asked.model)
        return Reply.json({"error": told}, rule=rule)
    message = _message(asked, rule)
    last = {
        "model": asked.model,
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
    if not asked.stream:
        return Reply.json({**last, "message": message}, rule=rule)
    pieces = [
        {"model": asked.model, "created_at": _WHEN, "message": piece, "done": False}
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
        return Reply.json({"error": _usual_error(404, str(name))}, status=404)
    return Reply.json({"details": {"family": "small"}, "model_info": {"small.context_length": 32768}})


ROUTES: Final[Sequence[Route]] = (
    Route("POST", "/api/chat", chat),
    Route("GET", "/api/tags", tags),
    Route("POST", "/api/show", show),
)


def read(received: Received) -> Asked:
    body: Mapping[str, Any] = received.body if isinstance(received.body, dict) else {}
    text, results = "", 0
    for message in body.get("messages", ()):
        if message.get("role") == "user":
            text, results = str(message.get("content", "")), 0
        results += message.get("role") == "tool"
    return Asked(
        text=text,
        model=str(body.get("model", "")),
        results=results,
        stream=body.get("stream", True) is not False,
        structured=bool(body.get("format")),
        tools=tuple(str(tool.get("function", {}).get("name")) for tool in body.get("tools") or ()),
        received=received,
    )


def _usual_error(status: int, model: str) -> str:
    return f"model '{model}' not found" if status == 404 else f"status {status}"


def _message(asked: Asked, rule: Rule) -> dict[str, Any]:
    if asked.results < len(rule.tools):
        name, given = rule.tools[asked.results]
        call = {"function": {"name": name, "arguments": dict(given)}}
        return {"role": "assistant", "content": "", "tool_calls": [call]}
    value = json.dumps(rule.value) if asked.structured and rule.value is not NOTHING else rule.text
    return {"role": "assistant", "content": value}


def _split(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    text = message["content"]
    half = len(text) // 2
    if half == 0:
        return [dict(message)]
    return [{**message, "content": text[:half]}, {**message, "content": text[half:]}]
