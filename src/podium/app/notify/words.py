"""The words of a message: a title that says what is wanted, and at most six lines.

Rule 1: what agents wrote is one line and shows what it hides; a change is never part of a message.
Rule 2: nothing in a message decides: a link leads to a page that asks for a log-in and shows the question.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, Final

from podium.app.notify.notices import Notice
from podium.core.events import ApprovalGiven, RunEnded, TimerFired
from podium.views.format import clock_time, dollars, iso, iso_or_none, plural
from podium.views.plain import one_line
from podium.views.run.labels import label_address, labels_in
from podium.views.run.view import Pending, RunView
from podium.views.text.costs import limit_text, run_cost
from podium.views.text.next_steps import answers_to, look_at

WIDTH: Final = 200
MOST_LINES: Final = 6


def title_of(notice: Notice, view: RunView, pending: Pending | None) -> str:
    return one_line(f"{view.workflow}: {_statement(notice, view, pending)}", WIDTH)


def _statement(notice: Notice, view: RunView, pending: Pending | None) -> str:
    step = label_address(notice.path, labels_in(view))
    match notice.kind:
        case "asked":
            return f"{step} {_asks(pending)}"
        case "reminded":
            return f"{step} still {_asks(pending)}"
        case "escalated":
            return f"{step} has had no answer and {_asks(pending)}"
        case "answered" if isinstance(notice.event, ApprovalGiven):
            return f"{notice.event.by} has answered {step}: {notice.event.action}"
        case "vetoable":
            if pending is not None and pending.due is not None:
                return f"{step} passes at {clock_time(pending.due)} unless it is rejected before"
            return f"{step} has passed; you can still reject it"
        case "stuck":
            return f"run {view.run} cannot continue by itself"
        case _:
            return f"run {view.run} has ended: {view.status.replace('_', ' ')}"


def _asks(pending: Pending | None) -> str:
    kind = "" if pending is None else pending.kind
    match kind:
        case "approval":
            return "waits for an approval"
        case "question":
            return "waits for an answer"
        case "by_hand":
            return "waits for work done by hand"
        case _:
            return "waits for a decision"


def body_of(
    notice: Notice, view: RunView, pending: Pending | None, *, change: str, why: str = "", link: str = ""
) -> str:
    """`change` says how much a question is about, `why` what is stuck, `link` where the page of it is."""
    lines = [line for line in _lines(notice, view, pending, (change, why, link)) if line]
    return "\n".join(one_line(line, WIDTH) for line in lines[:MOST_LINES])


def _lines(
    notice: Notice, view: RunView, pending: Pending | None, facts: tuple[str, str, str]
) -> Iterator[str]:
    event, (change, why, link) = notice.event, facts
    if pending is not None:
        yield pending.question
        yield f"asked by {pending.rule}" if pending.rule else ""
        yield ", ".join(filter(None, (change, _verdicts(view, pending), f"cost so far {_cost(view)}")))
        yield _who(notice, pending)
        look = look_at(view, pending)
        yield link or ("" if look is None else look.command)
        answer = next(iter(answers_to(view.run, pending)), None)
        yield "" if answer is None else answer.command
        return
    if isinstance(event, ApprovalGiven):
        yield f'"{event.text}"' if event.text else ""
    if isinstance(event, RunEnded):
        yield event.message
    yield why
    yield f"cost {_cost(view)}"
    if notice.kind == "vetoable":
        yield f"podium reject {view.run} {shlex.quote(notice.path)} --feedback TEXT"
    yield link or f"podium show {view.run}"


def _verdicts(view: RunView, pending: Pending) -> str:
    judged = [step for step in view.steps if step.verdict is not None and step.verdict.tree == pending.tree]
    if pending.tree is None or not judged:
        return ""
    passed = sum(step.verdict is not None and step.verdict.decision == "approve" for step in judged)
    return f"{passed} of {plural(len(judged), 'verdict')} on it passed"


def _cost(view: RunView) -> str:
    limit = next((each for each in view.limits if each.unit == "usd"), None)
    return run_cost(view) if limit is None else f"{run_cost(view)} of {dollars(limit.limit * 1_000_000)}"


def _who(notice: Notice, pending: Pending) -> str:
    people = ", ".join(pending.by) or "anyone"
    votes = f", {len(pending.approved_by)} of {pending.approvals} given" if pending.approvals > 1 else ""
    until = f", until {clock_time(pending.due)}" if pending.due is not None else ""
    more = (
        " (more people may answer now)"
        if isinstance(notice.event, TimerFired) and notice.kind == "escalated"
        else ""
    )
    return f"{people} may answer{votes}{until}{more}"


def data_of(notice: Notice, view: RunView, pending: Pending | None) -> dict[str, Any]:
    """The message as facts, for programs."""
    event = notice.event
    facts: dict[str, Any] = {
        "kind": notice.kind,
        "run": view.run,
        "workflow": view.workflow,
        "event": notice.seq,
        "at": iso(notice.at),
        "status": view.status,
        "usd": view.usd / 1_000_000,
        "limits": [limit_text(limit) for limit in view.limits],
    }
    if notice.path:
        facts["step"] = notice.path
    if pending is not None:
        facts |= {
            "question": one_line(pending.question, WIDTH),
            "rule": pending.rule,
            "actions": list(pending.actions),
            "by": list(pending.by),
            "approvals": pending.approvals,
            "given": list(pending.approved_by),
            "due": iso_or_none(pending.due),
            "tree": pending.tree,
            "presence": pending.presence,
        }
    if isinstance(event, ApprovalGiven):
        facts |= {"answer": event.action, "answered_by": event.by}
    if isinstance(event, RunEnded):
        facts |= {"reason": event.reason, "message": one_line(event.message, WIDTH)}
    return facts
