"""The user's credentials for agents: keys in environment variables, and login files.

A vendor that issues a new token invalidates the old one. An attempt works with a copy of a login file, so a token that
its program received must be written back, or the user is logged out. But a model could write to the copy. So it is
written back only if it is the same login with other tokens: nothing else has changed, and it is newer than the user's
current file.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from podium.errors import PathViolation
from podium.files import atomic
from podium.files.inside import open_inside
from podium.ports.agent import InstalledAgent
from podium.ports.agent_type import AgentType, Credentials, LoginFile
from podium.redaction.encodings import SHORTEST

UsedAgents: TypeAlias = Iterable[tuple[AgentType, Mapping[str, Any]]]
"""The agents that may work, each with its settings."""

CHANGING: Final = ("token", "expires", "last_refresh")
"""Parts of the names of fields that a vendor renews; all other fields identify the login."""
MAX_FUTURE_S: Final = 366 * 24 * 3600
"""A later time is a forgery, which would remain the newest forever."""
MAX_LOGIN_BYTES: Final = 256 * 1024
MIN_TOKEN: Final = 20
"""Minimum length of a token; shorter texts are names and dates."""


def key_names(needs: Credentials | None, config: Mapping[str, Any]) -> tuple[str, ...]:
    """The environment variables from which an agent with these settings reads a key."""
    if needs is None or (needs.login is not None and config.get("auth") == "login"):
        return ()
    named = config.get("key")
    if named and isinstance(named, str | list | tuple):  # An expression has no value before the run.
        return (named,) if isinstance(named, str) else tuple(named)
    return () if needs.keyless_at_base_url and config.get("base_url") else needs.keys


def auth_of(agent: InstalledAgent, config: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """`key` or `login`: as in the settings, else a key if one is set, else a login if there is one."""
    if config.get("auth"):
        return str(config["auth"])
    return "login" if not _has_key(agent.type, config, env) and agent.login() is not None else "key"


def with_auth(agent: InstalledAgent, config: Mapping[str, Any], env: Mapping[str, str]) -> Mapping[str, Any]:
    """The settings, with `auth: login` added if they do not say and the user has only a login."""
    return {**config, "auth": "login"} if auth_of(agent, config, env) == "login" else config


def missing(
    needs: Credentials | None, config: Mapping[str, Any], env: Mapping[str, str], *, has_login: bool = False
) -> str:
    """What the user must do before an agent with these settings can authenticate; "" if nothing."""
    login = None if needs is None else needs.login
    if login is not None and config.get("auth") == "login":
        return "" if has_login else f"not logged in: {login.how}"
    unset = [name for name in key_names(needs, config) if not env.get(name)]
    if needs is None or not needs.required or not unset:
        return ""
    return f"{unset[0]} is not set: export it" + ("" if login is None else f", or log in: {login.how}")


def expired_login(login: LoginFile | None, content: bytes | None, now_s: float) -> str:
    """What the user must do about a login that has ended and that its program cannot renew; "" if nothing."""
    if login is None or content is None:
        return ""
    try:
        value = json.loads(content)
        ends = _end_of(_at(value, login.expires))
        if ends is None or ends > now_s or _at(value, login.renewal):
            return ""
        date = f"{datetime.fromtimestamp(ends, UTC):%Y-%m-%d %H:%M}"
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return ""
    return f"its login ended on {date} UTC: {login.how}"


def _at(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if keys else None


def _end_of(value: Any) -> float | None:
    """In seconds since 1970: of milliseconds, of ISO 8601, or of the field `exp` of a JSON Web Token."""
    if isinstance(value, str) and value.count(".") == 2:
        payload = value.split(".")[1]
        value = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))).get("exp")
        return float(value) if isinstance(value, int | float) else None
    if isinstance(value, str):
        return datetime.fromisoformat(value).timestamp()
    return float(value) / 1000 if isinstance(value, int | float) else None


def read_keys(agents: UsedAgents, env: Mapping[str, str]) -> dict[str, str]:
    """The keys in the environment that agents may use, to be masked; an attempt gets no others."""
    names = (name for agent_type, config in agents for name in key_names(agent_type.credentials, config))
    return {name: env[name] for name in names if len(env.get(name, "")) >= SHORTEST}


def _has_key(agent_type: AgentType, config: Mapping[str, Any], env: Mapping[str, str]) -> bool:
    return any(env.get(name) for name in key_names(agent_type.credentials, config))


class Logins:
    """The user's login files by agent type; each is read once, so that all attempts of a run use the same login."""

    def __init__(self, files: Mapping[str, LoginFile], env: Mapping[str, str], lock_dir: Path) -> None:
        paths = {name: _path(file, env) for name, file in files.items()}
        self._files = files
        self._paths = {name: path.resolve() for name, path in paths.items() if path.is_file()}
        self._lock_dir = lock_dir
        self.contents: dict[str, bytes] = {name: path.read_bytes() for name, path in self._paths.items()}

    def renew(self, name: str, content: bytes) -> bool:
        """Write back the login file of an attempt if it is a newer login of the same user; returns whether it was."""
        if name not in self._paths or content == self.contents[name]:
            return False
        with _locked(self._lock_dir / f"login-{name}.lock"):
            current = self._paths[name].read_bytes()
            if not _is_renewed(self._files[name], current, content):
                return False
            atomic.write(self._paths[name], content)
        self.contents[name] = content
        return True


