"""Merges the keys that a workflow shares with configuration files: the nearest file wins, maps merge by key.

Rule: a workflow may tighten the limits, sandbox, network and protect settings of a project or a user, but not
loosen them. Only the command line may loosen them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from types import MappingProxyType
from typing import Any, Final

from podium.core.fast_dataclass import dataclass
from podium.workflow.merge.step_nodes import nested_parts
from podium.workflow.problems import Problem
from podium.workflow.schema.fields import InvalidValue
from podium.workflow.schema.scalars import duration, share, tokens
from podium.workflow.source.nodes import (
    Node,
    fields,
    items,
    merge_appending,
    merge_maps,
    merge_replacing,
    text,
    to_long_form,
    with_field,
    without_keys,
)

KEYS: Final = (
    "agents",
    "roles",
    "policies",
    "retries",
    "people",
    "notify",
    "context",
    "limits",
    "breaker",
    "secrets",
    "env",
    "workspace",
    "sandbox",
    "network",
    "protect",
    "max_parallel",
    "record",
)
SANDBOX_STRENGTHS: Final = ("none", "auto", "limits", "bubblewrap", "container")
"""From the weakest; `auto` guarantees nothing, because it takes the best level of the machine."""

COSTS: Final = ("refuse", "ask", "count_tokens")
"""What to do about an unknown price, from the strictest."""

MEASURES: Final[Mapping[str, Callable[[Any], float]]] = MappingProxyType(
    {"time": duration, "tokens": tokens, "window": share, "unknown_cost": COSTS.index}
)

SANDBOX_KEYS: Final = ("sandbox", "network")

LOOSER_RULE: Final = 39
HINT: Final = (
    "a workflow may tighten the settings of a project or a user; only the command line may loosen them"
)


@dataclass(frozen=True, slots=True)
class LooserValue:
    """A value that allows more than `bound`. `keys` is its path from the top; empty for a value inside a step."""

    keys: tuple[str, ...]
    value: Node
    bound: Node
    fact: str

    def problem(self) -> Problem:
        return Problem(
            *self.value.place, LOOSER_RULE, f"{self.fact}, the value set by {self.bound.place}", HINT
        )


@dataclass(frozen=True, slots=True)
class MergedSettings:
    root: Node
    problems: tuple[Problem, ...] = ()


def merge_config(
    shipped: Node,
    bounds: Sequence[Node],
    workflow: Node,
    *,
    command_line: Node | None,
    own_roles: Sequence[Node] = (),
) -> MergedSettings:
    """Merges the settings of all files into the workflow, except for roles.

    `bounds` are the user's and the project's files, `command_line` holds the keys typed for this run, `own_roles` are
    the roles as the workflow itself defines them.
    """
    binding = reduce(_merge_layer, map(_settings, bounds), replace(workflow, value={}))
    looser = _looser_values(binding, workflow, own_roles)
    if command_line is not None:
        # A value that the command line allows is no longer a problem of the file.
        loosened = merge_maps(binding, without_keys(command_line, "roles"), merge_replacing)
        remaining_places = {
            looser_value.value.place for looser_value in _looser_values(loosened, workflow, own_roles)
        }
        looser = [value for value in looser if value.value.place in remaining_places]
    root = _merge_layer(_merge_layer(_settings(shipped), binding), _without_looser(workflow, looser))
    if command_line is not None:
        root = merge_maps(
            root, without_keys(command_line, "roles"), merge_replacing, {"notify": _select_channels}
        )
    placed = replace(root, place=workflow.place, key=workflow.key)
    return MergedSettings(placed, tuple(value.problem() for value in looser))


def _settings(file: Node) -> Node:
    return replace(
        file, value={key: fields(file)[key] for key in KEYS if key in fields(file) and key != "roles"}
    )


def _merge_layer(base: Node, top: Node) -> Node:
    return merge_maps(base, top, merge_replacing, {"notify": _select_channels, "protect": merge_appending})


def _select_channels(base: Node, top: Node) -> Node:
    """A list of channels selects from the map that defines them; otherwise the nearest value wins."""
    if not isinstance(base.value, Mapping) or not isinstance(top.value, tuple):
        return merge_replacing(base, top)
    names = {name: item for item in top.value if (name := text(item))}
    return replace(
        top, value={name: base.value.get(name, replace(item, value={})) for name, item in names.items()}
    )


def _looser_values(binding: Node, workflow: Node, own_roles: Sequence[Node]) -> list[LooserValue]:
    return [*_looser_settings(binding, workflow), *_looser_sandboxes(binding, workflow, own_roles)]


def _looser_settings(binding: Node, workflow: Node) -> Iterator[LooserValue]:
    limits = fields(fields(binding).get("limits"))
    for unit, value in fields(fields(workflow).get("limits")).items():
        bound = limits.get(unit)
        if bound is not None and _exceeds(unit, value, bound):
            fact = f"limits.{unit}: {value.value} is more than {bound.value}"
            yield LooserValue(("limits", unit), value, bound, fact)
    for key in SANDBOX_KEYS:
        for loose in _looser_sandbox(binding, key, fields(workflow).get(key)):
            yield replace(loose, keys=(key,))


def _exceeds(unit: str, value: Node, bound: Node) -> bool:
    own, allowed = _measure(unit, value.value), _measure(unit, bound.value)
    return own is not None and allowed is not None and own > allowed


def _measure(unit: str, value: Any) -> float | None:
    """None for a value that is not a measure; the schema reports it."""
    try:
        return MEASURES.get(unit, _number)(value)
    except (TypeError, ValueError, InvalidValue):
        return None


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    return value


def _looser_sandboxes(binding: Node, workflow: Node, own_roles: Sequence[Node]) -> Iterator[LooserValue]:
    """Sandbox settings of steps, gates and roles, to which the bound also applies."""
    inner = [node for role in own_roles for node in (role, *nested_parts(role))]
    for node in (*nested_parts(workflow), *inner):
        for key in SANDBOX_KEYS:
            yield from _looser_sandbox(binding, key, fields(node).get(key))


def _looser_sandbox(binding: Node, key: str, value: Node | None) -> Iterator[LooserValue]:
    bound = fields(binding).get(key)
    if bound is None or value is None:
        return
    if key == "sandbox":
        own, required = (fields(to_long_form(key, node)).get("level", node) for node in (value, bound))
        if (
            own.value in SANDBOX_STRENGTHS
            and required.value in SANDBOX_STRENGTHS
            and _strength(own) < _strength(required)
        ):
            yield LooserValue((), own, bound, f"sandbox: {own.value} is weaker than {required.value}")
    elif bound.value != "open":
        allowed = [item.value for item in items(bound)]
        for host in items(value):
            if host.value not in allowed:
                yield LooserValue((), host, bound, f"network: {host.value} is not in {_bracketed(allowed)}")


def _strength(node: Node) -> int:
    return SANDBOX_STRENGTHS.index(str(node.value))


def _bracketed(words: Sequence[object]) -> str:
    return f"[{', '.join(map(str, words))}]"


def _without_looser(workflow: Node, looser: Sequence[LooserValue]) -> Node:
    """The workflow without its looser values, so that the bounds stay in force."""
    for loose in looser:
        match loose.keys:
            case (key,):
                workflow = without_keys(workflow, key)
            case (key, unit):
                workflow = with_field(workflow, key, without_keys(fields(workflow)[key], unit))
            case _:
                pass  # inside a step, where no other value applies; the problem stops the run
    return workflow
