"""What a run waits for: whether it needs a process, and when its next timer is due."""

from __future__ import annotations

from podium.core.effects import AskPerson, CancelAttempt, RunAttempt, StartTimer, Watch
from podium.core.state import State
from podium.core.types import Millis


def is_parkable(state: State) -> bool:
    """Whether no process is needed until a message arrives or the next timer is due."""
    for _, effect in state.pending.items():  # noqa: PERF102 (called after every turn, and `values` iterates over `items` again)
        if isinstance(effect, CancelAttempt) or (isinstance(effect, RunAttempt) and not effect.by_hand):
            return False
    return True


def next_due(state: State, *, after: int = 0) -> Millis | None:
    """The due time of the run's earliest timer after `after`."""
    dues: list[Millis] = []
    for effect in state.pending.values():
        match effect:
            case StartTimer(due=due):
                dues.append(due)
            case Watch(wait=wait) if wait.due is not None:
                dues.append(wait.due)
            case AskPerson(request=request):
                dues.extend(d for d in (request.expires, request.remind, request.escalate) if d is not None)
            case _:
                pass
    return min((due for due in dues if due > after), default=None)
