"""What attempts printed: the end first, earlier lines on demand, a search that counts everything, and the raw file.

Files are named by their number in the list of the run's logs. No part of an address is ever joined to a path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from podium.app.query.log_search import search, size_of, tail
from podium.app.query.logs import LogFile, log_files, pieces
from podium.app.query.shelf import FoldedRun, Shelf
from podium.errors import ConfigurationError
from podium.frontends.web.guard import FILE_POLICY
from podium.frontends.web.hub import Hub
from podium.frontends.web.render import page
from podium.views.run.view import active

MOST_FILES: Final = 400
LINES: Final = 400


def logs(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    shelf, run = hub.find(request.path_params["run"])
    step = request.query_params.get("step") or None
    failed = request.query_params.get("only") == "failed"
    files = _files(shelf, run, step, failed=failed)
    return page(
        request,
        "logs.html",
        view=run.view,
        groups=_groups(files[:MOST_FILES]),
        more=max(0, len(files) - MOST_FILES),
        step=step or "",
        only="failed" if failed else "",
    )


def _groups(files: Sequence[LogFile]) -> list[tuple[str, list[tuple[int, str, int]]]]:
    """The files of each attempt: their numbers, names and sizes."""
    groups: dict[str, list[tuple[int, str, int]]] = {}
    for number, file in enumerate(files):
        where, _, name = file.title.rpartition(": ")
        groups.setdefault(where, []).append((number, name, size_of(file)))
    return list(groups.items())


def log(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    shelf, run = hub.find(request.path_params["run"])
    step, only = request.query_params.get("step") or None, request.query_params.get("only", "")
    file = _chosen(_files(shelf, run, step, failed=only == "failed"), request.path_params["number"])
    before, text = request.query_params.get("before"), request.query_params.get("q", "")[:500]
    position = int(before) if before is not None and before.isdecimal() and len(before) < 16 else None
    return page(
        request,
        "log.html",
        view=run.view,
        file=file,
        number=request.path_params["number"],
        step=step or "",
        only=only,
        window=tail(file, lines=LINES, before=position),
        is_end=position is None,
        q=text,
        result=search(file, text) if text else None,
        is_live=any(each.path == file.step for each in active(run.view)),
    )


def raw(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    shelf, run = hub.find(request.path_params["run"])
    step, failed = request.query_params.get("step") or None, request.query_params.get("only") == "failed"
    file = _chosen(_files(shelf, run, step, failed=failed), request.path_params["number"])
    name = "".join(char if char.isalnum() or char in ".-_" else "_" for char in file.title)[:100]
    headers = {
        "content-disposition": f'attachment; filename="{name}.txt"',
        "content-security-policy": FILE_POLICY,
    }
    return StreamingResponse(_content(file), media_type="text/plain; charset=utf-8", headers=headers)


def _content(file: LogFile) -> Iterator[bytes]:
    yield from pieces(file)


def _files(shelf: Shelf, run: FoldedRun, step: str | None, *, failed: bool) -> tuple[LogFile, ...]:
    return log_files(shelf.project.paths, run.view, step, failed=failed)


def _chosen(files: tuple[LogFile, ...], number: int) -> LogFile:
    if number >= len(files):
        raise ConfigurationError("there is no such log", code="unknown_log")
    return files[number]
