"""`audit.log`: who and what let a change through, in one line each that a person can follow (R122)."""

from __future__ import annotations

from typing import Final

from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptDoubted,
    AttemptEnded,
    CancelAsked,
    Event,
    GuidanceGiven,
    JoinEnded,
    JumpAsked,
    LimitRaised,
    RunEnded,
    RunPaused,
    RunRecovered,
    RunResumed,
    RunStarted,
    SignalReceived,
    StepEnded,
    TimerFired,
)
from podium.core.payloads import Verdict
from podium.views.plain import as_text, many, one_line, short
from podium.views.run.builder import RunViewBuilder
from podium.views.run.view import StepView
from podium.views.text.landing import landing_note, landing_words

DECISIONS: Final = {"approve": "approves", "reject": "rejects", "abort": "calls it hopeless"}


def audit_line(event: Event, account: RunViewBuilder) -> str | None:
    """What is to be said of an event, or None. The account has taken it already."""
    match event:
        case AttemptEnded(verdict=Verdict() as verdict):
            return f"verdict   {event.path} {_verdict(verdict)}"
        case StepEnded():
            return _ended(event, account)
        case ApprovalAsked():
            whom = ", ".join(event.by) or "anybody"
            return f"question  {event.path} asks {whom} ({event.level}, {many(event.approvals, 'approval')}){_on(event.tree)}"
        case ApprovalGiven():
            said = f': "{one_line(event.text)}"' if event.text else ""
            answer = f" {one_line(as_text(event.answer), 80)}" if event.answer is not None else ""
            return f"answer    {event.path} {event.action}{answer} by {event.by}{said}{_on(event.tree)}"
        case SignalReceived():
            return f"signal    {event.path} got {event.name}{_by(event.by)}"
        case JoinEnded() if event.refused:
            which = "; ".join(f"{refused.path} {refused.kind}: {refused.detail}" for refused in event.refused)
            return f"join      {event.path or 'the run'} refused {one_line(which)}"
        case AttemptDoubted():
            return f"doubt     {event.path} attempt {event.attempt}: not known whether it took effect before the crash"
        case TimerFired():
            return _silence(event, account)
        case _:
            return _of_run(event)


def _of_run(event: Event) -> str | None:
    match event:
        case RunStarted():
            definition = f"definition {short(event.fingerprint)}"
            return f"run       {event.run.id} of {event.run.name} started, {definition}{_on(event.tree)}"
        case RunEnded():
            reason = f" ({event.reason})" if event.reason not in ("", event.status) else ""
            message = f": {one_line(event.message)}" if event.message else ""
            return f"run       {event.status}{reason}, exit {event.exit}{message}"
        case CancelAsked():
            reason = f": {one_line(event.reason)}" if event.reason else ""
            return f"command   cancel{' by force' if event.force else ''}{_by(event.by)}{reason}"
        case RunPaused() | RunResumed():
            return f"command   {'pause' if isinstance(event, RunPaused) else 'resume'}{_by(event.by)}"
        case GuidanceGiven():
            return f'command   guidance{_by(event.by)}: "{one_line(event.text)}"'
        case LimitRaised():
            where = f" of {event.ledger}" if event.ledger else ""
            return f"command   limit {event.unit}{where} raised to {event.to}{_by(event.by)}"
        case JumpAsked():
            return f"command   back in {event.path or 'the run'}{_by(event.by)}: {one_line(event.why)}"
        case RunRecovered():
            return f"run       taken over by owner {event.epoch}"
        case _:
            return None


def _verdict(verdict: Verdict) -> str:
    score = "" if verdict.score is None else f", score {verdict.score:g}"
    findings = f", {many(len(verdict.findings), 'finding')}" if verdict.findings else ""
    summary = f": {one_line(verdict.summary)}" if verdict.summary else ""
    return f"{DECISIONS[verdict.decision]}{score}{findings}{summary}{_on(verdict.tree)}"


def _ended(event: StepEnded, account: RunViewBuilder) -> str | None:
    step = account.step(event.path)
    if step is None:
        return None
    landed = landing_words(step)
    if landed is not None:
        note = f": {landing_note(step)}" if landing_note(step) else ""
        return f"landing   {event.path} {landed}{_on(step.tree)}{note}"
    above = account.step(step.parent)
    if above is not None and above.role == "gates":
        return f"gate      {event.path} {_outcome(event)}{_exit(event)}{_said(step, event)}{_on(step.tree or step.base)}"
    # A person's answer has its own line.
    if "verdict" in step.result and "action" not in step.result and step.verdict is None:
        return f"review    {event.path} {_outcome(event)}{_on(step.tree or step.base)}"
    if step.role == "step" and event.outcome not in ("passed", "skipped"):
        return f"step      {event.path} {_outcome(event)}{_said(step, event)}"
    return None


def _outcome(event: StepEnded) -> str:
    return f"{event.outcome} ({event.reason})" if event.reason not in ("", event.outcome) else event.outcome


def _exit(event: StepEnded) -> str:
    code = (event.result or {}).get("exit_code")
    return "" if code is None else f", exit {code}"


def _said(step: StepView, event: StepEnded) -> str:
    if event.outcome == "passed":
        return ""
    return f": {one_line(step.words)}" if step.words else ""


def _silence(event: TimerFired, account: RunViewBuilder) -> str | None:
    """A timer of a question: a reminder, an escalation, or the end of its time."""
    step = account.step(event.path)
    asked = step is not None and step.status == "waiting"
    return f"silence   {event.path} has not been answered" if asked else None


def _on(tree: str | None) -> str:
    return f"  [tree {short(tree)}]" if tree else ""


def _by(who: str) -> str:
    return f" by {who}" if who else ""
