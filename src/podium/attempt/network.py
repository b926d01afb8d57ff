"""Network access of a step's process, and the log of its egress decisions."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Final

from podium.attempt.host import Host
from podium.core.model import Step
from podium.ports.agent import ProgramSpec
from podium.ports.sandbox import PROXY, EgressDecision, OnDecision, SandboxLevel, SandboxPolicy

ISOLATED_LEVELS: Final[tuple[SandboxLevel, ...]] = ("bubblewrap", "container")
"""Sandbox levels without a network, except for allowed hosts."""
RECORD: Final = "egress.jsonl"
MAX_DECISIONS: Final = 10_000
"""Logged per attempt, so that a process cannot fill the disk with requests."""
_PROXY: Final = f"http://{PROXY[0]}:{PROXY[1]}"
_NO_PROXY: Final = "127.0.0.1,localhost"


def is_isolated(host: Host, step: Step) -> bool:
    return host.sandbox_of(step).level in ISOLATED_LEVELS


def is_brokered(host: Host, step: Step) -> bool:
    """Whether an agent of this step reaches its model only through the broker."""
    return is_isolated(host, step) and step.settings.network != "open"


def network_of(step: Step, program: ProgramSpec) -> tuple[str, ...] | None:
    """Hosts that the step allows and hosts that the agent's vendor needs; None leaves it to the step."""
    allowed = step.settings.network
    return None if allowed == "open" else (*(allowed or ()), *program.network)


def proxy_env(host: Host, step: Step, policy: SandboxPolicy) -> dict[str, str]:
    """The variables that point programs to the proxy, in upper and lower case."""
    if policy.network in ((), "open") or not is_isolated(host, step):
        return {}
    variables = {"HTTPS_PROXY": _PROXY, "NO_PROXY": _NO_PROXY}
    return {**variables, **{name.lower(): value for name, value in variables.items()}}


def egress_logger(host: Host, path: str, attempt: int) -> OnDecision:
    """Appends each decision, masked, to a file next to the attempt's prompts and answers."""
    count = 0

    def keep(decision: EgressDecision) -> None:
        nonlocal count
        count += 1
        if count > MAX_DECISIONS:
            return
        place = host.log_dir(path, attempt) / RECORD
        place.parent.mkdir(parents=True, exist_ok=True)
        line = host.mask.text(json.dumps({"at": host.now(), **asdict(decision)}))
        handle = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{line}\n")

    return keep
