"""The page of the keys of every type of agent, written from the declarations that files are checked against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from podium.adapters.agents.registry import built_in_types
from podium.ports.agent_type import AgentType
from podium.workflow.agent_keys import COMMON_KEYS, PROGRAM_KEYS, REASONS
from podium.workflow.schema import scalars
from podium.workflow.schema.fields import Raw, keys_of
from podium.workflow.schema.file import Agent
from tools.pages import markdown
from tools.pages.markdown import code, table

INTRO = """\
The keys of the entries under `agents`, in a workflow and in configuration files. `podium validate` refuses any other key,
and a value of another type. [Agents](agents.md) explains each type, [Keys of agents](../how-to/agent-keys.md) how to use
them. Agents of [other packages](../how-to/add-an-agent.md) declare their own keys."""
ORIGIN = """\
**Where**: `any` is a workflow, a template, a configuration or the command line. A key with `configuration` may be set only in
`.podium/config.yaml`, in your own configuration, or with `--set`, because a workflow may come from elsewhere."""
NAMES: Final[Mapping[Any, str]] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "`true`, `false`",
    Any: "any",
    scalars.Number: "number",
    scalars.Positive: "whole number above 0",
    scalars.Duration: "duration such as `90s`",
    scalars.Tokens: "tokens such as `4k`",
}
HEADS: Final = ("key", "type", "default", "where", "meaning")


def page() -> str:
    parts = [part for agent_type in built_in_types() for part in _section(agent_type)]
    reasons = [(code(key), reason) for key, reason in REASONS.items()]
    return markdown.page(
        "Keys of agents",
        INTRO,
        ORIGIN,
        "## Of every type",
        table(("key", "type", "meaning"), _common(COMMON_KEYS)),
        "Every type that is a program, that is all but `ollama` and `api`, also has:",
        table(("key", "type", "meaning"), _common(PROGRAM_KEYS)),
        "No entry has these, unless its type lists them below:",
        table(("key", "why"), reasons),
        *parts,
    )


def _common(keys: Mapping[str, str]) -> list[tuple[str, str, str]]:
    types = keys_of(Agent)
    return [(code(name), type_name(types[name].type), meaning) for name, meaning in keys.items()]


def _section(agent_type: AgentType) -> Iterator[str]:
    capabilities = agent_type.capabilities
    yield f"## `{agent_type.name}`"
    yield table(
        HEADS,
        [
            (
                code(name),
                type_name(key.type),
                key.default or "-",
                "configuration" if key.trusted else "any",
                key.meaning,
            )
            for name, key in capabilities.keys.items()
        ],
    )
    if capabilities.unsupported:
        reasons = [(code(key), reason) for key, reason in capabilities.unsupported.items()]
        yield table(("cannot honour", "because"), reasons)


def type_name(kind: Any) -> str:
    """A type in words."""
    if kind in NAMES:
        return NAMES[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return type_name(inner[0])
    if origin in (Union, UnionType):
        names = (type_name(part) for part in inner if part is not NoneType)
        return " or ".join(dict.fromkeys(names))
    if origin is Literal:
        return ", ".join(code(str(word)) for word in inner)
    if origin is tuple:
        return f"list of {type_name(inner[0])}"
    if origin is dict:
        return f"map of names to {type_name(inner[1])}"
    if issubclass(kind, Raw):
        return f"map of {', '.join(code(name) for name in keys_of(kind))}"
    return kind.__name__ if isinstance(kind, type) else str(kind)
