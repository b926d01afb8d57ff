"""Drive a run in this process: until it ends or can be released, or a signal interrupts it."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio

from podium.app.run.series import finish_previous, prepare_next
from podium.core.addresses import ROOT
from podium.core.events import RunStarted
from podium.core.hash_chain import RunId
from podium.core.messages import Cancel, Command
from podium.core.queries.steps import all_steps
from podium.core.state import State
from podium.errors import EXIT_CANCELLED, PodiumError
from podium.fast_dataclass import dataclass
from podium.ports.runtime import DrivenRun, OnTurn, Park, Runtime

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from podium.app.notify.accompany import RunMessages
    from podium.app.project import Project
    from podium.app.run.baseline import OnBaseline
    from podium.ports.agent import OnProgress
    from podium.runtime.prepared_run import PreparedRun

PATIENCE_S: Final = 3.0
"""How long a first Ctrl-C waits for a second one."""
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(PodiumError):
    """A signal stopped the process. The run is not over: its active attempts are repeated when it is resumed."""

    exit_code = EXIT_CANCELLED
    code = "interrupted"


@dataclass(frozen=True, slots=True)
class InterruptPrompt:
    """Asks the person at the terminal what Ctrl-C means."""

    by: str
    tell: Callable[[str], None]


def always(_: State) -> bool:
    """For observers of whole series."""
    return True


class Observer(NamedTuple):
    """What accompanies a run that is driven."""

    on_turn: OnTurn | None = None
    """Called after every turn."""
    on_progress: OnProgress | None = None
    """Called with what active attempts do."""
    beside: Callable[[], Coroutine[Any, Any, None]] | None = None
    """Runs meanwhile: a display, or a person at the terminal."""
    prompt: InterruptPrompt | None = None
    """With it a first SIGINT only asks, and a second one cancels the run."""
    on_baseline: OnBaseline | None = None
    """Called with each gate that does not pass on the tree that the run starts from; such gates run meanwhile."""
    follows: Callable[[State], bool] = always
    """Whether to drive the run that continues this one, too."""


NO_OBSERVER: Final = Observer()


async def drive(
    project: Project,
    run: RunId,
    *commands: Command,
    park: Park,
    observer: Observer = NO_OBSERVER,
    signals: bool = True,
) -> State:
    """Drive a run until it ends or can be released; `commands` are followed first.

    A run that continues as a new one is followed by that one; the state is that of the last run.

    With `signals`, SIGINT, SIGTERM and SIGHUP are handled here: Interrupted is raised when everything that this process
    had started is gone.
    """
    state: State | None = None
    prepared: PreparedRun | None = None
    messages = _messages(project, run)
    # Until everything is gone: otherwise a second SIGTERM would end this process while it ends the others.
    listening = anyio.open_signal_receiver(*SIGNALS) if signals else nullcontext()
    observer, close = _with_telemetry(observer)
    try:
        with listening as received:
            async with anyio.create_task_group() as group:
                interrupts = _Interrupts(project.runtime, run, observer.prompt)
                if received is not None:
                    group.start_soon(_stop_on_signal, received, group.cancel_scope, interrupts)
                if observer.beside is not None:
                    group.start_soon(observer.beside)
                await finish_previous(project, run)
                on_turn = _with_baseline(project, group, observer)
                if messages is not None:
                    group.start_soon(messages.keep)
                    on_turn = _both(on_turn, messages.on_turn)
                reached = await _drive_one(
                    project, run, *commands, park=park, observer=observer, on_turn=on_turn
                )
                while reached.ended is not None and reached.ended.continued_by and observer.follows(reached):
                    run = interrupts.run = await _next(project, run, reached)
                    interrupts.repeat()
                    reached = await _drive_one(project, run, park=park, observer=observer, on_turn=on_turn)
                state = reached
                group.cancel_scope.cancel()
    except BaseExceptionGroup as errors:
        # The caller does not know that several tasks do the work.
        raise _first(errors) from errors
    finally:
        close()
        # A service drives many runs, one after another.
        prepared = project.driven.pop(run, None)
        if messages is not None:
            await messages.finish()
    if state is None:
        raise Interrupted(
            f"interrupted; run {run} is not over",
            hint=f"resume it: podium resume {run}   end it: podium cancel {run}",
        )
    if prepared is not None:
        _add_to_history(project, run, state, prepared)
    return state


def _messages(project: Project, run: RunId) -> RunMessages | None:
    """What tells people about the run; None if the configuration defines no channel."""
    from podium.app.notify.project_messages import open_messages

    messages = open_messages(project)
    if messages is None:
        return None
    from podium.app.notify.accompany import RunMessages

    head = project.runtime.head(run)
    messages.begin(run, 0 if head is None else head.last_seq)
    return RunMessages(project, messages)


def _both(first: OnTurn | None, second: OnTurn) -> OnTurn:
    if first is None:
        return second

    def on_turn(driven: DrivenRun) -> None:
        first(driven)
        second(driven)

    return on_turn


def _with_telemetry(observer: Observer) -> tuple[Observer, Callable[[], None]]:
    """The observer, which also sends spans if the environment names a collector, and what ends that."""
    if not os.environ.get("PODIUM_OTLP"):
        return observer, lambda: None
    from podium.app.telemetry.live import live_sender, with_sender

    sender = live_sender(os.environ, _warn)
    if sender is None:
        return observer, lambda: None
    return observer._replace(on_turn=with_sender(sender, observer.on_turn)), sender.close


def _warn(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _add_to_history(project: Project, run: RunId, state: State, prepared: PreparedRun) -> None:
    if state.ended is not None and _has_called(state, prepared):
        from podium.app.history.catch_up import add_run

        add_run(project, run)


def _has_called(state: State, prepared: PreparedRun) -> bool:
    """Whether the run called real agents, so that its numbers say something."""
    book = state.ledgers[ROOT]
    return not prepared.host.context.agents_simulated and bool(book.spent.calls or book.unknown_calls)


def _drive_one(
    project: Project,
    run: RunId,
    *commands: Command,
    park: Park,
    observer: Observer,
    on_turn: OnTurn | None,
) -> Awaitable[State]:
    on_progress = observer.on_progress
    return project.runtime.drive(run, *commands, park=park, on_turn=on_turn, on_progress=on_progress)


async def _next(project: Project, run: RunId, state: State) -> RunId:
    """The run that continues this one, prepared with the definition that is loaded."""
    assert state.ended is not None
    following, driven = RunId(state.ended.continued_by), project.driven.pop(run, None)
    if driven is not None:
        _add_to_history(project, run, state, driven)
        # It calls git, which blocks.
        await anyio.to_thread.run_sync(prepare_next, project, following, driven)
    return following


def _with_baseline(project: Project, group: TaskGroup, observer: Observer) -> OnTurn | None:
    """Also starts the check of the gates on the base, after the first turn of a new run."""
    on_turn, on_baseline = observer.on_turn, observer.on_baseline
    if on_baseline is None:
        return on_turn
    is_first = True

    def check_and_tell(driven: DrivenRun) -> None:
        nonlocal is_first
        if is_first and not driven.earlier_events and driven.state.started is not None:
            _start_baseline(project.driven[driven.run], driven.state.started, group, on_baseline)
        is_first = False
        if on_turn is not None:
            on_turn(driven)

    return check_and_tell


def _start_baseline(
    prepared: PreparedRun, started: RunStarted, group: TaskGroup, on_baseline: OnBaseline
) -> None:
    host, workflow = prepared.host, prepared.workflow
    is_written = any(step.settings.baseline is not None for _, step, _ in all_steps(workflow))
    if host.context.uses_models or is_written:
        from podium.app.run.baseline import report_red_base

        group.start_soon(report_red_base, host, workflow, started.inputs, started.tree, on_baseline)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


@dataclass(slots=True)
class _Interrupts:
    """Counts Ctrl-C, and says what each means."""

    runtime: Runtime
    run: RunId
    prompt: InterruptPrompt | None
    count: int = 0

    def repeat(self) -> None:
        """The run that a person wanted to cancel has just continued as this one, so this one is cancelled."""
        if self.prompt is not None and self.count > 1:
            self._cancel(self.prompt)

    def _cancel(self, prompt: InterruptPrompt) -> None:
        self.runtime.post(self.run, Cancel(prompt.by, "Ctrl-C"), key=f"interrupt-{uuid.uuid4().hex}")

    def keeps_driving(self) -> bool:
        """Whether the run is still driven after one more interrupt."""
        self.count += 1
        if self.prompt is None or self.count > 2:
            return False
        if self.count == 1:
            self.prompt.tell(
                f"Press Ctrl-C again within {PATIENCE_S:.0f} s to cancel the run. "
                "Otherwise it stops now and can be resumed."
            )
        else:
            self.prompt.tell(
                f"run {self.run}: cancelling; Ctrl-C once more leaves it to: podium resume {self.run}"
            )
            self._cancel(self.prompt)
        return True


async def _stop_on_signal(
    received: AsyncIterator[signal.Signals], scope: anyio.CancelScope, interrupts: _Interrupts
) -> None:
    while True:
        # Without a second Ctrl-C in time, the first one stops the process and leaves the run as it is.
        with anyio.move_on_after(PATIENCE_S if interrupts.count == 1 else None):
            number = await anext(received)
            if number == signal.SIGINT and interrupts.keeps_driving():
                continue
        scope.cancel()
        return
