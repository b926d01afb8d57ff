"""Limits on how long an agent's process may stay silent, and how exceeding them is reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from podium.ports.agent import TOOL_KINDS, AgentResult, ProgramSpec, Progress
from podium.ports.sandbox import EgressDecision
from podium.process.launch import Finished, Launch
from podium.workflow.schema.scalars import duration

FIRST_OUTPUT_S: Final = 120.0
"""The slowest program tested prints its first output after ten seconds on a busy machine."""
RATE_LIMITED: Final = 429
SILENCE_S: Final = 600.0
"""Long, because a tool such as a build may print nothing until it ends."""


def with_silence_limits(launch: Launch, program: ProgramSpec, config: Mapping[str, Any]) -> Launch:
    """Apply the agent's `stall`; without it, a program that does not stream progress is only bound by its timeout."""
    stall = config.get("stall")
    if stall is None and not program.streams_progress:
        return launch
    silence_s = SILENCE_S if stall is None else duration(stall) / 1000
    first_s = max(FIRST_OUTPUT_S, silence_s) if program.streams_progress else silence_s
    return replace(launch, first_output_s=first_s, silence_s=silence_s)


def explain_rate_limit(result: AgentResult, last_call: EgressDecision | None) -> AgentResult:
    """Add what the broker has seen: when the quota opens again, and that a wait was one for the quota.

    Programs wait in silence after 429, and some do not pass on how long the vendor asks them to wait (issue 16).
    """
    if last_call is None or last_call.status != RATE_LIMITED:
        return result
    if result.trouble == "timeout":
        detail = "its vendor limits the rate of calls (status 429), and its time ran out while it waited"
        return replace(result, trouble="quota", detail=detail, retry_at=last_call.retry_at)
    if result.trouble == "quota" and result.retry_at is None:
        return replace(result, retry_at=last_call.retry_at)
    return result


def explain_silence(result: AgentResult, finished: Finished, last: Progress | None) -> AgentResult:
    """Silence while a tool runs stays a timeout of the agent; any other may be a hanging model call, so it is retried."""
    if finished.silent_s is None or result.trouble != "timeout":
        return result
    silence = f"it said nothing for {finished.silent_s:.0f} s"
    if last is not None and last.kind in TOOL_KINDS:
        return replace(result, detail=f"{silence} while a tool ran: {last.text[:200]}")
    return replace(
        result, trouble="transient", detail=f"{silence} and was ended; its model may not have answered"
    )
