"""What waits for a person, oldest first; below it what runs now and what ended last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from podium.app.decide.set_aside import set_aside, set_aside_until
from podium.app.query.evidence import changes_of, evidence, span_of
from podium.app.query.inbox import Question, open_questions
from podium.app.query.run_pages import runs_page
from podium.app.query.shelf import FoldedRun
from podium.core.types import Address, Millis
from podium.frontends.web.access import PERSON
from podium.frontends.web.forms import read_fields
from podium.frontends.web.hub import Hub
from podium.frontends.web.render import page, title_input
from podium.ports.clock import wall_clock
from podium.views.evidence.evidence import Evidence, facts
from podium.views.run.view import RunView, failure_before
from podium.views.text.next_steps import waits_for

MOST_CARDS = 100
RUNNING = ("running", "interrupted", "paused")
HOUR_MS = 3_600_000


class Card(NamedTuple):
    question: Question
    evidence: Evidence | None
    facts: tuple[str, ...]
    task: str
    why: str
    who: str
    project: str
    aside: Millis | None


def inbox(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    now, person = wall_clock(), request.scope.get(PERSON, "")
    cards = sorted(
        (card for number in range(len(hub.shelves)) for card in _cards(hub, number, now, person)),
        key=lambda card: card.question.pending.since,
    )
    open_cards = [card for card in cards if card.aside is None]
    running: list[RunView] = []
    ended: list[RunView] = []
    for shelf in hub.shelves:
        running += runs_page(shelf, limit=20, status=RUNNING).runs
        ended += runs_page(
            shelf, limit=6, status=("passed", "failed", "rejected", "limited", "timed_out", "cancelled")
        ).runs
    ended.sort(key=lambda view: view.ended or 0, reverse=True)
    return page(
        request,
        "inbox.html",
        cards=open_cards[:MOST_CARDS],
        more=max(0, len(open_cards) - MOST_CARDS),
        aside=[card for card in cards if card.aside is not None],
        running=[(view, title_input(view)[1]) for view in running],
        ended=[(view, title_input(view)[1]) for view in ended[:6]],
    )


def _cards(hub: Hub, number: int, now: Millis, person: str) -> list[Card]:
    shelf = hub.shelves[number]
    with shelf.lock:
        questions = open_questions(shelf.project, shelf=shelf)
        folded = {
            view.run: shelf.run(view.run)
            for view in {each.view.run: each.view for each in questions}.values()
        }
        return [_card(hub, number, question, folded, now, person) for question in questions]


def _card(
    hub: Hub, number: int, question: Question, folded: Mapping[str, FoldedRun], now: Millis, person: str
) -> Card:
    shelf = hub.shelves[number]
    view, pending = question.view, question.pending
    proof = evidence(shelf, folded[view.run], pending) if pending.actions else None
    changes = changes_of(shelf.project, span_of(proof)) if proof is not None else ()
    lines = (sum(each.added for each in changes), sum(each.removed for each in changes))
    return Card(
        question,
        proof,
        () if proof is None else facts(proof, len(changes), lines),
        title_input(view)[1],
        failure_before(view, pending),
        waits_for(pending),
        shelf.project.root.name if len(hub.shelves) > 1 else "",
        set_aside_until(shelf.project.root, view.run, pending.path, now=now, person=person),
    )


async def put_aside(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    fields = await read_fields(request)
    run = request.path_params["run"]
    shelf, _ = hub.find(run)
    hours = int(fields.get("hours", "4")) if fields.get("hours", "4").isdecimal() else 4
    now = wall_clock()
    set_aside(
        shelf.project.root,
        run,
        Address(fields.get("path", "")),
        until=Millis(now + hours * HOUR_MS),
        now=now,
        person=request.scope.get(PERSON, ""),
    )
    return RedirectResponse("/", 303)
