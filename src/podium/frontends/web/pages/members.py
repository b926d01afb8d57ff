"""The members of a fan-out side by side, each with its proof and its change, to pick one of them."""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from podium.app.decide.opened import note_opened
from podium.app.query.diff import Span
from podium.app.query.evidence import changes_of, evidence, pending_at
from podium.app.query.shelf import FoldedRun, Shelf
from podium.errors import ConfigurationError
from podium.frontends.web.access import speaker_of
from podium.frontends.web.diff_view import FileView
from podium.frontends.web.hub import Hub
from podium.frontends.web.pages.decide import OPEN_FILES, read_file
from podium.frontends.web.render import page, title_input
from podium.git.trees.diff import Change
from podium.views.evidence.evidence import Evidence, Proof
from podium.views.evidence.members import Member

MOST_MEMBERS: Final = 12
MOST_LINES: Final = 600
"""Of the change of one member; its own page shows all."""


class Column(NamedTuple):
    member: Member
    proof: tuple[Proof, ...]
    """What judged exactly its tree."""
    changes: tuple[Change, ...]
    files: tuple[FileView, ...]
    leads_to: str
    needs_passkey: bool

    @property
    def added(self) -> int:
        return sum(each.added for each in self.changes)

    @property
    def removed(self) -> int:
        return sum(each.removed for each in self.changes)


def members(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    shelf, run = hub.find(request.path_params["run"])
    path = request.path_params["path"]
    try:
        shown = evidence(shelf, run, pending_at(run, path))
    except ConfigurationError:
        return RedirectResponse(f"/runs/{run.head.run}", 303)
    if not shown.members:
        return RedirectResponse(f"/runs/{run.head.run}/decide/{quote(path)}", 303)
    columns = [_column(shelf, run, shown, each) for each in shown.members[:MOST_MEMBERS]]
    for column in columns:
        if column.files:
            note_opened(speaker_of(request).name, column.member.tree)
    return page(
        request,
        "members.html",
        view=run.view,
        pending=shown.pending,
        picks_one=shown.picks_one,
        columns=columns,
        left_out=max(0, len(shown.members) - MOST_MEMBERS),
        task=title_input(run.view),
    )


def _column(shelf: Shelf, run: FoldedRun, shown: Evidence, member: Member) -> Column:
    changes: tuple[Change, ...] = ()
    files: list[FileView] = []
    if member.base is not None and member.tree is not None and member.base != member.tree:
        span = Span(member.base, member.tree)
        changes = changes_of(shelf.project, span)
        for each in changes[:OPEN_FILES]:
            if sum(len(file.lines) for file in files) < MOST_LINES:
                files.append(read_file(shelf, span, each))
    own = evidence(shelf, run, member.question) if member.question is not None else None
    return Column(
        member,
        tuple(each for each in shown.judged if member.tree is not None and each.tree == member.tree),
        changes,
        tuple(files),
        "" if own is None else own.consequences.get("approve", ""),
        member.question is not None and member.question.presence,
    )
