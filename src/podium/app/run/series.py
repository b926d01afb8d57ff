"""The runs of a series, in which each but the last continues as the next one."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

from podium.core.events import RunEnded, RunStarted
from podium.core.hash_chain import RunId
from podium.core.payloads import Series
from podium.ports.runtime import Runtime
from podium.ports.store import RunHead
from podium.runtime.records import event_of

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.runtime.prepared_run import PreparedRun

PASSED: Final = "passed"
"""The status of a run that continues as a new one."""


def next_of(runtime: Runtime, head: RunHead) -> RunHead | None:
    """The run that continues this one; None if there is none, or if it was deleted."""
    if head.status != PASSED:
        return None
    last = runtime.events(head.run, after=head.last_seq - 1)
    event = event_of(last[-1]) if last else None
    name = event.continued_by if isinstance(event, RunEnded) else ""
    return runtime.head(RunId(name)) if name else None


def newest_of(runtime: Runtime, head: RunHead) -> RunHead:
    """The run in which the series of this one goes on, or this one."""
    while (following := next_of(runtime, head)) is not None:
        head = following
    return head


def previous_of(runtime: Runtime, head: RunHead) -> RunHead | None:
    """The run that this one continues; None if there is none, or if it was deleted."""
    link = link_of(runtime, head.run)
    return None if link is None else runtime.head(RunId(link.previous))


def link_of(runtime: Runtime, run: RunId) -> Series | None:
    """What a run knows of its series; a run that has not begun has it in its start command only."""
    record = next(iter(runtime.events(run)), None)
    event = None if record is None else event_of(record)
    return event.run.series if isinstance(event, RunStarted) else None


def runs_of_series(runtime: Runtime, head: RunHead) -> tuple[RunHead, ...]:
    """All runs of the series that are stored, the oldest first."""
    heads = [head]
    while (before := previous_of(runtime, heads[0])) is not None:
        heads.insert(0, before)
    while (after := next_of(runtime, heads[-1])) is not None:
        heads.append(after)
    return tuple(heads)


async def finish_previous(project: Project, run: RunId) -> None:
    """Before a run of a series begins, complete the files of the run before it, whose owner may have died at its end."""
    from podium.app.run.start import RunSource

    head = project.runtime.head(run)
    name = "" if head is None or head.last_seq else RunSource.of(head).previous
    if name and project.runtime.head(RunId(name)) is not None:
        await project.runtime.drive(RunId(name), park=True)
        project.driven.pop(RunId(name), None)


def next_source(head: RunHead, inputs: Collection[str]) -> str:
    """Of the run that continues this one as a new run: the same, but it reuses no results.

    If an input had text from outside, any input of the next run may have been made from it.
    """
    from podium.app.run.start import RunSource

    source = RunSource.of(head)
    outside = tuple(inputs) if source.outside_inputs else ()
    following = replace(source, past=None, without=(), previous=head.run, outside_inputs=outside)
    return json.dumps(asdict(following))


def prepare_next(project: Project, run: RunId, previous: PreparedRun) -> None:
    """Let this process drive the next run with the definition that it has loaded for the one before."""
    from podium.app.run.start import RunSource, prepare_run

    head = project.run(run)
    if head.fingerprint == previous.workflow.fingerprint and not head.last_seq:
        project.prepared[run] = prepare_run(project, run, previous.workflow, RunSource.of(head))
