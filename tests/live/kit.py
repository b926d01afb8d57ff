"""The real programs in real attempts, against the model server; the world may go well again after the first one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podium.adapters.agents.claude.agent import Claude
from podium.adapters.agents.codex.agent import Codex
from podium.adapters.agents.gemini.agent import Gemini
from podium.core.effects import AskPerson
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.messages import Approve, Message
from podium.core.queries.graph import PRICE
from podium.core.state import State
from podium.ports.agent import Agent, Progress
from podium.process.procfs import read_marker, read_pids
from podium.redaction.mask import Mask
from podium.testing.models.server import ModelServer, Rule
from tests.attempt.agent_attempts import Asked, Clock
from tests.attempt.runs import Played, bench, perform_attempt
from tests.git.kit import Project, new_project
from tests.installed import agent as installed_agent
from tests.live.programs import found

KEY = "dummy-key-4711-of-nobody"
MARKER = f"podium-live-{os.getpid()}"
"""Of this process alone: tests of others may run beside it."""

Tool = tuple[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Program:
    """One of the programs, and what its own tools are called."""

    name: str
    adapter: Callable[[], Agent]
    key: str
    """The variable that holds the key."""
    path: str
    """Of its API, below the address of the server."""
    calls: str
    """A part of the path of every call of its model."""
    writes: Callable[[str, str], Tool]
    """A call of its own tool that writes a file of one line."""
    runs: Callable[[str], Tool]
    """A call of its own tool that runs a command."""
    settings: str = ""

    @property
    def good(self) -> Rule:
        return Rule(tools=[self.writes("src/good.py", "good = True")], text="All is well")

    @property
    def work(self) -> str:
        """A workflow of one step that has to change a file."""
        return f'steps: {{it: {{agent: {self.name}, prompt: "Paint shed 7391", touches: ["src/**"], timeout: 60s}}}}'


def patch(name: str, line: str) -> Tool:
    """codex takes a patch as it is."""
    return "apply_patch", {"input": f"*** Begin Patch\n*** Add File: {name}\n+{line}\n*** End Patch\n"}


CLAUDE = Program(
    name="claude",
    adapter=Claude,
    key="ANTHROPIC_API_KEY",
    path="",
    calls="/v1/messages",
    writes=lambda name, line: ("Write", {"file_path": name, "content": f"{line}\n"}),
    runs=lambda command: ("Bash", {"command": command}),
)
CODEX = Program(
    name="codex",
    adapter=Codex,
    key="OPENAI_API_KEY",
    path="/v1",
    calls="/v1/responses",
    writes=patch,
    runs=lambda command: ("exec_command", {"cmd": command}),
)
GEMINI = Program(
    name="gemini",
    adapter=Gemini,
    key="GEMINI_API_KEY",
    path="",
    calls="GenerateContent",
    writes=lambda name, line: ("write_file", {"file_path": name, "content": f"{line}\n"}),
    runs=lambda command: ("run_shell_command", {"command": command}),
    settings=", model: gemini-2.5-flash",
)
PROGRAMS = {program.name: program for program in (CLAUDE, CODEX, GEMINI)}


def small_project(folder: Path, program: Program) -> Project:
    found(program.name)
    return new_project(folder, {"README.md": "hello\n", "src/app.py": "x = 1\n"})


@dataclass
class Live(Asked):
    server: ModelServer = field(kw_only=True)
    after: Rule | None = field(kw_only=True)
    """The only rule that speaks after the first attempt."""
    took: list[tuple[float, int]] = field(default_factory=list)
    """Of each attempt: seconds and calls of the model."""

    async def _agent(self, asked: AttemptStarted, state: State) -> AttemptEnded:
        began, asked_before = time.monotonic(), len(self.server.requests)
        end = await perform_attempt(asked, state, self.host)
        self.took.append((time.monotonic() - began, len(self.server.requests) - asked_before))
        if self.after is not None:
            self.server.rules[:] = [self.after]
        return end

    async def _perform(self, effect: Any, state: State) -> Message:
        if isinstance(effect, AskPerson):
            path = effect.request.path
            priceless = state.instances[path].place.topic.startswith(PRICE)
            return Approve(path, "proceed" if priceless else "fail", "ann")
        return await super()._perform(effect, state)

    def kinds(self) -> set[str]:
        return {seen.kind for _, seen in self.seen}


def play(
    program: Program,
    project: Project,
    folder: Path,
    flow: str,
    server: ModelServer,
    *,
    settings: str = "",
    base_url: str | None = None,
    login: bytes | None = None,
    recovers: bool = True,
    live: type[Live] = Live,
) -> tuple[Live, Played]:
    """Plays a workflow whose agent is the real program; `settings` are further ones of it."""
    url = base_url or f"{server.url}{program.path}"
    own = f"command: {found(program.name)}, base_url: '{url}'{program.settings}{settings}"
    clock, seen = Clock(), list[tuple[str, Progress]]()
    # The programs report times of the real clock, and one that is years ahead is not believed.
    clock.now = int(time.time() * 1000)
    made = bench(
        project,
        folder,
        f"agents: {{{program.name}: {{{own}}}}}\n{flow}",
        now=clock,
        on_progress=lambda path, progress: seen.append((path, progress)),
        typed_sandbox="limits",
        mask=Mask({program.key: KEY}),
        host_env={"PATH": os.environ.get("PATH", os.defpath), program.key: KEY},
    ).given(
        agents={program.name: installed_agent(program.name, program.adapter(), login=login)},
        marker=MARKER,
    )
    after = program.good if recovers else None
    played = live(made.workflow, made.host, made.root, clock=clock, seen=seen, server=server, after=after)
    return played, played.play()


def bodies(program: Program, server: ModelServer) -> list[Mapping[str, Any]]:
    return [request.body for request in server.requests_to(program.calls)]


def survivors() -> list[int]:
    return [pid for pid in read_pids() if (read_marker(pid) or "").startswith(MARKER)]
