"""Network access of a step's process, and the log of its egress decisions."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from typing import Final

from podium.attempt.host import Host
from podium.core.model import Step
from podium.ports.agent import AgentResult, ProgramSpec, Progress
from podium.ports.sandbox import BROKER, PROXY, EgressDecision, SandboxLevel, SandboxPolicy, Service
from podium.views.plain import one_line

ISOLATED_LEVELS: Final[tuple[SandboxLevel, ...]] = ("bubblewrap", "container")
"""Sandbox levels without a network, except for allowed hosts."""
RECORD: Final = "egress.jsonl"
MAX_DECISIONS: Final = 10_000
"""Logged per attempt, so that a process cannot fill the disk with requests."""
MAX_REMOVED: Final = 20
_BROKER: Final = f"http://{BROKER[0]}:{BROKER[1]}"
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


def name_service(result: AgentResult, service: Service | None) -> AgentResult:
    """Name the API in messages of a program that knows only the address of the broker."""
    if service is None or not result.detail:
        return result
    upstream = service.upstream.rstrip("/")
    detail = result.detail.replace(_BROKER, upstream)
    return replace(result, detail=detail.replace(_BROKER.removeprefix("http://"), upstream))


class EgressLog:
    """Appends each decision, masked, to a file next to the attempt's prompts and answers."""

    def __init__(self, host: Host, path: str, attempt: int) -> None:
        self._host, self._path = host, path
        self._removed: set[str] = set()
        self._attempt = attempt
        self._count = 0
        self.last_call: EgressDecision | None = None
        """The last call of a model API; None if there was none, or if calls do not go through the broker."""
        self.answered_calls = 0
        """How many calls of a model the API has answered; it does not charge for counting tokens."""

    def __call__(self, decision: EgressDecision) -> None:
        if decision.way == "broker":
            self.last_call = decision
            self.answered_calls += decision.status == 200 and "count" not in decision.what.lower()
            self._report_removed(decision)
        self._count += 1
        if self._count > MAX_DECISIONS:
            return
        place = self._host.log_dir(self._path, self._attempt) / RECORD
        place.parent.mkdir(parents=True, exist_ok=True)
        fields = {name: value for name, value in asdict(decision).items() if value not in (None, ())}
        line = self._host.mask.text(json.dumps({"at": self._host.now(), **fields}))
        handle = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def _report_removed(self, decision: EgressDecision) -> None:
        """Say once of each tool that the vendor does not get it."""
        new = [word for word in decision.removed if word not in self._removed]
        self._removed.update(new[:MAX_REMOVED])
        for word in new[:MAX_REMOVED]:
            text = f"not sent to the vendor, which would run it: {one_line(word, 100)}"
            self._host.on_progress(self._path, Progress("note", f"{text}; see server_tools"))
