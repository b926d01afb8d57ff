"""What a log requests and does not answer, worked out without the state."""

from __future__ import annotations

from collections.abc import Sequence

from podium.core.effects import EffectKey
from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptDoubted,
    AttemptEnded,
    AttemptStarted,
    Event,
    FactsAsked,
    FactsFound,
    JoinAsked,
    JoinEnded,
    RetryScheduled,
    SignalReceived,
    StepEnded,
    StepExpanded,
    StepReopened,
    TimerFired,
    WaitEnded,
    WaitStarted,
)
from podium.core.types import Address


def still_asked(log: Sequence[Event]) -> set[EffectKey]:
    """The effects that the log requests and does not answer: P11."""
    pending: set[EffectKey] = set()
    approvals: dict[Address, ApprovalAsked] = {}
    dues: dict[Address, int] = {}
    deadlines: dict[Address, int] = {}
    for event in log:
        match event:
            case AttemptStarted():
                pending.add(("attempt", event.path))
            case AttemptEnded() | AttemptDoubted():
                pending.discard(("attempt", event.path))
            case RetryScheduled():
                pending.add(("timer", event.path))
            case StepExpanded() if event.due is not None:
                pending.add(("timer", event.path))
                deadlines[event.path] = event.due
            case StepReopened() if event.due is not None:
                pending.add(("retry", event.path))
                dues[event.path] = event.due
            case WaitStarted():
                pending.add(("wait", event.path))
            case WaitEnded() | SignalReceived():
                pending.discard(("wait", event.path))
            case ApprovalAsked():
                pending.add(("person", event.path))
                approvals[event.path] = event
            case ApprovalGiven():
                approvals_so_far = [
                    e
                    for e in log
                    if isinstance(e, ApprovalGiven) and e.path == event.path and e.at <= event.at
                ]
                if event.action != "approve" or len(approvals_so_far) >= approvals[event.path].approvals:
                    pending.discard(("person", event.path))
            case TimerFired() if ("retry", event.path) in pending and dues[event.path] == event.due:
                pending.discard(("retry", event.path))
                if deadlines.get(event.path) == event.due:
                    pending.discard(("timer", event.path))
            case TimerFired():
                pending -= {("timer", event.path), ("wait", event.path)}
                if event.path in approvals and approvals[event.path].expires == event.due:
                    pending.discard(("person", event.path))
            case FactsAsked():
                pending.add(("fact", event.path))
            case FactsFound():
                pending.discard(("fact", event.path))
            case JoinAsked():
                pending.add(("join", event.path))
            case JoinEnded():
                pending.discard(("join", event.path))
            case StepEnded():
                pending -= {key for key in pending if key[1] == event.path}
            case _:
                pass
    return pending
