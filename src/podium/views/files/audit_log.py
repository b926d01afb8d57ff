"""`audit.log`: every decision about a change, by whom or by what, one line each (R122)."""

from __future__ import annotations

from typing import Final, TypeAlias, assert_never

from podium.core import events
from podium.core.events import Event
from podium.core.payloads import RaisedLimit, Verdict
from podium.views.evidence.decisions import HASTY
from podium.views.evidence.decisions import is_hasty as hasty
from podium.views.format import plural
from podium.views.plain import as_text, one_line, short_id
from podium.views.run.advice import advice_of
from podium.views.run.builder import RunViewBuilder
from podium.views.run.view import StepView
from podium.views.text.landing import landing_note, landing_words

DECISIONS: Final = {"approve": "approves", "reject": "rejects", "abort": "aborts"}


_Command: TypeAlias = (
    events.RunStarted
    | events.RunEnded
    | events.CancelAsked
    | events.RunPaused
    | events.RunResumed
    | events.GuidanceGiven
    | events.NoteLeft
    | events.LimitRaised
    | events.JumpAsked
    | events.RunRecovered
)
"""Events about the run, and commands of people."""
_Ignored: TypeAlias = (
    events.StepExpanded
    | events.StepReopened
    | events.AttemptQueued
    | events.AttemptStarted
    | events.RetryScheduled
    | events.WaitStarted
    | events.WaitEnded
    | events.FactsAsked
    | events.FactsFound
    | events.JoinQueued
    | events.JoinAsked
    | events.JumpOrdered
    | events.CancelOrdered
)
"""Events that decide nothing about a change."""


def audit_line(event: Event, builder: RunViewBuilder) -> str | None:
    """The audit line of an event, or None. The builder must already have the event."""
    match event:
        case events.StepEntered():
            # First, because it is frequent.
            return (
                f"log       {event.path} {one_line(event.about)}"
                if event.role == "step" and event.about
                else None
            )
        case events.AttemptEnded():
            if event.verdict is None:
                return None
            return f"verdict   {event.path} {_verdict(event.verdict)}{_from(event.reused)}"
        case events.StepEnded():
            return _ended(event, builder)
        case events.ApprovalAsked():
            people = ", ".join(event.by) or "anyone"
            return f"question  {event.path} asks {people} ({event.level}, {plural(event.approvals, 'approval')}){_on(event.tree)}"
        case events.ApprovalGiven():
            text = f': "{one_line(event.text)}"' if event.text else ""
            answer = f" {one_line(as_text(event.answer), 80)}" if event.answer is not None else ""
            words = f"{event.path} {event.action}{answer} by {event.by}{text}"
            # It is asked when it is entered.
            question = builder.step(event.path)
            since = None if question is None else question.entered
            is_hasty = event.tree is not None and not event.reused
            note = f", {HASTY}" if is_hasty and hasty(event.action, event.at, since, event.opened) else ""
            present = ", with a passkey" if event.proof is not None else ""
            return f"answer    {words}{_on(event.tree)}{_from(event.reused)}{present}{note}"
        case events.SignalReceived():
            return f"signal    {event.path} got {event.name}{_by(event.by)}"
        case events.JoinEnded():
            if not event.refused:
                return None
            which = "; ".join(f"{refused.path} {refused.kind}: {refused.detail}" for refused in event.refused)
            return f"join      {event.path or 'the run'} refused {one_line(which)}"
        case events.AttemptTaken():
            return f"taken     {event.path} attempt {event.attempt} by {event.by} with {event.agent}"
        case events.AttemptGuided(refused=""):
            return f'guided    {event.path} attempt {event.attempt}{_by(event.by)}: "{one_line(event.text)}"'
        case events.AttemptGuided():
            return f"guided    {event.path} attempt {event.attempt} not reached: {one_line(event.refused)}"
        case events.ToolAsked():
            call = f"{event.call.tool}: {one_line(event.call.subject)}"
            return f"wants     {event.path} attempt {event.attempt} to {call}"
        case events.AttemptDoubted():
            return (
                f"doubt     {event.path} attempt {event.attempt}: it may have taken effect before the crash"
            )
        case events.AttemptLost():
            return f"lost      {event.path} attempt {event.attempt}: its process is gone; performed again"
        case events.TimerFired():
            return _unanswered(event, builder)
        case _ if isinstance(event, _Command):
            return _command(event)
        case _ if isinstance(event, _Ignored):
            return None
        case _:
            assert_never(event)


def _raised(limit: RaisedLimit) -> str:
    why = f': "{one_line(limit.why)}"' if limit.why else ""
    return f"limit {limit.unit} raised to {limit.to}{_by(limit.by)}{why}"


