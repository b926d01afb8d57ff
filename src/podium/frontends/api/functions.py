"""Podium for programs in Python: load a workflow or build one, run it, answer it, follow what happens.

The functions that take time are coroutines. Each has a form for callers without an event loop that is derived from it
(`synced`), so that there is one implementation. Signals stay with the program: an interrupt reaches it as it would
without us, after everything that was started is gone.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

import anyio

from podium.app.author.load import open_workflow
from podium.app.paths import project_root, user_dir
from podium.app.project import Project
from podium.app.run.answer import Answer, speaker
from podium.app.run.drive import Observer
from podium.app.run.start import RunRequest
from podium.app.values import json_value, parse_settings
from podium.core.events import Event
from podium.core.hash_chain import Record, RunId
from podium.core.messages import Resume
from podium.core.model import Workflow as Graph
from podium.errors import ConfigurationError, RunFailed
from podium.fast_dataclass import dataclass
from podium.files.project_paths import ProjectPaths
from podium.ports.runtime import DrivenRun, OnTurn
from podium.runtime.records import event_of
from podium.views.run.view import RunView
from podium.wiring import open_project

P = ParamSpec("P")
T = TypeVar("T")

Place: TypeAlias = str | Path | None
"""A folder of the project; nothing means the one around the file, else around the current folder."""

LOOK_S: Final = 0.1
BUILT: Final = "built"
GOOD: Final = ("passed", "running", "interrupted", "waiting", "parked", "paused")
"""The statuses that `check` accepts: passed, or not over."""


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow that was read and checked, and can be run."""

    file: Path
    """One that was built in code is written into `.podium/built/`, since a run outlives its program."""
    project: Path
    graph: Graph
    """Its steps, inputs and limits, as the engine sees them."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.graph.name


Source: TypeAlias = Workflow | str | Path | Mapping[str, Any]
"""A workflow, the file of one, or what such a file would say."""


def load(source: Source, *, project: Place = None, settings: Mapping[str, Any] | None = None) -> Workflow:
    """Reads and checks a workflow; raises ConfigurationError with all its mistakes.

    A mapping has the keys of a workflow file; `podium: 1` may be left out. `settings` go over all files, as `--set`.
    """
    if isinstance(source, Workflow):
        return source
    file, root = _located(source, project)
    typed = json_value(settings or {}, "settings")
    graph = open_workflow(file, user_dir=user_dir(), project=root, settings=typed)
    return Workflow(file, root, graph, typed)


async def start_async(
    source: Source,
    inputs: Mapping[str, Any] | None = None,
    *,
    project: Place = None,
    vars: Mapping[str, Any] | None = None,  # noqa: A002  # the word of the file and of the command line
    dirty: bool = False,
    no_human: bool = False,
    sandbox: str | None = None,
) -> str:
    """The name of a new run, of which nothing has happened yet: `resume` drives it, here or elsewhere."""
    options = {"dirty": dirty, "no_human": no_human, "sandbox": sandbox}
    file, root, settings = _source(source, project)
    with _opened(root, create=True) as facade:
        return str(await start_in(facade, file, inputs, settings=settings, values=vars, **options))


async def run_async(  # noqa: PLR0913  # each is a choice of the caller, by name
    source: Source,
    inputs: Mapping[str, Any] | None = None,
    *,
    project: Place = None,
    vars: Mapping[str, Any] | None = None,  # noqa: A002  # as above
    dirty: bool = False,
    no_human: bool = False,
    sandbox: str | None = None,
    parks: bool = True,
    check: bool = False,
    on_event: Callable[[Event], None] | None = None,
) -> RunView:
    """Runs a workflow until it has ended, or until it waits for a person; then its status is "parked".

    Without `parks` it waits for the answer instead. With `check` an end other than "passed" raises RunFailed.
    `on_event` is called with every event as soon as it is stored.
    """
    options = {"dirty": dirty, "no_human": no_human, "sandbox": sandbox}
    file, root, settings = _source(source, project)
    with _opened(root, create=True) as facade:
        name = await start_in(facade, file, inputs, settings=settings, values=vars, **options)
        return await drive_in(facade, name, parks=parks, check=check, on_event=on_event)


async def resume_async(
    run: str | None = None,
    *,
    project: Place = None,
    parks: bool = True,
    check: bool = False,
    on_event: Callable[[Event], None] | None = None,
) -> RunView:
    """Drives a run that was started, parked, paused or interrupted; without a name the newest."""
    with _opened(project) as facade:
        return await drive_in(facade, facade.run(run).run, parks=parks, check=check, on_event=on_event)


async def approve_async(
    run: str | None = None,
    step: str | None = None,
    *,
    action: str | None = None,
    feedback: str = "",
    by: str | None = None,
    project: Place = None,
) -> RunView:
    """Says yes to what a run asks, or names another of the actions that the question offers.

    If the run has no owner, this drives it, as `resume` would.
    """
    with _opened(project) as facade:
        name = facade.run(run).run
        answer = facade.commands.approval(
            name, step, by=speaker(by), action=action, feedback=feedback, how="python"
        )
        return await _send(facade, name, answer)


async def reject_async(
    run: str | None = None,
    step: str | None = None,
    *,
    feedback: str = "",
    abort: bool = False,
    by: str | None = None,
    project: Place = None,
) -> RunView:
    """Rejects with a reason, which goes to the agent that does the work again; with `abort` the run stops."""
    with _opened(project) as facade:
        name = facade.run(run).run
        answer = facade.commands.rejection(
            name, step, by=speaker(by), feedback=feedback, abort=abort, how="python"
        )
        return await _send(facade, name, answer)


async def answer_async(
    value: Any,
    run: str | None = None,
    step: str | None = None,
    *,
    by: str | None = None,
    project: Place = None,
) -> RunView:
    """Gives the value that a question asks for, or the result of work by hand."""
    plain = json_value(value, "the answer")
    with _opened(project) as facade:
        name = facade.run(run).run
        return await _send(
            facade, name, facade.commands.value(name, step, by=speaker(by), value=plain, how="python")
        )


def show(run: str | None = None, *, project: Place = None) -> RunView:
    """A run as it is now: its steps, what they cost, and in `pending` what it waits for."""
    with _opened(project) as facade:
        return facade.queries.show(facade.run(run).run)


def events(
    run: str | None = None, *, project: Place = None, after: int = 0, following: bool = False
) -> Iterator[Event]:
    """What has happened in a run after the event of number `after`; with `following` until the run ends."""
    with _opened(project) as facade:
        for record in _records(facade, facade.run(run).run, after=after, following=following):
            if record is None:
                time.sleep(LOOK_S)
            else:
                yield event_of(record)


async def events_async(
    run: str | None = None, *, project: Place = None, after: int = 0, following: bool = True
) -> AsyncIterator[Event]:
    """The same for a program with an event loop, in which the run may be driven meanwhile."""
    with _opened(project) as facade:
        name = facade.run(run).run
        for record in _records(facade, name, after=after, following=following):
            if record is None:
                await facade.queries.wait(name, after=after)
            else:
                after = record.seq
                yield event_of(record)


def synced(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The form of a coroutine function for callers without a loop."""
    name = function.__name__.removesuffix("_async")

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if _in_loop():
            raise ConfigurationError(
                f"podium.{name} was called in a running event loop, which it would stop",
                hint=f"await podium.{name}_async(...) instead",
            )
        return anyio.run(functools.partial(function, *args, **kwargs))

    call.__name__ = call.__qualname__ = name
    return call