def read_logins(agents: UsedAgents, env: Mapping[str, str], lock_dir: Path) -> Logins:
    """The logins of agents with `auth: login`, and of those without `auth` and without a key."""
    files = {
        agent_type.name: agent_type.credentials.login
        for agent_type, config in agents
        if agent_type.credentials is not None
        and agent_type.credentials.login is not None
        and (config.get("auth") or ("key" if _has_key(agent_type, config, env) else "login")) == "login"
    }
    return Logins(files, env, lock_dir)


def _path(file: LoginFile, env: Mapping[str, str]) -> Path:
    home = env.get("HOME") or str(Path.home())
    folder = (file.variable and env.get(file.variable)) or file.folder.replace("~", home, 1)
    return Path(folder) / file.name


def read_returned_login(home: Path, name: str) -> bytes | None:
    """The login file that a program left in the home of its attempt; links to the outside are not followed."""
    try:
        with open_inside(home, name, "rb") as file:
            content: bytes = file.read(MAX_LOGIN_BYTES)
    except (OSError, PathViolation):
        return None
    return content


def _is_renewed(file: LoginFile, old: bytes, new: bytes) -> bool:
    try:
        before, after = json.loads(old), json.loads(new)
        earlier, later = _time(file, before), _time(file, after)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return False
    return earlier < later < time.time() + MAX_FUTURE_S and _is_same(before, after, "")


def _time(file: LoginFile, login: Any) -> float:
    """The time of a login in seconds since 1970."""
    for key in file.freshness:
        login = login[key]
    if isinstance(login, str):
        return datetime.fromisoformat(login).timestamp()
    return float(login) / 1000


def _is_same(old: Any, new: Any, name: str) -> bool:
    """Whether two logins have the same structure and agree in all fields that a renewal does not change."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_is_same(old[key], new[key], key) for key in old)
    is_value = type(old) is type(new) and not isinstance(old, list)
    if is_value and any(word in name.lower() for word in CHANGING):
        return bool(new) or not old
    return bool(old == new)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def tokens_of(logins: Mapping[str, bytes]) -> dict[str, str]:
    """All texts in login files that are long enough to be a secret, to be masked."""
    return {
        f"{name} login {number}": text
        for name, content in logins.items()
        for number, text in enumerate(_long_texts(content))
    }


def _long_texts(content: bytes) -> tuple[str, ...]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        # The file is not JSON; mask it word by word, because it may still contain a secret.
        value = content.decode("utf-8", "replace").split()
    return tuple(dict.fromkeys(text for text in _texts(value) if len(text) >= MIN_TOKEN))


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
