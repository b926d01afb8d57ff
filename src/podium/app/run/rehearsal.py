"""Simulates a run that continues another, as far as the earlier results reach; nothing is started."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from podium.core.effects import StartTimer
from podium.core.events import AttemptEnded, Event, StepEnded
from podium.core.evolve.evolve import fold
from podium.core.messages import Message, Refusal, Start
from podium.core.payloads import Amounts, RunFacts
from podium.core.state import Leaf, Scope, State
from podium.core.turn import turn
from podium.core.types import Address, MicroUsd, Millis
from podium.runtime.effects import prior_answers
from podium.runtime.prepared_run import PreparedRun
from podium.tasks.prior_results import PriorResults


def facts_of_rehearsal(facts: RunFacts, past: PriorResults) -> RunFacts:
    """Reused results need nothing of a limit, so they are found without limits, and each with its own guidance only."""
    return replace(
        facts,
        carried=Amounts(),
        carried_unknown=MicroUsd(0),
        carried_time=Millis(0),
        carried_steps=(),
        open_guidance=(),
        reusable=reusable_later(past, {}, ()),
    )


async def rehearse(prepared: PreparedRun, start: Start) -> tuple[Counter[Address], tuple[Address, ...]]:
    """Simulate the run as far as earlier results reach: how many attempts are reused at each address, and where work starts."""
    assert prepared.past is not None
    host = replace(prepared.host, context=replace(prepared.host.context, is_rehearsal=True))
    rehearsal, workflow = replace(prepared, host=host), prepared.workflow
    limits = replace(workflow.limits, usd=None, tokens=None, calls=None, window=None, time=None)
    state = fold(replace(workflow, limits=limits), ())
    agenda: deque[Message] = deque([start])
    reused: Counter[Address] = Counter()
    refused: list[Address] = []
    while agenda:
        result = turn(state, agenda.popleft(), host.now())
        if isinstance(result, Refusal):
            continue
        state = result.state
        reused.update(end.path for end in result.events if isinstance(end, AttemptEnded) and end.reused)
        refused.extend(_refused(result.events, state))
        for effect in result.effects:
            agenda.extend(await prior_answers(effect, state, rehearsal))
    return reused, tuple(dict.fromkeys((*refused, *_unfinished(state))))


def _unfinished(state: State) -> Iterator[Address]:
    """The steps that an attempt, a person, a wait, a fact or a join would have to continue."""
    for (_, path), effect in state.pending.items():
        is_timer = isinstance(effect, StartTimer) and effect.kind == "timer"
        is_deadline_of_block = is_timer and isinstance(state.instances[path], Scope)
        if not is_deadline_of_block:
            yield path


def reusable_later(
    past: PriorResults, reused: Mapping[Address, int], waiting: Sequence[Address]
) -> tuple[tuple[Address, int], ...]:
    """Where the earlier run has results that may be reused after a step before them has run again."""
    last = {path: max(end.attempt for end in ends) for path, ends in past.attempts.items()}
    more = ((path, attempt) for path, attempt in last.items() if attempt > reused.get(path, 0))
    return tuple((path, attempt) for path, attempt in more if path not in waiting)


def _refused(events: Sequence[Event], state: State) -> Iterator[Address]:
    """The steps that their own limit refuses."""
    ended = (event.path for event in events if isinstance(event, StepEnded) and event.reason == "limit")
    return (path for path in ended if isinstance(state.instances[path], Leaf))
