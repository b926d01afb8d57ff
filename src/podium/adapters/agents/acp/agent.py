"""Any program that speaks the Agent Client Protocol, version 1.

    agents:
      goose: {type: acp, command: [goose, acp], key: GOOSE_KEY}
      gem:   {type: acp, command: [gemini, --acp, --model, "{model}"], model: gemini-2.5-pro, key: GEMINI_API_KEY}

A client program (client.py) runs next to the agent and speaks the protocol with it, so that this adapter, like all
others, only describes a process and parses lines. The client allows tools by kind: those of the role's `tools` (read,
edit, run, web), else read, edit and run, and for a reviewer read. An agent that does not ask for permission is
restricted only by its sandbox.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from podium.adapters.agents.acp import CREDENTIALS
from podium.adapters.agents.shared.broker import DUMMY_KEY, MODEL_APIS, URL, ModelApi
from podium.adapters.agents.shared.json_lines import MAX_SUBJECT, Answer, JsonLines, count_of, read_answer
from podium.adapters.agents.shared.program_keys import OWN_SERVER
from podium.adapters.agents.shared.settings import wrong
from podium.adapters.agents.shared.troubles import REJECTIONS, TRUNCATED, not_served, with_stderr
from podium.core.types import MicroUsd
from podium.credentials import key_names
from podium.errors import ConfigurationError
from podium.ports.agent import (
    AgentRequest,
    AgentResult,
    AgentTrouble,
    ProgramSpec,
    Progress,
    ProgressKind,
    Usage,
)
from podium.ports.sandbox import Service
from podium.process.launch import Finished

CLIENT: Final = Path(__file__).with_name("client.py")
MODEL: Final = "{model}"
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "read": ("read", "search", "think"),
    "edit": ("edit", "delete", "move"),
    "run": ("execute",),
    "web": ("fetch",),
}
WORKER_TOOLS: Final = ("read", "edit", "run")
REVIEWER_TOOLS: Final = ("read",)
EDITS: Final = frozenset(KINDS["edit"])
TOOLS: Final[Mapping[str, ProgressKind]] = {
    **dict.fromkeys(KINDS["read"], "read"),
    **dict.fromkeys(KINDS["edit"], "edit"),
    **dict.fromkeys(KINDS["run"], "run"),
}
MAX_USD: Final = 1_000_000
AUTH_REQUIRED: Final = -32000
STATUSES: Final[Mapping[int, AgentTrouble]] = {401: "auth", 403: "auth", 408: "transient", 429: "quota"}
STOPS: Final[Mapping[str, tuple[AgentTrouble, str]]] = {
    "max_tokens": ("truncated", TRUNCATED),
    "max_turn_requests": ("failed", "it stopped at its maximum number of calls"),
    "refusal": ("refused", "the model refused"),
    "cancelled": ("transient", "it was cancelled"),
}


class Acp:
    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, AcpConversation]:
        task: dict[str, Any] = {
            "argv": _argv(request),
            "authenticate": request.config.get("authenticate") or "",
            "servers": _servers(request),
            "allowed": [kind for word in _tools(request) for kind in KINDS[word]],
            "approve": _approval(request),
            "prompt": [text for text in (request.system, request.prompt) if text],
        }
        names = key_names(CREDENTIALS, request.config)
        keys = {name: request.env[name] for name in names if request.env.get(name)}
        env, service = _brokered(request, keys)
        program = ProgramSpec(
            argv=(sys.executable, "-I", "-S", str(CLIENT)),
            stdin=json.dumps(task).encode("ascii"),
            env=env,
            reads=(CLIENT,),
            starts=tuple(task["argv"][:1]),
            service=service,
            files={name: text.encode("utf-8", "replace") for name, text in _files(request).items()},
            streams_progress=True,
            network=tuple(request.config.get("hosts") or ()),
        )
        return program, AcpConversation(wants_value=request.schema is not None)


def _approval(request: AgentRequest) -> dict[str, Any] | None:
    """Where the client asks before it allows a call, and for which kinds."""
    server = request.tool_server
    if not request.approve or server is None:
        return None
    return {"url": server.url, "token": server.token, "kinds": list(request.approve)}


class AcpConversation:
    def __init__(self, *, wants_value: bool) -> None:
        self._wants_value = wants_value
        self._lines = JsonLines()
        self._texts: list[str] = []
        self._last: Mapping[str, Any] = {}
        self._methods: list[str] = []
        self._calls = 1
        self._after_tool = False
        self._worked = False
        self._cost: MicroUsd | None = None
        self._context: int | None = None
        self._window: int | None = None

    def feed(self, data: bytes) -> Iterable[Progress]:
        return [progress for record in self._lines.feed(data) for progress in self._read(record)]

    def _read(self, record: Mapping[str, Any]) -> Iterator[Progress]:
        match record:
            case {"type": "update", "update": {"sessionUpdate": str(kind)}}:
                yield from self._update(kind, record["update"])
            case {"type": "permission", "title": str(title), "allowed": bool(allowed)}:
                yield Progress("note", f"{'allowed' if allowed else 'not allowed'}: {title}")
            case {"type": "agent", "methods": list(methods)}:
                self._methods = [str(method.get("id")) for method in methods if isinstance(method, dict)]
            case {"type": "noise", "text": str(text)}:
                yield Progress("note", f"it printed a line that is not part of the protocol: {text}")
            case {"type": "end" | "error"}:
                self._last = record
            case _:
                pass

    def _update(self, kind: str, update: Mapping[str, Any]) -> Iterator[Progress]:
        match kind, update:
            case "agent_message_chunk", {"content": {"type": "text", "text": str(text)}}:
                self._next_turn()
                self._texts.append(text)
                yield Progress("text", text)
            case "agent_thought_chunk", {"content": {"type": "text", "text": str(text)}}:
                yield Progress("think", text)
            case "tool_call", _:
                self._next_turn()
                kind = TOOLS.get(str(update.get("kind")), "tool")
                yield Progress(kind, str(update.get("title") or update.get("kind") or "a tool")[:MAX_SUBJECT])
            case "usage_update", _:
                cost = _cost_of(update.get("cost"))
                self._cost = self._cost if cost is None else cost
                self._context = count_of(update, "used") or self._context
                self._window = count_of(update, "size") or self._window
                yield Progress("usage", f"{self._context} tokens", tokens=self._context or 0, usd=self._cost)
            case "tool_call_update", {"status": "completed" | "failed"}:
                self._after_tool = True
                yield from (Progress("file", path) for path in _changed(update))
            case _:
                pass

    def _next_turn(self) -> None:
        """Drop the text before a tool, because the answer is the text after the last tool."""
        self._worked = True
        if self._after_tool:
            self._after_tool = False
            self._calls += 1
            self._texts.clear()

    def finish(self, finished: Finished) -> AgentResult:
        if finished.not_started is not None:
            return AgentResult(trouble="unavailable", detail=finished.not_started)
        text, reply = "".join(self._texts), self._last.get("reply")
        trouble, detail = self._trouble(finished)
        if trouble is None and not text.strip():
            trouble, detail = "malformed", "it ended well and said nothing"
        answer = Answer(trouble=trouble, detail=detail)
        if trouble is None:
            answer = read_answer(text, wants_value=self._wants_value)
        result = AgentResult(
            text=text,
            **answer._asdict(),
            usage=_usage(reply if isinstance(reply, Mapping) else {}, calls=self._calls),
            # What it reports is a sum of the session, which is complete only with the reply to the prompt.
            cost=self._cost if isinstance(reply, Mapping) else None,
            context=self._context,
            window=self._window,
            session=_text(self._last.get("session")) or None,
        )
        return not_served(result) if trouble in REJECTIONS and self._is_rejected(trouble) else result

    def _is_rejected(self, trouble: AgentTrouble) -> bool:
        """Whether the agent gave up before its model did anything; an error of its own may come after a call."""
        is_before = self._last.get("stage") != "session/prompt" or trouble != "error"
        return not self._worked and is_before and self._last.get("type") == "error"

    def _trouble(self, finished: Finished) -> tuple[AgentTrouble | None, str]:
        if finished.timed_out:
            return "timeout", "its time ran out"
        if finished.signal is not None:
            return "transient", f"it was ended by signal {finished.signal}"
        match self._last:
            case {"type": "end", "reply": {"stopReason": str(reason)}} if finished.exit_code == 0:
                if reason == "end_turn":
                    return None, ""
                return STOPS.get(reason, ("malformed", f'it stopped for the unknown reason "{reason}"'))
            case {"type": "error", "stage": "start", "message": str(message)}:
                return "unavailable", message
            case {"type": "error", "stage": str(stage), "error": dict(error)}:
                return self._refused(stage, error)
            case {"type": "error", "stage": str(stage), "message": str(message)}:
                code = self._last.get("exit")
                how = f"{message} to {stage}" + ("" if code is None else f", with exit code {code}")
                return ("transient" if stage == "session/prompt" else "error"), with_stderr(how, finished)
            case _ if finished.exit_code:
                how = f"the client ended with exit code {finished.exit_code}"
                return "error", with_stderr(how, finished)
            case _:
                return "malformed", "the output of the client ended early"

    def _refused(self, stage: str, error: Mapping[str, Any]) -> tuple[AgentTrouble, str]:
        """Classify an error by its code: one of the protocol, or the HTTP status that the agent got from its vendor."""
        code = error.get("code")
        message = f"{stage}: {_text(error.get('message'))}{_details(error)}"
        if code == AUTH_REQUIRED:
            ways = ", ".join(self._methods) or "none"
            return "auth", f"{message}\nit needs a login (authenticate: {ways}) or a key (key: NAME)"
        if type(code) is not int:
            return "error", message
        return STATUSES.get(code, "transient" if 500 <= code < 600 else "error"), message


def _brokered(request: AgentRequest, keys: Mapping[str, str]) -> tuple[dict[str, str], Service | None]:
    """The environment with the keys, and the API behind the broker: then the agent gets a dummy instead of its key."""
    if not request.brokered:
        return dict(keys), None
    exposed = request.config.get("expose") or ()
    apis = {name: api for name in keys if name not in exposed and (api := _api(request, name)) is not None}
    name, api = next(iter(apis.items()), ("", None))
    for other in keys:
        if other != name and other not in exposed:
            raise _not_exposed(request, other, brokered=name)
    if api is None:
        return dict(keys), None
    return {**keys, name: DUMMY_KEY, api.variable: URL}, api.service(request, keys[name])


def _not_exposed(request: AgentRequest, key: str, *, brokered: str) -> ConfigurationError:
    why = f"the broker serves {brokered} only" if brokered else "its API is not known"
    return ConfigurationError(
        f"agents.{request.agent}.key: {why}, so the agent itself would get {key}",
        hint=f"describe the API under service, or let the agent have the key: expose: [{key}]",
    )


def _api(request: AgentRequest, key: str) -> ModelApi | None:
    """The API that a key is for: `agents.NAME.service`, else that of a vendor; a base URL in `env` overrides its address."""
    own = request.config.get("service")
    vendor = MODEL_APIS.get(key)
    if own:
        values = {**({} if vendor is None else _fields(vendor)), **{k: v for k, v in own.items() if v}}
        missing = [name for name in ("url", "variable", "header", "calls") if not values.get(name)]
        if missing:
            raise wrong(request, "service", f"has no {missing[0]}")
        return ModelApi(values["url"], values["variable"], values["header"], tuple(values["calls"]))
    if vendor is None:
        return None
    pairs = (str(entry).partition("=") for entry in request.config.get("env") or ())
    urls = [value for name, sign, value in pairs if sign and name == vendor.variable and value]
    return replace(vendor, url=urls[-1].rstrip("/")) if urls else vendor


def _fields(api: ModelApi) -> dict[str, Any]:
    return {"url": api.url, "variable": api.variable, "header": api.header, "calls": api.calls}


def _argv(request: AgentRequest) -> list[str]:
    command = request.config.get("command")
    words = [command] if isinstance(command, str) else list(command or ())
    if not words or not all(isinstance(word, str) and word for word in words):
        raise wrong(request, "command", "must be a list of a program and its arguments")
    if request.model and not any(MODEL in word for word in words):
        raise wrong(request, "command", f"has no {MODEL}, but the model {request.model} is set")
    if not request.model and any(MODEL in word for word in words):
        raise wrong(request, "command", f"uses {MODEL}, but no model is set")
    return [word.replace(MODEL, request.model or "") for word in words]


def _servers(request: AgentRequest) -> list[dict[str, Any]]:
    """The tools of the step, in the words of the protocol."""
    server = request.tool_server
    if server is None:
        return []
    headers = [{"name": "Authorization", "value": f"Bearer {server.token}"}]
    return [{"type": "http", "name": OWN_SERVER, "url": server.url, "headers": headers}]


def _tools(request: AgentRequest) -> tuple[str, ...]:
    default = REVIEWER_TOOLS if request.judge else WORKER_TOOLS
    tools = default if request.tools is None else request.tools
    unknown = [word for word in tools if word not in KINDS]
    if unknown:
        raise ConfigurationError(
            f'step "{request.step}": tools has "{unknown[0]}", which is not a tool of acp',
            hint=f"use {', '.join(KINDS)}",
        )
    return tools


def _files(request: AgentRequest) -> Mapping[str, str]:
    files = request.config.get("home") or {}
    if not isinstance(files, Mapping) or not all(isinstance(text, str) for text in files.values()):
        raise wrong(request, "home", "is not a map of paths to texts")
    return files


def _changed(update: Mapping[str, Any]) -> Iterator[str]:
    locations = update.get("locations")
    if update.get("kind") in EDITS and update["status"] == "completed" and isinstance(locations, list):
        yield from (str(item["path"]) for item in locations if isinstance(item, dict) and "path" in item)


def _usage(reply: Mapping[str, Any], *, calls: int) -> Usage:
    """The usage in the reply to the prompt, where the protocol defines it, or in one of the places that agents use."""
    match reply:
        case {"usage": dict(counts)} | {"_meta": {"usage": dict(counts)}}:
            return _counts(counts, calls=calls)
        case {"_meta": {"quota": {"token_count": dict(counts)}}}:
            return _counts(counts, calls=calls)
        case _:
            return Usage(calls=calls)


def _counts(counts: Mapping[str, Any], *, calls: int) -> Usage:
    """Counts under the names of the protocol or of a vendor. Thoughts are part of the output, which the total shows."""

    def first(*names: str) -> int:
        return next((count for name in names if (count := count_of(counts, name))), 0)

    written = first("cachedWriteTokens", "cached_write_tokens", "cache_creation_input_tokens")
    cached = first("cachedReadTokens", "cached_read_tokens", "cache_read_input_tokens", "cached_input_tokens")
    read = first("inputTokens", "input_tokens") + written
    output = first("outputTokens", "output_tokens")
    total = first("totalTokens", "total_tokens")
    return Usage(
        input=read,
        output=max(output, total - read - cached) if output else output,
        cached=cached,
        written=written,
        calls=calls,
    )


def _cost_of(cost: Any) -> MicroUsd | None:
    match cost:
        case {"amount": int() | float() as amount, "currency": "USD"} if 0 <= amount < MAX_USD:
            return MicroUsd(round(amount * 1_000_000))
        case _:
            return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _details(error: Mapping[str, Any]) -> str:
    match error.get("data"):
        case {"details": str(details)}:
            return f" ({details})"
        case str(details):
            return f" ({details})"
        case _:
            return ""
