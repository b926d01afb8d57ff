"""What a person can do next with a run: commands to type, each with its purpose."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from podium.views.plain import one_line
from podium.views.run.view import Pending, RunView, StepView, fault_before, hand_folder, held_against
from podium.views.text.landing import landing_note


class Hint(NamedTuple):
    command: str
    why: str


def look_at(view: RunView, pending: Pending) -> Hint | None:
    """The command that shows the tree a question is about, if there is a change to see."""
    if not pending.actions or pending.tree is None or pending.tree == held_against(view, pending):
        return None
    return Hint(f"podium diff {view.run} {shlex.quote(pending.path)}", "to see what it is about")


def background(view: RunView, pending: Pending) -> Iterator[str]:
    """What whoever is asked has to know: why it is asked, and where the work lies."""
    fault, folder = fault_before(view, pending), hand_folder(view, pending)
    if fault:
        yield f"the last attempt did not stand: {one_line(fault, 300)}"
    if folder:
        yield f"the task: {folder}/TASK.md" + (f", work in {folder}/work" if view.base is not None else "")


def answers_to(run: str, pending: Pending) -> Iterator[Hint]:
    """The commands that answer what a run waits for."""
    place = f"{run} {shlex.quote(pending.path)}"
    match pending.kind:
        case "approval":
            yield Hint(f"podium approve {place}", "to let it pass")
            yield Hint(f"podium reject {place} --feedback TEXT", "to send it back with what is wrong")
        case "question":
            yield Hint(f"podium answer VALUE {place}", "to answer")
        case "exhausted" | "consent" | "advice" | "price":
            for action in pending.actions:
                why = (
                    "to end the step"
                    if (pending.kind, action) == ("price", "halt")
                    else ACTIONS.get(action, "")
                )
                yield Hint(f"podium approve {place} --action {action}", why)
        case "by_hand":
            yield Hint(f"podium approve {place}", "when the work is done")
        case "signal":
            yield Hint(f"podium signal {run} {shlex.quote(pending.name or 'NAME')}", "to go on")
        case _:
            return


ACTIONS = {
    "retry": "to grant one more attempt",
    "accept": "to take the best attempt so far",
    "fail": "to let the step fail",
    "rerun": "to do it again",
    "proceed": "to go on as planned",
    "force_complete": "to take what is there as done",
    "retry_different": "to try another way",
    "halt": "to stop the run",
    "dump_context": "to stop and keep everything for a look",
}


def next_steps(view: RunView) -> Iterator[Hint]:
    """What makes sense now, the most useful first."""
    run = view.run
    for pending in view.pending:
        look = look_at(view, pending)
        yield from () if look is None else (look,)
        yield from answers_to(run, pending)
    match view.status:
        case "passed":
            if view.tree is not None and view.tree != view.base:
                yield Hint(f"podium diff {run}", "to see the change")
            if (
                view.tree is not None
                and view.tree != view.base
                and not any(step.landed for step in view.steps)
            ):
                yield Hint(f"podium apply {run}", "to land it: it is on its own ref so far")
            if any(landing_note(step) for step in view.steps):
                yield Hint(f"podium apply {run}", "to let your checked-out files follow the branch")
        case "failed" | "rejected" | "limited" | "timed_out":
            if any(_is_to_be_dumped(step) for step in view.steps):
                yield Hint(f"podium export {run}", "to have the whole context in one place")
            for step in view.steps:
                if step.reason == "in_the_way" and step.outcome == "failed":
                    why = "to land it once nothing is in the way"
                    yield Hint(f"podium rerun {run} {shlex.quote(step.path)}", why)
            yield Hint(f"podium logs {run} --failed", "to see what the failed attempts said")
            if view.tree is not None and view.tree != view.base:
                yield Hint(f"podium diff {run}", "to see how far it came")
        case "cancelled":
            yield Hint(f"podium show {run}", "to see how far it came")
        case "interrupted" | "parked" | "paused":
            yield Hint(f"podium resume {run}", "to carry it on")
        case "running" | "waiting":
            yield Hint(f"podium events {run} -f", "to watch it")


def _is_to_be_dumped(step: StepView) -> bool:
    """Whether a person or an advisor has decided to stop and look."""
    output = step.result.get("output")
    said = output.get("action") if isinstance(output, Mapping) else None
    return step.role == "advice" and "dump_context" in (step.result.get("action"), said)


def waits_for(pending: Pending) -> str:
    """In a few words, for one line."""
    whom = ", ".join(pending.by) or "anybody"
    match pending.kind:
        case "approval" | "question" | "exhausted" | "advice" | "consent" | "price":
            more = f" ({len(pending.given)} of {pending.approvals})" if pending.approvals > 1 else ""
            return f"an answer of {whom}{more}"
        case "by_hand":
            return "a person's work"
        case "signal":
            return f"the signal {pending.name}".rstrip()
        case "quota":
            return "the quota window"
        case "retry":
            return "the next attempt"
        case "timer" | "until_time":
            return "its time"
        case "wait":
            return "something outside"
        case kind:
            return f"{kind} {pending.name}".rstrip()
