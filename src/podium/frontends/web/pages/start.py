"""The workflows of a project, and a form that starts one, with its forecast beside the button."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from podium.app.author.input_form import input_form, read_form
from podium.app.author.load import LoadedWorkflow
from podium.app.author.workflow_files import workflow_files
from podium.app.decide.sender import wake
from podium.app.forecast.plan import Plan, plan
from podium.app.query.shelf import Shelf
from podium.app.run.start import RunRequest
from podium.errors import ConfigurationError, PodiumError
from podium.frontends.web.forms import read_fields
from podium.frontends.web.hub import Hub
from podium.frontends.web.render import page, picture
from podium.views.format import count, dollars, duration
from podium.views.pictures import svg
from podium.views.pictures.layout import layout

MOST: Final = 200
SHOW: Final[Mapping[str, tuple[str, Callable[[float], str]]]] = {
    "calls": ("agent calls", lambda number: f"{number:.0f}"),
    "tokens": ("tokens", count),
    "usd": ("cost", dollars),
    "time": ("time", duration),
}


def workflows(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    rows = [(number, shelf.project.root.name, file) for number, (shelf, file) in enumerate(_files(hub))]
    return page(request, "workflows.html", rows=rows[:MOST])


def _files(hub: Hub) -> list[tuple[Shelf, str]]:
    """All workflow files, in an order that stays: a form names its file by the number, and says which one it was."""
    return [(shelf, file) for shelf in hub.shelves for file in sorted(workflow_files(shelf.project.root))]


def _chosen(request: Request) -> tuple[Hub, Shelf, str]:
    hub: Hub = request.app.state.hub
    files, number = _files(hub), request.path_params["number"]
    if number >= len(files):
        raise ConfigurationError("there is no such workflow", code="unknown_workflow")
    return hub, *files[number]


def form(request: Request) -> Response:
    return _form(request, {})


async def start(request: Request) -> Response:
    fields = await read_fields(request)
    return await run_in_threadpool(_start, request, fields)


def _form(request: Request, typed: Mapping[str, str], refused: str = "", status: int = 200) -> Response:
    _, shelf, file = _chosen(request)
    definition, faults = None, ""
    try:
        definition = shelf.project.load(shelf.project.root / file)
    except PodiumError as error:
        faults = str(error)
    workflow = None if definition is None else definition.workflow
    return page(
        request,
        "start.html",
        status=status,
        file=file,
        project=shelf.project.root.name,
        workflow=workflow,
        faults=faults,
        fields=() if workflow is None else input_form(workflow),
        typed=typed,
        refused=refused,
        graph=None if workflow is None else picture(svg.paint(layout(workflow), workflow.name, alone=False)),
        forecast=() if definition is None else _forecast(shelf, definition, typed),
    )


def _forecast(
    shelf: Shelf, definition: LoadedWorkflow, typed: Mapping[str, str]
) -> tuple[tuple[str, str, str], ...]:
    """What is likely and the worst case, in words; nothing if it cannot be foreseen with these inputs."""
    workflow = definition.workflow
    try:
        with shelf.lock:
            history = shelf.project.queries.history(workflow)
        foreseen: Plan = plan(workflow, read_form(workflow, dict(typed)), history)
    except PodiumError:
        return ()
    rows = []
    for unit, row in foreseen.ranges.items():
        name, show = SHOW[unit]
        rows.append((name, show(row.likely), "no bound" if row.most is None else show(row.most)))
    return tuple(rows)


def _start(request: Request, fields: Mapping[str, str]) -> Response:
    hub, shelf, file = _chosen(request)
    if fields.get("file") != file:
        return _form(request, fields, "the workflows of the project have changed; look again", 409)
    try:
        run = _create(hub, shelf.project.root, file, fields)
    except PodiumError as error:
        text = f"{error.message}. {error.hint}" if error.hint else error.message
        return _form(request, fields, text, 409)
    return RedirectResponse(f"/runs/{run}", 303)


def _create(hub: Hub, root: Path, file: str, fields: Mapping[str, str]) -> str:
    """With a project of its own: it tries gates and calls git, and the pages must not wait for that."""
    project = hub.open_project(root)
    try:
        definition = project.load(root / file, is_started=True)
        inputs = read_form(
            definition.workflow, {name.removeprefix("in."): value for name, value in fields.items()}
        )
        started = project.commands.start(
            RunRequest(definition=definition, inputs=inputs, dirty=fields.get("dirty") == "on")
        )
        wake(project, started.run, waits=False)
        return started.run
    finally:
        project.close()
