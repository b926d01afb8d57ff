"""What a process of a step gets of the world outside, and what is kept of what it asked for."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Final

from podium.attempt.host import Host
from podium.core.model import Step
from podium.ports.agent import ProgramSpec
from podium.ports.sandbox import PROXY, EgressDecision, OnDecision, SandboxLevel, SandboxPolicy

ENCLOSED: Final[tuple[SandboxLevel, ...]] = ("bubblewrap", "container")
"""The levels at which there is no network but what is let through."""
RECORD: Final = "egress.jsonl"
DECISIONS: Final = 10_000
"""So many of an attempt are kept: whatever is asked for, it cannot fill the disk."""
_PROXY: Final = f"http://{PROXY[0]}:{PROXY[1]}"
_BESIDES: Final = "127.0.0.1,localhost"


def is_walled(host: Host, step: Step) -> bool:
    return host.sandbox_of(step).level in ENCLOSED


def is_brokered(host: Host, step: Step) -> bool:
    """Whether an agent of this step reaches its model by a broker only."""
    return is_walled(host, step) and step.settings.network != "open"


def network_of(step: Step, program: ProgramSpec) -> tuple[str, ...] | None:
    """What its vendor needs, besides what the step allows; None leaves it to the step."""
    said = step.settings.network
    return None if said == "open" else (*(said or ()), *program.network)


def proxy_env(host: Host, step: Step, walls: SandboxPolicy) -> dict[str, str]:
    """By which programs know that there is a proxy; both spellings are in use."""
    if walls.network in ((), "open") or not is_walled(host, step):
        return {}
    said = {"HTTPS_PROXY": _PROXY, "NO_PROXY": _BESIDES}
    return {**said, **{name.lower(): value for name, value in said.items()}}


def decided(host: Host, path: str, attempt: int) -> OnDecision:
    """Keeps each decision at once, masked, beside what the attempt was told and said."""
    count = 0

    def keep(decision: EgressDecision) -> None:
        nonlocal count
        count += 1
        if count > DECISIONS:
            return
        place = host.log_dir(path, attempt) / RECORD
        place.parent.mkdir(parents=True, exist_ok=True)
        line = host.mask.text(json.dumps({"at": host.now(), **asdict(decision)}))
        handle = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{line}\n")

    return keep
