"""The numbers of a project for Prometheus, at `/metrics/`, for callers with a key that opens nothing else.

The key is in a file, so that it stays the same when the server starts again, and so that Prometheus can read it
(`credentials_file`). It does not open the pages: a program that reads numbers must not be able to answer questions.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from podium.app.project import Project
from podium.app.telemetry.prometheus import CONTENT_TYPE, prometheus_text
from podium.errors import ConfigurationError, PodiumError
from podium.frontends.web.session import KEY_BYTES

LEAST_KEY: Final = 16
OTHERS: Final = 0o077


def key_from(file: Path) -> str:
    """The key in this file, which is made if it does not exist; raises if others may read it."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_key(file)
    except OSError as error:
        raise ConfigurationError(f"cannot write {file}: {error.strerror}") from error
    key = secrets.token_urlsafe(KEY_BYTES)
    with os.fdopen(descriptor, "w") as target:
        target.write(f"{key}\n")
    return key


def _read_key(file: Path) -> str:
    try:
        key, mode = file.read_text("ascii").strip(), file.stat().st_mode
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read a key from {file}: {error}") from error
    if mode & OTHERS:
        raise ConfigurationError(f"{file} may be read by other users", hint=f"chmod 600 {file}")
    if len(key) < LEAST_KEY or not key.isprintable() or " " in key:
        raise ConfigurationError(
            f"the key in {file} must have at least {LEAST_KEY} characters and no spaces",
            hint="delete the file; podium serve writes a new one",
        )
    return key


def counters_app(root: Path, open_project: Callable[[Path], Project], key: str) -> Starlette:
    expected = f"Bearer {key}".encode()

    def answer(request: Request) -> Response:
        values = request.headers.getlist("authorization")
        if len(values) != 1 or not hmac.compare_digest(values[0].encode(), expected):
            return PlainTextResponse(
                "the key is missing or wrong\n",
                HTTPStatus.UNAUTHORIZED,
                headers={"www-authenticate": "Bearer"},
            )
        project = open_project(root)
        try:
            return Response(prometheus_text(project), media_type=CONTENT_TYPE)
        except PodiumError as error:
            return PlainTextResponse(f"{error.message}\n", HTTPStatus.SERVICE_UNAVAILABLE)
        finally:
            project.close()

    return Starlette(routes=[Route("/", answer)])
