"""Any agent that speaks the Agent Client Protocol, version 1, by its argv.

    agents:
      goose: {type: acp, command: [goose, acp], key: GOOSE_KEY}
      gem:   {type: acp, command: [gemini, --acp, --model, "{model}"], model: gemini-2.5-pro, key: GEMINI_API_KEY}

The dialogue is held by a program of our own beside the agent (client.py), so that this adapter, like all others,
only says what to start and reads lines. Permission is given by kinds of tools: those of a role's `tools` (read, edit, run,
web), else read, edit and run, and for a reviewer read. An agent that asks nobody is kept by its walls only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from podium.adapters.agents.acp import CREDENTIALS
from podium.adapters.agents.shared.json_lines import Answer, JsonLines, count_of, read_answer
from podium.adapters.agents.shared.settings import wrong
from podium.credentials import key_names
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, AgentResult, AgentTrouble, ProgramSpec, Progress, Usage
from podium.process.launch import Finished

CLIENT: Final = Path(__file__).with_name("client.py")
TOLD: Final = 2000
"""So much of the end of stderr goes into a message."""
MODEL: Final = "{model}"
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "read": ("read", "search", "think"),
    "edit": ("edit", "delete", "move"),
    "run": ("execute",),
    "web": ("fetch",),
}
USUAL: Final = ("read", "edit", "run")
JUDGES: Final = ("read",)
EDITS: Final = frozenset(KINDS["edit"])
AUTH_REQUIRED: Final = -32000
STATUSES: Final[Mapping[int, AgentTrouble]] = {401: "auth", 403: "auth", 408: "transient", 429: "quota"}
STOPS: Final[Mapping[str, tuple[AgentTrouble, str]]] = {
    "max_tokens": ("failed", "it stopped at the longest answer it may give"),
    "max_turn_requests": ("failed", "it stopped after as many calls as it may make"),
    "refusal": ("refused", "the model refused"),
    "cancelled": ("transient", "it was cancelled"),
}


class Acp:
    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, AcpConversation]:
        part = {
            "argv": _argv(request),
            "authenticate": request.config.get("authenticate") or "",
            "allowed": [kind for word in _tools(request) for kind in KINDS[word]],
            "prompt": [text for text in (request.system, request.prompt) if text],
        }
        names = key_names(CREDENTIALS, request.config)
        keys = {name: request.env[name] for name in names if request.env.get(name)}
        program = ProgramSpec(
            argv=(sys.executable, "-I", "-S", str(CLIENT)),
            stdin=json.dumps(part).encode("ascii"),
            env=keys,
            files={name: text.encode("utf-8", "replace") for name, text in _files(request).items()},
            streams_progress=True,
            network=tuple(request.config.get("hosts") or ()),
        )
        return program, AcpConversation(wants_value=request.schema is not None)


class AcpConversation:
    def __init__(self, *, wants_value: bool) -> None:
        self._wants_value = wants_value
        self._lines = JsonLines()
        self._said: list[str] = []
        self._last: Mapping[str, Any] = {}
        self._methods: list[str] = []
        self._calls = 1
        self._after_tool = False

    def feed(self, data: bytes) -> Iterable[Progress]:
        return [seen for record in self._lines.feed(data) for seen in self._heard(record)]

    def _heard(self, record: Mapping[str, Any]) -> Iterator[Progress]:
        match record:
            case {"type": "update", "update": {"sessionUpdate": str(kind)}}:
                yield from self._update(kind, record["update"])
            case {"type": "permission", "title": str(title), "allowed": bool(allowed)}:
                yield Progress("note", f"{'allowed' if allowed else 'not allowed'}: {title}")
            case {"type": "agent", "methods": list(methods)}:
                self._methods = [str(one.get("id")) for one in methods if isinstance(one, dict)]
            case {"type": "noise", "text": str(text)}:
                yield Progress("note", f"it said what is not of the protocol: {text}")
            case {"type": "end" | "error"}:
                self._last = record
            case _:
                pass

    def _update(self, kind: str, update: Mapping[str, Any]) -> Iterator[Progress]:
        match kind, update:
            case "agent_message_chunk", {"content": {"type": "text", "text": str(text)}}:
                self._next_turn()
                self._said.append(text)
                yield Progress("text", text)
            case "agent_thought_chunk", {"content": {"type": "text", "text": str(text)}}:
                yield Progress("note", text)
            case "tool_call", _:
                self._next_turn()
                yield Progress("tool", str(update.get("title") or update.get("kind") or "a tool"))
            case "tool_call_update", {"status": "completed" | "failed"}:
                self._after_tool = True
                yield from (Progress("file", path) for path in _changed(update))
            case _:
                pass

    def _next_turn(self) -> None:
        """What was said before a tool is talk on the way; the answer is what follows the last one."""
        if self._after_tool:
            self._after_tool = False
            self._calls += 1
            self._said.clear()

    def finish(self, finished: Finished) -> AgentResult:
        if finished.not_started is not None:
            return AgentResult(trouble="unavailable", detail=finished.not_started)
        text, reply = "".join(self._said), self._last.get("reply")
        trouble, detail = self._judged(finished)
        if trouble is None and not text.strip():
            trouble, detail = "malformed", "it ended well and said nothing"
        answer = Answer(trouble=trouble, detail=detail)
        if trouble is None:
            answer = read_answer(text, wants_value=self._wants_value)
        return AgentResult(
            text=text,
            **answer._asdict(),
            usage=_usage(reply if isinstance(reply, Mapping) else {}, calls=self._calls),
            session=_text(self._last.get("session")) or None,
        )

    def _judged(self, finished: Finished) -> tuple[AgentTrouble | None, str]:
        if finished.timed_out:
            return "timeout", "its time ran out"
        if finished.signal is not None:
            return "transient", f"it was ended by signal {finished.signal}"
        match self._last:
            case {"type": "end", "reply": {"stopReason": str(reason)}} if finished.exit_code == 0:
                if reason == "end_turn":
                    return None, ""
                return STOPS.get(reason, ("malformed", f'it stopped for "{reason}", which nobody knows'))
            case {"type": "error", "stage": "start", "message": str(message)}:
                return "unavailable", message
            case {"type": "error", "stage": str(stage), "error": dict(error)}:
                return self._refused(stage, error)
            case {"type": "error", "stage": str(stage), "message": str(message)}:
                code = self._last.get("exit")
                how = f"{message} to {stage}" + ("" if code is None else f", with exit code {code}")
                return ("transient" if stage == "session/prompt" else "error"), _with_told(how, finished)
            case _ if finished.exit_code:
                how = f"the client ended with exit code {finished.exit_code}"
                return "error", _with_told(how, finished)
            case _:
                return "malformed", "the dialogue breaks off"

    def _refused(self, stage: str, error: Mapping[str, Any]) -> tuple[AgentTrouble, str]:
        """By its number: one of the protocol's, or the status that the agent got from its vendor."""
        code = error.get("code")
        said = f"{stage}: {_text(error.get('message'))}{_details(error)}"
        if code == AUTH_REQUIRED:
            ways = ", ".join(self._methods) or "none"
            return "auth", f"{said}\nit wants somebody to log in (authenticate: {ways}) or a key (key: NAME)"
        if type(code) is not int:
            return "error", said
        return STATUSES.get(code, "transient" if 500 <= code < 600 else "error"), said