start = synced(start_async)
run = synced(run_async)
resume = synced(resume_async)
approve = synced(approve_async)
reject = synced(reject_async)
answer = synced(answer_async)


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@contextmanager
def _opened(project: Place, *, create: bool = False) -> Iterator[Project]:
    root = project_root(Path(project or Path.cwd()))
    facade = open_project(root, user_dir=user_dir(), create=create)
    try:
        yield facade
    finally:
        facade.close()


def _source(source: Source, project: Place) -> tuple[Path, Path, Mapping[str, Any]]:
    """The file of a workflow, its project, and the settings over all files."""
    if isinstance(source, Workflow):
        return source.file, source.project, source.settings
    return *_located(source, project), {}


def _located(source: str | Path | Mapping[str, Any], project: Place) -> tuple[Path, Path]:
    around = Path.cwd() if isinstance(source, Mapping) else Path(source).parent
    root = project_root(Path(project or around))
    return _built(root, source) if isinstance(source, Mapping) else Path(source).absolute(), root


async def start_in(
    facade: Project,
    file: Path,
    inputs: Mapping[str, Any] | None,
    *,
    settings: Mapping[str, Any] | None = None,
    values: Mapping[str, Any] | None = None,
    **options: Any,
) -> RunId:
    """Create a run in an opened project."""
    typed = parse_settings((), sandbox=options.get("sandbox"))
    request = RunRequest(
        definition=facade.load(file, settings={**typed, **(settings or {})}),
        inputs=json_value(inputs or {}, "inputs"),
        vars=json_value(values or {}, "vars"),
        **options,
    )
    # It calls git, which blocks.
    return (await anyio.to_thread.run_sync(facade.commands.start, request)).run


async def drive_in(
    facade: Project,
    run: RunId,
    *,
    parks: bool = True,
    check: bool = False,
    on_event: Callable[[Event], None] | None = None,
) -> RunView:
    """Drive a run of an opened project, and show it."""
    head = facade.run(run)
    commands = (Resume(speaker()),) if head.status == "paused" else ()
    observer = None if on_event is None else Observer(_forwarding(on_event, head.last_seq))
    await facade.commands.drive(run, *commands, park=parks, observer=observer, signals=False)
    return _checked(facade.queries.show(facade.queries.newest_of_series(run)), check)


def _built(root: Path, document: Mapping[str, Any]) -> Path:
    """Write a workflow that was built in code; its content is part of the file's name, so that none is overwritten."""
    plain = json_value({"podium": 1, **document}, "the workflow")
    text = json.dumps(plain, indent=2, ensure_ascii=False)  # JSON is YAML.
    name = re.sub(r"\W+", "_", str(document.get("name", "workflow")))
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    file = ProjectPaths(root).state_dir / BUILT / f"{name}-{digest}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n", "utf-8")
    return file


def _forwarding(on_event: Callable[[Event], None], after: int) -> OnTurn:
    run = ""

    def on_turn(driven: DrivenRun) -> None:
        nonlocal after, run
        if driven.run != run:
            # In a series, the run that continues the one before.
            after, run = (0 if run else after), driven.run
        new, after = driven.events[after:], len(driven.events)
        for event in new:
            on_event(event)

    return on_turn


async def _send(facade: Project, run: RunId, answer: Answer) -> RunView:
    await facade.commands.send(run, answer.message, signals=False, channel="python")
    return facade.queries.show(facade.queries.newest_of_series(run))


def _records(facade: Project, run: RunId, *, after: int, following: bool) -> Iterator[Record | None]:
    queries = facade.queries
    return queries.follow(run, after=after) if following else iter(queries.events(run, after=after))


def _checked(view: RunView, check: bool) -> RunView:
    if check and view.status not in GOOD:
        raise RunFailed(
            f"run {view.run} of {view.workflow} has {view.status}: {view.message or view.reason}",
            hint=f"see: podium show {view.run}",
            run=view.run,
            status=view.status,
            exit_code=view.exit,
        )
    return view
