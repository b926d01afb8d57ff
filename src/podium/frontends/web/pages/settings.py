"""What this server shows and how it was started. Nothing secret is here, and nothing but the colours can be changed."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from podium.app.decide.presence import passkeys
from podium.app.notify.channels import read_channels
from podium.app.notify.project_messages import send_test
from podium.app.user_projects import state_folder
from podium.errors import ConfigurationError, PodiumError
from podium.frontends.web.access import speaker_of
from podium.frontends.web.forms import read_fields
from podium.frontends.web.hub import Hub
from podium.frontends.web.pages.decide import PASSKEY_HOST
from podium.frontends.web.render import THEMES, page
from podium.frontends.web.session import Session

SHOWN: Final = ("podium", "starlette", "uvicorn", "apsw", "jinja2", "pygments", "unidiff")


def settings(request: Request, sent: tuple[str, str] | None = None) -> Response:
    hub: Hub = request.app.state.hub
    channels, fault = _channels(hub)
    session: Session = request.app.state.session
    speaker = speaker_of(request)
    return page(
        request,
        "settings.html",
        projects=[
            (shelf.project.root.name, str(shelf.project.root), len(shelf.heads())) for shelf in hub.shelves
        ],
        port=session.port,
        speaker_name=speaker.name,
        state=str(state_folder()),
        channels=channels,
        fault=fault,
        sent=sent,
        keys=passkeys(hub.user_dir),
        has_passkeys=find_spec("webauthn") is not None,
        is_local=request.url.hostname == PASSKEY_HOST,
        versions=[("python", platform.python_version()), *((name, _version(name)) for name in SHOWN)],
    )


def _channels(hub: Hub) -> tuple[list[tuple[int, str, str, str, tuple[str, ...]]], str]:
    """Their names, forms and kinds of messages, with the number of the project; never their addresses."""
    rows: list[tuple[int, str, str, str, tuple[str, ...]]] = []
    try:
        for number, shelf in enumerate(hub.shelves):
            project = shelf.project
            for name, channel in read_channels(project.root, project.user_dir).items():
                rows.append((number, project.root.name, name, channel.form, channel.on))
    except PodiumError as error:
        return rows, error.message
    return rows, ""


async def test_channel(request: Request) -> Response:
    fields = await read_fields(request)
    return await run_in_threadpool(_test, request, fields)


def _test(request: Request, fields: Mapping[str, str]) -> Response:
    hub: Hub = request.app.state.hub
    number, name = fields.get("project", ""), fields.get("channel", "")
    if not (number.isdecimal() and int(number) < len(hub.shelves)):
        raise ConfigurationError("there is no such project", code="unknown_run")
    project = hub.open_project(hub.shelves[int(number)].project.root)
    try:
        send_test(project, name)
    except PodiumError as error:
        return settings(request, ("failed", f"The test was not sent: {error.message}"))
    finally:
        project.close()
    return settings(request, ("passed", f"A test was sent to {name}."))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


async def set_theme(request: Request) -> Response:
    fields = await read_fields(request)
    answer = RedirectResponse("/settings", 303)
    theme = fields.get("theme", "")
    # Readable by nobody but this server, and of no use to anybody else.
    if theme in THEMES:
        answer.set_cookie("podium-theme", theme, max_age=31_536_000, httponly=True, samesite="strict")
    else:
        answer.delete_cookie("podium-theme", httponly=True, samesite="strict")
    return answer
