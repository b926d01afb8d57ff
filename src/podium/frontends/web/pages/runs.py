"""All runs, filtered by what is in the address, so that every view is a link."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from podium.app.query.run_pages import Page, runs_page
from podium.frontends.web.hub import Hub
from podium.frontends.web.render import page, title_input

ROWS: Final = 50


def runs(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    query = request.query_params
    status, workflow, text = query.get("status", ""), query.get("workflow", ""), query.get("q", "")[:200]
    names = [shelf.project.root.name for shelf in hub.shelves]
    number = _project(query.get("project", ""), len(names))
    pages: list[tuple[str, Page]] = []
    for place, shelf in enumerate(hub.shelves):
        if number in (None, place):
            chosen = runs_page(
                shelf,
                limit=ROWS,
                before=query.get("before", "") if number is not None or len(names) == 1 else "",
                status=(status,) if status else (),
                workflow=workflow,
                text=text,
            )
            pages.append((names[place], chosen))
    rows = [(view, title_input(view)[1], name) for name, each in pages for view in each.runs]
    rows.sort(key=lambda row: row[0].started or 0, reverse=True)
    counts: dict[str, int] = {}
    for _, each in pages:
        for word, many in each.counts.items():
            counts[word] = counts.get(word, 0) + many
    filters = {"status": status, "workflow": workflow, "q": text, "project": query.get("project", "")}
    return page(
        request,
        "runs.html",
        rows=rows[:ROWS],
        counts=dict(sorted(counts.items(), key=lambda row: -row[1])),
        workflows=sorted({name for _, each in pages for name in each.workflows}),
        projects=list(enumerate(names)),
        next=pages[0][1].next if len(pages) == 1 else "",
        is_cut=len(pages) > 1 and any(each.next for _, each in pages),
        link=lambda **changes: (
            "/runs?" + urlencode({key: value for key, value in {**filters, **changes}.items() if value})
        ),
        chosen_status=status,
        workflow=workflow,
        q=text,
        project=number,
    )


def _project(text: str, many: int) -> int | None:
    return int(text) if text.isdecimal() and int(text) < many else None
