"""Gemini CLI for a person at a terminal, and the conversation read afterwards.

Its file has a line for each state of a message, with the same id and the usage of the call. Tried with 0.61.0 and 0.60.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from podium.adapters.agents.shared.handover import new_records
from podium.adapters.agents.shared.json_lines import JsonLines, count_of
from podium.files import bounded_json
from podium.ports.agent import AgentRequest, AgentResult, Usage

UNLIMITED_TURNS: Final = -1
ATTEMPTS: Final = 5
"""Calls for one answer: a person sees that the program waits, and stops it by a key."""


def settings_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an attempt, without those that are only good without a person."""
    return {
        **settings,
        "general": {**settings["general"], "maxAttempts": ATTEMPTS},
        "model": {**settings["model"], "maxSessionTurns": UNLIMITED_TURNS},
        # No question about the surroundings, and no hint that calls the model.
        "ide": {"enabled": False, "hasSeenNudge": True},
        "ui": {"hideTips": True, "hideBanner": True, "showHomeDirectoryWarning": False},
    }


def read_conversation(files: Mapping[str, bytes], request: AgentRequest) -> AgentResult:
    text, model = "", ""
    session = "" if request.session is None else request.session.id
    earlier = {} if request.session is None else request.session.files
    known_ids = {
        record.get("id") for content in earlier.values() for record in JsonLines().feed(content + b"\n")
    }
    calls: dict[str, Mapping[str, Any]] = {}
    for record in new_records(files, request):
        match record:
            case {"type": "gemini", "id": str(name)} if name not in known_ids:
                text, model = str(record.get("content") or "") or text, str(record.get("model") or model)
                if isinstance(record.get("tokens"), dict):
                    calls[name] = record["tokens"]
            case _:
                pass
    return AgentResult(
        text=text, usage=_sum(calls.values()), model=model, session=session or _session(files) or None
    )


def _session(files: Mapping[str, bytes]) -> str:
    """The first line of a conversation names it, and has no type."""
    for content in files.values():
        try:
            first = bounded_json.loads(content.partition(b"\n")[0])
        except (ValueError, RecursionError):
            continue
        if isinstance(first, dict) and isinstance(first.get("sessionId"), str):
            return str(first["sessionId"])
    return ""


def _sum(calls: Iterable[Mapping[str, Any]]) -> Usage:
    prompt = output = cached = number = 0
    for tokens in calls:
        tokens_in, total = count_of(tokens, "input"), count_of(tokens, "total")
        prompt += tokens_in
        cached += min(count_of(tokens, "cached"), tokens_in)
        output += max(count_of(tokens, "output") + count_of(tokens, "thoughts"), total - tokens_in)
        number += 1
    return Usage(input=prompt - cached, output=output, cached=cached, calls=number)