def _command(event: _Command) -> str:
    match event:
        case events.RunStarted():
            definition = f"definition {short_id(event.fingerprint)}"
            raised = "".join(f"; {_raised(limit)}" for limit in event.run.raised)
            return (
                f"run       {event.run.id} of {event.run.name} started, {definition}{_on(event.tree)}{raised}"
            )
        case events.RunEnded():
            reason = f" ({event.reason})" if event.reason not in ("", event.status) else ""
            message = f": {one_line(event.message)}" if event.message else ""
            following = f", continues as {event.continued_by}" if event.continued_by else ""
            return f"run       {event.status}{reason}, exit {event.exit}{message}{following}"
        case events.CancelAsked():
            reason = f": {one_line(event.reason)}" if event.reason else ""
            return f"command   cancel{' (forced)' if event.force else ''}{_by(event.by)}{reason}"
        case events.RunPaused() | events.RunResumed():
            return f"command   {'pause' if isinstance(event, events.RunPaused) else 'resume'}{_by(event.by)}"
        case events.GuidanceGiven():
            return f'command   guidance{_by(event.by)}: "{one_line(event.text)}"'
        case events.NoteLeft():
            return f'command   note{_by(event.by)} for {event.to}: "{one_line(event.text)}"'
        case events.LimitRaised():
            owner = f" of {event.ledger}" if event.ledger else ""
            return f"command   limit {event.unit}{owner} raised to {event.to}{_by(event.by)}"
        case events.JumpAsked():
            return f"command   jump back in {event.path or 'the run'}{_by(event.by)}: {one_line(event.why)}"
        case events.RunRecovered():
            count = plural(len(event.lost), "interrupted call")
            lost = f", {count} of unknown cost repeated: {', '.join(event.lost)}" if event.lost else ""
            return f"run       taken over by owner {event.epoch}{lost}"
        case _:
            assert_never(event)


def _verdict(verdict: Verdict) -> str:
    score = "" if verdict.score is None else f", score {verdict.score:g}"
    findings = f", {plural(len(verdict.findings), 'finding')}" if verdict.findings else ""
    summary = f": {one_line(verdict.summary)}" if verdict.summary else ""
    return f"{DECISIONS[verdict.decision]}{score}{findings}{summary}{_on(verdict.tree)}"


def _ended(event: events.StepEnded, builder: RunViewBuilder) -> str | None:
    step = builder.step(event.path)
    if step is None:
        return None
    landed = landing_words(step)
    if landed is not None:
        note = f": {landing_note(step)}" if landing_note(step) else ""
        return f"landing   {event.path} {landed}{_on(step.tree)}{note}"
    advice = advice_of(step)
    if advice is not None:
        reason = f": {one_line(advice.reason)}" if advice.reason else ""
        return f"advice    {event.path} about {advice.rule}: {advice.decision} by {advice.by}{reason}"
    parent = builder.step(step.parent)
    if parent is not None and parent.role == "gates":
        return f"gate      {event.path} {_outcome(event)}{_exit(event)}{_explanation(step, event)}{_on(step.tree or step.base)}"
    # A person's answer has a line of its own.
    if "verdict" in step.result and "action" not in step.result and step.verdict is None:
        return f"review    {event.path} {_outcome(event)}{_on(step.tree or step.base)}"
    if step.role == "step" and event.outcome not in ("passed", "skipped"):
        return f"step      {event.path} {_outcome(event)}{_explanation(step, event)}"
    return None


def _outcome(event: events.StepEnded) -> str:
    return f"{event.outcome} ({event.reason})" if event.reason not in ("", event.outcome) else event.outcome


def _exit(event: events.StepEnded) -> str:
    code = (event.result or {}).get("exit_code")
    return "" if code is None else f", exit {code}"


def _explanation(step: StepView, event: events.StepEnded) -> str:
    if event.outcome == "passed":
        return ""
    return f": {one_line(step.words)}" if step.words else ""


def _unanswered(event: events.TimerFired, builder: RunViewBuilder) -> str | None:
    """A timer of an unanswered question: a reminder, an escalation, or its deadline."""
    step = builder.step(event.path)
    is_waiting = step is not None and step.status == "waiting"
    return f"silence   {event.path} has not been answered" if is_waiting else None


def _on(tree: str | None) -> str:
    return f"  [tree {short_id(tree)}]" if tree else ""


def _by(person: str) -> str:
    return f" by {person}" if person else ""


def _from(run: str) -> str:
    return f"  [from {run}]" if run else ""
