"""The files of a run that only grow: each event adds its lines, and the same events always give the same lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias

from podium.core.events import (
    AttemptDoubted,
    AttemptEnded,
    AttemptStarted,
    CancelAsked,
    Event,
    FactsAsked,
    FactsFound,
    JoinQueued,
    RetryScheduled,
    RunEnded,
    RunStarted,
    StepEnded,
    StepEntered,
    StepExpanded,
)
from podium.core.types import CONTINUING_OUTCOMES
from podium.views.files.audit_log import audit_line
from podium.views.files.run_json import DOLLAR, cost_of
from podium.views.format import iso
from podium.views.plain import as_text, one_line
from podium.views.run.builder import RunViewBuilder
from podium.views.run.view import elapsed

LOG: Final = "log.jsonl"
STATE_LOG: Final = "state_log.jsonl"
TOKENS: Final = "token_usage.jsonl"
AUDIT: Final = "audit.log"
GROWING: Final = (LOG, STATE_LOG, TOKENS, AUDIT)

Line: TypeAlias = tuple[str, str]
"""The name of a file, and a line for it without its end."""

LogLevel: TypeAlias = Literal["ERROR", "WARNING", "INFO", "DEBUG"]


def lines_of(seq: int, event: Event, account: RunViewBuilder) -> Iterator[Line]:
    """What one event adds. The account has taken it already."""
    yield LOG, _json(_log(seq, event, account))
    moved = _moved(event, account)
    if moved is not None:
        yield STATE_LOG, _json(moved)
    if isinstance(event, AttemptEnded) and (event.used.calls or event.used.tokens or not event.cost_known):
        yield TOKENS, _json(_tokens(event))
    told = audit_line(event, account)
    if told is not None:
        yield AUDIT, f"{iso(event.at)}  {seq:>5}  {told}"


_json: Final = json.JSONEncoder(ensure_ascii=False, default=str).encode


def _log(seq: int, event: Event, account: RunViewBuilder) -> dict[str, Any]:
    """R212: the log of operators, with the names of the fields that S1 gives them."""
    return {
        "timestamp": iso(event.at),
        "run_id": account.run,
        "event_seq": seq,
        "level": level_of(event),
        "step": getattr(event, "path", None),
        "attempt_id": _attempt(event, account),
        "event": _snake(type(event).__name__),
        **_details(event, account),
    }


def level_of(event: Event) -> LogLevel:
    match event:
        case StepEnded():
            return "INFO" if event.outcome in CONTINUING_OUTCOMES else "ERROR"
        case RunEnded():
            return "INFO" if event.status == "passed" else "ERROR"
        case AttemptEnded():
            return "INFO" if event.kind == "ok" else "WARNING"
        case AttemptDoubted() | RetryScheduled() | CancelAsked():
            return "WARNING"
        case FactsAsked() | FactsFound() | StepExpanded() | JoinQueued():
            return "DEBUG"
        case _:
            return "INFO"


def _attempt(event: Event, account: RunViewBuilder) -> int | None:
    number: int | None = getattr(event, "attempt", None)
    if number is None and isinstance(event, StepEnded):
        step = account.step(event.path)
        number = None if step is None else step.attempts
    return number


def _details(event: Event, account: RunViewBuilder) -> dict[str, Any]:
    match event:
        case RunStarted():
            return {"workflow": event.run.name, "fingerprint": event.fingerprint}
        case AttemptEnded():
            return {"kind": event.kind, "reason": event.reason, **_exit(event)}
        case StepEnded():
            step = account.step(event.path)
            took = {} if step is None else {"duration": (event.at - step.entered) / 1000}
            said = {"outcome": event.outcome, "reason": event.reason, "message": event.message}
            return {**took, "exit_code": event.exit, **said}
        case RunEnded():
            return {
                "status": event.status,
                "reason": event.reason,
                "exit_code": event.exit,
                "message": event.message,
            }
        case RetryScheduled():
            return {"why": event.why, "due": iso(event.due)}
        case AttemptStarted():
            return {"agent": event.agent}
        case _:
            return {}


def _exit(event: AttemptEnded) -> dict[str, Any]:
    code = None if event.result is None else event.result.get("exit_code")
    return {} if code is None else {"exit_code": code}


_WORD: Final = re.compile(r"(?<!^)(?=[A-Z])")


def _snake(name: str) -> str:
    return _WORD.sub("_", name).lower()


def _moved(event: Event, account: RunViewBuilder) -> dict[str, Any] | None:
    """R210: the log of transitions in S0's terms, whose states are our steps."""
    match event:
        case StepEntered():
            entry = {"ts": iso(event.at), "event": "enter", "state": event.path, "visit": event.visit}
            return {**entry, "role": event.role, "feedback": list(event.feedback)}
        case StepEnded() if event.path:
            return _left(event, account)
        case RunEnded():
            view = account.view()
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
        case _:
            return None


def _left(event: StepEnded, account: RunViewBuilder) -> dict[str, Any]:
    step = account.step(event.path)
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


def _tokens(event: AttemptEnded) -> dict[str, Any]:
    """An agent that tells no split of its tokens leaves it open; the total is what limits count."""
    result = event.result or {}
    usage = result.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return {
        "ts": iso(event.at),
        "agent": result.get("agent"),
        "model": result.get("model"),
        "state": event.path,
        "attempt": event.attempt,
        "input_tokens": usage.get("input"),
        "output_tokens": usage.get("output"),
        "cached_tokens": usage.get("cached"),
        "total": event.used.tokens,
        "calls": event.used.calls,
        "cost_usd": event.used.usd / DOLLAR if event.cost_known else None,
        "cost_source": result.get("cost_source"),
    }
