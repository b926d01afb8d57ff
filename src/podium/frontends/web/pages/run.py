"""One run: how far it is, why, what it waits for, and what a person can do with it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from podium.app.decide.judge import leave
from podium.app.decide.sender import Speaker, wake
from podium.app.query.activity import current_activity
from podium.app.query.runs import ENDED
from podium.app.query.shelf import FoldedRun, Shelf
from podium.core.messages import Cancel, Guide, Pause, Refusal, Resume
from podium.core.types import Millis
from podium.errors import ConfigurationError, PodiumError
from podium.frontends.web.access import speaker_of
from podium.frontends.web.forms import read_fields
from podium.frontends.web.hub import Hub
from podium.frontends.web.render import page, picture, title_input
from podium.ports.clock import wall_clock
from podium.views.evidence.decisions import decisions_of
from podium.views.pictures import charts, svg
from podium.views.pictures.layout import layout
from podium.views.pictures.states import states_of
from podium.views.plain import encode_utf8
from podium.views.run.attempts import attempts_of
from podium.views.run.thread import thread_of
from podium.views.run.view import LimitView, RunView, elapsed
from podium.views.text.landing import landing_words, landings
from podium.views.text.next_steps import next_steps
from podium.views.text.terminal import in_outline_order

WINDOW: Final = 200
"""Steps of a page; the others are behind links."""
MOST_DRAWN: Final = 2_000
"""A run with more steps is drawn when somebody asks for it."""
MOST_BARS: Final = 300
MOST_MESSAGES: Final = 100
SHOWN_LIMITS: Final = ("usd", "time")
"""Others are shown when more than half of them is used."""
DONE: Final = {
    "pause": "The run pauses when its active attempts have finished.",
    "resume": "The run is being resumed.",
    "cancel": "The run is being cancelled.",
    "guide": "Guidance sent.",
    "approve": "Approved.",
    "reject": "Rejected.",
    "answer": "Answered.",
}


def run(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    shelf, folded = hub.find(request.path_params["run"])
    view, now = folded.view, wall_clock()
    steps = in_outline_order(step for step in view.steps if step.role != "gates")
    start = _number(request.query_params.get("from"), len(steps))
    only = request.query_params.get("only", "")
    if only == "failed":
        steps = [step for step in steps if step.outcome not in (None, "passed", "skipped")]
    attempts = attempts_of(folded.events, left=view.status in ("interrupted", "parked"))
    drawn = len(view.steps) <= MOST_DRAWN or "picture" in request.query_params
    return page(
        request,
        "run.html",
        view=view,
        task=title_input(view),
        steps=steps[start : start + WINDOW],
        start=start,
        window=WINDOW,
        total=len(steps),
        only=only,
        landed=[landing_words(step) for step in landings(view) if not step.stale],
        took=elapsed(view, now),
        waited=_waited(view, folded, now),
        limits=[
            limit for limit in view.limits if limit.limit and (limit.unit in SHOWN_LIMITS or _is_near(limit))
        ],
        activity=current_activity(shelf.project.paths, view),
        decisions=decisions_of(folded.events, folded.causes),
        messages=thread_of(folded.events).messages[-MOST_MESSAGES:],
        graph=_graph(shelf, folded) if drawn else None,
        is_drawn=drawn,
        timeline=picture(charts.timeline(attempts[-MOST_BARS:], now if view.ended is None else view.at)),
        cut_bars=max(0, len(attempts) - MOST_BARS),
        hints=[hint for hint in next_steps(view) if " show " not in hint.command],
        sent=_sent(request, shelf, folded),
        is_over=folded.head.status in ENDED,
        project=shelf.project.root.name,
        events=len(folded.events),
    )


def _is_near(limit: LimitView) -> bool:
    return limit.used > limit.limit / 2


def _number(text: str | None, most: int) -> int:
    return min(int(text), max(0, most - 1)) if text is not None and text.isdecimal() and len(text) < 9 else 0


def _graph(shelf: Shelf, folded: FoldedRun) -> object:
    workflow = shelf.workflow(folded.head)
    if workflow is None:
        return None
    states = states_of(folded.view)
    return picture(svg.paint(layout(workflow, states), folded.view.workflow, states, alone=False))


def _waited(view: RunView, folded: FoldedRun, now: Millis) -> Millis:
    """How much of the time nothing worked: the run waited for people, signals or its process."""
    spans = sorted(
        (each.started, each.ended or (now if view.ended is None else view.at))
        for each in attempts_of(folded.events, left=view.status in ("interrupted", "parked"))
    )
    worked, until = 0, 0
    for begin, end in spans:
        worked += max(0, end - max(begin, until))
        until = max(until, end)
    return Millis(max(0, elapsed(view, now) - worked))


def _sent(request: Request, shelf: Shelf, folded: FoldedRun) -> tuple[str, str] | None:
    """What became of the command that this page was opened with: a tone and a sentence."""
    key, word = request.query_params.get("sent", ""), request.query_params.get("as", "")
    if not key:
        return None
    done = DONE.get(word, f"{word.replace('_', ' ').capitalize()}: sent." if word else "Sent.")
    with shelf.lock:
        reply = shelf.project.runtime.reply(folded.head.run, key)
    if isinstance(reply, Refusal):
        return "failed", f"The run refused it: {reply.message}"
    if reply is not None or key == "done":
        return "passed", done
    return "running", "Sent. A process is taking the run up; this line changes when it has heard you."


async def control(request: Request) -> Response:
    fields = await read_fields(request)
    return await run_in_threadpool(_control, request, fields)


def _control(request: Request, fields: Mapping[str, str]) -> Response:
    hub: Hub = request.app.state.hub
    speaker = speaker_of(request)
    shelf, folded = hub.find(request.path_params["run"])
    name, what = folded.head.run, request.path_params["what"]
    try:
        key = _order(hub, shelf, folded, what, fields.get("words", "").strip(), speaker)
    except PodiumError as error:
        text = f"{error.message}. {error.hint}" if error.hint else error.message
        return page(request, "message.html", status=409, title="Refused", text=text, back=f"/runs/{name}")
    return RedirectResponse(f"/runs/{name}?sent={key}&as={what}", 303)


def _order(hub: Hub, shelf: Shelf, folded: FoldedRun, what: str, words: str, speaker: Speaker) -> str:
    match what:
        case "resume":
            with shelf.lock:
                if shelf.project.runtime.is_owned(folded.head.run):
                    return leave(shelf, folded, Resume(speaker.name), speaker, wakes=False)
                wake(shelf.project, folded.head.run, waits=False)
            return "done"
        case "cancel":
            return leave(shelf, folded, Cancel(speaker.name, words), speaker)
        case "pause":
            _send(hub, shelf, folded, Pause(speaker.name), speaker)
        case "guide":
            if not words:
                raise ConfigurationError("write what the agents should know")
            _send(hub, shelf, folded, Guide(speaker.name, words), speaker)
        case _:
            raise ConfigurationError(f"there is no {what} for a run")
    return "done"


def _send(hub: Hub, shelf: Shelf, folded: FoldedRun, command: Pause | Guide, speaker: Speaker) -> None:
    """With a project of its own: it waits for the reply, and the pages must not."""
    project = hub.open_project(shelf.project.root)
    try:
        anyio.run(
            partial(
                project.commands.send,
                folded.head.run,
                command,
                drives=False,
                signals=False,
                channel=speaker.channel,
            )
        )
    finally:
        project.close()


def report(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    shelf, folded = hub.find(request.path_params["run"])
    with shelf.lock:
        text = shelf.project.queries.report(folded.head.run)
    name = f"{folded.head.run}.html"
    headers = {
        "content-disposition": f'attachment; filename="{name}"',
        "content-security-policy": "default-src 'none'; sandbox",
    }
    return Response(text, media_type="text/html; charset=utf-8", headers=headers)


def events(request: Request) -> Response:
    """The events of a run after a number, as JSON lines to download."""
    import json

    from podium.app.query.runs import event_data

    hub: Hub = request.app.state.hub
    shelf, folded = hub.find(request.path_params["run"])
    with shelf.lock:
        records = shelf.project.runtime.events(folded.head.run)
    text = "".join(f"{json.dumps(event_data(record), ensure_ascii=False)}\n" for record in records)
    name = f"{folded.head.run}.jsonl"
    headers = {
        "content-disposition": f'attachment; filename="{name}"',
        "content-security-policy": "default-src 'none'; sandbox",
    }
    return Response(encode_utf8(text), media_type="text/plain; charset=utf-8", headers=headers)
