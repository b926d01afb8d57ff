"""Who may use the pages: those who have the key of this start, or, behind a proxy, the person whom the proxy names.

Rule: a name from a header counts only at the socket that the proxy alone can open. At a port of this machine the header is not
even looked at, because every program of every user can send one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from podium.app.decide.sender import Speaker
from podium.errors import ConfigurationError

if TYPE_CHECKING:
    from starlette.requests import Request

PERSON: Final = "podium.person"
"""In the scope of a request: the name that the proxy has given."""
MOST_NAME: Final = 200


class Proxy(NamedTuple):
    header: str
    """In small letters."""
    origin: str
    """The public address of the pages, such as https://podium.example.com."""
    may_decide: Callable[[str], bool]

    @property
    def host(self) -> str:
        return urlsplit(self.origin).netloc.lower()


def make_proxy(header: str, public: str, may_decide: Callable[[str], bool]) -> Proxy:
    parts = urlsplit(public)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/") or parts.query:
        raise ConfigurationError(
            f"--public must be an address without a path, not {public}",
            hint="--public https://podium.example.com",
        )
    if not header.replace("-", "").isalnum() or not header.isascii():
        raise ConfigurationError(f"--behind-proxy must be the name of a header, not {header}")
    return Proxy(header.lower(), f"{parts.scheme}://{parts.netloc.lower()}", may_decide)


def speaker_of(request: Request) -> Speaker:
    """Who answers: the person whom the proxy named, or the one who started the server."""
    speaker: Speaker = request.app.state.speaker
    person = request.scope.get(PERSON)
    return speaker if person is None else Speaker(person, speaker.channel)


def may_decide(request: Request) -> bool:
    proxy: Proxy | None = request.app.state.proxy
    return proxy is None or proxy.may_decide(speaker_of(request).name)
