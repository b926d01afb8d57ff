"""Plays one test of a workflow with the real engine, and tells what was seen."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio

from podium.app.run.drive import Observer
from podium.app.run.start import RunRequest, StartedRun
from podium.app.workflow_tests.stage import TestProject, stage
from podium.core.effects import AskPerson, Watch
from podium.core.events import Event
from podium.core.messages import Approve, Signal
from podium.core.model import Wait
from podium.core.state import Leaf, State
from podium.core.types import Millis, Tree
from podium.core.types import Path as Address
from podium.errors import PodiumError
from podium.git.repository import trees
from podium.git.trees.listing import files, read_listing
from podium.git.trees.snapshot import read_blobs
from podium.ports.runtime import DrivenRun
from podium.runtime.question_text import question_renderer
from podium.runtime.status import exit_of, status_of
from podium.simulate.scripted_world import ScriptedWorld as World
from podium.tasks.excerpt import visit_of
from podium.views.run.builder import run_view
from podium.views.run.trace import Trace, trace
from podium.views.run.view import RunView
from podium.workflow.schema.fields import DocPath
from podium.workflow.scripted.cast import NO_CAST, judged_by

if TYPE_CHECKING:
    from podium.app.project import Project


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a person, and the answer that was given in their place."""

    path: str
    text: str
    answer: str


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """What an attempt was told."""

    path: str
    visit: int
    """Of the step; for a gate that of the step it judges, as in a cast."""
    attempt: int
    prompt: str


@dataclass(slots=True)
class Seen:
    """All that a test may have expectations about; without a `trace` there was no run."""

    status: str = ""
    exit: int = 0
    message: str = ""
    trace: Trace | None = None
    view: RunView | None = None
    prompts: tuple[SentPrompt, ...] = ()
    questions: list[Asked] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    artifacts: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    unplayed: tuple[DocPath, ...] = ()
    kept: Path | None = None


OpenStage: TypeAlias = "Callable[[Path, TestProject], tuple[Project, Any]]"
"""The project of a stage, and the actor of its cast, whose `played` are the rules that have spoken."""


class TooLong(PodiumError):
    """A test has used up its time."""


def play(test: TestProject, open_stage: OpenStage, *, keep: bool = False) -> Seen:
    with stage(test, keep=keep) as folder:
        seen = Seen(kept=folder if keep else None)
        project, actor = open_stage(folder, test)
        try:
            _play(test, project, actor, seen)
        finally:
            project.close()
        return seen


def _play(test: TestProject, project: Project, actor: Any, seen: Seen) -> None:
    try:
        started = project.commands.start(
            RunRequest(
                definition=project.load(project.root / test.workflow),
                inputs=test.inputs,
                vars=test.vars,
                no_human=test.no_human,
            )
        )
    except PodiumError as error:
        seen.status, seen.exit = "refused", error.exit_code
        seen.message = error.message if error.hint is None else f"{error.message}\nhint: {error.hint}"
        return
    people = ScriptedPeople(test, project, started, seen)
    try:
        observer = Observer(people.on_turn, _alarm(test.timeout))
        state = anyio.run(partial(project.commands.drive, started.run, park=True, observer=observer))
    except TooLong as error:
        seen.status, seen.exit, seen.message = "too long", error.exit_code, error.message
        _look(seen, started, people)
        return
    seen.status, seen.exit = status_of(state), exit_of(state)
    _look(seen, started, people)
    if test.cast is not None:
        spoken = actor.played if actor is not None else set()
        seen.unplayed = tuple(rule.path for rule in people.world.unplayed() if rule.path not in spoken)


def _alarm(limit: Millis) -> Callable[[], Any]:
    async def ring() -> None:
        await anyio.sleep(limit / 1000)
        raise TooLong(f"it was not over after {limit / 1000:g} s", hint="timeout: of the test gives it more")

    return ring


