"""The Gemini API as the `gemini` program uses it: generateContent, streamed or in one piece, with functions and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from podium.testing.models.server import NOTHING, Choose, ModelRequest, Received, Reply, Route, Rule

STATUSES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
PER_DAY: Final = "PerDay"
"""As `stop` of a rule with status 429: the daily quota is used up, which the program does not retry."""
BAD_KEY: Final = "API_KEY_INVALID"
"""As `stop` of a rule with status 400: the key is not valid, which this API does not answer with 401."""
_MODEL: Final = re.compile(r"/models/([^/:]+):")


def generate(received: Received, choose: Choose) -> Reply:
    request = parse_request(received)
    rule = choose(request)
    if rule.status != 200:
        return Reply.json({"error": _error(rule)}, rule=rule)
    answers = list(_answers(request, rule))
    if not request.stream:
        parts = [part for answer in answers for part in answer["candidates"][0]["content"]["parts"]]
        return Reply.json(_answer(request, rule, parts, last=True), rule=rule)
    chunks = [f"data: {json.dumps(answer)}\r\n\r\n".encode() for answer in answers]
    return Reply(chunks=chunks, headers=rule.headers, kind="text/event-stream", stream=True, fault=rule.fault)


def count_tokens(_received: Received, _choose: Choose) -> Reply:
    return Reply.json({"totalTokens": 100})


ROUTES: Final[Sequence[Route]] = (
    Route("POST", r"/v1(alpha|beta)?/models/[^/:]+:(streamGenerateContent|generateContent)", generate),
    Route("POST", r"/v1(alpha|beta)?/models/[^/:]+:countTokens", count_tokens),
)


def parse_request(received: Received) -> ModelRequest:
    body: Mapping[str, Any] = received.body if isinstance(received.body, dict) else {}
    text, results = "", 0
    for content in body.get("contents", ()):
        if content.get("role") != "user":
            continue
        parts = content.get("parts") or ()
        tool_results = [part for part in parts if "functionResponse" in part]
        if tool_results:
            results += len(tool_results)
        else:
            text, results = "\n".join(str(part.get("text", "")) for part in parts), 0
    declared = [
        declaration
        for tool in body.get("tools") or ()
        for declaration in tool.get("functionDeclarations") or ()
    ]
    model = _MODEL.search(received.path)
    return ModelRequest(
        text=text,
        model=model[1] if model else "",
        results=results,
        stream=":streamGenerateContent" in received.path,
        structured="responseSchema" in (config := body.get("generationConfig") or {})
        or "responseJsonSchema" in config,
        tools=tuple(str(declaration.get("name")) for declaration in declared),
        received=received,
    )


def _answers(request: ModelRequest, rule: Rule) -> Iterator[dict[str, Any]]:
    """The streamed chunks: each has the counts, the last one has the stop reason."""
    parts = _parts(request, rule)
    for number, part in enumerate(parts, start=1):
        yield _answer(request, rule, [part], last=number == len(parts))


def _parts(request: ModelRequest, rule: Rule) -> list[dict[str, Any]]:
    if request.results < len(rule.tools):
        name, arguments = rule.tools[request.results]
        return [{"functionCall": {"name": name, "args": dict(arguments)}}]
    text = json.dumps(rule.value) if request.structured and rule.value is not NOTHING else rule.text
    half = len(text) // 2
    return [{"text": piece} for piece in (text[:half], text[half:]) if piece] or [{"text": ""}]


def _answer(request: ModelRequest, rule: Rule, parts: Sequence[Any], *, last: bool) -> dict[str, Any]:
    prompt = rule.usage.input + rule.usage.cached
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if last:
        candidate["finishReason"] = rule.stop or "STOP"
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": prompt,
            "candidatesTokenCount": rule.usage.output,
            "totalTokenCount": prompt + rule.usage.output,
            "cachedContentTokenCount": rule.usage.cached,
        },
        "modelVersion": request.model,
        "responseId": f"test{request.results}",
    }


def _error(rule: Rule) -> dict[str, Any]:
    details: list[dict[str, Any]] = []
    if rule.stop == PER_DAY:
        violation = {"quotaMetric": "requests", "quotaId": "GenerateRequestsPerDayPerProjectPerModel"}
        details.append(_detail("QuotaFailure", violations=[violation]))
    if rule.stop == BAD_KEY:
        details.append(_detail("ErrorInfo", reason=BAD_KEY, domain="googleapis.com"))
    delay = {name.lower(): value for name, value in rule.headers.items()}.get("retry-after")
    if delay is not None:
        details.append(_detail("RetryInfo", retryDelay=f"{delay}s"))
    return {
        "code": rule.status,
        "message": rule.error or f"status {rule.status}",
        "status": STATUSES.get(rule.status, "UNKNOWN"),
        **({"details": details} if details else {}),
    }


def _detail(kind: str, **fields: Any) -> dict[str, Any]:
    return {"@type": f"type.googleapis.com/google.rpc.{kind}", **fields}
