"""Plays one test of a workflow with the real engine, and collects what a test can check."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio

from podium.app.run.drive import Observer
from podium.app.run.start import RunRequest, StartedRun
from podium.app.workflow_tests.stage import TestProject, stage
from podium.attempt.workspace.memory import shown_contents
from podium.core.decide.series import number_of_run
from podium.core.effects import AskPerson, Watch
from podium.core.events import Event
from podium.core.hash_chain import RunId
from podium.core.messages import Approve, Signal
from podium.core.model import Wait
from podium.core.state import Leaf, State
from podium.core.types import Address, Millis, Tree
from podium.errors import PodiumError
from podium.fast_dataclass import dataclass
from podium.git.memory import list_memories
from podium.git.repository import trees
from podium.git.trees.listing import files, read_listing
from podium.git.trees.snapshot import read_blobs
from podium.ports.runtime import DrivenRun
from podium.runtime.question_text import question_renderer
from podium.runtime.status import exit_of, status_of
from podium.simulate.scripted_world import ScriptedWorld as World
from podium.simulate.scripted_world import explain_unmatched
from podium.tasks.excerpt import visit_of
from podium.views.run.builder import run_view
from podium.views.run.trace import Trace, trace
from podium.views.run.view import RunView
from podium.workflow.schema.fields import DocPath
from podium.workflow.scripted.cast import NO_CAST, judged_attempt

if TYPE_CHECKING:
    from podium.app.project import Project


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question to a person, and the scripted answer."""

    path: str
    text: str
    answer: str


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """The prompt of an attempt."""

    path: str
    visit: int
    """Of the step; for a gate that of the step it judges, as in a cast."""
    attempt: int
    prompt: str


@dataclass(slots=True)
class Played:
    """Everything that a test can check; without a `trace` there was no run."""

    status: str = ""
    exit: int = 0
    message: str = ""
    trace: Trace | None = None
    view: RunView | None = None
    prompts: tuple[SentPrompt, ...] = ()
    questions: list[AnsweredQuestion] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    artifacts: dict[str, str] = field(default_factory=dict)
    memory: dict[str, str] = field(default_factory=dict)
    """By NAME/FILE."""
    outputs: dict[str, Any] = field(default_factory=dict)
    unplayed: Mapping[DocPath, str] = field(default_factory=dict)
    """The rules that nothing matched, each with the reason."""
    folder: Path | None = None


OpenStage: TypeAlias = "Callable[[Path, TestProject], tuple[Project, Any]]"
"""The project of a stage, and the actor of its cast, whose `played` are the rules that were used."""


class TooLong(PodiumError):
    """A test has used up its time."""


def play(test: TestProject, open_stage: OpenStage, *, keep: bool = False) -> Played:
    with stage(test, keep=keep) as folder:
        played = Played(folder=folder if keep else None)
        project, actor = open_stage(folder, test)
        try:
            _play(test, project, actor, played)
        finally:
            project.close()
        return played


def _play(test: TestProject, project: Project, actor: Any, played: Played) -> None:
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
        played.status, played.exit = "refused", error.exit_code
        played.message = error.message if error.hint is None else f"{error.message}\nhint: {error.hint}"
        return
    people = ScriptedPeople(test, project, started.run, played)
    project.accompany = people.in_other_project
    try:
        observer = Observer(people.on_turn, beside=_alarm(test.timeout), follows=people.may_follow)
        state = anyio.run(partial(project.commands.drive, started.run, park=True, observer=observer))
    except TooLong as error:
        played.status, played.exit, played.message = "too long", error.exit_code, error.message
        _look(played, started, people)
        return
    played.status, played.exit = status_of(state), exit_of(state)
    _look(played, started, people)
    if test.cast is not None:
        used = actor.played if actor is not None else set()
        played.unplayed = {
            rule.path: explain_unmatched(rule.match, state, people.events, runs_commands=True)
            for rule in people.world.unmatched_rules()
            if rule.path not in used
        }


def _alarm(limit: Millis) -> Callable[[], Any]:
    async def ring() -> None:
        await anyio.sleep(limit / 1000)
        raise TooLong(f"it was not over after {limit / 1000:g} s", hint="timeout: of the test gives it more")

    return ring


