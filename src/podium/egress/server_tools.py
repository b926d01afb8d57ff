"""Takes out of a request what the vendor would run, fetch or look up on its side, unless the workflow names it.

Such a tool leaves the sandbox without a connection of its own: a fetched address can contain what the agent has read, and
a connector of the vendor acts in the user's name. A tool is removed from the request. Content that the vendor would have
to fetch or look up cannot be removed without changing the meaning of the conversation, so that request is refused.

The rules cover the formats of Anthropic, OpenAI and Gemini at once, because a path does not prove which one a server
reads. Tools are compared with a list of those that the caller runs itself: an unknown one is taken for a server's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from podium.egress.request_body import InvalidBody, outline, parse
from podium.egress.server_tool_names import (
    ADDRESSED,
    DECLARATIONS,
    LOOKUP_FIELDS,
    LOOKUP_TYPES,
    TOP_KEYS,
    is_data_url,
    model_tool,
    normalized,
    tool_names,
)
from podium.fast_dataclass import dataclass

MOST_REWRITTEN: Final = 8 * 1024 * 1024
"""A larger request is refused instead of rewritten, because it would be parsed as a whole."""
CONTENT: Final = ("messages", "system", "contents", "systeminstruction", "input", "instructions")
"""The parts of a request that contain what the model reads."""
NOT_CONTENT: Final = frozenset(
    "args arguments response inputschema parameters parametersjsonschema responseschema schema tools".split()
)
"""Values that programs choose freely: arguments, results and schemas of their own functions; tools have own rules."""


class NotAllowed(Exception):
    """The request needs something of the vendor that the workflow does not name."""


@dataclass(frozen=True, slots=True)
class Inspected:
    body: bytes
    removed: tuple[str, ...] = ()
    """What was taken out, in the words of the request."""


def inspect(body: bytes, allowed: frozenset[str]) -> Inspected:
    """The body to send; the same bytes if nothing is removed. Raises InvalidBody or NotAllowed."""
    removed = tuple(_removed(_top(outline(body)), allowed))
    if not removed:
        return Inspected(body)
    if len(body) > MOST_REWRITTEN:
        raise NotAllowed(f"it has more than {MOST_REWRITTEN} bytes and uses {removed[0]}")
    return Inspected(_rewritten(parse(body), allowed), removed)


def hint(name: str) -> str:
    return f"to allow it, write server_tools: [{name}] under the agent"


def _top(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidBody("the body is not a JSON object")
    return value


def _removed(request: Mapping[str, Any], allowed: frozenset[str]) -> Iterator[str]:
    """What has to be removed; raises NotAllowed for what can only be refused."""
    fields = _fields(request)
    for key, value in request.items():
        rule = TOP_KEYS.get(normalized(key))
        if rule is None or rule.name in allowed or not value or (key, type(value)) == ("prompt", str):
            continue
        if rule.is_needed:
            raise NotAllowed(f"it uses {key} ({rule.name}); {hint(rule.name)}")
        yield key
    name = model_tool(fields.get("model"))
    if name is not None and name not in allowed:
        raise NotAllowed(f"its model does a {name} by itself; {hint(name)}")
    yield from (what for tool in _list(fields.get("tools")) if (what := _foreign(tool, allowed)) is not None)
    for key in CONTENT:
        _check_content(fields.get(key), allowed)
    if isinstance(inner := fields.get("generatecontentrequest"), dict):
        # Gemini counts the tokens of a whole request, which is below this key.
        yield from _removed(inner, allowed)


def _foreign(tool: Any, allowed: frozenset[str]) -> str | None:
    """The tool's own word if the vendor would run it and the workflow does not name it."""
    fields = _fields(tool) if isinstance(tool, dict) else {}
    if fields.get("type") == "namespace":
        inner = (_foreign(each, allowed) for each in _list(fields.get("tools")))
        return next((what for what in inner if what is not None), None)
    words = (word for word, name in tool_names(fields) if name != "own" and name not in allowed)
    return next(words, None)


def _check_content(value: Any, allowed: frozenset[str]) -> None:
    """Raise NotAllowed for content that only the vendor can resolve. Iterative, because input may be deep."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, list):
            waiting += current
        if not isinstance(current, dict):
            continue
        fields = _fields(current)
        kind = str(fields.get("type", ""))
        for what, name in _lookups(kind, fields):
            if name not in allowed:
                raise NotAllowed(f"its content has {what} ({name}); {hint(name)}")
        for tool in _list(fields.get("tools")):
            if (word := _foreign(tool, allowed)) is not None:
                raise NotAllowed(f"its content adds the tool {word}, which the vendor would run")
        is_call = kind.endswith("tool_use")
        waiting += (
            each
            for key, each in fields.items()
            if key not in NOT_CONTENT and not (is_call and key == "input")
        )


def _lookups(kind: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the vendor would have to look up or to fetch, with the name that allows it."""
    if kind in LOOKUP_TYPES:
        yield kind, LOOKUP_TYPES[kind]
    for key, value in fields.items():
        if key in LOOKUP_FIELDS and value:
            yield key, LOOKUP_FIELDS[key]
        address = value.get("url") if isinstance(value, dict) else value
        is_fetched = key.endswith("url") and (key != "url" or kind in ADDRESSED)
        if is_fetched and isinstance(address, str) and not is_data_url(address):
            yield key, "web_fetch"


def _rewritten(request: Mapping[str, Any], allowed: frozenset[str]) -> bytes:
    return json.dumps(_without(request, allowed), separators=(",", ":")).encode("ascii")


def _without(request: Mapping[str, Any], allowed: frozenset[str]) -> dict[str, Any]:
    rest: dict[str, Any] = {}
    for key, value in request.items():
        plain = normalized(key)
        rule = TOP_KEYS.get(plain)
        if rule is not None and not rule.is_needed and rule.name not in allowed:
            continue
        if plain == "tools":
            value = _own_tools(value, allowed)
        elif plain == "generatecontentrequest" and isinstance(value, dict):
            value = _without(value, allowed)
        rest[key] = value
    if not rest.get("tools", True):
        # A choice among no tools is an error of the request.
        return {key: value for key, value in rest.items() if normalized(key) not in CHOICES}
    return rest


def _own_tools(tools: Any, allowed: frozenset[str]) -> list[Any]:
    """The tools without those of the server; of a list within a tool, and of Gemini's objects, the rest remains."""
    rest = []
    for tool in _list(tools):
        if _foreign(tool, allowed) is None:
            rest.append(tool)
        elif isinstance(tool, dict) and isinstance(tool.get("tools"), list):
            rest.append({**tool, "tools": _own_tools(tool["tools"], allowed)})
        elif isinstance(tool, dict):
            rest += [{key: value} for key, value in tool.items() if normalized(key) == DECLARATIONS]
    return rest


CHOICES: Final = frozenset({"tools", "toolchoice", "toolconfig"})


def _fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """By the form of their names that all servers share; two names of one form could be read differently."""
    fields = {normalized(key): each for key, each in value.items()}
    if len(fields) != len(value):
        raise InvalidBody("an object of the body has a field twice")
    return fields


def _list(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list) else [value]
