"""Runs of real agents for tests: the small engine of runs.py, with scripted and command agents behind the port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any

from podium.core.effects import AskPerson, StartTimer
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.messages import Approve, Fired, Message
from podium.core.state import State
from podium.core.types import Millis
from podium.ports.agent import Progress
from tests.attempt.runs import Bench, Played, bench, perform_attempt
from tests.git.kit import Project
from tests.installed import built_in
from tests.workflow.kit import write

AGENTS = dict(built_in("scripted", "command"))


class Clock:
    """Moves only when a timer is waited for, so that no test sleeps."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> Millis:
        return Millis(self.now)


@dataclass
class Asked(Bench):
    clock: Clock = field(default_factory=Clock)
    answers: Mapping[str, str] = field(default_factory=dict)
    """What people say: the action by the address of the question; else they approve."""
    seen: list[tuple[str, Progress]] = field(default_factory=list)

    async def _agent(self, asked: AttemptStarted, state: State) -> AttemptEnded:
        return await perform_attempt(asked, state, self.host)

    async def _perform(self, effect: Any, state: State) -> Message:
        match effect:
            case StartTimer(path=path, due=due):
                self.clock.now = max(self.clock.now, due)
                return Fired(path, due)
            case AskPerson(request=question):
                action, _, words = self.answers.get(question.path, "approve").partition(": ")
                return Approve(question.path, action, "ann", words)
            case _:
                return await super()._perform(effect, state)

    def log(self, path: str, attempt: int, name: str) -> str:
        return (self.host.log_dir(path, attempt) / name).read_text()


def ask(
    project: Project | Path,
    folder: Path,
    flow: str,
    cast: str | None = None,
    *,
    answers: Mapping[str, str] | None = None,
    inputs: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
    **more: Any,
) -> tuple[Asked, Played]:
    """Plays a workflow whose agent `w` follows the cast. `files` lie beside the workflow when it is loaded."""
    root = project.root if isinstance(project, Project) else project
    script = ""
    if cast is not None:
        (root / "cast.yaml").write_text(dedent(cast))
        script = ", script: cast.yaml"
    text = dedent(flow)
    head = "" if "\nagents:" in f"\n{text}" else f"agents: {{w: {{type: scripted{script}}}}}\n"
    write(folder / "flows", files or {})
    clock, seen = Clock(), list[tuple[str, Progress]]()
    made = bench(
        project,
        folder,
        head + text,
        now=clock,
        on_progress=lambda path, progress: seen.append((path, progress)),
        **more,
    ).given(agents=AGENTS)
    asked = Asked(made.workflow, made.host, made.root, clock=clock, answers=answers or {}, seen=seen)
    return asked, asked.play(inputs)
