"""What this server shows and how it was started. Nothing secret is here, and nothing but the colours can be changed."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from podium.app.decide.sender import Speaker
from podium.app.user_projects import state_folder
from podium.frontends.web.forms import read_fields
from podium.frontends.web.hub import Hub
from podium.frontends.web.render import THEMES, page
from podium.frontends.web.session import Session

SHOWN: Final = ("podium", "starlette", "uvicorn", "apsw", "jinja2", "pygments", "unidiff")


def settings(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    session: Session = request.app.state.session
    speaker: Speaker = request.app.state.speaker
    return page(
        request,
        "settings.html",
        projects=[
            (shelf.project.root.name, str(shelf.project.root), len(shelf.heads())) for shelf in hub.shelves
        ],
        port=session.port,
        speaker_name=speaker.name,
        state=str(state_folder()),
        versions=[("python", platform.python_version()), *((name, _version(name)) for name in SHOWN)],
    )


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
