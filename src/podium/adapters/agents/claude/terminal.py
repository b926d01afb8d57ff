"""Claude Code for a person at a terminal: no first questions, the task as context, and the conversation read afterwards.

The files in which it keeps a conversation have one line per part of a message, with the usage of the whole message.
Tried with 2.1.197 and 2.1.325.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.adapters.agents.shared.handover import task_context
from podium.adapters.agents.shared.json_lines import JsonLines, count_of
from podium.fast_dataclass import dataclass
from podium.ports.agent import AgentRequest, AgentResult, Usage

STATE_FILE: Final = ".claude/.claude.json"
SYSTEM_FILE: Final = "system.md"
FLAGS: Final = ("--setting-sources=", "--strict-mcp-config")
SYSTEM_FLAG: Final = "--append-system-prompt-file"
HEADLESS_FLAGS: Final = ("--max-turns=", "--max-budget-usd=", "--json-schema=", "--no-session-persistence")
"""Options that the program takes only without a terminal."""
ENVIRONMENT: Final[Mapping[str, str]] = {
    # Each would call a model without showing it in the conversation.
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
    "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
    # A person sees that it waits, and stops it by a key.
    "CLAUDE_CODE_MAX_RETRIES": "10",
}
KEY_TAIL: Final = 20
"""The program stores the end of a key that a person has confirmed."""


def files_of(request: AgentRequest, *, key: str | None) -> dict[str, bytes]:
    """The task as context, and answers to what the program asks at its first start: theme, key, trust in the folder."""
    folder = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    state: dict[str, Any] = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "projects": {str(path): folder for path in {request.cwd, request.root or request.cwd}},
    }
    if key:
        state["customApiKeyResponses"] = {"approved": [key[-KEY_TAIL:]], "rejected": []}
    return {
        STATE_FILE: json.dumps(state).encode(),
        SYSTEM_FILE: task_context(request).encode("utf-8", "replace"),
    }


def read_conversation(files: Mapping[str, bytes], request: AgentRequest) -> AgentResult:
    before = request.session
    earlier = {} if before is None else _calls(b"\n".join(before.files.values()))
    text, session, model = "", "" if before is None else before.id, ""
    calls: dict[str, _Call] = {}
    for content in files.values():
        for name, call in _calls(content).items():
            if name in earlier:
                continue
            calls[name] = call
            model = call.model or model
            if not call.is_side:
                text, session = call.text or text, call.session or session
    return AgentResult(text=text, usage=_sum(calls), model=model, session=session or None)


@dataclass(slots=True)
class _Call:
    usage: Usage = Usage()
    text: str = ""
    session: str = ""
    model: str = ""
    is_side: bool = False
    """Whether a subagent made the call."""


def _calls(content: bytes) -> dict[str, _Call]:
    """The messages of the model, by their ids; errors that the program wrote in its name are none."""
    calls: dict[str, _Call] = {}
    for record in JsonLines().feed(content + b"\n"):
        match record:
            case {"type": "assistant", "message": {"id": str(name), "content": list(blocks)}}:
                message = record["message"]
                if message.get("model") == "<synthetic>":
                    continue
                call = calls.setdefault(name, _Call())
                call.text += "".join(_texts(blocks))
                call.session, call.model = str(record.get("sessionId") or ""), str(message.get("model") or "")
                call.is_side = record.get("isSidechain") is True
                if isinstance(message.get("usage"), dict):
                    call.usage = _usage(message["usage"])
            case _:
                pass
    return calls


def _texts(blocks: list[Any]) -> Iterator[str]:
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                yield text
            case _:
                pass


def _usage(usage: Mapping[str, Any]) -> Usage:
    written = count_of(usage, "cache_creation_input_tokens")
    return Usage(
        input=count_of(usage, "input_tokens") + written,
        output=count_of(usage, "output_tokens"),
        cached=count_of(usage, "cache_read_input_tokens"),
        written=written,
    )


def _sum(calls: Mapping[str, _Call]) -> Usage:
    usages = [call.usage for call in calls.values()]
    return Usage(
        input=sum(usage.input for usage in usages),
        output=sum(usage.output for usage in usages),
        cached=sum(usage.cached for usage in usages),
        written=sum(usage.written for usage in usages),
        calls=len(usages),
    )
