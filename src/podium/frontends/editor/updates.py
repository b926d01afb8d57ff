"""What an editor is shown of a run: its steps as a plan, one line per outcome, changes as diffs, questions as choices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from acp.helpers import plan_entry, start_tool_call, tool_diff_content, update_plan
from acp.schema import AgentPlanUpdate, PermissionOption, ToolCallStart, ToolCallUpdate

from podium.core.types import CONTINUING_OUTCOMES
from podium.views.plain import harmless, one_line, short_id
from podium.views.text.next_steps import answers_to

if TYPE_CHECKING:
    from acp.schema import PermissionOptionKind, PlanEntryStatus

    from podium.app.assistant.changed_texts import ChangedText
    from podium.views.run.view import Pending, RunView, StepView

KINDS: Final[dict[str, PermissionOptionKind]] = {
    "approve": "allow_once",
    "reject": "reject_once",
    "abort": "reject_once",
}


def top_steps(view: RunView) -> dict[str, StepView]:
    """The newest visit of each step of the workflow itself."""
    return {step.step: step for step in view.steps if step.depth == 0 and step.role == "step"}


def plan_of(view: RunView, names: Sequence[str]) -> AgentPlanUpdate:
    """The steps in the order of the file; `names` are all of them, as far as the definition can be read."""
    steps = top_steps(view)
    order = dict.fromkeys((*names, *steps))
    return update_plan(
        [plan_entry(_entry(name, steps.get(name)), status=_status(steps.get(name))) for name in order]
    )


def _entry(name: str, step: StepView | None) -> str:
    if step is None or step.outcome is None or step.outcome in CONTINUING_OUTCOMES:
        return name
    return f"{name}: {step.outcome}"


def _status(step: StepView | None) -> PlanEntryStatus:
    if step is None or step.status == "queued":
        return "pending"
    return "completed" if step.status == "ended" else "in_progress"


def outcome_line(step: StepView) -> str:
    why = f": {one_line(step.why)}" if step.why else ""
    return f"{step.path} {step.outcome}{why}\n"


def edit_of(run: str, step: StepView, changes: Sequence[ChangedText], root: Path) -> ToolCallStart | None:
    """What a step has captured, as an edit that has already happened; None if it has changed nothing."""
    if not changes:
        return None
    content = [tool_diff_content(str(root / each.path), each.after, each.before) for each in changes]
    title = f"{step.path} changed {', '.join(each.path for each in changes[:3])}"
    return start_tool_call(
        f"{run}/{step.path}", one_line(title), kind="edit", status="completed", content=content
    )


def question_text(view: RunView, pending: Pending) -> str:
    """The question, and what a person types to answer it elsewhere."""
    commands = "".join(f"\n    {hint.command}" for hint in answers_to(view.run, pending))
    about = f" (about tree {short_id(pending.tree)})" if pending.tree is not None else ""
    return f"{pending.path} asks{about}: {harmless(pending.question)}{commands}\n"


def permission_call(view: RunView, pending: Pending) -> ToolCallUpdate:
    tree = f" [tree {short_id(pending.tree)}]" if pending.tree is not None else ""
    title = one_line(f"{pending.question or pending.path}{tree}")
    return ToolCallUpdate(
        tool_call_id=f"{view.run}/{pending.path}", title=title, kind="other", status="pending"
    )


def permission_options(pending: Pending) -> list[PermissionOption]:
    return [
        PermissionOption(
            option_id=action, name=action.replace("_", " ").capitalize(), kind=KINDS.get(action, "allow_once")
        )
        for action in pending.actions
        if action != "answer"
    ]


def asks_for_choice(pending: Pending) -> bool:
    return bool(permission_options(pending))


def open_questions(view: RunView) -> Iterator[Pending]:
    """What a person can answer; timers, signals and quotas are waited for elsewhere."""
    return (pending for pending in view.pending if pending.actions or pending.kind == "by_hand")
