"""Drive a run in this process: until it ends or can be released, or a signal interrupts it."""

from __future__ import annotations

import signal
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio

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

    With `signals`, SIGINT, SIGTERM and SIGHUP are handled here: Interrupted is raised when everything that this process
    had started is gone.
    """
    state: State | None = None
    # Until everything is gone: otherwise a second SIGTERM would end this process while it ends the others.
    listening = anyio.open_signal_receiver(*SIGNALS) if signals else nullcontext()
    try:
        with listening as received:
            async with anyio.create_task_group() as group:
                if received is not None:
                    interrupts = _Interrupts(project.runtime, run, observer.prompt)
                    group.start_soon(_stop_on_signal, received, group.cancel_scope, interrupts)
                if observer.beside is not None:
                    group.start_soon(observer.beside)
                state = await project.runtime.drive(
                    run,
                    *commands,
                    park=park,
                    on_turn=_with_baseline(project, group, observer),
                    on_progress=observer.on_progress,
                )
                group.cancel_scope.cancel()
    except BaseExceptionGroup as errors:
        # The caller does not know that several tasks do the work.
        raise _first(errors) from errors
    finally:
        # A service drives many runs, one after another.
        project.driven.pop(run, None)
    if state is None:
        raise Interrupted(
            f"interrupted; run {run} is not over",
            hint=f"resume it: podium resume {run}   end it: podium cancel {run}",
        )
    return state


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
            key = f"interrupt-{uuid.uuid4().hex}"
            self.runtime.post(self.run, Cancel(self.prompt.by, "Ctrl-C"), key=key)
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
