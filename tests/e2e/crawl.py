"""Every answer of the pages of a project, found by following their links from the inbox and from each run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

from starlette.testclient import TestClient

from podium.app.decide.sender import Speaker
from podium.frontends.web.server import make_app
from podium.frontends.web.session import Session
from podium.wiring import open_project

PORT = 8123
BASE = f"http://127.0.0.1:{PORT}"
LINK = re.compile(r'(?:href|src)="([^"#]+)')
MOST = 400


def all_pages(root: Path, starts: tuple[str, ...] = ()) -> Iterator[tuple[str, int, str, bytes]]:
    """The address, status, kind and body of each."""
    session = Session(PORT)
    pages = make_app((root,), open_project, session, Speaker("ada", "web"))
    with TestClient(pages.app, base_url=BASE) as client:
        client.cookies.set(session.cookie, session.value)
        waiting, seen = ["/", "/runs", "/workflows", "/costs?played=1", "/settings", *starts], set[str]()
        while waiting and len(seen) < MOST:
            path = waiting.pop(0)
            if path in seen:
                continue
            seen.add(path)
            answer = client.get(path)
            kind = answer.headers.get("content-type", "")
            yield path, answer.status_code, kind, answer.content
            if kind.startswith("text/html") and not path.endswith("/report"):
                targets = (urljoin(f"{BASE}{path}", unescape(each)) for each in LINK.findall(answer.text))
                waiting += [each.removeprefix(BASE) for each in targets if each.startswith(f"{BASE}/")]
