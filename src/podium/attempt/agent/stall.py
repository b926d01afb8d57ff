"""How long an agent's process may say nothing, and what it means when that was too long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from podium.ports.agent import AgentResult, ProgramSpec, Progress
from podium.process.launch import Finished, Launch
from podium.workflow.schema.scalars import duration

FIRST_OUTPUT_S: Final = 120.0
"""The slowest program that was tried says its first word after ten seconds, on a machine with other things to do."""
SILENCE_S: Final = 600.0
"""A tool may take long and say nothing until its end; a build, for one."""


def bounded(launch: Launch, program: ProgramSpec, config: Mapping[str, Any]) -> Launch:
    """By `stall` of the agent; without one, a program that does not speak while it works has its time only."""
    said = config.get("stall")
    if said is None and not program.speaks:
        return launch
    silence_s = SILENCE_S if said is None else duration(said) / 1000
    first_s = max(FIRST_OUTPUT_S, silence_s) if program.speaks else silence_s
    return replace(launch, first_output_s=first_s, silence_s=silence_s)


def stalled(result: AgentResult, finished: Finished, seen: Sequence[Progress]) -> AgentResult:
    """Silence while a tool runs is the worker's doing, any other the world's: the same may go well next time."""
    if finished.silent_s is None or result.trouble != "timeout":
        return result
    said = [progress for progress in seen if progress.kind in ("text", "tool", "done", "file")]
    lasted = f"it said nothing for {finished.silent_s:.0f} s"
    if said and said[-1].kind == "tool":
        return replace(result, detail=f"{lasted} while a tool ran: {said[-1].text[:200]}")
    return replace(
        result, trouble="transient", detail=f"{lasted} and was ended; its model may not have answered"
    )
