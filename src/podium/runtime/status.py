"""The status word of a run, for lists and exit codes."""

from __future__ import annotations

from typing import Final

from podium.core.effects import AskPerson, RunAttempt, StartTimer, Watch
from podium.core.model import Wait
from podium.core.state import Scope, State, is_parkable
from podium.errors import (
    EXIT_CANCELLED,
    EXIT_FAILED,
    EXIT_LIMITED,
    EXIT_PASSED,
    EXIT_REJECTED,
    EXIT_TIMED_OUT,
    EXIT_WAITING,
)

BY_SIGNAL: Final = ("signal",)
BY_CLOCK: Final = ("signal", "timer", "until_time")
EXIT_OF: Final = {
    "passed": EXIT_PASSED,
    "failed": EXIT_FAILED,
    "rejected": EXIT_REJECTED,
    "limited": EXIT_LIMITED,
    "timed_out": EXIT_TIMED_OUT,
    "cancelled": EXIT_CANCELLED,
    "waiting": EXIT_WAITING,
    "paused": EXIT_WAITING,
}


def status_of(state: State) -> str:
    if state.ended is not None:
        return state.ended.status
    if not is_parkable(state):
        return "running"
    if state.paused:
        return "paused"
    return "waiting" if waits_for_person(state) else "running"


def waits_for_person(state: State, *, or_time: bool = False) -> bool:
    """Whether the run stands until a person or a signal comes: no timer and no look-out would move it on.

    With `or_time`: until then, or until a timer is due; nothing has to be looked out for meanwhile.
    """
    somebody = False
    for effect in state.pending.values():
        match effect:
            case AskPerson() | RunAttempt(by_hand=True):
                somebody = True
            case StartTimer() if or_time:
                somebody = True
            case StartTimer(path=path) if isinstance(state.instances[path], Scope):
                pass  # The deadline of a block moves nothing on: it ends what stands in it.
            case Watch(asked=waited):
                verb = state.instances[waited.path].place.step.verb
                if not (isinstance(verb, Wait) and verb.what in (BY_CLOCK if or_time else BY_SIGNAL)):
                    return False
                somebody = True
            case _:
                return False
    return somebody


def exit_of(state: State) -> int:
    """What a process that carried the run ends with."""
    if state.ended is not None:
        return state.ended.exit
    return EXIT_WAITING
