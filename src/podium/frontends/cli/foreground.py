"""Shared by the commands that drive a run in the foreground: the display, a person at the terminal, the end."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, Self

import anyio
import click

from podium.app.decide.sender import wake
from podium.app.project import Project
from podium.app.run.answer import speaker
from podium.app.run.drive import InterruptPrompt, Observer
from podium.core.hash_chain import RunId
from podium.core.messages import Approve, Refusal
from podium.core.model import ScopeVerb
from podium.core.queries.steps import children_of
from podium.core.state import State
from podium.core.types import Millis
from podium.frontends.cli.live_display import Detail, Live
from podium.frontends.cli.output import tell_data, tell_run
from podium.frontends.cli.question import Pages, read_answer, tell_question
from podium.frontends.cli.streams import let_go
from podium.ports.agent import Progress
from podium.ports.clock import wall_clock
from podium.ports.runtime import DrivenRun, RunCommand
from podium.runtime.question_text import question_renderer
from podium.runtime.records import events_of
from podium.runtime.status import exit_of
from podium.views.files.run_json import run_data
from podium.views.run.activity import Activity
from podium.views.run.builder import RunViewBuilder
from podium.views.run.questions import with_state
from podium.views.run.view import RunView

if TYPE_CHECKING:
    from podium.app.gate_trials import GateReport

TICK_S: Final = 0.12
QUIET_TICK_S: Final = 0.5
"""For a display without moving parts."""
DRAW_S: Final = 0.05
BASELINE_HINT: Final = "`baseline: ignore` on the gate silences this; `refuse` does not start such a run"


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


class Foreground:
    """What a person sees of a run that this process drives. Messages go to stderr, so that stdout has only data.

    At a terminal it also asks the run's questions; elsewhere the run parks when it needs a person.
    """

    def __init__(
        self,
        project: Project,
        run: RunId,
        *,
        as_json: bool = False,
        asks: bool | None = None,
        detail: Detail = "normal",
        usual: Mapping[str, Millis] | None = None,
        checks_base: bool = False,
    ) -> None:
        self._project = project
        self._run = run
        self._as_json = as_json
        self._asks = is_terminal() and not as_json if asks is None else asks
        self._detail = detail
        self._checks_base = checks_base and detail != "quiet"
        self._usual = usual or {}
        self._live = self._new_live()
        self._view: RunView | None = None
        self._builder = RunViewBuilder()
        self._refused = 0
        self._driven: DrivenRun | None = None
        self._asked: set[tuple[str, int]] = set()
        self._pages = Pages((), 0)
        self._drawn = 0.0
        self._count = 0
        self._is_hidden = False

    def _new_live(self) -> Live:
        live = Live(sys.stderr, detail=self._detail)
        live.upcoming = self._upcoming
        live.usual = self._usual
        return live

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            self.close()

    @property
    def run(self) -> RunId:
        """The run that is shown: in a series the one that is driven now."""
        return self._run

    @property
    def parks(self) -> bool:
        """Whether the run is released when it needs a person."""
        return not self._asks

    @property
    def observer(self) -> Observer:
        prompt = InterruptPrompt(speaker(None), self.tell) if self._asks else None
        on_baseline = self.on_baseline if self._checks_base else None
        return Observer(self.on_turn, self.on_progress, self.beside, prompt, on_baseline)

    def on_turn(self, driven: DrivenRun) -> None:
        if driven.run != self._run:
            self._continue_with(driven)
        if self._driven is None:
            self._skip(driven.earlier_view())
        self._driven = driven
        self._builder.feed(driven.events[self._count :])
        self._count = len(driven.events)
        self._view = None
        for text in driven.refused[self._refused :]:
            self._live.tell(text)
        self._refused = len(driven.refused)
        # Computing a view takes time that grows with the run, so not after every turn.
        if time.monotonic() - self._drawn > DRAW_S:
            self._update()

    def _continue_with(self, driven: DrivenRun) -> None:
        """The run that was shown has continued as a new one."""
        self._update()
        self._live.close()
        self.tell(f"run {self._run} has passed and continues as run {driven.run}")
        self._live.close()
        self._run, self._driven, self._view = driven.run, None, None
        self._builder, self._count, self._refused = RunViewBuilder(), 0, 0
        self._asked.clear()
        self._live = self._new_live()

    def on_progress(self, path: str, progress: Progress) -> None:
        if not self._as_json and not self._is_hidden:
            activity = Activity(
                progress.kind, progress.text, Millis(0), progress.until, progress.tokens, progress.usd
            )
            self._live.report(path, activity, wall_clock())

    def on_baseline(self, report: GateReport) -> None:
        from podium.app.run.baseline import describe

        text = f"{describe(report)}\n  hint: {BASELINE_HINT}"
        if self._as_json or self._is_hidden:
            click.echo(text, err=True)
        else:
            self._live.tell(text)

    def _upcoming(self, view: RunView) -> Sequence[str]:
        """The steps of the workflow that the run has not reached."""
        if self._driven is None:
            return ()
        verb = self._driven.state.root.verb
        entered = {step.step for step in view.steps if step.depth == 0}
        steps = children_of(verb) if isinstance(verb, ScopeVerb) else ()
        return [step.name for step in steps if step.name not in entered]

    def _skip(self, earlier: RunViewBuilder) -> None:
        """What happened before is not printed again."""
        self._builder, self._count = earlier, earlier.seq
        self._live.skip(self._builder.view())

    def _update(self) -> None:
        self._drawn = time.monotonic()
        if self._as_json or self._is_hidden:
            return
        view = self.view()
        is_asking = any((pending.path, pending.since) in self._asked for pending in view.pending)
        self._live.update(view, wall_clock(), still=is_asking)

    @contextmanager
    def hidden(self, text: str) -> Iterator[None]:
        """Print a text and leave the terminal to another program while inside."""
        self._update()
        self._live.close()
        click.echo(text, err=True)
        self._is_hidden = True
        try:
            yield
        finally:
            self._is_hidden = False

    def tell(self, text: str) -> None:
        if not self._as_json:
            self._live.tell(text)

    def view(self) -> RunView:
        if self._driven is None:
            return self._builder.view()
        if self._view is None:
            # Once per turn: the time to build it grows with the run.
            view, state = self._builder.view(), self._driven.state
            self._view = with_state(view, state, question_renderer(self._project.root))
        return self._view

    async def beside(self) -> None:
        """Keep the display up to date, and let a person at the terminal answer the run's questions."""
        if self._as_json:
            return
        async with anyio.create_task_group() as group:
            group.start_soon(self._tick)
            if self._asks:
                group.start_soon(self._listen)

    async def _tick(self) -> None:
        while True:
            await anyio.sleep(TICK_S if self._live.is_tree else QUIET_TICK_S)
            if self._driven is not None:
                # First the steps that led to a question, then the question.
                self._update()
                if self._asks:
                    await self._ask()

    async def _ask(self) -> None:
        view = self.view()
        for pending in view.pending:
            asks = pending.actions or pending.kind == "by_hand"
            if asks and (pending.path, pending.since) not in self._asked:
                self._asked.add((pending.path, pending.since))
                # It calls git, which blocks.
                exhibits = (
                    # Somebody who answers turn after turn has read what was said before.
                    ()
                    if pending.until and len(self._asked) > 1
                    else await anyio.to_thread.run_sync(self._project.queries.exhibits, view, pending)
                )
                self._live.close()
                self._pages = Pages(exhibits, shutil.get_terminal_size().lines)
                self._live.above(
                    "\n".join(
                        filter(None, (self._pages.next(), tell_question(view, pending, self._live.width)))
                    )
                )

    async def _listen(self) -> None:
        """Take a typed line as the answer to the last question."""
        while True:
            await anyio.wait_readable(sys.stdin)
            line = sys.stdin.readline()
            if not line:
                return
            waiting = [pending for pending in self.view().pending if pending.actions]
            if not waiting or self._driven is None:
                continue
            question = waiting[-1]
            if not line.strip() and self._pages:
                self._live.above(self._pages.next())
                continue
            typed = read_answer(line, question)
            if isinstance(typed, str):
                self._live.tell(typed)
                continue
            answer = Approve(
                question.path,
                typed.action,
                speaker(None),
                typed.text,
                typed.value,
                question.tree,
                how="terminal",
            )
            reply = await self._project.runtime.send(self._run, answer, key=f"terminal-{time.time_ns()}")
            if isinstance(reply, Refusal):
                self._live.tell(f"  {reply.message}")

    def close(self) -> None:
        self._live.close()

    def finish(self, state: State, *, hints: bool = True) -> int:
        """Print how the run ended; returns the exit code."""
        if self._driven is None:
            # There was nothing to do: the run had ended.
            whole = RunViewBuilder()
            whole.feed(events_of(self._project.queries.events(self._run)))
            self._skip(whole)
        view = with_state(self._builder.view(), state, question_renderer(self._project.root))
        if view.status == "waiting":
            view = view._replace(status="parked")  # This process releases it now.
        try:
            self._tell_end(view, hints=hints)
        except BrokenPipeError:
            # The exit code counts, even if the summary has no reader.
            let_go()
        return exit_of(state)

    def _tell_end(self, view: RunView, *, hints: bool) -> None:
        self._update()
        self._live.close()
        if self._as_json:
            tell_data(run_data(view))
        elif self._detail != "quiet":
            click.echo(self._live.summary(view, hints=hints), err=True)


def send_command(
    project: Project,
    run: RunId,
    command: RunCommand,
    *,
    done: str,
    as_json: bool = False,
    detach: bool = False,
) -> int:
    """Send a command to a run; if it has no owner, this process drives it and ends with the run's exit code."""
    with Foreground(project, run, as_json=as_json, asks=False) as display:
        sending = partial(
            project.commands.send,
            run,
            command,
            drives=not detach,
            observer=display.observer,
            on_accepted=lambda: display.tell(done),
        )
        result = anyio.run(sending)
        if detach:
            wake(project, run)
        if result.state is None:
            display.close()
            if as_json:
                tell_run(project, run)
            return 0
        return display.finish(result.state)
