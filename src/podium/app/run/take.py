"""Let a person do the next attempt of a step in the agent's own program: which step, in which run, and after which answer.

A run that has failed continues in a new run, like `podium resume`. A run that waits, is paused or was interrupted continues
itself; if it waits because of this step, the person's command answers that question.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from podium.app.query.runs import ENDED, show
from podium.app.run.rerun import RerunPreview, preview_rerun, start_rerun
from podium.app.run.send import check_accepted
from podium.app.run.start import RunSource, prepare_run, workflow_of
from podium.attempt.taking import EarlierWork, Taking
from podium.core.addresses import without_visits
from podium.core.events import AttemptEnded, AttemptStarted, Event, StepEntered
from podium.core.evolve.evolve import fold
from podium.core.hash_chain import RunId
from podium.core.messages import Approve, Command, Resume
from podium.core.model import Agent, Step
from podium.core.types import Address
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.ports.agent import InteractiveAgent
from podium.ports.runtime import AlreadyOwned, check_unchanged
from podium.process.procfs import has_marked_ancestor
from podium.runtime.prepared_run import PreparedRun
from podium.runtime.records import events_of
from podium.views.run.view import Pending, RunView, StepView

if TYPE_CHECKING:
    from podium.app.project import Project

CONTINUED: Final = ("failed", "rejected", "timed_out")
"""Ends of a run after which a step can be taken over."""
ANSWERS: Final = {"exhausted": "retry", "consent": "rerun", "advice": "proceed"}
"""The answer to a question about a step that lets it work again, by the kind of the question."""
TERMINALS: Final = ("bubblewrap", "limits", "none")
"""Sandbox levels that can give a program a terminal."""


@dataclass(frozen=True, slots=True)
class TakePlan:
    visit: StepView
    """The newest visit of the step."""
    step: Step | None
    """None if the definition has changed since."""
    prepared: PreparedRun
    commands: tuple[Command, ...] = ()
    """What the run must be told first."""
    preview: RerunPreview | None = None
    """The new run in which a run that has ended continues."""
    earlier: EarlierWork | None = None


def plan_take(project: Project, run: RunId, step: str, *, by: str, sandbox: str | None) -> TakePlan:
    """Raises with the reason if the step cannot be taken over. `sandbox` is the level that the person typed."""
    if has_marked_ancestor(os.getpid()):
        raise ConfigurationError("a process of a step cannot take a step over", code="refused")
    head = project.run(run)
    if project.runtime.is_owned(run):
        raise AlreadyOwned(
            f"run {run} is driven by another process",
            hint=f"pause it first, and take the step when it has stopped: podium pause {run}",
        )
    view = show(project, head)
    visit = _newest_visit(view, step)
    if head.status in ENDED:
        plan = _in_new_run(project, view, visit, sandbox)
    else:
        plan = _in_same_run(project, view, visit, by, sandbox)
    _check_sandbox(plan, sandbox)
    return plan


def hand_over(project: Project, plan: TakePlan, taking: Taking) -> RunId:
    """Hand the attempt to the person, in the run that is driven next: the new run if there is one."""
    prepared = replace(plan.prepared, host=replace(plan.prepared.host, taking=taking))
    if plan.preview is not None:
        return start_rerun(project, replace(plan.preview, prepared=prepared)).run
    project.prepared[prepared.id] = prepared
    return prepared.id


def _newest_visit(view: RunView, step: str) -> StepView:
    """The newest visit of a step, which is named by its address or by its name alone."""
    named = [
        each
        for each in view.steps
        if each.role == "step" and step in (each.path, without_visits(each.path), each.step)
    ]
    places = {without_visits(each.path): each for each in named}
    if not named:
        names = ", ".join(
            dict.fromkeys(each.path for each in view.steps if each.role == "step" and each.worked)
        )
        raise ConfigurationError(
            f'run {view.run} has not entered a step "{step}"',
            hint=f"it has entered: {names}" if names else f"see: podium show {view.run}",
            code="unknown_step",
        )
    unfinished = [each for each in places.values() if each.outcome != "passed"]
    candidates = unfinished if len(places) > 1 else list(places.values())
    if len(candidates) != 1:
        raise ConfigurationError(
            f'"{step}" is the name of several steps',
            hint=f"name one: {', '.join(places)}",
            code="unknown_step",
        )
    return candidates[0]


def _in_new_run(project: Project, view: RunView, visit: StepView, sandbox: str | None) -> TakePlan:
    run = RunId(view.run)
    if view.status not in CONTINUED:
        hints = {
            "passed": f"run it again: podium rerun {run} {visit.path}",
            "limited": f"raise the limit first: podium raise {run}",
        }
        raise ConfigurationError(
            f"run {run} has ended: {view.status}", hint=hints.get(view.status), code="run_ended"
        )
    events = events_of(project.runtime.events(run))
    redo = tuple(
        event.path
        for event in events
        if isinstance(event, StepEntered)
        and (event.path == visit.path or event.path.startswith(f"{visit.path}#"))
    )
    preview = preview_rerun(project, run, redo=redo, sandbox=sandbox)
    prepared = preview.prepared
    step = None if preview.is_changed else _step_at(prepared, events, visit)
    return TakePlan(
        visit,
        step,
        prepared,
        preview=preview,
        earlier=_earlier_work(project, run, events, visit.path),
    )


def _in_same_run(project: Project, view: RunView, visit: StepView, by: str, sandbox: str | None) -> TakePlan:
    head = project.run(view.run)
    source = RunSource.of(head)
    workflow = workflow_of(project, head)
    check_unchanged(head, workflow)
    prepared = prepare_run(project, head.run, workflow, replace(source, sandbox=sandbox or source.sandbox))
    step = _step_at(prepared, events_of(project.runtime.events(head.run)), visit)
    commands: list[Command] = [Resume(by)] if view.status == "paused" else []
    question = next((each for each in view.pending if _is_about(each, visit.path)), None)
    if question is not None:
        answer = _answer(view, question, by)
        check_accepted(project, head.run, workflow, answer)
        commands.append(answer)
    elif visit.status not in ("queued", "running", "retrying"):
        raise _not_waiting(view, visit)
    return TakePlan(visit, step, prepared, commands=tuple(commands))


def _is_about(pending: Pending, path: Address) -> bool:
    return pending.path.startswith(f"{path}#") and "/!" in pending.path


def _answer(view: RunView, question: Pending, by: str) -> Approve:
    action = ANSWERS.get(question.kind)
    if action is None:
        raise ConfigurationError(
            f"{question.path} asks first: {question.question}",
            hint=f"answer it: podium inbox {view.run}",
            code="not_waiting",
        )
    return Approve(question.path, action, by, f"{by} takes the step over", None, question.tree)


def _not_waiting(view: RunView, visit: StepView) -> ConfigurationError:
    run = view.run
    if visit.status == "ended":
        waiting = ", ".join(each.path for each in view.pending if each.actions)
        hint = f"the run waits for an answer to {waiting}; a rejection leads back" if waiting else None
        message = f"step {visit.path} of run {run} has ended: {visit.outcome}"
        return ConfigurationError(message, hint=hint or f"see: podium show {run}", code="not_waiting")
    return ConfigurationError(
        f"the work of {visit.path} is being judged",
        hint=f"finish that first: podium resume {run}",
        code="not_waiting",
    )


def _step_at(prepared: PreparedRun, events: Sequence[Event], visit: StepView) -> Step:
    """The definition of the step; raises if a person cannot use the program of its agent."""
    step = fold(prepared.workflow, events).instances[visit.path].place.step
    if not isinstance(step.verb, Agent) or step.verb.judge:
        what = "is a review" if isinstance(step.verb, Agent) else "is not the work of an agent"
        raise ConfigurationError(
            f"step {visit.path} {what}: only the step of one agent can be taken over", code="not_an_agent"
        )
    agents = prepared.host.agents
    if prepared.host.context.agents_simulated:
        raise ConfigurationError("this run replays recordings of its agents", code="not_an_agent")
    agent = visit.result.get("agent") or step.verb.agent
    # An agent that is an expression or the default is checked by the attempt.
    config = prepared.workflow.config.agents.get(agent, {}) if isinstance(agent, str) else {}
    installed = agents.get(str(config.get("type") or agent))
    if installed is not None and not isinstance(installed.adapter, InteractiveAgent):
        names = ", ".join(name for name, each in agents.items() if isinstance(each.adapter, InteractiveAgent))
        raise ConfigurationError(
            f'agent "{agent}" has no program for a terminal that Podium can open',
            hint=f"types of agents that have one: {names}",
            code="not_an_agent",
        )
    return step


def _check_sandbox(plan: TakePlan, typed: str | None) -> None:
    host, path = plan.prepared.host, plan.visit.path
    level = host.sandboxes.default.level if plan.step is None else host.sandbox_of(plan.step).level
    if level not in TERMINALS:
        raise ConfigurationError(
            f"{path}: a program in a {level} cannot have your terminal",
            hint="type another sandbox: --sandbox bubblewrap",
            code="needs_sandbox",
        )
    if level != "bubblewrap" and typed is None:
        raise ConfigurationError(
            f"{path}: the agent's program would have your rights, without a sandbox (level {level})",
            hint=f"if you accept that, type it: --sandbox {level}",
            code="needs_sandbox",
        )


def _earlier_work(project: Project, run: RunId, events: Sequence[Event], path: Address) -> EarlierWork | None:
    ends = [event for event in events if isinstance(event, AttemptEnded) and event.path == path]
    if not ends:
        return None
    last = ends[-1]
    base = next(
        (
            event.base
            for event in events
            if isinstance(event, AttemptStarted) and (event.path, event.attempt) == (path, last.attempt)
        ),
        None,
    )
    folder = project.paths.run_dir(run) / "agent_logs" / path.replace("/", "+") / str(last.attempt)
    return EarlierWork(folder, base, last.tree)
