"""Codex for a person at a terminal, and the conversation read afterwards from its rollout files.

A rollout has one `token_usage_record` for each answer of the model. For a title of the conversation codex calls the model
without recording it, so the cost of a session is not known. Tried with 0.166.0 and 0.169.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from podium.adapters.agents.shared.handover import new_records
from podium.adapters.agents.shared.json_lines import count_of
from podium.ports.agent import AgentRequest, AgentResult, Usage

FLAGS: Final = (
    # Fail on an unknown setting; otherwise codex would silently ignore it.
    "--strict-config",
    # A server in the background would outlive the step.
    "--no-daemon",
    # What was printed stays readable after the program has ended.
    "--no-alt-screen",
)

TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "notice.model_migrations": {
        '"gpt-5.5"': "gpt-6-sol",
        '"gpt-5.6-sol"': "gpt-6-sol",
        '"gpt-5.6-terra"': "gpt-6-sol",
        '"gpt-5.6-luna"': "gpt-6-luna",
    }
}
"""Offers of a newer model that were seen; otherwise its first screen would change the model that the workflow names."""


def read_conversation(files: Mapping[str, bytes], request: AgentRequest) -> AgentResult:
    text, model = "", ""
    session = "" if request.session is None else request.session.id
    calls: dict[str, Mapping[str, Any]] = {}
    for record in new_records(files, request):
        match record:
            case {"type": "session_meta", "payload": {"id": str(name)}} if not session:
                session = name
            case {"type": "turn_context", "payload": {"model": str(name)}}:
                model = name
            case {"type": "token_usage_record", "payload": {"response_id": str(name), "usage": dict(usage)}}:
                calls[name] = usage
            case {"type": "response_item", "payload": {"role": "assistant", "content": list(parts)}}:
                text = "".join(str(part.get("text") or "") for part in parts if isinstance(part, dict))
            case _:
                pass
    return AgentResult(text=text, usage=_sum(calls.values()), model=model, session=session or None)


def _sum(usages: Iterable[Mapping[str, Any]]) -> Usage:
    prompt = output = cached = calls = 0
    for usage in usages:
        prompt += count_of(usage, "input_tokens")
        cached += min(count_of(usage, "cached_input_tokens"), count_of(usage, "input_tokens"))
        output += count_of(usage, "output_tokens")
        calls += 1
    return Usage(input=prompt - cached, output=output, cached=cached, calls=calls)
