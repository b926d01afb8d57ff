"""Suggests the next commands for a run, each with its purpose."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from podium.core.payloads import Rebase, rebase_in
from podium.core.types import TO_A_PERSON
from podium.views.plain import one_line
from podium.views.run.advice import advice_in
from podium.views.run.view import NOTHING, Pending, RunView, comparison_base, failure_before, hand_folder
from podium.views.run.why import ReachedLimit, limit_of_message
from podium.views.text.landing import landing_note, merge_command

DUMP: Final = "debug_dump.json"
"""The file of a run that was stopped by the decision `dump_context`."""


class Hint(NamedTuple):
    command: str
    why: str


def look_at(view: RunView, pending: Pending) -> Hint | None:
    """The command that shows the change a question is about, if there is one."""
    if not pending.actions or pending.tree is None or pending.tree == comparison_base(view, pending):
        return None
    return Hint(f"podium diff {view.run} {shlex.quote(pending.path)}", "to see the change in question")


def background(view: RunView, pending: Pending) -> Iterator[str]:
    """Background for the person who is asked: why, and where the work is."""
    why, folder = failure_before(view, pending), hand_folder(view, pending)
    if pending.kind == "advice" and pending.about:
        yield f"the rule: {one_line(pending.about.removeprefix(TO_A_PERSON), 300)}"
    if pending.rule:
        yield f"asked by {one_line(pending.rule, 300)}"
    if why:
        yield f"the last attempt failed: {why}"
    if folder:
        yield f"the task: {folder}/TASK.md" + (f", work in {folder}/work" if view.base is not None else "")


def answers_to(run: str, pending: Pending, leads_to: Mapping[str, str] = NOTHING) -> Iterator[Hint]:
    """The commands that answer a pending question, with what each leads to as far as it is known."""
    place = f"{run} {shlex.quote(pending.path)}"
    match pending.kind:
        case "approval":
            approve = "podium ui" if pending.presence else f"podium approve {place}"
            why = "to approve with your passkey" if pending.presence else "to approve"
            yield Hint(approve, _with(why, leads_to.get("approve")))
            why = _with("to reject with feedback", leads_to.get("reject"))
            yield Hint(f"podium reject {place} --feedback TEXT", why)
        case "question":
            why = f"to answer, one of {', '.join(pending.choices)}" if pending.choices else "to answer"
            why = f"to answer; {pending.until} as VALUE ends the conversation" if pending.until else why
            if pending.presence:
                yield Hint("podium ui", _with(f"{why}, with your passkey", leads_to.get("answer")))
                return
            yield Hint(f"podium answer VALUE {place}", _with(why, leads_to.get("answer")))
        case "exhausted" | "consent" | "advice" | "price":
            for action in pending.actions:
                why = (
                    "to end the step"
                    if (pending.kind, action) == ("price", "halt")
                    else ACTIONS.get(action, "")
                )
                yield Hint(f"podium approve {place} --action {action}", why)
        case "by_hand":
            yield Hint(f"podium approve {place}", "when you have finished the work")
        case "signal":
            yield Hint(f"podium signal {run} {shlex.quote(pending.name or 'NAME')}", "to send the signal")
        case _:
            return


def _with(why: str, consequence: str | None) -> str:
    return f"{why}: {consequence}" if consequence else why


ACTIONS = {
    "retry": "to grant one more attempt",
    "accept": "to accept the best attempt so far",
    "fail": "to let the step fail",
    "rerun": "to run it again",
    "proceed": "to continue",
    "force_complete": "to accept the best result so far",
    "retry_different": "to retry with guidance",
    "halt": "to stop the run",
    "dump_context": "to stop the run and inspect it",
}


def next_steps(view: RunView) -> Iterator[Hint]:
    """The most useful commands now, the best first."""
    run = view.run
    if view.status == "paused":
        yield Hint(f"podium resume {run}", "to resume it")
        return
    for pending in view.pending:
        look = look_at(view, pending)
        yield from () if look is None else (look,)
        yield from answers_to(run, pending)
    match view.status:
        case "passed" if view.series is not None and view.series.next:
            yield Hint(f"podium show {view.series.next}", "to see the run that continues it")
            if view.tree is not None and view.tree != view.base:
                yield Hint(f"podium diff {run}", "to see the change")
        case "passed":
            if view.tree is not None and view.tree != view.base:
                yield Hint(f"podium diff {run}", "to see the change")
            if (
                view.tree is not None
                and view.tree != view.base
                and not view.in_place
                and not any(step.landed for step in view.steps)
            ):
                yield Hint(f"podium apply {run}", "to merge it into a branch")
            if any(landing_note(step) for step in view.steps):
                yield Hint(f"podium apply {run}", "to update your checked-out files to the branch")
        case "failed" | "rejected" | "limited" | "timed_out":
            if any(advice.decision == "dump_context" for advice in advice_in(view.steps)):
                yield Hint(f"cat .podium/runs/{run}/{DUMP}", "to read the context at the decision")
                yield Hint(f"podium export {run}", "to export the whole context")
            for step in view.steps:
                if step.reason == "in_the_way" and step.outcome == "failed":
                    why = "to land it after you have moved the files in the way"
                    yield Hint(f"podium rerun {run} {shlex.quote(step.path)}", why)
            if any(step.reason == "auth" and step.outcome == "error" for step in view.steps):
                yield Hint("podium agents", "to see how the agent logs in")
            yield Hint(f"podium logs {run} --failed", "to see the output of the failed attempts")
            yield from _ways_on(view)
            if view.tree is not None and view.tree != view.base:
                yield Hint(f"podium diff {run}", "to see what it did")
        case "cancelled":
            yield Hint(f"podium show {run}", "to see what it did")
        case "parked" if any(pending.actions for pending in view.pending):
            yield Hint(f"podium resume {run}", "to be asked at the terminal")
        case "parked":
            yield Hint(f"podium resume {run}", "to wait for it here")
        case "interrupted":
            yield Hint(f"podium resume {run}", "to resume it")
        case "running" | "waiting":
            yield Hint(f"podium logs {run} -f", "to watch it")


def _ways_on(view: RunView) -> Iterator[Hint]:
    """How to continue a run that did not pass. A limit that was reached would stop it again, so it is raised first."""
    rebase = _refused_landing(view)
    if rebase is not None and not rebase.step:
        yield Hint(merge_command(rebase), "to merge it yourself: no step of the run can continue it")
        return
    reached = limit_of_message(view.message) if view.status == "limited" else None
    if reached is not None and not reached.step:
        why = "to raise the limit that stopped it and continue"
        yield Hint(f"podium raise {view.run} {reached.unit}={_enough(view, reached)}", why)
    elif rebase is not None:
        why = f"to let {rebase.step} continue on top of {rebase.branch}, check the result and land it"
        yield Hint(f"podium resume {view.run}", why)
    elif view.status != "limited":
        yield Hint(f"podium resume {view.run}", "to try the failed step again, and keep what passed")
    elif reached is not None:
        why = f"after you have raised the limit of {reached.step} in the file"
        yield Hint(f"podium resume {view.run} --accept-changes", why)


def _refused_landing(view: RunView) -> Rebase | None:
    """The work of the landing that failed because its branch had moved."""
    failed = (step for step in view.steps if not step.stale and step.outcome in ("conflict", "failed"))
    return next((rebase for step in failed if (rebase := rebase_in(step.result)) is not None), None)


def _enough(view: RunView, reached: ReachedLimit) -> str:
    """Twice the limit in force, or more if the refused attempt needs more, as it is written in a file."""
    limit = next((each.limit for each in view.limits if each.unit == reached.unit), None)
    if limit is None:
        return "VALUE"
    value = max(2 * limit, reached.needed)
    return f"{value:.0f}s" if reached.unit == "time" else f"{value:.10g}"


def waits_for(pending: Pending) -> str:
    """A short description of what is awaited, for one line."""
    people = ", ".join(pending.by) or "anyone"
    match pending.kind:
        case "approval" | "question" | "exhausted" | "advice" | "consent" | "price":
            more = f" ({len(pending.approved_by)} of {pending.approvals})" if pending.approvals > 1 else ""
            return f"an answer from {people}{more}"
        case "by_hand":
            return "a person's work"
        case "signal":
            return f"the signal {pending.name}".rstrip()
        case "quota":
            return "the quota window"
        case "retry":
            return "the next attempt"
        case "timer" | "until_time":
            return "its timer"
        case "wait":
            return "something outside"
        case kind:
            return f"{kind} {pending.name}".rstrip()
