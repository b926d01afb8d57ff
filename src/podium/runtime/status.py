"""The status of a run, for lists and exit codes."""

from __future__ import annotations

from typing import Final

from podium.core.effects import AskPerson, RunAttempt, StartTimer, Watch
from podium.core.model import Wait
from podium.core.queries.pending import is_parkable
from podium.core.state import Scope, State
from podium.core.types import Millis
from podium.errors import EXIT_WAITING

BY_SIGNAL: Final = ("signal",)
BY_CLOCK: Final = ("signal", "timer", "until_time")


def status_of(state: State) -> str:
    if state.ended is not None:
        return state.ended.status
    if not is_parkable(state):
        return "running"
    if state.paused:
        return "paused"
    return "waiting" if waits_for_person(state) else "running"


def waits_for_person(state: State, *, or_time: bool = False) -> bool:
    """Whether the run waits only for a person or a signal: no timer and no watch would continue it.

    With `or_time` it may also wait for a timer, but not for something that has to be watched.
    """
    waits = False
    for effect in state.pending.values():
        match effect:
            case AskPerson() | RunAttempt(by_hand=True):
                waits = True
            case StartTimer() if or_time:
                waits = True
            case StartTimer(path=path, kind="timer") if isinstance(state.instances[path], Scope):
                pass  # The deadline of a block continues nothing: it ends what waits inside it.
            case Watch(wait=waited):
                verb = state.instances[waited.path].place.step.verb
                if not (isinstance(verb, Wait) and verb.what in (BY_CLOCK if or_time else BY_SIGNAL)):
                    return False
                waits = True
            case _:
                return False
    return waits


def continues_by_itself(state: State, *, before: Millis) -> bool:
    """Whether an open question passes without an answer before this time."""
    requests = (effect.request for effect in state.pending.values() if isinstance(effect, AskPerson))
    return any(
        request.silence == "passed" and request.expires is not None and request.expires <= before
        for request in requests
    )


def waits_until_deadline(state: State) -> bool:
    """Whether a question or a wait has a time at which it ends by itself."""
    for effect in state.pending.values():
        match effect:
            case AskPerson(request=request) if request.expires is not None:
                return True
            case Watch(wait=wait) if wait.due is not None:
                return True
            case _:
                pass
    return False


def exit_of(state: State) -> int:
    """The exit code of a process that drove the run."""
    if state.ended is not None:
        return state.ended.exit
    return EXIT_WAITING
