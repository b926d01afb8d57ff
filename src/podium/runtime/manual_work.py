"""When a person reports work by hand as done: which attempts that ends, and the task that collects the work."""

from __future__ import annotations

from podium.core.effects import RunAttempt
from podium.core.messages import Signal
from podium.core.model import Agent, Verb
from podium.core.state import State
from podium.ports.runtime import ManualWorkDone
from podium.tasks.build import attempt_task
from podium.tasks.prior_results import PriorResults
from podium.tasks.task import CollectTask


def collect_task(
    effect: RunAttempt, done: ManualWorkDone, state: State, past: PriorResults | None = None
) -> CollectTask:
    """What collects the work of a person who says that it is done."""
    task = attempt_task(effect.started, state, past, by_hand=True)
    return CollectTask(task, text=done.text, answer=done.answer, failed=done.failed)


def manual_work_ended_by(state: State, signal: Signal) -> tuple[ManualWorkDone, ...]:
    """The work by hand whose end this signal is."""
    return tuple(
        ManualWorkDone(path, signal.by, answer=signal.data)
        for (kind, path), effect in state.pending.items()
        if kind == "attempt" and isinstance(effect, RunAttempt) and effect.by_hand
        if _is_signal(state.instances[path].place.step.verb, signal.name)
    )


def not_by_hand(done: ManualWorkDone) -> str:
    """Why a report of work by hand is refused."""
    return f"{done.path} is not waiting for work done by hand"


def _is_signal(verb: Verb, name: str) -> bool:
    done = verb.done if isinstance(verb, Agent) else None
    return done is not None and done.what == "signal" and done.detail.get("signal") == name
