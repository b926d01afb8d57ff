"""Reads runs: find one, show it, follow it, add up costs. Nothing here changes a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from podium.core.events import Event
from podium.core.evolve.evolve import fold
from podium.core.hash_chain import Record, RunId
from podium.core.types import Millis
from podium.engine.lease import is_owned
from podium.engine.run_folder import RunFolder, read_stored
from podium.errors import ConfigurationError, PodiumError
from podium.files.project_paths import ProjectPaths
from podium.ports.exporter import ExportersFor
from podium.ports.store import RunHead, Store
from podium.redaction.mask import Mask
from podium.runtime.question_text import question_renderer
from podium.runtime.records import event_of, read_events, read_records
from podium.views.format import iso
from podium.views.run.builder import RunViewBuilder, run_view
from podium.views.run.costs import By, CostReport, cost_report
from podium.views.run.questions import with_state
from podium.views.run.stored_text import has_texts_for, with_stored
from podium.views.run.view import RunView, ViewStatus, with_status

if TYPE_CHECKING:
    from podium.core.model import Workflow

LATEST: Final = ("latest", "@1")

UNOWNED: Final[dict[str, ViewStatus]] = {"running": "interrupted", "waiting": "parked"}
"""What a run is called when no living process carries it on."""

_OF_THE_WHOLE: Final = frozenset(
    ("RunStarted", "RunEnded", "RunPaused", "RunResumed", "AttemptEnded", "AttemptDoubted")
)
"""What a line of a list needs; reading only these keeps a list of hundreds of runs fast."""


def find_run(store: Store, name: str | None = None) -> RunHead:
    """By its id, by a beginning of it that no other run has, as @2 (the newest but one), or the newest."""
    heads = store.heads()
    if not heads:
        raise ConfigurationError("there are no runs here yet", hint="podium run FILE starts one")
    if name is None or name in LATEST:
        return heads[0]
    if name.startswith("@") and name[1:].isdecimal():
        return _by_number(heads, name)
    exact = [head for head in heads if head.run == name]
    found = exact or [head for head in heads if name and head.run.startswith(name)]
    if not found:
        raise ConfigurationError(f"there is no run {name}", hint="`podium runs` lists them")
    if len(found) > 1:
        some = ", ".join(head.run for head in found[:5])
        raise ConfigurationError(f"{len(found)} runs begin with {name}: {some}", hint="write more of the id")
    return found[0]


def _by_number(heads: tuple[RunHead, ...], name: str) -> RunHead:
    number = int(name[1:])
    if not 1 <= number <= len(heads):
        raise ConfigurationError(f"there is no {name}; @1 to @{len(heads)} are there, the newest first")
    return heads[number - 1]


def list_runs(store: Store, project: Path) -> tuple[RunView, ...]:
    """All runs, the newest first, without their steps."""
    return tuple(_listed(store, project, head) for head in store.heads())


def _listed(store: Store, project: Path, head: RunHead) -> RunView:
    account = RunViewBuilder()
    account.feed(event_of(record) for record in read_records(store, head.run) if record.type in _OF_THE_WHOLE)
    return _known(account.view()._replace(seq=head.last_seq), project, head)


def show(store: Store, project: Path, head: RunHead, *, user_dir: Path | None = None) -> RunView:
    """One run with its steps. `user_dir` is where the user's configuration is, in case the definition is needed."""
    events = read_events(store, head.run)
    view = run_view(events)
    stored = read_stored(ProjectPaths(project).run_dir(head.run))
    seen = with_stored(view, stored)
    # The stored view has the questions in words, but may be half a second behind the log.
    by_hand = view.status == "running" and head.status == "waiting" and len(seen.pending) == len(view.pending)
    if by_hand or not has_texts_for(view, stored):
        workflow = _definition(store, project, head, user_dir)
        seen = (
            seen if workflow is None else with_state(view, fold(workflow, events), question_renderer(project))
        )
    return _known(seen, project, head)


def _definition(store: Store, project: Path, head: RunHead, user_dir: Path | None) -> Workflow | None:
    """None if it is no longer the one the run was started with, or cannot be read."""
    from podium.app.project import Office
    from podium.app.run.start import RunSource, load_source

    office = Office(
        project=project,
        state_dir=ProjectPaths(project).state_dir,
        user_dir=user_dir,
        store=store,
        site_for=_no_site,
        exporters_for=_no_site,
    )
    try:
        workflow = load_source(office, RunSource(**json.loads(head.source)))
    except (PodiumError, OSError, TypeError, ValueError):
        return None
    return workflow if workflow.fingerprint == head.fingerprint else None


def _no_site(*_: Any, **__: Any) -> Any:
    raise AssertionError("whoever looks at a run does not work on it")


def _known(view: RunView, project: Path, head: RunHead) -> RunView:
    """With what the store knows, also of a run whose first event is still to come."""
    named = _closed(view)._replace(run=head.run, workflow=head.workflow)
    seen = with_status(named, head.status)
    unowned = UNOWNED.get(seen.status)
    return (
        seen
        if unowned is None or is_owned(ProjectPaths(project).run_dir(head.run))
        else seen._replace(status=unowned)
    )


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


def rebuild(store: Store, project: Path, head: RunHead, exporters_for: ExportersFor) -> None:
    """Write the files of a run anew. Secrets were masked before anything was stored."""
    # Imported here: most queries do not need it.
    from podium.app.run.definition import workflow_text

    folder, mask = ProjectPaths(project).run_dir(head.run), Mask()
    exporters = exporters_for(folder, workflow_text(project, ProjectPaths(project).state_dir, head), mask)
    RunFolder(folder, mask, exporters=exporters).rebuild(read_events(store, head.run))


def follow(store: Store, run: RunId, *, after: int) -> Iterator[Record | None]:
    """The events behind a position, and those that are still to come, until the run has ended.

    None means that there is nothing new: whoever asks waits a while, each in their own way, before the next look.
    """
    while True:
        for record in read_records(store, run, after=after):
            after = record.seq
            yield record
            if record.type == "RunEnded":
                return
        head = store.head(run)
        if head is None or (head.last_seq <= after and _has_ended(store, head)):
            return
        yield None


def _has_ended(store: Store, head: RunHead) -> bool:
    return any(record.type == "RunEnded" for record in read_records(store, head.run, after=head.last_seq - 1))


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


def costs(store: Store, heads: Sequence[RunHead], by: By) -> CostReport:
    def each() -> Iterator[tuple[str, str, Sequence[Event]]]:
        for head in heads:
            yield head.run, head.workflow, read_events(store, head.run)

    return cost_report(each(), by)