class ScriptedPeople:
    """Answers and signals by the rules of the cast; without a rule, everything is approved."""

    def __init__(
        self, test: TestProject, project: Project, run: RunId, played: Played, world: World | None = None
    ) -> None:
        self.world = world or World(test.cast or NO_CAST)
        self.events: tuple[Event, ...] = ()
        self.state: State | None = None
        self._project = project
        self.run = run
        """In a series the run that was driven last."""
        self._test = test
        self._most_runs = test.runs
        self._played = played
        self._answered: set[tuple[str, str, Millis, int]] = set()
        self._words = question_renderer(project.root)

    def in_other_project(self, other: Project, run: RunId) -> Observer:
        """For a run in another repository that a step of this one started; the same rules answer it."""
        return Observer(ScriptedPeople(self._test, other, run, self._played, self.world).on_turn)

    def may_follow(self, state: State) -> bool:
        """Whether the run that continues this one is played, too."""
        number = 1 if state.started is None else number_of_run(state.started.run)
        return self._most_runs is None or number < self._most_runs

    def on_turn(self, driven: DrivenRun) -> None:
        self.run = driven.run
        self.events = tuple(driven.events)
        self.state = state = driven.state
        for effect in tuple(state.pending.values()):
            match effect:
                case AskPerson(request=question):
                    leaf = state.instances[question.path]
                    assert isinstance(leaf, Leaf)
                    self._answer(effect, state, leaf)
                case Watch(wait=waited):
                    verb = state.instances[waited.path].place.step.verb
                    if isinstance(verb, Wait) and verb.what == "signal":
                        self._signal(effect, state, str(verb.detail["signal"]))
                case _:
                    pass

    def _answer(self, effect: AskPerson, state: State, leaf: Leaf) -> None:
        question, number = effect.request, len(leaf.approvals)
        if not self._is_new(question.path, question.at, number):
            return
        later = self.world.person(question, state, number)
        command = None if later is None else later.message
        answer = command.action if isinstance(command, Approve) else ""
        if isinstance(command, Approve) and command.answer is not None:
            answer = str(command.answer)
        self._played.questions.append(AnsweredQuestion(question.path, self._words(state, leaf), answer))
        if isinstance(command, Approve):
            self._post(command)

    def _signal(self, effect: Watch, state: State, name: str) -> None:
        waited = effect.wait
        later = self.world.wait(waited, state) if self._is_new(waited.path, waited.at, 0) else None
        if later is not None:
            result = getattr(later.message, "result", None) or {}
            self._post(Signal(name, result.get("output"), "test"))

    def _is_new(self, path: str, at: Millis, number: int) -> bool:
        key = (self.run, path, at, number)
        new = key not in self._answered
        self._answered.add(key)
        return new

    def _post(self, message: Approve | Signal) -> None:
        self._project.runtime.post(self.run, message, key=f"test-{len(self._answered)}")


def _look(played: Played, started: StartedRun, people: ScriptedPeople) -> None:
    played.trace, played.view = trace(people.events), run_view(people.events)
    played.message = played.message or _why(played.view)
    played.outputs = dict(played.view.outputs)
    run_dir = started.host.run_dir.with_name(people.run)
    played.prompts = tuple(_prompts(run_dir / "agent_logs", people.state))
    played.artifacts = _texts_below(run_dir / "artifacts")
    played.memory = _remembered(started)
    played.files = {} if played.view.tree is None else _texts_of(started, Tree(played.view.tree))


def _remembered(started: StartedRun) -> dict[str, str]:
    repository = started.host.repository
    assert repository is not None  # A stage is a repository of its own.
    return {
        f"{memory.name}/{path}": content.decode("utf-8")
        for memory in list_memories(repository)
        for path, content in shown_contents(repository, memory.tree).items()
    }


def _why(view: RunView) -> str:
    """The message of the run, or of the first step that failed."""
    bad = (
        step.words
        for step in view.steps
        if step.outcome in ("error", "failed", "rejected", "blocked") and step.words
    )
    return view.message or next(bad, "")


def _prompts(folder: Path, state: State | None) -> list[SentPrompt]:
    prompts = []
    for path in sorted(folder.glob("*/*/prompt.md")):
        step, attempt = path.parts[-3].replace("+", "/"), int(path.parts[-2])
        prompts.append(SentPrompt(step, _visit(step, state), attempt, path.read_text("utf-8", "replace")))
    return prompts


def _visit(path: str, state: State | None) -> int:
    judged = judged_attempt(path)
    leaf = None if state is None else state.instances.get(Address(path))
    if judged is not None or state is None or not isinstance(leaf, Leaf):
        return 1 if judged is None else judged[0]
    return visit_of(state, leaf)


def _texts_below(folder: Path) -> dict[str, str]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace") for path in paths}


def _texts_of(started: StartedRun, tree: Tree) -> dict[str, str]:
    repository = started.host.repository
    assert repository is not None
    git = trees(repository)
    blobs = [
        (path, entry.name) for path, entry in files(read_listing(git, tree)) if re.match("1[02]", entry.mode)
    ]
    contents = read_blobs(git, [name for _, name in blobs])
    return {
        path: content.decode("utf-8", "replace") for (path, _), content in zip(blobs, contents, strict=False)
    }
