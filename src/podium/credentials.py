"""What an agent wants of the user before it can work: keys by the names of their variables, a login, a hint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from podium.ports.agent import Agent, ServiceAgent


def key_names(agent: Agent | ServiceAgent, config: Mapping[str, Any]) -> tuple[str, ...]:
    """The variables of the user's environment that an agent with these settings wants, such as a key.

    An adapter that wants some has a method of this name; their values are masked wherever they turn up.
    """
    asked: Callable[[Mapping[str, Any]], tuple[str, ...]] | None = getattr(agent, "key_names", None)
    return () if asked is None else asked(config)


def auth_of(agent: Agent | ServiceAgent, config: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """How it logs in: as its settings say, else by the key if one is set, else by the login if there is one.

    An adapter that can use a login has a method `has_login`.
    """
    if config.get("auth"):
        return str(config["auth"])
    has_login: Callable[[], bool] | None = getattr(agent, "has_login", None)
    has_key = any(env.get(name) for name in key_names(agent, config))
    return "login" if not has_key and has_login is not None and has_login() else "key"


def lacking(agent: Agent | ServiceAgent, config: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """What a person must do before an agent with these settings can work, as far as its adapter can tell; else empty."""
    told: Callable[[Mapping[str, Any], Mapping[str, str]], str] | None = getattr(agent, "lacking", None)
    return "" if told is None else told(config, env)
