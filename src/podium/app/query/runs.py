"""Reads runs: list them, show one, follow it, add up costs. Nothing here changes a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, get_args

from podium.core.events import Event
from podium.core.hash_chain import Record, RunId
from podium.core.types import Address, Millis, RunStatus
from podium.errors import ConfigurationError, PodiumError
from podium.ports.runtime import Runtime
from podium.ports.store import RunHead
from podium.runtime.records import event_of, events_of, is_replay
from podium.runtime.stored_view import read_stored
from podium.views.format import iso
from podium.views.run.builder import RunViewBuilder, run_view
from podium.views.run.charges import CHARGING
from podium.views.run.costs import By, CostReport, RunLog, cost_report
from podium.views.run.stored_text import has_texts_for, with_stored
from podium.views.run.view import RunView, ViewStatus, with_status

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.model import Workflow
    from podium.views.pictures.states import NodeState

ENDED: Final[tuple[RunStatus, ...]] = get_args(RunStatus)
UNOWNED: Final[dict[str, ViewStatus]] = {"running": "interrupted", "waiting": "parked"}
"""The status of a run that no living process drives."""

_OF_THE_WHOLE: Final = frozenset(("RunStarted", "RunPaused", "RunResumed", *CHARGING))
"""The types of events that a line of a list needs; reading only these keeps a list of hundreds of runs fast."""


def list_runs(
    project: Project, limit: int | None = None, *, status: str | None = None, workflow: str | None = None
) -> tuple[tuple[RunView, ...], int]:
    """The newest runs, the newest first and without their steps, and how many more there are.

    With `status` or `workflow` only runs that have them.
    """
    heads = tuple(
        head
        for head in project.runtime.heads()
        if (workflow is None or head.workflow == workflow)
        and (status is None or status_of(project.runtime, head) == status)
    )
    return tuple(summary(project, head) for head in heads[:limit]), len(heads[limit:]) if limit else 0


def status_of(runtime: Runtime, head: RunHead) -> str:
    """As it is shown: without a process, a run that runs is interrupted and one that waits is parked."""
    unowned = UNOWNED.get(head.status)
    return head.status if unowned is None or runtime.is_owned(head.run) else unowned


def summary(project: Project, head: RunHead) -> RunView:
    builder = RunViewBuilder()
    records = project.runtime.events(head.run)
    builder.feed(event_of(record) for record in records if record.type in _OF_THE_WHOLE)
    if is_left(project.runtime, head):
        builder.leave()
    return _with_status(project.runtime, builder.view()._replace(seq=head.last_seq), head)


def show(project: Project, head: RunHead) -> RunView:
    """One run with its steps."""
    events = events_of(project.runtime.events(head.run))
    view = run_view(events, left=is_left(project.runtime, head))
    return with_texts(project, head, events, view)


def with_texts(
    project: Project,
    head: RunHead,
    events: Sequence[Event],
    view: RunView,
    define: Callable[[Project, RunHead], Workflow | None] | None = None,
) -> RunView:
    """The view with what is not in the log: the texts of its questions, its limits, and who drives it.

    `define` reads the workflow of a run, for callers that keep it.
    """
    stored = read_stored(project.paths.run_dir(head.run))
    shown = with_stored(view, stored)
    # The stored view has the questions in words, but may be half a second behind the log.
    by_hand = (
        view.status == "running" and head.status == "waiting" and len(shown.pending) == len(view.pending)
    )
    if by_hand or not has_texts_for(view, stored):
        workflow = (define or definition_of)(project, head)
        shown = shown if workflow is None else _from_definition(project, workflow, events, view)
    return _with_status(project.runtime, shown, head)


def is_left(runtime: Runtime, head: RunHead) -> bool:
    """Whether the run has not ended and no living process drives it."""
    return head.status not in ENDED and not runtime.is_owned(head.run)


def _from_definition(project: Project, workflow: Workflow, events: Sequence[Event], view: RunView) -> RunView:
    """The view with the texts of its questions from the definition."""
    # Imported here: the view that was stored mostly has all the words.
    from podium.core.evolve.evolve import fold
    from podium.runtime.question_text import question_renderer
    from podium.views.run.questions import with_state

    return with_state(view, fold(workflow, events), question_renderer(project.root))


def definition_of(project: Project, head: RunHead) -> Workflow | None:
    """None if it is no longer the one the run was started with, or cannot be read."""
    from podium.app.run.start import workflow_of

    try:
        workflow = workflow_of(project, head)
    except (PodiumError, OSError, TypeError, ValueError):
        return None
    return workflow if workflow.fingerprint == head.fingerprint else None


def picture(project: Project, head: RunHead) -> tuple[Workflow, Mapping[Address, NodeState]]:
    """The workflow of a run, and how far each of its steps is."""
    from podium.views.pictures.states import states_of

    workflow = definition_of(project, head)
    if workflow is None:
        raise ConfigurationError(
            f"the workflow that run {head.run} was started with cannot be read any more",
            hint=f"podium show {head.run} lists its steps",
        )
    return workflow, states_of(show(project, head))


def _with_status(runtime: Runtime, view: RunView, head: RunHead) -> RunView:
    """The view with what the runtime knows, also of a run whose first event is still to come."""
    named = _closed(view)._replace(run=head.run, workflow=head.workflow)
    view = with_status(named, head.status)
    unowned = UNOWNED.get(view.status)
    return view if unowned is None or runtime.is_owned(head.run) else view._replace(status=unowned)


def _closed(view: RunView) -> RunView:
    """A run that was abandoned has ended with all that was open in it, and there is no event about each."""
    if view.ended is None or all(step.status == "ended" for step in view.steps):
        return view
    steps = (
        step
        if step.status == "ended"
        else step._replace(status="ended", outcome="cancelled", reason=view.reason, ended=view.ended)
        for step in view.steps
    )
    return view._replace(steps=tuple(steps))


def follow(runtime: Runtime, run: RunId, *, after: int) -> Iterator[Record | None]:
    """The events after a number, and those that are still to come, until the run has ended.

    None means that there is nothing new: the caller waits, in its own way, before it asks for more.
    """
    while True:
        for record in runtime.events(run, after=after):
            after = record.seq
            yield record
            if record.type == "RunEnded":
                return
        head = runtime.head(run)
        if head is None or (head.last_seq <= after and _has_ended(runtime, head)):
            return
        yield None


def _has_ended(runtime: Runtime, head: RunHead) -> bool:
    return any(record.type == "RunEnded" for record in runtime.events(head.run, after=head.last_seq - 1))


def event_data(record: Record) -> dict[str, Any]:
    """A line of `podium events --json`: the envelope, and the event itself in `data`."""
    body = json.loads(record.body)
    body.pop("type", None)
    return {
        "run": record.run,
        "seq": record.seq,
        "at": iso(Millis(body.pop("at", 0))),
        "type": record.type,
        "cause": record.cause,
        "data": body,
        "prev": record.prev,
        "hash": record.hash,
    }


def costs(runtime: Runtime, heads: Sequence[RunHead], by: By) -> CostReport:
    return cost_report((_log_of(runtime, head) for head in heads), by)


def _log_of(runtime: Runtime, head: RunHead) -> RunLog:
    records = (record for record in runtime.events(head.run) if record.type in CHARGING)
    left = is_left(runtime, head)
    return RunLog(head.run, head.workflow, map(event_of, records), left, is_replay(head))
