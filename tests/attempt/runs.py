"""A small engine for tests: the real core and real attempts, with agents played by functions; one effect at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import anyio

from podium.adapters.sandboxes.limits import LimitsSandbox
from podium.attempt.change_policy import objection
from podium.attempt.host import Host
from podium.attempt.result import attempt_ended
from podium.attempt.workspace.toolchain import find_toolchain
from podium.attempt.workspace.workspace import CaptureRefused, capture_change, open_workspace
from podium.core.effects import AskPerson, FindFact, JoinTrees, RunAttempt, Watch
from podium.core.events import AttemptEnded, AttemptStarted, Event, JoinEnded, StepEnded
from podium.core.evolve.evolve import initial
from podium.core.hash_chain import RunId
from podium.core.messages import Approve, Message, Refusal, Start
from podium.core.model import Agent, Step, Workflow
from podium.core.payloads import RunFacts
from podium.core.queries.graph import workflow_of
from podium.core.queries.names import InstanceNames
from podium.core.state import State
from podium.core.turn import turn
from podium.core.types import Address
from podium.git.repository import read_head
from podium.ports.sandbox import Sandbox
from podium.redaction.mask import Mask
from podium.runtime.effects import work_for
from podium.runtime.prepared_run import PreparedRun
from podium.tasks.report import AttemptResult
from podium.tasks.run_context import RunContext
from tests.git.kit import Project
from tests.workflow.compiling import compile_text

RUN = RunId("20260101-a")
CONTEXT = frozenset(field.name for field in fields(RunContext)) - {"agents", "sandbox", "secrets"}
Edit = Callable[[Path, int], None]
"""What a worker does: told its folder and the number of its attempt."""


async def perform_attempt(started: AttemptStarted, state: State, host: Host) -> AttemptEnded:
    """One attempt as the engine makes it: its task is built from the state, then carried out."""
    workflow = workflow_of(state, state.instances[started.path].place)
    work = work_for(RunAttempt(started), state, PreparedRun(workflow=workflow, host=host))
    assert work is not None
    ended = await work()
    assert isinstance(ended, AttemptEnded)
    return ended


@dataclass
class Played:
    state: State
    events: list[Event]

    def ending(self, path: str) -> StepEnded:
        found = self.state.instances[Address(path)].ending
        assert found is not None, f"{path} has not ended"
        return found

    def answers(self, path: str) -> list[AttemptEnded]:
        return [event for event in self.events if isinstance(event, AttemptEnded) and event.path == path]

    def answer(self, path: str) -> AttemptEnded:
        found = self.answers(path)
        assert found, [event for event in self.events if isinstance(event, AttemptEnded)]
        return found[-1]

    def result(self, path: str) -> Mapping[str, Any]:
        return self.answer(path).result or {}

    def joins(self) -> list[JoinEnded]:
        return [event for event in self.events if isinstance(event, JoinEnded)]


@dataclass
class Bench:
    """A project, a workflow and a host. Changing the host is done before `play`."""

    workflow: Workflow
    host: Host
    root: Path
    edits: Mapping[str, Edit] = field(default_factory=dict)
    before: Callable[[Any, State], None] | None = None
    """Called before each effect is performed: what the world does meanwhile."""

    def play(self, inputs: Mapping[str, Any] | None = None) -> Played:
        return anyio.run(self._play, dict(inputs or {}))

    def given(self, **changes: Any) -> Bench:
        return replace(self, host=replace(self.host, **changes))

    async def _play(self, inputs: dict[str, Any]) -> Played:
        host = self.host
        repository = host.repository
        head = None if repository is None else await anyio.to_thread.run_sync(read_head, repository)
        base = "" if head is None or head.commit is None else head.commit
        facts = RunFacts(host.run, self.workflow.name, branch="main", base=base, date="2026-01-01")
        start = Start(facts, inputs, {}, None if head is None else head.tree)
        played = Played(initial(self.workflow), [])
        todo: list[Message] = [start]
        while todo and played.state.ended is None:
            taken = turn(played.state, todo.pop(0), host.now())
            assert not isinstance(taken, Refusal), taken
            played.state = taken.state
            played.events.extend(taken.events)
            for effect in taken.effects:
                if self.before is not None:
                    self.before(effect, played.state)
                todo.append(await self._perform(effect, played.state))
        return played

    async def _perform(self, effect: Any, state: State) -> Message:
        match effect:
            case RunAttempt(started=started):
                verb = state.instances[started.path].place.step.verb
                return await (self._agent if isinstance(verb, Agent) else self._perform_attempt)(
                    started, state
                )
            case JoinTrees() | FindFact() | Watch():
                work = work_for(effect, state, PreparedRun(workflow=self.workflow, host=self.host))
                assert work is not None
                report = await work()
                assert report is not None
                return report
            case AskPerson(request=question):
                return Approve(question.path, "approve", "ann")
            case _:
                raise AssertionError(effect)

    async def _perform_attempt(self, started: AttemptStarted, state: State) -> AttemptEnded:
        return await perform_attempt(started, state, self.host)

    async def _agent(self, started: AttemptStarted, state: State) -> AttemptEnded:
        leaf = state.instances[started.path]
        step = leaf.place.step
        names = InstanceNames(state, leaf)
        async with open_workspace(self.host, started, step, kind="clone", names=names) as workspace:
            edit = self.edits.get(started.path.split("~")[0])
            if edit is not None:
                edit(workspace.folder, started.attempt)
            taken = await capture_change(self.host, workspace, started)
        if isinstance(taken, CaptureRefused):
            refused: AttemptResult = {"text": "", "message": taken.message}
            return attempt_ended(
                self.host, started, "failed", taken.reason, result=refused, tree=started.start
            )
        found = objection(self.host, step, names, taken)
        text = f"{started.path} {started.attempt}"
        result: AttemptResult = {"text": text, "output": text, "files": list(taken.files)}
        if found is not None:
            result["message"] = found[1]
            return attempt_ended(self.host, started, "failed", found[0], result=result, tree=taken.tree)
        return attempt_ended(self.host, started, "ok", result=result, tree=taken.tree, change=taken.change)


@dataclass(frozen=True)
class OneSandbox:
    """The same sandbox for all steps."""

    default: Sandbox
    bubblewrap_problem: str = ""
    container_problem: str = ""

    def for_step(self, step: Step, *, in_project: bool) -> Sandbox:
        return self.default


def bench(
    project: Project | Path,
    folder: Path,
    text: str,
    *,
    edits: Mapping[str, Edit] | None = None,
    sandbox: Sandbox | None = None,
    **more: Any,
) -> Bench:
    """A host for a workflow; the file itself lies outside the project, so that it is no part of the tree."""
    flows = folder / "flows"
    flows.mkdir(exist_ok=True)
    workflow: Workflow = compile_text(flows, text)
    repository = project.repository if isinstance(project, Project) else None
    root = project.root if isinstance(project, Project) else project
    base = None if repository is None else read_head(repository).commit
    env = more.pop("host_env", {"PATH": "/usr/local/bin:/usr/bin:/bin"})
    host = Host(
        toolchain=find_toolchain(root, env["PATH"]),
        context=RunContext(
            more.pop("run", RUN),
            base_commit=base,
            works_in_project=workflow.config.works_in_project,
            sandbox=more.pop("typed_sandbox", None),
            **{name: more.pop(name) for name in CONTEXT if name in more},
        ),
        project=root,
        state_dir=root / ".podium",
        work_dir=folder / "work",
        repository=repository,
        agents={},
        sandboxes=OneSandbox(sandbox or LimitsSandbox()),
        marker="podium-test-attempt",
        mask=more.pop("mask", Mask()),
        host_env=env,
        **more,
    )
    return Bench(workflow, host, root, edits or {})


def writes(files: Mapping[str, str]) -> Edit:
    """A worker that writes these files at every attempt."""

    def edit(folder: Path, attempt: int) -> None:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    return edit
