"""The real codex in real attempts, against the model server; its world goes well again after its first attempt."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podium.adapters.agents.codex import Codex
from podium.attempt.perform import perform
from podium.core.effects import AskPerson
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.messages import Approve, Message
from podium.core.state import State
from podium.ports import Progress
from podium.process import Mask
from podium.testing.models import ModelServer, Rule
from tests.attempt.asked import Asked, Clock
from tests.attempt.runs import Played, bench
from tests.git.kit import Project, new_project
from tests.live.programs import found

KEY = "dummy-key-4711-of-nobody"
MARKER = f"podium-live-codex-{os.getpid()}"
"""Of this process alone: tests of others may run beside it."""


WORK = 'steps: {it: {agent: codex, prompt: "Paint shed 7391", touches: ["src/**"], timeout: 60s}}'


def small_project(folder: Path) -> Project:
    found("codex")
    return new_project(folder, {"README.md": "hello\n", "src/app.py": "x = 1\n"})


def patch(name: str, line: str) -> tuple[str, dict[str, str]]:
    """A call of codex's own edit tool, which takes a patch as it is."""
    return "apply_patch", {"input": f"*** Begin Patch\n*** Add File: {name}\n+{line}\n*** End Patch\n"}


GOOD = Rule(tools=[patch("src/good.py", "good = True")], text="All is well")


@dataclass
class Live(Asked):
    server: ModelServer = field(kw_only=True)
    recovers: bool = field(kw_only=True)
    took: list[tuple[float, int]] = field(default_factory=list)
    """Of each attempt: seconds and calls of the model."""

    async def _agent(self, asked: AttemptStarted, state: State) -> AttemptEnded:
        began, asked_before = time.monotonic(), len(self.server.requests)
        end = await perform(asked, state, self.site)
        self.took.append((time.monotonic() - began, len(self.server.requests) - asked_before))
        if self.recovers:
            self.server.rules[:] = [GOOD]
        return end

    async def _perform(self, effect: Any, state: State) -> Message:
        if isinstance(effect, AskPerson):
            return Approve(effect.asked.path, "fail", "ann")
        return await super()._perform(effect, state)

    def kinds(self) -> set[str]:
        return {seen.kind for _, seen in self.seen}


def play(
    project: Project,
    folder: Path,
    flow: str,
    server: ModelServer,
    *,
    settings: str = "",
    base_url: str | None = None,
    agent: Codex | None = None,
    recovers: bool = True,
) -> tuple[Live, Played]:
    """Plays a workflow whose agent `codex` is the real one; `settings` are further ones of it."""
    url = base_url or f"{server.url}/v1"
    head = f"agents: {{codex: {{command: {found('codex')}, base_url: '{url}'{settings}}}}}\n"
    clock, seen = Clock(), list[tuple[str, Progress]]()
    made = bench(
        project,
        folder,
        head + flow,
        now=clock,
        on_progress=lambda path, progress: seen.append((path, progress)),
        mask=Mask({"OPENAI_API_KEY": KEY}),
        host_env={"PATH": os.environ.get("PATH", os.defpath), "OPENAI_API_KEY": KEY},
    ).given(agents={"codex": agent or Codex()}, accepts_weak_walls=True, marker=MARKER)
    live = Live(made.site, made.root, clock=clock, seen=seen, server=server, recovers=recovers)
    return live, live.play()


def bodies(server: ModelServer) -> list[Mapping[str, Any]]:
    return [request.body for request in server.asked("/v1/responses")]
