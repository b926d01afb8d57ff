"""A model on an Ollama server (R066): text in, text out, no program, no files.

    agents:
      local: {type: ollama, model: "qwen3:8b", temperature: 0.2, max_tokens: 4k, context_window: 32k, timeout: 5m}

The server is `base_url`, else OLLAMA_BASE_URL, else OLLAMA_HOST, else 127.0.0.1:11434. `timeout` limits one call,
`stall` the time without data. OLLAMA_MODEL_NAME, OLLAMA_TEMPERATURE and OLLAMA_REQUEST_TIMEOUT (seconds) apply if the file does
not set them (R082). Without a model, one is chosen by the role and this machine (tiers.py). A call costs nothing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import anyio

from podium.adapters.agents.ollama.gpus import Gpu, find_gpus
from podium.adapters.agents.ollama.tiers import tier_for
from podium.adapters.agents.shared.http import Answer, BrokenOff, Silent, Unreachable, post
from podium.adapters.agents.shared.json_lines import count_of
from podium.adapters.agents.shared.model_list import names_in, read_list
from podium.adapters.agents.shared.settings import address, count, messages, seconds, temperature
from podium.adapters.agents.shared.troubles import TRUNCATED, is_rejection, not_served
from podium.core.expressions.values import plain_json
from podium.core.types import MicroUsd
from podium.errors import ConfigurationError
from podium.files import bounded_json
from podium.ports.agent import AgentRequest, AgentResult, AgentTrouble, Usage
from podium.ports.agent_type import AgentCheck
from podium.workflow.contracts.single_json import NotOneValue, one_json

PORT: Final = 11434
DEFAULT_URL: Final = f"http://127.0.0.1:{PORT}"
FREE: Final = MicroUsd(0)
MISSING: Final = "get it with: ollama pull"

FindGpus = Callable[[Mapping[str, str]], Awaitable[Sequence[Gpu]]]


class Ollama:
    """`env` is the user's environment; `gpus` finds the GPUs of this machine."""

    def __init__(self, env: Mapping[str, str] = os.environ, gpus: FindGpus = find_gpus) -> None:
        self._env = env
        self._gpus = gpus

    async def call(self, request: AgentRequest) -> AgentResult:
        request = replace(request, config={**from_env(self._env), **request.config})
        model = request.model or self._env.get("OLLAMA_MODEL_NAME")
        if model:
            return await self._ask(request, model)
        cards = await self._gpus(self._env)
        tier = tier_for(cards[0].gb if cards else 0, request.config.get("tiers"))
        model = tier.model_for(request.role, judge=request.judge)
        sized = replace(request, config={"context_window": tier.context, **request.config})
        answer = await self._ask(sized, model)
        if answer.trouble == "unavailable" and MISSING in answer.detail and model != tier.fallback:
            # The model is not pulled yet, but the smaller one may be.
            second = await self._ask(sized, tier.fallback)
            return answer if second.trouble == "unavailable" else second
        return answer

    async def _ask(self, request: AgentRequest, model: str) -> AgentResult:
        answer = await self._post(request, model)
        return replace(answer, model=model, context=answer.usage.input or None)

    async def _post(self, request: AgentRequest, model: str) -> AgentResult:
        url = address(request, url_of(self._env.get("OLLAMA_HOST", "")))
        body = _body(request, model)
        limit, silence = seconds(request, "timeout"), seconds(request, "stall")
        with anyio.move_on_after(math.inf if limit is None else limit) as scope:
            try:
                answer = await post(f"{url}/api/chat", body, silence_s=silence)
            except Unreachable as error:
                return not_served(
                    _failed("unavailable", f"no Ollama server at {url} ({error}); start one: ollama serve")
                )
            except Silent as error:
                return _failed("timeout", str(error))
            except BrokenOff as error:
                return _failed("transient", f"the connection broke off: {error}")
            return understood(answer, model, wants_value=request.schema is not None)
        assert scope.cancelled_caught
        return _failed("timeout", f"no answer within {limit:g} s (agents.{request.agent}.timeout)")


async def check_server(config: Mapping[str, Any], env: Mapping[str, str]) -> AgentCheck:
    """Whether a server answers and has the model; without one in the settings, any model will do."""
    settings = {**from_env(env), **config}
    url = str(settings.get("base_url") or url_of(env.get("OLLAMA_HOST", ""))).rstrip("/")
    answer = await read_list(f"{url}/api/tags", {})
    if isinstance(answer, str):
        return AgentCheck(False, f"no Ollama server at {url} ({answer}); start one: ollama serve")
    if answer.status != 200:
        return AgentCheck(None, f"the server at {url} has no list of models (status {answer.status})")
    names = names_in(answer.body, "models", "name")
    model = settings.get("model") or env.get("OLLAMA_MODEL_NAME")
    if isinstance(model, str) and not names & {model, f"{model}:latest"}:
        return AgentCheck(False, f"the server at {url} has no model {model}; {MISSING} {model}")
    if not names:
        return AgentCheck(False, f"the server at {url} has no models; {MISSING} MODEL")
    return AgentCheck(True, "")


