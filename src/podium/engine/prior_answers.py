"""What the past of a run answers to an effect, without anything being done about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from podium.attempt import file_facts
from podium.attempt.by_hand import prepare_manual_work
from podium.attempt.landing import join as joining
from podium.attempt.perform import perform
from podium.attempt.prior_results import NoPriorResult
from podium.attempt.reuse import prior_approvals
from podium.attempt.site import Site
from podium.core.effects import AskPerson, CancelAttempt, Effect, FindFact, JoinTrees, RunAttempt
from podium.core.events import AttemptEnded
from podium.core.messages import Message
from podium.core.state import State
from podium.runtime.commands import approval

R = TypeVar("R")


async def answers(effect: Effect, state: State, site: Site) -> tuple[Message, ...]:
    """Nothing where a process would have to be started, or somebody asked."""
    match effect:
        case RunAttempt(asked=started, by_hand=hand):
            work = prepare_manual_work if hand else perform
            end = await _unless_new(lambda: work(started, state, site))
            return (end,) if end is not None and end.reused else ()
        case CancelAttempt(asked=started):
            return (AttemptEnded(site.now(), started.path, started.attempt, "cancelled"),)
        case AskPerson(asked=question):
            return tuple(map(approval, prior_approvals(site, question)))
        case FindFact(asked=query):
            return (await file_facts.find(query, state, site),)
        case JoinTrees(asked=join):
            joined = await _unless_new(lambda: joining.join(join, state, site))
            return () if joined is None else (joined,)
        case _:
            return ()


async def _unless_new(work: Callable[[], Awaitable[R]]) -> R | None:
    try:
        return await work()
    except NoPriorResult:
        return None
