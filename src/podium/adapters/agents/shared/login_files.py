"""The files with which the user has logged in to vendors: lent to attempts as copies, and renewed from them.

A vendor that gives out a new token lets the old one die. An attempt works with a copy, so what its program was given
must come back, or the user is logged out. But the copy lay where a model could write. So it comes back only if it is
the same login with other tokens: nothing else in it has changed, and it is newer than what the user has by then.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

STAMPS: Final[Mapping[str, tuple[str, ...]]] = {
    "claude": ("claudeAiOauth", "expiresAt"),
    "codex": ("last_refresh",),
}
"""Where a login says how new it is: a later end, or a later beginning."""
CHANGING: Final = ("token", "expires", "last_refresh")
"""In the names of what a vendor gives out anew; the rest says whose login it is."""
FURTHEST_S: Final = 366 * 24 * 3600
"""A stamp beyond that is invented: it would be the newest one for ever."""


class Logins:
    """By type of agent. What is read once is kept, so that all attempts of a run work with the same login."""

    def __init__(self, places: Mapping[str, Path], lock_dir: Path) -> None:
        self._places = {kind: place.resolve() for kind, place in places.items() if place.is_file()}
        self._lock_dir = lock_dir
        self.known: dict[str, bytes] = {kind: place.read_bytes() for kind, place in self._places.items()}

    def renew(self, kind: str, content: bytes) -> bool:
        """Take over what an attempt left behind. Whether it was a newer login of the same user."""
        if kind not in self._places or content == self.known[kind]:
            return False
        with _locked(self._lock_dir / f"login-{kind}.lock"):
            current = self._places[kind].read_bytes()
            if not is_renewed(kind, current, content):
                return False
            _replace(self._places[kind], content)
        self.known[kind] = content
        return True


def is_renewed(kind: str, old: bytes, new: bytes) -> bool:
    try:
        before, after = json.loads(old), json.loads(new)
        earlier, later = _stamp(kind, before), _stamp(kind, after)
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
    return earlier < later < time.time() + FURTHEST_S and _is_same(before, after, "")


def _stamp(kind: str, login: Any) -> float:
    """In seconds of the epoch."""
    for name in STAMPS[kind]:
        login = login[name]
    if isinstance(login, str):
        return datetime.fromisoformat(login).timestamp()
    return float(login) / 1000


def _is_same(old: Any, new: Any, name: str) -> bool:
    """The same login: of the same shape, and alike in all that does not change when it is renewed."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_is_same(old[key], new[key], key) for key in old)
    if (
        type(old) is type(new)
        and not isinstance(old, list)
        and any(word in name.lower() for word in CHANGING)
    ):
        return bool(new) or not old
    return bool(old == new)


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    place.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(place: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


SECRET: Final = 20
"""Characters: tokens are longer, and what is shorter are names and dates."""


def long_texts(content: bytes) -> tuple[str, ...]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        # Not the file it should be. Hidden line by line, for it may still be a secret.
        found = content.decode("utf-8", "replace").split()
    return tuple(dict.fromkeys(text for text in _texts(found) if len(text) >= SECRET))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)
        case _:
            pass
