"""Performs one task; an error that prevents it is returned as the end of the attempt.

The code of a kind of task is imported with the first such task, because most runs have few kinds.
"""

from __future__ import annotations

from typing import assert_never

from podium.attempt.host import Host
from podium.attempt.result import attempt_ended
from podium.attempt.workspace.setup import SetupFailed
from podium.attempt.workspace.toolchain import EditableInstall
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.expressions.nodes import ExprError, NeedFact
from podium.core.messages import Report
from podium.core.types import Reason
from podium.errors import ConfigurationError, PathViolation, PodiumError, disk_fault
from podium.git.command import GitError
from podium.tasks.task import (
    AgentWork,
    AttemptTask,
    ChildRunWork,
    CollectTask,
    CommandWork,
    FactTask,
    JoinTask,
    LandWork,
    Task,
    WatchTask,
    WriteWork,
)


async def perform(task: Task, host: Host) -> Report | None:
    """None if the work waits for a person. Cancelling ends the task's processes and removes its workspace."""
    match task:
        case AttemptTask(by_hand=True) if host.taking is None or not host.taking.takes(task.started):
            from podium.attempt import by_hand

            return await by_hand.prepare_manual_work(task, host)
        case AttemptTask():
            return await attempt(task, host)
        case CollectTask():
            from podium.attempt import by_hand

            return await by_hand.collect_manual_work(task, host)
        case WatchTask():
            from podium.attempt import wait

            return await wait.watch(task, host)
        case FactTask():
            from podium.attempt import file_facts

            return await file_facts.find(task, host)
        case JoinTask():
            from podium.attempt.landing import join

            return await join.join(task, host)
        case _:
            assert_never(task)


async def attempt(task: AttemptTask, host: Host) -> AttemptEnded:
    try:
        return await _work(task, host)
    except (PodiumError, ExprError, NeedFact) as error:
        return failed(task.started, host, error)
    except OSError as error:
        if disk_fault(error) is not None:
            raise
        # For example a missing permission, which a person can fix before resuming.
        return _failed(task.started, host, "system", f"the system refused: {error}")


def failed(started: AttemptStarted, host: Host, error: PodiumError | ExprError | NeedFact) -> AttemptEnded:
    """The end of an attempt that could not start."""
    match error:
        case PodiumError():
            return _failed(started, host, _reason_of(error), error.message, error.hint)
        case ExprError():
            return _failed(started, host, "expression", str(error))
        case NeedFact(query=(function, argument)):
            return _failed(started, host, "expression", f'{function}("{argument}") cannot be asked here')


async def _work(task: AttemptTask, host: Host) -> AttemptEnded:
    if task.step.settings.base is not None:
        from podium.attempt.workspace import other_base

        return await other_base.work_at_base(task, host, _do)
    return await _do(task, host)


async def _do(task: AttemptTask, host: Host) -> AttemptEnded:
    match task.work:
        case AgentWork():
            from podium.attempt.agent import run as agent

            return await agent.work(task, host)
        case CommandWork():
            from podium.attempt.command import run as command

            return await command.work(task, host)
        case LandWork():
            from podium.attempt.landing import land

            return await land.work(task, host)
        case WriteWork():
            from podium.attempt import write_interfaces

            return await write_interfaces.work(task, host)
        case ChildRunWork():
            from podium.attempt.other_project import child_run

            return await child_run.work(task, host)
        case _:
            assert_never(task.work)


def _reason_of(error: PodiumError) -> Reason:
    match error:
        case PathViolation():
            return "path"
        case EditableInstall():
            return "editable"
        case SetupFailed():
            return "setup"
        case GitError():
            return "git"
        case ConfigurationError():
            return "configuration"
        case _:
            return "error"


def _failed(
    started: AttemptStarted, host: Host, reason: Reason, message: str, hint: str | None = None
) -> AttemptEnded:
    text = host.mask.text(message if hint is None else f"{message}\nhint: {hint}")
    return attempt_ended(
        host, started, "error", reason, result={"text": "", "message": text}, tree=started.start
    )
