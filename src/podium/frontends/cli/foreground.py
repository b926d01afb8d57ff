"""Shared by the commands that carry a run on in the foreground: the display, a person at the terminal, the end."""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import click

from podium.app.paths import project_of_file, project_root, user_dir
from podium.app.project import Office
from podium.app.run.answer import speaker
from podium.app.run.send import send
from podium.app.run.start import InterruptPrompt, drive
from podium.core.hash_chain import RunId
from podium.core.messages import Approve, Command, Refusal
from podium.core.state import State
from podium.frontends.cli.background import go_on_in_background
from podium.frontends.cli.live_display import Live
from podium.frontends.cli.question import read_answer, tell_question
from podium.frontends.cli.streams import let_go
from podium.ports.clock import wall_clock
from podium.ports.runtime import DrivenRun, Park, RunCommand
from podium.runtime.question_text import question_renderer
from podium.runtime.records import events_of
from podium.runtime.status import exit_of
from podium.views.files.run_json import run_data
from podium.views.run.builder import RunViewBuilder
from podium.views.run.questions import with_state
from podium.views.run.view import RunView
from podium.wiring import open_office

TICK_S: Final = 0.2
DRAW_S: Final = 0.05


def open_current_project(*, create: bool = False) -> Office:
    return open_office(project_root(Path.cwd()), user_dir=user_dir(), create=create)


def open_project_for(file: Path) -> Office:
    """The office of the project that a file belongs to; where that is elsewhere, it is said."""
    project = project_of_file(file)
    if project != project_root(Path.cwd()):
        click.echo(f"in {project}", err=True)
    return open_office(project, user_dir=user_dir(), create=True)


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


class Foreground:
    """What a person sees of a run that this process carries on. Talk goes to stderr, so that stdout is data."""

    def __init__(self, office: Office, *, as_json: bool = False, asks: bool = False) -> None:
        self._office = office
        self._as_json = as_json
        self._asks = asks
        self._live = Live(sys.stderr)
        self._account = RunViewBuilder()
        self._fed = 0
        self._refused = 0
        self._driven: DrivenRun | None = None
        self._asked: set[tuple[str, int]] = set()
        self._drawn = 0.0

    def knows(self, run: RunId) -> None:
        """What has happened so far is not told again."""
        events = events_of(self._office.runtime.events(run))
        self._account.feed(events)
        self._fed = len(events)
        self._live.skip(self._account.view())

    def on_turn(self, driven: DrivenRun) -> None:
        self._driven = driven
        self._account.feed(driven.events[self._fed :])
        self._fed = len(driven.events)
        for text in driven.refused[self._refused :]:
            self._live.above(text)
        self._refused = len(driven.refused)
        # A view takes time that grows with the run, so not every turn gets one.
        if time.monotonic() - self._drawn > DRAW_S:
            self._update()

    def _update(self) -> None:
        self._drawn = time.monotonic()
        if self._as_json:
            return
        view = self.view()
        asked = any((pending.path, pending.since) in self._asked for pending in view.pending)
        self._live.update(view, wall_clock(), still=asked)

    def tell(self, text: str) -> None:
        if not self._as_json:
            self._live.above(text)

    def view(self) -> RunView:
        view = self._account.view()
        if self._driven is None:
            return view
        return with_state(view, self._driven.state, question_renderer(self._office.project))

    async def beside(self) -> None:
        """Keeps the clock on the display going, and lets a person at the terminal answer what is asked."""
        if not self._asks:
            return
        async with anyio.create_task_group() as group:
            group.start_soon(self._tick)
            group.start_soon(self._listen)

    async def _tick(self) -> None:
        while True:
            await anyio.sleep(TICK_S)
            if self._driven is not None and not self._as_json:
                # What led to a question stands above it.
                self._update()
                self._ask()

    def _ask(self) -> None:
        view = self.view()
        for pending in view.pending:
            asks = pending.actions or pending.kind == "by_hand"
            if asks and (pending.path, pending.since) not in self._asked:
                self._asked.add((pending.path, pending.since))
                self._live.close()
                self._live.above(tell_question(view, pending))

    async def _listen(self) -> None:
        """A line typed at the terminal answers the question that was asked last."""
        while True:
            await anyio.wait_readable(sys.stdin)
            line = sys.stdin.readline()
            if not line:
                return
            waiting = [pending for pending in self.view().pending if pending.actions]
            if not waiting or self._driven is None:
                continue
            question = waiting[-1]
            typed = read_answer(line, question)
            if isinstance(typed, str):
                self._live.above(typed)
                continue
            answer = Approve(
                question.path, typed.action, speaker(None), typed.text, typed.value, question.tree
            )
            reply = await self._office.runtime.send(
                self._driven.run, answer, key=f"terminal-{time.time_ns()}"
            )
            if isinstance(reply, Refusal):
                self._live.above(f"  {reply.message}")

    def close(self) -> None:
        self._live.close()

    def finish(self, state: State, *, hints: bool = True) -> int:
        """Says how it ended, and gives the exit code."""
        view = with_state(self._account.view(), state, question_renderer(self._office.project))
        if view.status == "waiting":
            view = view._replace(status="parked")  # This process lets go of it now.
        try:
            self._tell_end(view, hints=hints)
        except BrokenPipeError:
            # The run has come to its end, whether or not somebody reads of it.
            let_go()
        return exit_of(state)

    def _tell_end(self, view: RunView, *, hints: bool) -> None:
        self._update()
        self._live.close()
        if self._as_json:
            click.echo(json.dumps(run_data(view), indent=2, ensure_ascii=False))
        else:
            click.echo(self._live.summary(view, hints=hints), err=True)


def drive_with_display(
    office: Office, run: RunId, *commands: Command, as_json: bool = False, parks: Park | None = None
) -> int:
    """Carries a run on with a display; at a terminal it also asks there, else it parks when a person is needed."""
    asks = is_terminal() and not as_json
    foreground = Foreground(office, as_json=as_json, asks=asks)
    foreground.knows(run)
    try:
        state = drive(
            office,
            run,
            *commands,
            park=not asks if parks is None else parks,
            on_turn=foreground.on_turn,
            beside=foreground.beside,
            ask=InterruptPrompt(speaker(None), foreground.tell) if asks else None,
        )
    except BaseException:
        foreground.close()
        raise
    return foreground.finish(state)


def send_command(
    office: Office,
    run: RunId,
    message: RunCommand,
    *,
    done: str,
    as_json: bool = False,
    detach: bool = False,
) -> int:
    """Says it to the run; if nobody else carries that on, this process does, and ends with the run's exit code."""
    foreground = Foreground(office, as_json=as_json)
    foreground.knows(run)
    sending = partial(
        send,
        office,
        run,
        message,
        drives=not detach,
        on_turn=foreground.on_turn,
        on_accepted=lambda: foreground.tell(done),
    )
    result = anyio.run(sending)
    if detach:
        go_on_in_background(office, run)
    if result.state is None:
        foreground.close()
        return 0
    return foreground.finish(result.state)
