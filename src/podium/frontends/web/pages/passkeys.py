"""Passkeys of the person at this browser: adding one, removing one, and what a passkey signs for an answer.

A page reads the options here, the browser asks the person, and an ordinary form brings the result back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from podium.app.decide import presence
from podium.app.query.evidence import pending_at
from podium.core.messages import Approve
from podium.errors import ConfigurationError, PodiumError
from podium.frontends.web.access import speaker_of
from podium.frontends.web.forms import read_fields
from podium.frontends.web.hub import Hub
from podium.frontends.web.pages.decide import check_question, command_of, feedback_of
from podium.frontends.web.pages.settings import settings
from podium.ports.clock import wall_clock


async def addition_options(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    speaker = speaker_of(request)
    additions: presence.Additions = request.app.state.additions
    return _json(lambda: additions.begin(hub.user_dir, speaker.name))


async def add(request: Request) -> Response:
    fields = await read_fields(request)
    return await run_in_threadpool(_add, request, fields)


def _add(request: Request, fields: Mapping[str, str]) -> Response:
    hub: Hub = request.app.state.hub
    speaker = speaker_of(request)
    additions: presence.Additions = request.app.state.additions
    try:
        response = read_response(fields.get("response", ""))
        name = fields.get("name", "")
        key = additions.finish(hub.user_dir, speaker.name, response, name=name, now=wall_clock())
    except PodiumError as error:
        return settings(request, ("failed", f"Nothing was added: {_text(error)}"))
    return settings(request, ("passed", f"The passkey {key.name or key.credential[:12]} was added."))


async def remove(request: Request) -> Response:
    fields = await read_fields(request)
    return await run_in_threadpool(_remove, request, fields)


def _remove(request: Request, fields: Mapping[str, str]) -> Response:
    hub: Hub = request.app.state.hub
    try:
        key = presence.remove_passkey(hub.user_dir, fields.get("passkey", ""))
    except PodiumError as error:
        return settings(request, ("failed", _text(error)))
    return settings(request, ("passed", f"The passkey {key.name or key.credential[:12]} was removed."))


async def answer_options(request: Request) -> Response:
    """The challenge for exactly the answer in the form; the same form is posted afterwards, with the proof."""
    fields = await read_fields(request)
    return await run_in_threadpool(_json, lambda: _answer_options(request, fields))


def _answer_options(request: Request, fields: Mapping[str, str]) -> dict[str, Any]:
    hub: Hub = request.app.state.hub
    speaker = speaker_of(request)
    _, run = hub.find(request.path_params["run"])
    pending = pending_at(run, request.path_params["path"])
    check_question(pending, fields)
    command = command_of(pending, fields.get("action", ""), feedback_of(fields), fields, speaker.name)
    if not (pending.presence and isinstance(command, Approve) and presence.needs_proof(command.action)):
        raise ConfigurationError("this answer needs no passkey")
    return presence.answer_options(hub.user_dir, run, command)


def read_response(text: str) -> dict[str, Any]:
    """What the browser made, as JSON."""
    try:
        data: Any = json.loads(text)
    except ValueError as error:
        raise ConfigurationError("the response of the passkey cannot be read", code="presence") from error
    if not isinstance(data, dict):
        raise ConfigurationError("the response of the passkey cannot be read", code="presence")
    return data


def _json(make: Callable[[], dict[str, Any]]) -> Response:
    try:
        return JSONResponse(make())
    except PodiumError as error:
        return JSONResponse({"error": _text(error)}, 409)


def _text(error: PodiumError) -> str:
    return f"{error.message}. {error.hint}" if error.hint else error.message
