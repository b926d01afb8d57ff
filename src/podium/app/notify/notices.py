"""Which events of a run people are told of. Computed from the log alone, so that every process finds the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from podium.core.addresses import ROOT
from podium.core.decide.approvals import notify_rule, oversight_for
from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptStarted,
    Event,
    RunEnded,
    StepEnded,
    TimerFired,
)
from podium.core.model import Call, Human, Review
from podium.core.state import Instance, Leaf, State
from podium.core.types import Address, Millis

RELEVANT: tuple[type[Event], ...] = (
    ApprovalAsked,
    ApprovalGiven,
    AttemptStarted,
    RunEnded,
    StepEnded,
    TimerFired,
)
"""The types of events that may be worth a message."""
END_KINDS: Mapping[str, str] = {
    "passed": "passed",
    "limited": "limited",
    "failed": "failed",
    "rejected": "failed",
    "timed_out": "failed",
}
"""Not for a run that a person has cancelled."""


class Notice(NamedTuple):
    kind: str
    seq: int
    """The number of the event."""
    at: Millis
    path: Address
    event: Event | None = None
    people: tuple[str, ...] = ()
    """Who may answer, or has been asked; empty for anyone."""
    channels: tuple[str, ...] | None = None
    """The channels that the step names; None if it names none."""

    @property
    def question(self) -> str:
        """The question that becomes pointless to ask about once it is answered; empty for what has happened."""
        asks = self.kind in ("asked", "reminded", "escalated") or isinstance(self.event, ApprovalAsked)
        return str(self.path) if asks else ""


def notices(state: State, events: Sequence[Event], *, after: int) -> Iterator[Notice]:
    """What people are told of the events after number `after`; about questions only if they are still open."""
    for seq, event in enumerate(events[after:], after + 1):
        notice = _notice(state, events, seq, event)
        if notice is not None:
            yield notice


def answered_questions(events: Sequence[Event], *, after: int) -> tuple[str, ...]:
    """The questions about which nobody has to be told any more."""
    return tuple(
        str(event.path)
        for event in events[after:]
        if isinstance(event, StepEnded | ApprovalGiven) and event.path
    )


def _notice(state: State, events: Sequence[Event], seq: int, event: Event) -> Notice | None:
    match event:
        case ApprovalAsked(path=path):
            if not _is_open(state, path, event.at):
                return None
            return _about(
                state, "vetoable" if event.level == "notify" else "asked", seq, event, path, event.by
            )
        case TimerFired(path=path):
            request = _question_before(events, seq, path)
            if request is None or not _is_open(state, path, request.at):
                return None
            if request.escalate != event.due:
                return _about(state, "reminded", seq, event, path, request.by)
            leaf = state.instances[path]
            more = _oversight_names(state, leaf)
            return _about(state, "escalated", seq, event, path, more)
        case AttemptStarted(path=path):
            effect = state.pending.get(("attempt", path))
            is_by_hand = getattr(effect, "by_hand", False) and getattr(effect, "started", None) == event
            return _about(state, "asked", seq, event, path, ()) if is_by_hand else None
        case ApprovalGiven(path=path) if not event.reused:
            request = _question_before(events, seq, path)
            return _about(state, "answered", seq, event, path, () if request is None else request.by)
        case StepEnded(path=path, outcome="passed"):
            instance = state.instances.get(path)
            rule = None if instance is None else notify_rule(state, instance, event.at)
            return None if rule is None else _about(state, "vetoable", seq, event, path, rule.by)
        case RunEnded() if event.status in END_KINDS and not event.continued_by:
            return Notice(END_KINDS[event.status], seq, event.at, ROOT, event)
        case _:
            return None


def _about(state: State, kind: str, seq: int, event: Event, path: Address, people: tuple[str, ...]) -> Notice:
    instance = state.instances.get(path)
    channels: tuple[str, ...] | None = None
    if instance is not None:
        verb = instance.place.step.verb
        if isinstance(instance, Leaf) and isinstance(verb, Human):
            channels = oversight_for(state, instance, verb).notify
        elif isinstance(verb, Review):
            channels = verb.oversight.notify
    return Notice(kind, seq, event.at, path, event, people, channels)


def _oversight_names(state: State, instance: Instance) -> tuple[str, ...]:
    verb = instance.place.step.verb
    if not (isinstance(instance, Leaf) and isinstance(verb, Human)):
        return ()
    return oversight_for(state, instance, verb).escalate_to


def _is_open(state: State, path: Address, asked_at: Millis) -> bool:
    leaf = state.instances.get(path)
    request = leaf.approval_request if isinstance(leaf, Leaf) else None
    return request is not None and request.at == asked_at and ("person", path) in state.pending


def _question_before(events: Sequence[Event], seq: int, path: Address) -> ApprovalAsked | None:
    earlier = (event for event in reversed(events[: seq - 1]) if isinstance(event, ApprovalAsked))
    return next((event for event in earlier if event.path == path), None)


def groups_of(state: State) -> Mapping[str, tuple[str, ...]]:
    """The groups of people that the workflow of the run names."""
    verb = state.root.verb
    return dict(verb.workflow.people) if isinstance(verb, Call) else {}


def channels_of_run(state: State) -> tuple[str, ...] | None:
    """The channels that the workflow names; None if it names none."""
    verb = state.root.verb
    return verb.workflow.config.notify if isinstance(verb, Call) else None