def from_env(env: Mapping[str, str]) -> dict[str, Any]:
    """Settings from the environment, which those of the file override."""
    temperature, limit = env.get("OLLAMA_TEMPERATURE"), env.get("OLLAMA_REQUEST_TIMEOUT")
    try:
        return {
            **({"base_url": env["OLLAMA_BASE_URL"]} if env.get("OLLAMA_BASE_URL") else {}),
            **({"temperature": float(temperature)} if temperature else {}),
            **({"timeout": f"{int(limit)}s"} if limit else {}),
        }
    except ValueError as error:
        raise ConfigurationError(
            f"OLLAMA_TEMPERATURE or OLLAMA_REQUEST_TIMEOUT is not a number: {error}"
        ) from error


def url_of(host: str) -> str:
    """The URL for OLLAMA_HOST; 0.0.0.0, at which a server listens, is called at 127.0.0.1."""
    if not host:
        return DEFAULT_URL
    scheme, separator, rest = host.partition("://")
    scheme, rest = (scheme, rest) if separator else ("http", host)
    name, _, port = rest.rstrip("/").rpartition(":") if ":" in rest else (rest.rstrip("/"), "", "")
    name = "127.0.0.1" if name in ("", "0.0.0.0") else name  # noqa: S104 (read, not bound)
    return f"{scheme}://{name}:{port or PORT}"


def understood(answer: Answer, model: str, *, wants_value: bool) -> AgentResult:
    if answer.status != 200:
        failure = _refused(answer, model)
        return not_served(failure) if is_rejection(answer.status) else failure
    text, last, fault = _read(answer.body)
    usage = Usage(input=count_of(last, "prompt_eval_count"), output=count_of(last, "eval_count"))
    if fault:
        return AgentResult(text=text, usage=usage, cost=FREE, trouble="transient", detail=fault)
    if last.get("done_reason") == "length":
        detail = f"{TRUNCATED}; raise max_tokens or context_window"
        return AgentResult(text=text, usage=usage, cost=FREE, trouble="truncated", detail=detail)
    if not text.strip():
        return AgentResult(usage=usage, cost=FREE, trouble="malformed", detail="the answer is empty")
    try:
        return AgentResult(text=text, value=one_json(text), has_value=True, usage=usage, cost=FREE)
    except NotOneValue as error:
        trouble: AgentTrouble | None = "malformed" if wants_value else None
        return AgentResult(
            text=text, usage=usage, cost=FREE, trouble=trouble, detail=str(error) if trouble else ""
        )


def _body(request: AgentRequest, model: str) -> dict[str, Any]:
    options = {
        "temperature": temperature(request),
        "num_predict": count(request, "max_tokens"),
        # Without it the server silently truncates input beyond its small default.
        "num_ctx": count(request, "context_window"),
    }
    schema = None if request.schema is None else plain_json(request.schema) or "json"
    *earlier, last = messages(request)
    images = [image.base64() for image in request.images]
    return {
        "model": model,
        "messages": [*earlier, {**last, "images": images} if images else last],
        "stream": True,
        "options": {key: value for key, value in options.items() if value is not None},
        **({} if schema is None else {"format": schema}),
    }


def _read(body: bytes) -> tuple[str, Mapping[str, Any], str]:
    """The text, the last record, and what is wrong with the stream, if anything."""
    text: list[str] = []
    for line in body.splitlines():
        try:
            record = bounded_json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError):
            return "".join(text), {}, "the answer is not JSON; something else may listen at this address"
        match record:
            case {"error": str(message)}:
                return "".join(text), {}, message
            case {"message": {"content": str(piece)}}:
                text.append(piece)
            case _:
                pass
        if isinstance(record, dict) and record.get("done") is True:
            return "".join(text), record, ""
    return "".join(text), {}, "the answer breaks off"


def _refused(answer: Answer, model: str) -> AgentResult:
    try:
        message = bounded_json.loads(answer.body)["error"]
    except (ValueError, TypeError, LookupError, RecursionError):
        message = answer.body[:200].decode("utf-8", "replace")
    match answer.status:
        case 404 if "model" in str(message):
            return _failed("unavailable", f"{message}; {MISSING} {model}")
        case 404:
            return _failed("unavailable", f"there is no /api/chat at base_url: {message}")
        case 401 | 403:
            return _failed("auth", f"the server refuses: {message}")
        case 429:
            return _failed("quota", str(message))
        case status:
            return _failed("transient" if status >= 500 else "error", f"status {status}: {message}")


def _failed(trouble: AgentTrouble, detail: str) -> AgentResult:
    return AgentResult(trouble=trouble, detail=detail, cost=FREE)
