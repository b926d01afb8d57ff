"""A question with everything that it is decided by, all of it about the tree that the person sees.

The form carries that tree. If the run has moved on meanwhile, nothing is stored, and the answer says what has changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from podium.app.decide.judge import leave
from podium.app.decide.opened import note_opened, opened_by
from podium.app.decide.presence import needs_proof, passkeys, with_proof
from podium.app.query.diff import Span, file_diff
from podium.app.query.evidence import changes_of, evidence, pending_at, span_of, span_since
from podium.app.query.exhibits import exhibits
from podium.app.query.inbox import open_questions
from podium.app.query.shelf import FoldedRun, Shelf
from podium.app.values import parse_value
from podium.core.messages import Approve
from podium.core.types import Tree
from podium.errors import ConfigurationError, PodiumError
from podium.frontends.web.access import speaker_of
from podium.frontends.web.diff_view import FileView, file_view
from podium.frontends.web.forms import MOST_WORDS, read_fields
from podium.frontends.web.hub import Hub
from podium.frontends.web.render import page, title_input
from podium.git.trees.diff import Change
from podium.ports.runtime import ManualWorkDone
from podium.views.evidence.evidence import Evidence, facts
from podium.views.files.evidence_json import evidence_data
from podium.views.plain import short_id
from podium.views.run.view import Pending, failure_before, hand_folder
from podium.views.text.next_steps import waits_for

OPEN_FILES: Final = 12
"""So many files are shown at once; the others are links."""
MOST_LINES: Final = 3_000
"""Of all files that are shown at once."""
FIRST: Final = ("approve", "answer", "accept", "proceed", "retry")
PASSKEY_HOST: Final = "localhost"
"""Passkeys belong to this name."""
LAST: Final = "last"
"""Answers and ends the conversation."""
WORDS_NEEDED: Final = ("reject", "retry_different")


@dataclass(frozen=True, slots=True)
class ShownDiff:
    tab: str
    tabs: tuple[tuple[str, str], ...]
    """Each with its name in the address and its words."""
    span: Span | None
    changes: tuple[Change, ...]
    files: tuple[FileView, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Button:
    action: str
    word: str
    leads_to: str
    kind: str
    """yes, no or other: how it looks."""


def decide(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    shelf, run = hub.find(request.path_params["run"])
    try:
        pending = pending_at(run, request.path_params["path"])
    except ConfigurationError:
        return _closed(request, run)
    if request.headers.get("accept") == "application/json":
        return JSONResponse(evidence_data(evidence(shelf, run, pending)))
    return _page(request, shelf, run, pending)


async def decide_post(request: Request) -> Response:
    fields = await read_fields(request)
    return await run_in_threadpool(_decide, request, fields)


def _decide(request: Request, fields: Mapping[str, str]) -> Response:
    hub: Hub = request.app.state.hub
    speaker = speaker_of(request)
    shelf, run = hub.find(request.path_params["run"])
    try:
        pending = pending_at(run, request.path_params["path"])
    except ConfigurationError:
        return _closed(request, run, status=HTTPStatus.CONFLICT)
    action, seen = fields.get("action", ""), fields.get("tree", "")
    try:
        words = feedback_of(fields)
        if not _is_same(pending, fields):
            return _page(request, shelf, run, pending, status=HTTPStatus.CONFLICT, seen=seen, words=words)
        if action in WORDS_NEEDED and not words:
            raise ConfigurationError(
                f"say in words why: the next attempt of {run.view.workflow} is told them"
            )
        command = command_of(pending, action, words, fields, speaker.name)
        if pending.presence and isinstance(command, Approve) and needs_proof(action):
            command = with_proof(hub.user_dir, run, command, _response(fields))
        key = leave(shelf, run, command, speaker)
    except PodiumError as error:
        refused = f"{error.message}. {error.hint}" if error.hint else error.message
        return _page(
            request,
            shelf,
            run,
            pending,
            status=HTTPStatus.CONFLICT,
            refused=refused,
            words=fields.get("words", ""),
        )
    return RedirectResponse(f"/runs/{run.head.run}?sent={key}&as={action}", HTTPStatus.SEE_OTHER)


def _is_same(pending: Pending, fields: Mapping[str, str]) -> bool:
    """Whether the form is about the question and the tree that are open now."""
    return fields.get("since") == str(pending.since) and fields.get("tree", "") == (pending.tree or "")


def check_question(pending: Pending, fields: Mapping[str, str]) -> None:
    if not _is_same(pending, fields):
        raise ConfigurationError("the run has moved on: this page shows an earlier tree", code="stale")


def command_of(
    pending: Pending, action: str, words: str, fields: Mapping[str, str], by: str
) -> Approve | ManualWorkDone:
    if pending.kind == "by_hand":
        return ManualWorkDone(pending.path, by, words, failed=action == "reject")
    # A browser ends lines differently in a form and in a request of the script; both must sign the same.
    text = fields.get("value", "").replace("\r\n", "\n")
    value: Any
    if action == LAST and pending.until:
        action, value = "answer", f"{text.strip()}\n{pending.until}".strip()
    else:
        value = parse_value(text, "the answer") if action == "answer" else None
    opened = opened_by(by, pending.tree)
    return Approve(pending.path, action, by, words, value, pending.tree, opened=opened)


def _response(fields: Mapping[str, str]) -> dict[str, Any]:
    """What the passkey has signed. Without a script, a browser asks for no passkey."""
    try:
        response: Any = json.loads(fields.get("proof", ""))
    except ValueError:
        response = None
    if not isinstance(response, dict):
        raise ConfigurationError(
            "this answer needs your passkey, which the browser asks for with JavaScript only",
            hint="rejecting and aborting need none",
            code="presence",
        )
    return response


def feedback_of(fields: Mapping[str, str]) -> str:
    """The words, and below them each comment with its file and line."""
    words = fields.get("words", "").replace("\r\n", "\n").strip()
    try:
        comments: Any = json.loads(fields.get("comments") or "[]")
    except ValueError as error:
        raise ConfigurationError("the comments cannot be read") from error
    lines = []
    for each in comments if isinstance(comments, list) else ():
        if isinstance(each, dict) and isinstance(each.get("line"), int) and str(each.get("text", "")).strip():
            lines.append(f"{each.get('file', '')}:{each['line']}: {str(each['text']).strip()}")
    text = "\n\n".join(filter(None, (words, "\n".join(lines))))
    if len(text.encode()) > MOST_WORDS:
        raise ConfigurationError(f"words and comments together are longer than {MOST_WORDS} bytes")
    return text


def _closed(request: Request, run: FoldedRun, *, status: int = 200) -> Response:
    return page(request, "closed.html", status=status, view=run.view, next=_next(request, run, None))


def _page(
    request: Request,
    shelf: Shelf,
    run: FoldedRun,
    pending: Pending,
    *,
    status: int = 200,
    seen: str | None = None,
    refused: str = "",
    words: str = "",
) -> Response:
    proof = evidence(shelf, run, pending)
    shown = _diff(request, shelf, proof)
    if shown.files:
        note_opened(speaker_of(request).name, pending.tree)
    changes = shown.changes if shown.tab == "whole" else changes_of(shelf.project, span_of(proof))
    lines = (sum(each.added for each in changes), sum(each.removed for each in changes))
    since = (
        ()
        if seen is None or pending.tree is None or not seen
        else changes_of(shelf.project, Span(Tree(seen), pending.tree))
    )
    return page(
        request,
        "decide.html",
        status=status,
        view=run.view,
        pending=pending,
        proof=proof,
        facts=facts(proof, len(changes), lines),
        diff=shown,
        exhibits=[
            each for each in exhibits(shelf.project, run.view, pending) if each.name not in SHOWN_ANYWAY
        ],
        buttons=_buttons(pending, proof),
        why=failure_before(run.view, pending),
        folder=hand_folder(run.view, pending),
        who=waits_for(pending),
        task=title_input(run.view),
        next=_next(request, run, pending),
        stale=None if seen is None else {"seen": short_id(seen), "changes": since},
        refused=refused,
        words=words,
        project=shelf.project.root.name,
        passkey=_passkey_state(request) if pending.presence else "",
    )


def _passkey_state(request: Request) -> str:
    """Whether this page can ask for a passkey of the person: ready, none, or elsewhere for another host name."""
    hub: Hub = request.app.state.hub
    speaker = speaker_of(request)
    if request.url.hostname != PASSKEY_HOST:
        return "elsewhere"
    return "ready" if any(key.person == speaker.name for key in passkeys(hub.user_dir)) else "none"


SHOWN_ANYWAY: Final = ("diff", "verdicts", "findings", "tests", "cost", "risk")
"""What `show` may name and the page has in a place of its own."""


def _buttons(pending: Pending, proof: Evidence) -> tuple[Button, ...]:
    if pending.kind == "by_hand":
        return (
            Button("done", "Done", "the work is taken over and judged", "yes"),
            Button("reject", "Not possible", "the attempt fails", "no"),
        )
    kinds = {**dict.fromkeys(FIRST, "yes"), **dict.fromkeys(("reject", "fail", "halt", "abort"), "no")}
    pick = f"Pick {proof.member.name}" if proof.member is not None and proof.picks_one else "Approve"
    words = {
        "answer": "Send answer",
        LAST: "Send and end the conversation",
        "reject": "Reject",
        "approve": pick,
    }
    actions = ("answer", LAST, *pending.actions[1:]) if pending.until else pending.actions
    return tuple(
        Button(
            action,
            words.get(action, action.replace("_", " ").capitalize()),
            proof.consequences.get(action, ""),
            kinds.get(action, "other"),
        )
        for action in actions
    )


def _diff(request: Request, shelf: Shelf, proof: Evidence) -> ShownDiff:
    whole, since = span_of(proof), span_since(proof)
    last = next((each for each in reversed(proof.attempts) if each.tree == proof.tree and each.base), None)
    attempt = None if last is None or last.base is None or proof.tree is None else Span(last.base, proof.tree)
    spans = {"whole": whole, "attempt": attempt if attempt != whole else None, "since": since}
    names = {"whole": "the whole change", "attempt": "this attempt", "since": "since you last decided"}
    tabs = tuple((name, names[name]) for name, span in spans.items() if span is not None)
    tab = request.query_params.get("diff", "")
    tab = tab if spans.get(tab) is not None else "whole"
    changes = changes_of(shelf.project, spans[tab])
    only = request.query_params.get("file")
    chosen = [each for each in changes if only is None or each.path == only]
    files: list[FileView] = []
    for each in chosen[:OPEN_FILES]:
        span = spans[tab]
        assert span is not None
        if sum(len(file.lines) for file in files) < MOST_LINES:
            files.append(read_file(shelf, span, each))
    rest = tuple(each.path for each in changes if each.path not in {file.path for file in files})
    return ShownDiff(tab, tabs, spans[tab], changes, tuple(files), rest)


def read_file(shelf: Shelf, span: Span, change: Change) -> FileView:
    try:
        text, cut = file_diff(shelf.project.paths, span, change.path)
    except PodiumError as error:
        return FileView(change.path, (), error.message)
    return file_view(change.path, text, cut=cut)


def _next(request: Request, run: FoldedRun, pending: Pending | None) -> tuple[str, str] | None:
    """The run and the question that waits longest among the others."""
    hub: Hub = request.app.state.hub
    questions = [
        each
        for shelf in hub.shelves
        for each in open_questions(shelf.project, shelf=shelf)
        if each.pending.actions
        and (each.view.run, each.pending.path) != (run.head.run, pending and pending.path)
    ]
    questions.sort(key=lambda each: each.pending.since)
    return (questions[0].view.run, questions[0].pending.path) if questions else None
