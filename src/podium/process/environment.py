"""The environment of a child: a minimal base and what was declared (R184, R185, C15)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from podium.errors import ConfigurationError

# What almost every program needs to find programs, files and its language. Everything else must be declared.
BASE: Final = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
DEFAULTS: Final = {"LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "dumb"}


def minimal_env(
    extra: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
    *,
    inherit: Iterable[str] = (),
    host: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The base, variables inherited by name, `extra`, and declared secrets, where later ones win (R185)."""
    outside = os.environ if host is None else host
    env = {**DEFAULTS, **{name: outside[name] for name in (*BASE, *inherit) if name in outside}}
    env["PATH"] = _absolute_folders(env["PATH"]) or DEFAULTS["PATH"]
    env.update(extra or {})
    env.update(secrets or {})
    check_env(env)
    return env


def check_env(env: Mapping[str, str]) -> None:
    for name, value in env.items():
        if not name or "=" in name or "\0" in name:
            raise ConfigurationError(f"{name!r} is not a valid name of an environment variable")
        if "\0" in value:
            # The value may be a secret, so it is not in the message.
            raise ConfigurationError(f'environment variable "{name}" contains a NUL character')


@lru_cache(maxsize=16)
def _absolute_folders(path: str) -> str:
    """Drop empty and relative entries, which mean the child's folder, where an agent may have put a program named git."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if folder.startswith("/"))
