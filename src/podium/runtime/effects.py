"""Carries out effects: makes the task of each and performs it, or looks for the answer of an earlier run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from anyio import to_thread

from podium.attempt.host import Host
from podium.attempt.perform import failed, perform
from podium.core.effects import (
    AskPerson,
    CancelAttempt,
    Effect,
    FindFact,
    JoinTrees,
    RunAttempt,
    Watch,
)
from podium.core.events import AttemptEnded, FactsFound, JoinEnded, WaitEnded
from podium.core.expressions.nodes import ExprError, NeedFact, Node
from podium.core.ledger import cancelled_attempt
from podium.core.messages import Message, Report
from podium.core.model import Agent, Git
from podium.core.payloads import Amounts, RefusedMember
from podium.core.state import State
from podium.core.step_settings import ChildRun
from podium.errors import ConfigurationError, PodiumError
from podium.ports.runtime import ManualWorkDone
from podium.runtime.commands import approval
from podium.runtime.manual_work import collect_task
from podium.runtime.prepared_run import PreparedRun
from podium.tasks.build import attempt_task, task_of
from podium.tasks.prior_results import NoPriorResult, prior_approvals

Work: TypeAlias = Callable[[], Awaitable[Report | None]]


def work_for(effect: Effect, state: State, run: PreparedRun) -> Work | None:
    """What carries out an effect; None for effects that need no work."""
    if isinstance(effect, RunAttempt):
        return lambda: _attempt(effect, state, run)
    task = task_of(effect, state, run.past)
    return None if task is None else lambda: perform(task, run.host)


def undo_for(effect: CancelAttempt, state: State, run: PreparedRun) -> Work | None:
    """The work of an attempt that is cancelled and may have died halfway: a landing on several branches, or a run elsewhere.

    It is started as cancelled, so it moves back the branches that had moved, or cancels that run, and does nothing else.
    """
    verb = state.instances[effect.started.path].place.step.verb
    if isinstance(verb, ChildRun):
        return lambda: _attempt(RunAttempt(effect.started), state, run)
    if not isinstance(verb, Git) or not isinstance(verb.land, tuple | Node):
        return None
    return lambda: _attempt(RunAttempt(effect.started), state, run)


async def cancelled(effect: RunAttempt, state: State, run: PreparedRun) -> AttemptEnded:
    """The end of an attempt that was stopped in this process. What it had started elsewhere is cancelled first."""
    if not isinstance(state.instances[effect.started.path].place.step.verb, ChildRun):
        return cancelled_attempt(effect.started, run.host.now())
    from podium.attempt.other_project import child_run

    try:
        return await child_run.cancel(attempt_task(effect.started, state, run.past), run.host)
    except (PodiumError, ExprError, NeedFact) as error:
        end = failed(effect.started, run.host, error)
        return replace(end, kind="cancelled")


async def _attempt(effect: RunAttempt, state: State, run: PreparedRun) -> Report | None:
    """Making the task may fail too: it renders what objected to earlier work in partials of the project."""
    try:
        if isinstance(state.instances[effect.started.path].place.step.verb, Agent):
            # In a thread: the first one imports the library for prompts.
            task = await to_thread.run_sync(task_of, effect, state, run.past)
        else:
            task = task_of(effect, state, run.past)
    except (PodiumError, ExprError, NeedFact) as error:
        return failed(effect.started, run.host, error)
    assert task is not None
    return await perform(task, run.host)


def handed_in(effect: RunAttempt, done: ManualWorkDone, state: State, run: PreparedRun) -> Work:
    """What collects the work of a person who says that it is done."""
    return lambda: perform(collect_task(effect, done, state, run.past), run.host)


def broken(effect: Effect, error: Exception, host: Host) -> Report | None:
    """What is reported when performing an effect failed by no fault of the workflow."""
    at = host.now()
    message = error.message if isinstance(error, PodiumError) else f"{type(error).__name__}: {error}"
    message = host.mask.text(message)
    match effect:
        case RunAttempt(started=started):
            result = {"text": "", "message": message}
            # A wrong setting is noticed before an agent is called; anything else may have happened after the call.
            calls = 0 if isinstance(error, ConfigurationError) else started.reserve.calls
            end = AttemptEnded(at, started.path, started.attempt, "error", "internal", result)
            return replace(end, used=Amounts(calls=calls), cost_known=not calls)
        case Watch(wait=waited):
            return WaitEnded(at, waited.path, "error", {"message": message}, "internal")
        case FindFact(query=query):
            return FactsFound(at, query.path, query.function, query.argument, query.tree, None)
        case JoinTrees(join=join):
            members = tuple(path for path, _ in join.members) if join.gated else (join.path,)
            refused = tuple(RefusedMember(path, "failed", message) for path in members)
            return JoinEnded(at, join.path, join.onto, refused)
        case _:
            return None


async def prior_answers(effect: Effect, state: State, run: PreparedRun) -> tuple[Message, ...]:
    """What an earlier run answers to an effect; nothing where a process or a person would be needed."""
    match effect:
        case RunAttempt():
            end = await _unless_new(effect, state, run)
            return (end,) if isinstance(end, AttemptEnded) and end.reused else ()
        case CancelAttempt(started=started):
            return (cancelled_attempt(started, run.host.now()),)
        case AskPerson(request=question):
            return tuple(map(approval, prior_approvals(run.past, question)))
        case FindFact() | JoinTrees():
            report = await _unless_new(effect, state, run)
            return () if report is None else (report,)
        case _:
            return ()


async def _unless_new(effect: Effect, state: State, run: PreparedRun) -> Report | None:
    work = work_for(effect, state, run)
    assert work is not None
    try:
        return await work()
    except NoPriorResult:
        return None
