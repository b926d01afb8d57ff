"""The append-only files of a run: each event adds lines, and the same events always give the same lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, Literal, TypeAlias, assert_never

from podium.core import events
from podium.core.events import Event
from podium.core.json_text import spaced_json
from podium.core.types import CONTINUING_OUTCOMES
from podium.views.files.audit_log import audit_line
from podium.views.files.run_json import DOLLAR, cost_of
from podium.views.format import iso
from podium.views.plain import as_text, one_line
from podium.views.run.builder import RunViewBuilder
from podium.views.run.charges import Charge
from podium.views.run.view import elapsed

LOG: Final = "log.jsonl"
STATE_LOG: Final = "state_log.jsonl"
TOKENS: Final = "token_usage.jsonl"
AUDIT: Final = "audit.log"
GROWING: Final = (LOG, STATE_LOG, TOKENS, AUDIT)

Line: TypeAlias = tuple[str, str]
"""The name of a file and a line for it, without the line end."""

LogLevel: TypeAlias = Literal["ERROR", "WARNING", "INFO", "DEBUG"]


_Ordinary: TypeAlias = (
    events.RunStarted
    | events.RunPaused
    | events.RunResumed
    | events.GuidanceGiven
    | events.NoteLeft
    | events.LimitRaised
    | events.StepReopened
    | events.AttemptQueued
    | events.AttemptStarted
    | events.AttemptTaken
    | events.AttemptGuided
    | events.ToolAsked
    | events.WaitStarted
    | events.WaitEnded
    | events.SignalReceived
    | events.TimerFired
    | events.ApprovalAsked
    | events.ApprovalGiven
    | events.JoinAsked
    | events.JoinEnded
    | events.JumpOrdered
    | events.JumpAsked
    | events.CancelOrdered
)
"""Events of the level INFO."""
_WithoutDetails: TypeAlias = (
    events.RunPaused
    | events.RunResumed
    | events.CancelAsked
    | events.GuidanceGiven
    | events.NoteLeft
    | events.LimitRaised
    | events.StepExpanded
    | events.StepReopened
    | events.AttemptQueued
    | events.AttemptDoubted
    | events.AttemptLost
    | events.WaitStarted
    | events.WaitEnded
    | events.SignalReceived
    | events.TimerFired
    | events.ApprovalAsked
    | events.ApprovalGiven
    | events.FactsAsked
    | events.FactsFound
    | events.JoinQueued
    | events.JoinAsked
    | events.JoinEnded
    | events.JumpOrdered
    | events.JumpAsked
    | events.CancelOrdered
)
"""Events whose type and address say everything."""
_WithoutTransition: TypeAlias = (
    events.RunStarted
    | events.RunPaused
    | events.RunResumed
    | events.RunRecovered
    | events.CancelAsked
    | events.GuidanceGiven
    | events.NoteLeft
    | events.LimitRaised
    | events.StepExpanded
    | events.StepReopened
    | events.AttemptQueued
    | events.AttemptStarted
    | events.AttemptTaken
    | events.AttemptGuided
    | events.ToolAsked
    | events.AttemptEnded
    | events.AttemptDoubted
    | events.AttemptLost
    | events.RetryScheduled
    | events.WaitStarted
    | events.WaitEnded
    | events.SignalReceived
    | events.TimerFired
    | events.ApprovalAsked
    | events.ApprovalGiven
    | events.FactsAsked
    | events.FactsFound
    | events.JoinQueued
    | events.JoinAsked
    | events.JoinEnded
    | events.JumpOrdered
    | events.JumpAsked
    | events.CancelOrdered
)
"""Events that enter or leave no step."""


def lines_of(seq: int, event: Event, builder: RunViewBuilder) -> Iterator[Line]:
    """The lines that an event adds. The builder must already have the event."""
    yield LOG, spaced_json(_log(seq, event, builder))
    transition = _transition(event, builder)
    if transition is not None:
        yield STATE_LOG, spaced_json(transition)
    for charge in builder.new_charges:
        yield TOKENS, spaced_json(_tokens(charge))
    audit = audit_line(event, builder)
    if audit is not None:
        yield AUDIT, f"{iso(event.at)}  {seq:>5}  {audit}"


def _log(seq: int, event: Event, builder: RunViewBuilder) -> dict[str, Any]:
    """R212: the operator log, with the field names of S1."""
    return {
        "timestamp": iso(event.at),
        "run_id": builder.run,
        "event_seq": seq,
        "level": level_of(event),
        "step": getattr(event, "path", None),
        "attempt_id": _attempt(event, builder),
        "event": _snake(type(event).__name__),
        **_details(event, builder),
    }


def level_of(event: Event) -> LogLevel:
    # The most frequent first, here and below: a match tries one case after another.
    match event:
        case events.StepEntered():
            return "INFO"
        case events.StepEnded():
            return "INFO" if event.outcome in CONTINUING_OUTCOMES else "ERROR"
        case events.RunEnded():
            return "INFO" if event.status == "passed" else "ERROR"
        case events.RunRecovered():
            return "WARNING" if event.lost else "INFO"
        case events.AttemptEnded():
            return "INFO" if event.kind == "ok" else "WARNING"
        case events.AttemptDoubted() | events.AttemptLost() | events.RetryScheduled() | events.CancelAsked():
            return "WARNING"
        case events.FactsAsked() | events.FactsFound() | events.StepExpanded() | events.JoinQueued():
            return "DEBUG"
        case _ if isinstance(event, _Ordinary):
            return "INFO"
        case _:
            assert_never(event)


def _attempt(event: Event, builder: RunViewBuilder) -> int | None:
    number: int | None = getattr(event, "attempt", None)
    if number is None and isinstance(event, events.StepEnded):
        step = builder.step(event.path)
        number = None if step is None else step.attempts
    return number


def _details(event: Event, builder: RunViewBuilder) -> dict[str, Any]:
    match event:
        case events.StepEntered():
            return {}
        case events.RunStarted():
            return {"workflow": event.run.name, "fingerprint": event.fingerprint}
        case events.AttemptEnded():
            return {"kind": event.kind, "reason": event.reason, **_exit(event)}
        case events.StepEnded():
            step = builder.step(event.path)
            took = {} if step is None else {"duration": (event.at - step.entered) / 1000}
            ending = {"outcome": event.outcome, "reason": event.reason, "message": event.message}
            return {**took, "exit_code": event.exit, **ending}
        case events.RunEnded():
            return {
                "status": event.status,
                "reason": event.reason,
                "exit_code": event.exit,
                "message": event.message,
                **({"continued_by": event.continued_by} if event.continued_by else {}),
            }
        case events.RetryScheduled():
            return {"why": event.why, "due": iso(event.due)}
        case events.RunRecovered():
            return {"lost": list(event.lost)} if event.lost else {}
        case events.AttemptStarted():
            return {"agent": event.agent}
        case events.AttemptTaken():
            return {"agent": event.agent, "by": event.by}
        case events.AttemptGuided():
            return {"by": event.by, **({"refused": event.refused} if event.refused else {})}
        case events.ToolAsked():
            return {"tool": event.call.tool, "subject": event.call.subject}
        case _ if isinstance(event, _WithoutDetails):
            return {}
        case _:
            assert_never(event)


def _exit(event: events.AttemptEnded) -> dict[str, Any]:
    code = None if event.result is None else event.result.get("exit_code")
    return {} if code is None else {"exit_code": code}


_WORD: Final = re.compile(r"(?<!^)(?=[A-Z])")


@cache
def _snake(name: str) -> str:
    return _WORD.sub("_", name).lower()


def _transition(event: Event, builder: RunViewBuilder) -> dict[str, Any] | None:
    """R210: the transition log in the terms of S0, whose states are our steps."""
    match event:
        case events.StepEntered():
            entry = {"ts": iso(event.at), "event": "enter", "state": event.path, "visit": event.visit}
            log = {"log": event.about} if event.role == "step" and event.about else {}
            return {**entry, "role": event.role, "feedback": list(event.feedback), **log}
        case events.StepEnded():
            return _leave_entry(event, builder) if event.path else None
        case events.RunEnded():
            view = builder.view()
            return {
                "ts": iso(event.at),
                "event": "end",
                "state": None,
                "result": event.status,
                "duration_s": elapsed(view, event.at) / 1000,
                "token_totals": {
                    "total": view.tokens,
                    "cost_usd": None if view.unknown_calls else view.usd / DOLLAR,
                },
            }
        case _ if isinstance(event, _WithoutTransition):
            return None
        case _:
            assert_never(event)


def _leave_entry(event: events.StepEnded, builder: RunViewBuilder) -> dict[str, Any]:
    step = builder.step(event.path)
    assert step is not None, event.path
    return {
        "ts": iso(event.at),
        "event": "leave",
        "state": event.path,
        "visit": step.visit,
        "result": event.outcome,
        "reason": event.reason,
        "duration_s": (event.at - step.entered) / 1000,
        "attempts": step.attempts,
        "tree": step.tree,
        "outputs": {"preview": one_line(as_text(step.result.get("output")), 80)},
        "token_totals": {"total": step.tokens, "cost_usd": cost_of(step)},
    }


def _tokens(charge: Charge) -> dict[str, Any]:
    """The usage of an attempt; the split is None if the agent does not report it, the total is what limits count.

    A call that a crash interrupted has a line of its own, without an agent and with an unknown cost.
    """
    result, used = charge.result, charge.used
    usage = result.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return {
        "ts": iso(charge.at),
        "agent": result.get("agent"),
        "model": result.get("model"),
        "state": charge.path,
        "attempt": charge.attempt,
        "input_tokens": usage.get("input"),
        "output_tokens": usage.get("output"),
        "cached_tokens": usage.get("cached"),
        "total": used.tokens,
        "calls": used.calls,
        "cost_usd": None if charge.unknown_calls else used.usd / DOLLAR,
        "cost_source": result.get("cost_source"),
    }