class ScriptedPeople:
    """Answers in the place of people and of whoever signals, by the rules of the cast; what none speaks of goes well."""

    def __init__(self, test: TestProject, project: Project, started: StartedRun, seen: Seen) -> None:
        self.world = World(test.cast or NO_CAST)
        self.events: tuple[Event, ...] = ()
        self.state: State | None = None
        self._project = project
        self._begun = started
        self._seen = seen
        self._answered: set[tuple[str, Millis, int]] = set()
        self._words = question_renderer(project.root)

    def on_turn(self, driven: DrivenRun) -> None:
        self.events = tuple(driven.events)
        self.state = state = driven.state
        for effect in tuple(state.pending.values()):
            match effect:
                case AskPerson(asked=asked):
                    leaf = state.instances[asked.path]
                    assert isinstance(leaf, Leaf)
                    self._answer(effect, state, leaf)
                case Watch(asked=asked):
                    verb = state.instances[asked.path].place.step.verb
                    if isinstance(verb, Wait) and verb.what == "signal":
                        self._signal(effect, state, str(verb.detail["signal"]))
                case _:
                    pass

    def _answer(self, effect: AskPerson, state: State, leaf: Leaf) -> None:
        asked, number = effect.asked, len(leaf.given)
        if not self._is_new(asked.path, asked.at, number):
            return
        later = self.world.person(asked, state, number)
        said = None if later is None else later.message
        answer = said.action if isinstance(said, Approve) else ""
        if isinstance(said, Approve) and said.answer is not None:
            answer = str(said.answer)
        self._seen.questions.append(Asked(asked.path, self._words(state, leaf), answer))
        if isinstance(said, Approve):
            self._post(said)

    def _signal(self, effect: Watch, state: State, name: str) -> None:
        asked = effect.asked
        later = self.world.wait(asked, state) if self._is_new(asked.path, asked.at, 0) else None
        if later is not None:
            result = getattr(later.message, "result", None) or {}
            self._post(Signal(name, result.get("output"), "test"))

    def _is_new(self, path: str, at: Millis, number: int) -> bool:
        key = (path, at, number)
        new = key not in self._answered
        self._answered.add(key)
        return new

    def _post(self, message: Approve | Signal) -> None:
        self._project.runtime.post(self._begun.run, message, key=f"test-{len(self._answered)}")


def _look(seen: Seen, started: StartedRun, people: ScriptedPeople) -> None:
    seen.trace, seen.view = trace(people.events), run_view(people.events)
    seen.message = seen.message or _why(seen.view)
    seen.outputs = dict(seen.view.outputs)
    seen.prompts = tuple(_prompts(started.site.run_dir / "agent_logs", people.state))
    seen.artifacts = _texts_below(started.site.artifacts_dir)
    seen.files = {} if seen.view.tree is None else _texts_of(started, Tree(seen.view.tree))


def _why(view: RunView) -> str:
    """In the words of the run, or of the first step that ended it."""
    bad = (
        step.words
        for step in view.steps
        if step.outcome in ("error", "failed", "rejected", "blocked") and step.words
    )
    return view.message or next(bad, "")


def _prompts(folder: Path, state: State | None) -> list[SentPrompt]:
    found = []
    for path in sorted(folder.glob("*/*/prompt.md")):
        step, attempt = path.parts[-3].replace("+", "/"), int(path.parts[-2])
        found.append(SentPrompt(step, _visit(step, state), attempt, path.read_text("utf-8", "replace")))
    return found


def _visit(path: str, state: State | None) -> int:
    judged = judged_by(path)
    leaf = None if state is None else state.instances.get(Address(path))
    if judged is not None or state is None or not isinstance(leaf, Leaf):
        return 1 if judged is None else judged[0]
    return visit_of(state, leaf)


def _texts_below(folder: Path) -> dict[str, str]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace") for path in paths}


def _texts_of(started: StartedRun, tree: Tree) -> dict[str, str]:
    repository = started.site.repository
    assert repository is not None
    git = trees(repository)
    found = [
        (path, entry.name) for path, entry in files(read_listing(git, tree)) if re.match("1[02]", entry.mode)
    ]
    contents = read_blobs(git, [name for _, name in found])
    return {
        path: content.decode("utf-8", "replace") for (path, _), content in zip(found, contents, strict=False)
    }
