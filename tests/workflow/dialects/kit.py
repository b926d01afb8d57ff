"""A project in which one cast simulates all agents, whatever the file calls them; everything else is real."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from podium.adapters.agents.scripted.agent import Scripted, ScriptedConversation
from podium.app.author.load import converted
from podium.core.events import StepEnded
from podium.core.hash_chain import RunId
from podium.core.state import State
from podium.ports.agent import AgentRequest, ProgramSpec
from podium.wiring import make_host, open_project
from tests.engine.kit import Project
from tests.installed import agent

CAST = "cast.yaml"


class SimulatedAgent(Scripted):
    """Replaces a real agent by the project's cast."""

    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, ScriptedConversation]:
        return super().prepare(replace(request, config={**request.config, "script": CAST}))


class ScriptedProject(Project):
    def __init__(self, root: Path, *, repository: bool = True) -> None:
        super().__init__(root, repository=repository)
        self.write(CAST, "[]\n")
        programs = _install_programs(root.parent / "programs")

        def host_for(*args: Any, **options: Any) -> Any:
            host = make_host(*args, **options)
            path = f"{programs}:{host.host_env.get('PATH', '')}"
            simulated = {name: agent(name, SimulatedAgent(), credentials=None) for name in host.agents}
            return replace(host, agents=simulated, host_env={**host.host_env, "PATH": path})

        self.facade.close()
        self.facade = open_project(root, create=True, host_for=host_for)

    def write_workflow(self, text: str, *, cast: str = "[]\n", name: str = "flow.yaml") -> Path:
        self.write(CAST, cast)
        path = self.write(name, text)
        if (self.root / ".git").exists():
            self.commit()
        return path

    def ended_steps(self, run: RunId) -> list[tuple[str, int, str]]:
        """The steps of a run with visits and outcomes, in the order they ended; without the gates of an attempt."""
        ended = [event for event in self.events(run) if isinstance(event, StepEnded) and event.path]
        ended = [event for event in ended if "#" not in event.path]
        return [(re.sub(r"~\d+|#\d+", "", event.path), _visit(event), event.outcome) for event in ended]

    def artifacts(self, run: RunId) -> dict[str, bytes]:
        folder = self.facade.paths.run_dir(run) / "artifacts"
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    def prompt(self, run: RunId, step: str, attempt: int = 1) -> str:
        """The prompt that an agent got."""
        folder = self.facade.paths.run_dir(run) / "agent_logs" / step.replace("/", "+") / str(attempt)
        return (folder / "prompt.md").read_text("utf-8")

    def convert(self, path: Path) -> Path:
        """The native form of a file, written next to the original."""
        native = self.write(f"native_{path.name}", converted(path))
        if (self.root / ".git").exists():
            self.commit()
        return native


def _install_programs(folder: Path) -> Path:
    """Programs with the names of the agents, so that the agents count as installed; the tests never start them."""
    folder.mkdir(exist_ok=True)
    for name in ("claude", "codex", "gemini"):
        (folder / name).write_text("#!/bin/sh\nexit 1\n", "utf-8")
        (folder / name).chmod(0o755)
    return folder


def _visit(event: StepEnded) -> int:
    return max(map(int, re.findall(r"~(\d+)", event.path)), default=1)


def steps_of(ended: Sequence[tuple[str, int, str]]) -> list[str]:
    return [step for step, _, _ in ended]


def status(state: State) -> str:
    return "open" if state.ended is None else state.ended.status
