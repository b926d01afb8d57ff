"""The tools that only look at runs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

import anyio
from mcp.server.mcpserver import Context
from pydantic import Field

from podium.app.query.diff import change_of
from podium.app.query.inbox import question_data
from podium.app.query.logs import LogFile, pieces
from podium.app.query.runs import ENDED, event_data
from podium.core.hash_chain import RunId
from podium.frontends.mcp.material import MAX_CHARS, fitting_lines, json_material, material
from podium.views.files.run_json import artifacts_of, list_data, run_data
from podium.views.format import plural
from podium.views.text.costs import run_cost

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.frontends.project_access import Access
    from podium.views.run.costs import CostRow
    from podium.views.run.view import RunView

Run: TypeAlias = Annotated[
    str, Field(description="The run: its id, the beginning of one, @2 for the second newest, or latest.")
]
Step: TypeAlias = Annotated[
    str | None,
    Field(description="A step by its name (the last visit) or by its address, such as implement~2."),
]
Offset: TypeAlias = Annotated[
    int, Field(ge=0, description="Where to continue a result that was cut; the result says it.")
]
Seconds: TypeAlias = Annotated[float, Field(ge=0, le=120, description="How long to wait at most.")]

LOOK_S: Final = 0.3
TELL_S: Final = 5.0
"""How often a client that waits is told what the run does; one that hears nothing may give up."""
SETTLE_S: Final = 2.0
"""A run that a process drives and that waits may be about to read an answer."""
QUIET: Final = ("parked", "paused", "interrupted", *ENDED)
"""Statuses in which waiting longer changes nothing without a person."""


class RunQueries:
    def __init__(self, access: Access) -> None:
        self._access = access

    async def list_runs(
        self,
        limit: Annotated[int, Field(ge=1, le=200)] = 20,
        status: Annotated[
            str | None, Field(description="Only runs with this status, such as parked.")
        ] = None,
        workflow: Annotated[
            str | None, Field(description="Only runs of the workflow with this name.")
        ] = None,
    ) -> str:
        """List the newest runs of this project: id, workflow, status, cost."""

        def listed(project: Project) -> str:
            views, more = project.queries.runs(limit, status=status, workflow=workflow)
            return json_material({"runs": [list_data(view) for view in views], "older_runs": more})

        return await self._access.read(listed)

    async def show_run(self, run: Run = "latest", offset: Offset = 0) -> str:
        """Show one run: its steps with outcomes, attempts, costs and findings, and its open questions."""
        return await self._access.read(lambda project: json_material(run_data(_view(project, run)), offset))

    async def inbox(self, offset: Offset = 0) -> str:
        """List what runs wait for: each question with its evidence, and the tree of files that it is about."""

        def listed(project: Project) -> str:
            return json_material([question_data(each) for each in project.queries.inbox()], offset)

        return await self._access.read(listed)

    async def wait_for_run(self, ctx: Context[Any, Any], run: Run = "latest", timeout_s: Seconds = 45) -> str:
        """Wait until a run has ended or needs a person, or until the time is up; then return where it is."""
        started = time.monotonic()
        deadline, last_progress, last_text = started + timeout_s, 0.0, ""
        while True:
            view = await self._access.read(lambda project: _view(project, run))
            now = time.monotonic()
            if _is_quiet(view, now - started) or now >= deadline:
                return material(_state_text(view))
            text = _progress_text(view)
            if text != last_text or now - last_progress >= TELL_S:
                last_progress, last_text = now, text
                await ctx.report_progress(now - started, timeout_s, text)
            await self._changed(view, deadline)

    async def _changed(self, view: RunView, deadline: float) -> None:
        """Return when the run has more events, or after a short time: a status may change without an event."""
        until = min(deadline, time.monotonic() + SETTLE_S)
        while time.monotonic() < until:
            await anyio.sleep(min(LOOK_S, max(0.0, until - time.monotonic())))
            head = await self._access.read(lambda project: project.run(view.run))
            if head.last_seq != view.seq:
                return

    async def diff(self, run: Run = "latest", step: Step = None, offset: Offset = 0) -> str:
        """Show what a run has changed since its base, or what one of its steps has changed, as a diff."""

        def text(project: Project) -> str:
            change, cut = project.queries.diff(change_of(_view(project, run), step))
            return (change or "no file was changed") + ("\n(the diff is longer; it was cut)" if cut else "")

        return material(await self._access.read(text), offset)

    async def logs(
        self,
        run: Run = "latest",
        step: Step = None,
        failed: Annotated[bool, Field(description="Only what failed, its reasons first.")] = False,
        offset: Offset = 0,
    ) -> str:
        """Print what the attempts of a step were sent, answered and printed; without a step, list the stored files."""

        def text(project: Project) -> str:
            chosen = project.run(run).run
            files = project.queries.logs(chosen, step, failed=failed)
            if step is None and not failed:
                return "\n".join(file.title for file in files) or "nothing is stored yet"
            return _bounded(files, offset + MAX_CHARS + 1) or "nothing is stored"

        return material(await self._access.read(text), offset)

    async def events(
        self,
        run: Run = "latest",
        after: Annotated[int, Field(ge=0, description="Only events after this number.")] = 0,
        limit: Annotated[int, Field(ge=1, le=1000)] = 100,
    ) -> str:
        """Print the log of a run, one event per line, with who or what caused each."""

        def lines(project: Project) -> str:
            records = project.queries.events(project.run(run).run, after=after)
            return fitting_lines(
                json.dumps(event_data(record), ensure_ascii=False) for record in islice(records, limit)
            )

        return material(await self._access.read(lines) or f"no events after {after}")

    async def costs(
        self,
        run: Annotated[str | None, Field(description="The run; without it all runs of the project.")] = None,
        by: Literal["agent", "model", "role", "step", "workflow", "run", "day"] = "step",
    ) -> str:
        """Show what a run, or all runs, have cost. Calls without a known price are counted apart, not as free."""

        def rows(project: Project) -> str:
            chosen = None if run is None else project.run(run).run
            report, runs = project.queries.costs(chosen, by)
            data = {
                "by": by,
                "runs": runs,
                "rows": [_row(row) for row in report.rows],
                "total": _row(report.total),
            }
            return json_material(data)

        return await self._access.read(rows)

    async def artifacts(self, run: Run = "latest", step: Step = None, offset: Offset = 0) -> str:
        """List the outputs and stored files of a run; with a step, print the files that this step has stored."""

        def text(project: Project) -> str:
            view = _view(project, run)
            if step is None:
                files = [
                    {"step": each.path, "files": artifacts_of(each)}
                    for each in view.steps
                    if artifacts_of(each)
                ]
                return json.dumps({"outputs": dict(view.outputs), "artifacts": files}, indent=1, default=str)
            stored = project.queries.artifacts(view, step)
            return (
                "\n".join(f"== {name}\n{content}" for name, content in stored)
                or "this step has stored no files"
            )

        return material(await self._access.read(text), offset)


def _view(project: Project, run: str) -> RunView:
    return project.queries.show(RunId(project.run(run).run))


def _is_quiet(view: RunView, waited_s: float) -> bool:
    return view.status in QUIET or (view.status == "waiting" and waited_s >= SETTLE_S)


def _state_text(view: RunView) -> str:
    data = {**run_data(view), "steps": [], "running": _active(view)}
    shown = (
        "run",
        "workflow",
        "status",
        "outcome",
        "reason",
        "message",
        "why",
        "cost",
        "pending",
        "outputs",
        "running",
    )
    return json.dumps(
        {key: data[key] for key in shown if key in data}, indent=1, ensure_ascii=False, default=str
    )


def _active(view: RunView) -> list[str]:
    return [
        f"{step.path}: {step.status}"
        for step in view.steps
        if step.worked and step.status not in ("ended", "queued")
    ]


def _progress_text(view: RunView) -> str:
    ended = sum(step.status == "ended" and step.worked for step in view.steps)
    active = ", ".join(_active(view)[:3]) or view.status
    return f"{active}; {plural(ended, 'step')} ended; {run_cost(view)}"


def _bounded(files: tuple[LogFile, ...], most: int) -> str:
    """The beginning of all files together, so that a log of gigabytes is not read whole."""
    parts: list[str] = []
    length = 0
    for part in _parts(files):
        parts.append(part)
        length += len(part)
        if length >= most:
            break
    return "".join(parts)


def _parts(files: tuple[LogFile, ...]) -> Iterator[str]:
    for file in files:
        yield f"== {file.title}\n"
        yield from (piece.decode("utf-8", "replace") for piece in pieces(file))
        yield "\n"


def _row(row: CostRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "attempts": row.attempts,
        "calls": row.calls,
        "tokens": row.tokens,
        "usd": row.usd / 1_000_000,
        "unknown_calls": row.unknown_calls,
    }