def _argv(request: AgentRequest) -> list[str]:
    said = request.config.get("command")
    words = [said] if isinstance(said, str) else list(said or ())
    if not words or not all(isinstance(word, str) and word for word in words):
        raise wrong(request, "command", "is missing; it is the argv of an agent, a list of texts")
    if request.model and not any(MODEL in word for word in words):
        raise wrong(request, "command", f"has no {MODEL}, and a model is named: {request.model}")
    if not request.model and any(MODEL in word for word in words):
        raise wrong(request, "command", f"uses {MODEL}, and no model is named")
    return [word.replace(MODEL, request.model or "") for word in words]


def _tools(request: AgentRequest) -> tuple[str, ...]:
    said = request.tools if request.tools is not None else (JUDGES if request.judge else USUAL)
    unknown = [word for word in said if word not in KINDS]
    if unknown:
        raise ConfigurationError(
            f'step "{request.step}": tools has "{unknown[0]}", which acp does not know',
            hint=f"use {', '.join(KINDS)}",
        )
    return said


def _files(request: AgentRequest) -> Mapping[str, str]:
    said = request.config.get("home") or {}
    if not isinstance(said, Mapping) or not all(isinstance(text, str) for text in said.values()):
        raise wrong(request, "home", "is not a map of paths to texts")
    return said


def _changed(update: Mapping[str, Any]) -> Iterator[str]:
    places = update.get("locations")
    if update.get("kind") in EDITS and update["status"] == "completed" and isinstance(places, list):
        yield from (str(at["path"]) for at in places if isinstance(at, dict) and "path" in at)


def _usage(reply: Mapping[str, Any], *, calls: int) -> Usage:
    """The protocol has no place for it yet; agents put it into one of these."""
    match reply:
        case {"usage": dict(told)}:
            return Usage(
                input=count_of(told, "inputTokens"),
                output=count_of(told, "outputTokens"),
                cached=count_of(told, "cachedReadTokens"),
                calls=calls,
            )
        case {"_meta": {"quota": {"token_count": dict(told)}}}:
            return Usage(
                input=count_of(told, "input_tokens"), output=count_of(told, "output_tokens"), calls=calls
            )
        case _:
            return Usage(calls=calls)


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


def _with_told(how: str, finished: Finished) -> str:
    told = finished.stderr.text()[-TOLD:].strip()
    return f"{how}:\n{told}" if told else how
