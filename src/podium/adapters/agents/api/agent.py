"""Any service with OpenAI's chat completions API as an agent (R058): text in, text out.

    agents:
      small: {type: api, base_url: "https://models.example/v1", key: MODELS_KEY, model: small-1, max_tokens: 4k}

`key` names the variable with the key (default: OPENAI_API_KEY); with a `base_url` no key is needed unless one is named.
`timeout` limits one call, `stall` the time without data. Costs are unknown unless `price` is set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import anyio

from podium.adapters.agents.api import CREDENTIALS
from podium.adapters.agents.shared.http import Answer, BrokenOff, Silent, Unreachable, post
from podium.adapters.agents.shared.json_lines import count_of
from podium.adapters.agents.shared.settings import (
    address,
    count,
    messages,
    seconds,
    temperature,
    wrong,
)
from podium.adapters.agents.shared.troubles import TRUNCATED, is_rejection, not_served
from podium.core.expressions.values import plain_json
from podium.core.types import Millis
from podium.credentials import key_names, missing
from podium.egress.reset_time import reset_at
from podium.files import bounded_json
from podium.ports.agent import AgentRequest, AgentResult, AgentTrouble, Usage
from podium.ports.clock import Clock, wall_clock
from podium.workflow.contracts.single_json import NotOneValue, one_json

BASE_URL: Final = "https://api.openai.com/v1"
USED_UP: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached", "usage_limit_reached"})
BAD_KEYS: Final = frozenset({"invalid_api_key", "API_KEY_INVALID", "invalid_authentication"})
BAD_KEY_TEXT: Final = "API key not valid"
"""Some services answer an invalid key with status 400."""


class Api:
    def __init__(self, clock: Clock = wall_clock) -> None:
        self._clock = clock

    async def call(self, request: AgentRequest) -> AgentResult:
        url = address(request, BASE_URL)
        names = key_names(CREDENTIALS, request.config)
        key = next((request.env[name] for name in names if name in request.env), None)
        missing_key = missing(CREDENTIALS, request.config, request.env)
        if missing_key:
            return not_served(_failed("auth", missing_key))
        body, headers = _body(request), {"Authorization": f"Bearer {key}"} if key else {}
        limit, silence = seconds(request, "timeout"), seconds(request, "stall")
        with anyio.move_on_after(math.inf if limit is None else limit):
            try:
                answer = await post(f"{url}/chat/completions", body, headers=headers, silence_s=silence)
            except Unreachable as error:
                # Nothing was sent, so it cost nothing.
                detail = f"no server answers at {url} ({error}); check agents.{request.agent}.base_url"
                return not_served(_failed("transient", detail))
            except Silent as error:
                return _failed("timeout", str(error))
            except BrokenOff as error:
                return _failed("transient", f"the connection broke off: {error}")
            return understood(answer, self._clock(), wants_value=request.schema is not None)
        return _failed("timeout", f"no answer within {limit:g} s (agents.{request.agent}.timeout)")


def understood(answer: Answer, at: Millis, *, wants_value: bool) -> AgentResult:
    try:
        body = bounded_json.loads(answer.body)
    except (ValueError, RecursionError):
        body = None
    if answer.status != 200:
        failure = _refused(answer, body if isinstance(body, dict) else {}, at)
        return not_served(failure) if is_rejection(answer.status) else failure
    match body:
        case {"choices": [{"message": dict(message), **choice}, *_]}:
            return _read_message(message, choice.get("finish_reason"), _usage(body), wants_value=wants_value)
        case _:
            return _failed("transient", "the answer is not a chat completion")


def _read_message(message: Mapping[str, Any], reason: Any, usage: Usage, *, wants_value: bool) -> AgentResult:
    refusal, content = message.get("refusal"), message.get("content")
    text = content if isinstance(content, str) else ""
    trouble: AgentTrouble | None = None
    detail = ""
    if refusal or reason == "content_filter":
        trouble, detail = "refused", str(refusal or "the answer was withheld by a filter")
    elif reason == "length":
        trouble, detail = "truncated", f"{TRUNCATED}; raise max_tokens"
    elif not text.strip():
        trouble, detail = "malformed", "the answer is empty"
    if trouble is not None:
        return AgentResult(text=text, usage=usage, trouble=trouble, detail=detail)
    try:
        return AgentResult(text=text, value=one_json(text), has_value=True, usage=usage)
    except NotOneValue as error:
        trouble = "malformed" if wants_value else None
        return AgentResult(text=text, usage=usage, trouble=trouble, detail=str(error) if trouble else "")


def _body(request: AgentRequest) -> dict[str, Any]:
    if not request.model:
        raise wrong(request, "model", "is missing; name one that the service has")
    optional: dict[str, Any] = {
        "temperature": temperature(request),
        "reasoning_effort": request.config.get("effort"),
        "max_tokens": count(request, "max_tokens"),
    }
    schema = plain_json(request.schema) if request.schema else None
    if schema:
        shape = {"name": "answer", "schema": schema}
        optional["response_format"] = {"type": "json_schema", "json_schema": shape}
    return {
        "model": request.model,
        "messages": _messages(request),
        **{key: value for key, value in optional.items() if value is not None},
    }


def _messages(request: AgentRequest) -> list[dict[str, Any]]:
    *earlier, last = messages(request)
    if not request.images:
        return [*earlier, last]
    urls = [f"data:{image.media_type};base64,{image.base64()}" for image in request.images]
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return [*earlier, {**last, "content": [{"type": "text", "text": request.prompt}, *parts]}]


def _usage(body: Mapping[str, Any]) -> Usage:
    """The reported usage; `prompt_tokens` includes cached tokens, `completion_tokens` includes reasoning."""
    usage = body.get("usage")
    counts: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    details = counts.get("prompt_tokens_details")
    cached = count_of(details if isinstance(details, dict) else {}, "cached_tokens")
    prompt = count_of(counts, "prompt_tokens")
    return Usage(input=max(0, prompt - cached), output=count_of(counts, "completion_tokens"), cached=cached)


def _refused(answer: Answer, body: Mapping[str, Any], at: Millis) -> AgentResult:
    fault = body.get("error")
    error: Mapping[str, Any] = fault if isinstance(fault, dict) else {"message": fault}
    message = str(error.get("message") or answer.body[:200].decode("utf-8", "replace") or "no reason given")
    code = str(error.get("code") or error.get("type") or "")
    match answer.status:
        case 400 if code in BAD_KEYS or BAD_KEY_TEXT in message:
            return _failed("auth", f"the service refuses the key: {message}")
        case 401 | 403:
            return _failed("auth", f"the service refuses the key: {message}")
        case 404:
            return _failed("unavailable", f"no such model, or no such address: {message}")
        case 402 | 429:
            until = None if code in USED_UP else reset_at(answer.headers, at)
            return AgentResult(trouble="quota", detail=message, retry_at=until)
        case 408 | 409 | 425:
            return _failed("transient", f"status {answer.status}: {message}")
        case status:
            return _failed("transient" if status >= 500 else "error", f"status {status}: {message}")


def _failed(trouble: AgentTrouble, detail: str) -> AgentResult:
    return AgentResult(trouble=trouble, detail=detail)
