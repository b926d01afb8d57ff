"""Until when a step waits, and how it ends."""

from __future__ import annotations

from typing import Final

from podium.core.decide.attempts import error_exit
from podium.core.events import StepEnded
from podium.core.model import Wait
from podium.core.state import Leaf, State
from podium.core.types import Millis

DAY: Final = 86_400_000


def due_of(state: State, leaf: Leaf, verb: Wait, now: Millis) -> Millis | None:
    """When a wait is over: a timer at its time, any other wait after its timeout."""
    if verb.timer is not None:
        return Millis(now + verb.timer)
    if verb.minute_of_day is not None:
        assert state.started is not None
        offset = state.started.run.utc_offset * 60_000
        today = (now + offset) // DAY * DAY - offset
        due = today + verb.minute_of_day * 60_000
        return Millis(due if due > now else due + DAY)
    timeout = leaf.place.step.timeout
    return None if timeout is None else Millis(now + timeout)


def after_wait(leaf: Leaf, verb: Wait, now: Millis) -> StepEnded:
    path = leaf.place.path
    if leaf.expired:
        timer = verb.timer is not None or verb.minute_of_day is not None
        return StepEnded(now, path, "passed") if timer else StepEnded(now, path, "timeout", exit=124)
    answer = leaf.answer
    assert answer is not None
    match answer.kind:
        case "ok":
            return StepEnded(now, path, "passed", result=answer.result)
        case "failed":
            return StepEnded(now, path, "failed", answer.reason, 1, answer.result)
        case _:
            return StepEnded(now, path, "error", answer.reason or "error", error_exit(answer), answer.result)
