"""Which work in the world each effect means; timers, questions and signals need none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias, assert_never

from podium.attempt import by_hand, file_facts, wait
from podium.attempt.landing import join as joining
from podium.attempt.perform import perform
from podium.attempt.site import Site
from podium.core.effects import (
    AskPerson,
    CancelAttempt,
    Effect,
    EffectKind,
    FindFact,
    JoinTrees,
    RunAttempt,
    StartTimer,
    Watch,
)
from podium.core.events import AttemptEnded, FactsFound, JoinEnded, WaitEnded
from podium.core.messages import Report
from podium.core.model import Wait
from podium.core.payloads import RefusedMember
from podium.core.state import State
from podium.errors import PodiumError
from podium.runtime.commands import ManualWorkDone

Work: TypeAlias = Callable[[], Awaitable[Report | None]]


def work_for(effect: Effect, state: State, site: Site) -> Work | None:
    match effect:
        case RunAttempt(asked=started, by_hand=True):
            return lambda: by_hand.prepare_manual_work(started, state, site)
        case RunAttempt(asked=started):
            return lambda: perform(started, state, site)
        case Watch(asked=waited):
            verb = state.instances[waited.path].place.step.verb
            looked_for = isinstance(verb, Wait) and verb.what in ("file", "commit", "step", "poll")
            return (lambda: wait.watch(waited, state, site)) if looked_for else None
        case FindFact(asked=query):
            return lambda: file_facts.find(query, state, site)
        case JoinTrees(asked=join):
            return lambda: joining.join(join, state, site)
        case CancelAttempt() | StartTimer() | AskPerson():
            return None
        case _:
            assert_never(effect)


def kind_of(effect: Effect) -> EffectKind:
    match effect:
        case RunAttempt() | CancelAttempt():
            return "attempt"
        case Watch():
            return "wait"
        case FindFact():
            return "fact"
        case JoinTrees():
            return "join"
        case AskPerson():
            return "person"
        case StartTimer():
            return "timer"
        case _:
            assert_never(effect)


def handed_in(effect: RunAttempt, said: ManualWorkDone, state: State, site: Site) -> Work:
    return lambda: by_hand.collect_manual_work(
        effect.asked, state, site, text=said.text, answer=said.answer, failed=said.failed
    )


def broken(effect: Effect, error: Exception, site: Site) -> Report | None:
    """What is reported when performing an effect failed by no fault of the workflow."""
    at = site.now()
    message = error.message if isinstance(error, PodiumError) else f"{type(error).__name__}: {error}"
    message = site.mask.text(message)
    match effect:
        case RunAttempt(asked=started):
            result = {"text": "", "message": message}
            return AttemptEnded(at, started.path, started.attempt, "error", "internal", result)
        case Watch(asked=waited):
            return WaitEnded(at, waited.path, "error", {"message": message}, "internal")
        case FindFact(asked=query):
            return FactsFound(at, query.path, query.function, query.argument, query.tree, None)
        case JoinTrees(asked=join):
            members = tuple(path for path, _ in join.members) if join.gated else (join.path,)
            refused = tuple(RefusedMember(path, "failed", message) for path in members)
            return JoinEnded(at, join.path, join.onto, refused)
        case _:
            return None
