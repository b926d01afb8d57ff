"""The keys that may stand in a workflow and in every configuration file: the nearest wins, maps merge by key.

Rule: what a project or a user has set for limits, sandbox, network and protect, a workflow may tighten and not
loosen. Only the command line may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from types import MappingProxyType
from typing import Any, Final

from podium.core.fast_dataclass import dataclass
from podium.workflow.merge.step_nodes import below
from podium.workflow.problems import Problem
from podium.workflow.schema.fields import Wrong
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
LADDER: Final = ("none", "auto", "limits", "bubblewrap", "container")
"""From the weakest; `auto` promises nothing, since it takes what the machine has."""

COSTS: Final = ("refuse", "ask", "count_tokens")
"""What to do about an unknown price, from the strictest."""

MEASURES: Final[Mapping[str, Callable[[Any], float]]] = MappingProxyType(
    {"time": duration, "tokens": tokens, "window": share, "unknown_cost": COSTS.index}
)

WALLS: Final = ("sandbox", "network")

LOOSER: Final = 39
HINT: Final = "a workflow may tighten what a project or a user has set; only the command line may loosen it"


@dataclass(frozen=True, slots=True)
class Looser:
    """A value that asks for more than `bound` gives. `keys` lead to it from the top; none: it stands in a step."""

    keys: tuple[str, ...]
    value: Node
    bound: Node
    fact: str

    def problem(self) -> Problem:
        return Problem(*self.value.place, LOOSER, f"{self.fact}, which {self.bound.place} has set", HINT)


@dataclass(frozen=True, slots=True)
class Settings:
    root: Node
    problems: tuple[Problem, ...] = ()


def merge_config(
    shipped: Node,
    bounds: Sequence[Node],
    workflow: Node,
    *,
    typed: Node | None,
    own_roles: Sequence[Node] = (),
) -> Settings:
    """The workflow with all its settings but the roles.

    `bounds` are the user's and the project's files, `typed` is the command line, `own_roles` are the roles as the
    workflow itself defines them.
    """
    held = reduce(_over, map(_settings, bounds), replace(workflow, value={}))
    looser = _looser(held, workflow, own_roles)
    if typed is not None:
        # What the command line allows is no mistake of the file any more.
        loosened = merge_maps(held, without_keys(typed, "roles"), merge_replacing)
        left = {one.value.place for one in _looser(loosened, workflow, own_roles)}
        looser = [one for one in looser if one.value.place in left]
    root = _over(_over(_settings(shipped), held), _tightened(workflow, looser))
    if typed is not None:
        root = merge_maps(root, without_keys(typed, "roles"), merge_replacing, {"notify": _picked})
    here = replace(root, place=workflow.place, key=workflow.key)
    return Settings(here, tuple(one.problem() for one in looser))


def _settings(file: Node) -> Node:
    return replace(
        file, value={key: fields(file)[key] for key in KEYS if key in fields(file) and key != "roles"}
    )


def _over(base: Node, top: Node) -> Node:
    return merge_maps(base, top, merge_replacing, {"notify": _picked, "protect": merge_appending})


def _picked(base: Node, top: Node) -> Node:
    """A list of channels picks from the map that defines them; else the nearest wins."""
    if not isinstance(base.value, Mapping) or not isinstance(top.value, tuple):
        return merge_replacing(base, top)
    names = {name: item for item in top.value if (name := text(item))}
    return replace(
        top, value={name: base.value.get(name, replace(item, value={})) for name, item in names.items()}
    )


def _looser(held: Node, workflow: Node, own_roles: Sequence[Node]) -> list[Looser]:
    return [*_looser_settings(held, workflow), *_looser_walls(held, workflow, own_roles)]


def _looser_settings(held: Node, workflow: Node) -> Iterator[Looser]:
    limits = fields(fields(held).get("limits"))
    for unit, value in fields(fields(workflow).get("limits")).items():
        bound = limits.get(unit)
        if bound is not None and _is_more(unit, value, bound):
            fact = f"limits.{unit}: {value.value} is more than {bound.value}"
            yield Looser(("limits", unit), value, bound, fact)
    for key in WALLS:
        for loose in _looser_wall(held, key, fields(workflow).get(key)):
            yield replace(loose, keys=(key,))


def _is_more(unit: str, value: Node, bound: Node) -> bool:
    asked, given = _measure(unit, value.value), _measure(unit, bound.value)
    return asked is not None and given is not None and asked > given


def _measure(unit: str, value: Any) -> float | None:
    """None for what is not a measure at all; the schema says so."""
    try:
        return MEASURES.get(unit, _number)(value)
    except (TypeError, ValueError, Wrong):
        return None


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    return value


def _looser_walls(held: Node, workflow: Node, own_roles: Sequence[Node]) -> Iterator[Looser]:
    """Steps, gates and roles have walls of their own; the bound holds for them too."""
    inner = [node for role in own_roles for node in (role, *below(role))]
    for node in (*below(workflow), *inner):
        for key in WALLS:
            yield from _looser_wall(held, key, fields(node).get(key))


def _looser_wall(held: Node, key: str, value: Node | None) -> Iterator[Looser]:
    bound = fields(held).get(key)
    if bound is None or value is None:
        return
    if key == "sandbox":
        wanted, least = (fields(to_long_form(key, node)).get("level", node) for node in (value, bound))
        if wanted.value in LADDER and least.value in LADDER and _rung(wanted) < _rung(least):
            yield Looser((), wanted, bound, f"sandbox: {wanted.value} is weaker than {least.value}")
    elif bound.value != "open":
        allowed = [item.value for item in items(bound)]
        for host in items(value):
            if host.value not in allowed:
                yield Looser((), host, bound, f"network: {host.value} is more than {_listed(allowed)}")


def _rung(node: Node) -> int:
    return LADDER.index(str(node.value))


def _listed(words: Sequence[object]) -> str:
    return f"[{', '.join(map(str, words))}]"


def _tightened(workflow: Node, looser: Sequence[Looser]) -> Node:
    """The workflow without what is too loose, so that the bound stays in force."""
    for loose in looser:
        match loose.keys:
            case (key,):
                workflow = without_keys(workflow, key)
            case (key, unit):
                workflow = with_field(workflow, key, without_keys(fields(workflow)[key], unit))
            case _:
                pass  # in a step, where nothing else holds; the problem stops the run
    return workflow
