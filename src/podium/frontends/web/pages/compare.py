"""Two runs beside each other: where they parted first, and what each step came to, cost and took."""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from podium.app.project import Project
from podium.app.query.diff import Span
from podium.app.query.evidence import changes_of
from podium.app.query.run_pages import runs_page
from podium.frontends.web.hub import Hub
from podium.frontends.web.render import page, title_input
from podium.git.trees.diff import Change
from podium.views.plain import as_text
from podium.views.run.view import RunView, StepView

MOST_ROWS: Final = 400
MOST_CHOICES: Final = 40


class Row(NamedTuple):
    path: str
    a: StepView | None
    b: StepView | None

    @property
    def differs(self) -> bool:
        return _result(self.a) != _result(self.b)


def compare(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    a, b = request.query_params.get("a", ""), request.query_params.get("b", "")
    shelf, first = hub.find(a) if a else (None, None)
    _, second = hub.find(b) if b else (None, None)
    rows = _rows(first.view, second.view) if first is not None and second is not None else ()
    choices = (
        ()
        if first is None or shelf is None
        else runs_page(shelf, limit=MOST_CHOICES, workflow=first.view.workflow).runs
    )
    return page(
        request,
        "compare.html",
        a=None if first is None else first.view,
        b=None if second is None else second.view,
        rows=rows[:MOST_ROWS],
        left_out=max(0, len(rows) - MOST_ROWS),
        parted=next((row for row in rows if row.differs), None),
        inputs=_inputs(first.view, second.view) if first is not None and second is not None else (),
        changes=()
        if shelf is None or first is None or second is None
        else _trees(shelf.project, first.view, second.view),
        choices=[(view, title_input(view)[1]) for view in choices if view.run != a],
    )


def _trees(project: Project, a: RunView, b: RunView) -> tuple[Change, ...]:
    if a.tree is None or b.tree is None or a.tree == b.tree:
        return ()
    return changes_of(project, Span(a.tree, b.tree))


def _rows(a: RunView, b: RunView) -> tuple[Row, ...]:
    """Steps by their addresses, in the order of the first run, then those that only the second one has."""
    left = {step.path: step for step in a.steps if step.role != "gates"}
    right = {step.path: step for step in b.steps if step.role != "gates"}
    return tuple(Row(path, left.get(path), right.get(path)) for path in dict.fromkeys((*left, *right)))


def _result(step: StepView | None) -> tuple[object, ...]:
    return () if step is None else (step.outcome or step.status, step.tries)


def _inputs(a: RunView, b: RunView) -> tuple[tuple[str, str, str], ...]:
    names = dict.fromkeys((*a.inputs, *b.inputs))
    pairs = ((name, as_text(a.inputs.get(name)), as_text(b.inputs.get(name))) for name in names)
    return tuple(row for row in pairs if row[1] != row[2])
