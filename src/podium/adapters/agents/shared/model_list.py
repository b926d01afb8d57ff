"""Asks a model's API for its list of models, which is free: whether it answers, and whether it accepts the key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import anyio

from podium.adapters.agents.shared.broker import MODEL_APIS
from podium.adapters.agents.shared.http import Answer, BrokenOff, Silent, Unreachable, get
from podium.ports.agent_type import AgentCheck

CHECK_S: Final = 8.0
NO_HEADERS: Final[Mapping[str, str]] = {}
_REFUSED: Final = (401, 403)
_BAD_KEY: Final = ("API_KEY_INVALID", "API key not valid")
"""A vendor answers an invalid key with status 400."""


async def check_claude(config: Mapping[str, Any], env: Mapping[str, str]) -> AgentCheck:
    key = "ANTHROPIC_API_KEY"
    version = {"anthropic-version": "2023-06-01"}
    return await _check(config, env, key=key, path="/v1/models", header="x-api-key", more=version)


async def check_gemini(config: Mapping[str, Any], env: Mapping[str, str]) -> AgentCheck:
    return await _check(config, env, key="GEMINI_API_KEY", path="/v1beta/models", header="x-goog-api-key")


async def check_codex(config: Mapping[str, Any], env: Mapping[str, str]) -> AgentCheck:
    return await _check(config, env, key="OPENAI_API_KEY", path="/models", header="Authorization")


async def check_api(config: Mapping[str, Any], env: Mapping[str, str]) -> AgentCheck:
    """The service must also have the model."""
    model = config.get("model")
    check = await check_codex(config, env)
    if check.ok is not True or not isinstance(model, str) or not check.models or model in check.models:
        return check
    return AgentCheck(False, f'the service has no model "{model}"')


async def _check(
    config: Mapping[str, Any],
    env: Mapping[str, str],
    *,
    key: str,
    path: str,
    header: str,
    more: Mapping[str, str] = NO_HEADERS,
) -> AgentCheck:
    own = config.get("base_url")
    named = config.get("key") or ("" if own and not env.get(key) else key)
    variable = named if isinstance(named, str) else ""
    value = env.get(variable, "")
    headers = {header: f"Bearer {value}" if header == "Authorization" else value, **more} if value else more
    url = str(own or MODEL_APIS[key].url).rstrip("/")
    answer = await read_list(f"{url}{path}", headers)
    if isinstance(answer, str):
        # Where the user chose the address, a server must answer there.
        return AgentCheck(False if own else None, f"no server answers at {urlsplit(url).netloc}: {answer}")
    text = answer.body[:2000].decode("utf-8", "replace")
    if answer.status in _REFUSED or (answer.status == 400 and any(word in text for word in _BAD_KEY)):
        what = f"the key in {variable}" if variable else "a call without a key"
        return AgentCheck(False, f"the service refuses {what} (status {answer.status})")
    if answer.status != 200:
        return AgentCheck(None, f"the service has no list of models (status {answer.status})")
    return AgentCheck(True, "", names_in(answer.body, "data", "id"))


async def read_list(url: str, headers: Mapping[str, str]) -> Answer | str:
    """The answer, or why there is none."""
    with anyio.move_on_after(CHECK_S):
        try:
            return await get(url, headers=headers, silence_s=CHECK_S)
        except (Unreachable, Silent, BrokenOff) as error:
            return str(error)
    return f"no answer within {CHECK_S:g} s"


def names_in(body: bytes, key: str, field: str) -> frozenset[str]:
    """The names in a list of models; empty if it has another format."""
    try:
        data: Any = json.loads(body)
        return frozenset(str(entry[field]) for entry in data[key])
    except (ValueError, LookupError, TypeError, RecursionError):
        return frozenset()
